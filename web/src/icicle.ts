/** Icicles: time in parts of parts, as rows of bars that are buttons; of a recording, or of two sides on one scale. */
import type { Painted } from "./colors";
import { element as make, find, findAll } from "./dom";
import { formatPercent, formatSeconds } from "./format";
import { type Compared, describeChange, edgeOf, markTwins, selectRow, showChanges } from "./icicle_changes";
import { type Bar, type Bars, chainOf, KINDS, layOut, type Order, rankBars, type Side, type Tree } from "./icicle_tree";
import { parseSelection, select } from "./selection";

interface Data {
  unit: string;
  /** The colours of classes, by title. */
  classes: Record<string, Painted>;
  trees: (Bars & { sides: Side[] })[];
}

const BETWEEN = "between steps"; // of tcprof/analysis/mean_step.py
const ROW = 26; // pixels
const NARROWEST = 3; // pixels of a bar that is drawn
const LEAST_LABEL = 28; // pixels of a bar that has a name

/** Draw all icicles of a page. */
export function startIcicles(): void {
  findAll("[data-icicle]").forEach(startIcicle);
}

function startIcicle(element: HTMLElement): void {
  const data = JSON.parse(document.getElementById(element.dataset.icicle!)!.textContent) as Data;
  const boxes = findAll(":scope > .bars", element);
  const [treeOf, orderOf] = ["[data-tree]", "[data-order]"].map((name) => element.querySelector<HTMLSelectElement>(name));
  const tree = () => data.trees[Number(treeOf?.value ?? 0)];
  const compared = boxes.length > 1 ? { ...data, ...tree() } as unknown as Compared : null;
  let focus = 0;
  let words = "";

  function show(): void {
    const { sides, ...bars } = tree();
    const times = sides.map(({ time }) => time);
    const start = rankBars(bars.start, times, orderOf?.value as Order);
    const longest = Math.max(...times.map((time) => time[focus]));
    boxes.forEach((box, side) => {
      box.hidden = !times[side][focus];
      box.style.width = `${100 * times[side][focus] / longest}%`;
      if (!box.hidden) drawBars(box, { ...bars, ...sides[side], start }, data, focus, compared);
    });
    if (compared) showChanges(element, compared, focus);
    markHits(boxes, words);
  }
  element.addEventListener("click", ({ target }) => {
    const bar = target instanceof Element ? target.closest<HTMLElement>("[data-node]") : null;
    if (!bar) return;
    if (bar.classList.contains("bar-idle") && !compared) return; // which selects its longest gap
    const selection = parseSelection(bar.dataset.link ?? "");
    focus = Number(bar.dataset.node);
    show();
    if (compared) selectRow(element, compared, focus);
    else if (selection) select(selection, { from: "figure" });
  });
  if (compared) markTwins(element);
  document.addEventListener("tcprof:hits", ({ detail }) => { words = detail; markHits(boxes, words); });
  for (const box of findAll(".bars", element)) box.addEventListener("keydown", (event) => moveFocus(box, event));
  treeOf?.addEventListener("change", () => { focus = 0; show(); });
  orderOf?.addEventListener("change", show);
  new ResizeObserver(show).observe(compared ? element : boxes[0]);
  find(".undrawn", element).remove();
}

/** Let all but what the search looks for recede. */
function markHits(boxes: readonly HTMLElement[], words: string): void {
  const wanted = words.split(/\s+/).filter(Boolean);
  for (const box of boxes) {
    box.classList.toggle("searched", wanted.length > 0);
    for (const bar of findAll("button", box)) bar.classList.toggle("hit", wanted.every((word) => bar.title.toLowerCase().includes(word)));
  }
}

/** Draw a tree's bars in a box, with one of them at its full width. */
function drawBars(box: HTMLElement, tree: Tree, data: Data, focus: number, compared: Compared | null = null): void {
  const width = box.clientWidth || 1;
  const drawn = layOut(tree, focus, tree.start, NARROWEST / width);
  const had = box.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.node : undefined;
  const chain = new Set(chainOf(tree, focus));
  box.style.height = `${ROW * (1 + Math.max(...drawn.map(({ row }) => row)))}px`;
  box.replaceChildren(...drawn.map((bar) => {
    const made = makeBar(bar, tree, data, width, compared ? [describeChange(compared, bar.node)] : []);
    if (compared) made.classList.add(...edgeOf(compared, bar.node));
    if (chain.has(bar.node)) made.setAttribute("aria-expanded", "true");
    return made;
  }));
  const again = box.querySelector<HTMLElement>(`[data-node="${had ?? focus}"]`) ?? box.querySelector("button");
  if (again) again.tabIndex = 0;
  if (had !== undefined) again?.focus({ preventScroll: true });
}

function makeBar({ node, row, left, width }: Bar, tree: Tree, data: Data, pixels: number, more: string[]): HTMLElement {
  const kind = KINDS[tree.kind[node]];
  const [active, painted] = [tree.active[node], data.classes[tree.texts[tree.name[classAround(tree, node)]]]];
  const bar = make("button", {
    type: "button", className: `bar-${kind}`, tabIndex: -1, title: [...describe(tree, node, data.unit), ...more].join("\n"),
    textContent: width * pixels >= LEAST_LABEL ? tree.texts[tree.name[node]] : "",
  });
  bar.classList.toggle("unnamed", !bar.textContent);
  bar.setAttribute("aria-label", bar.title);
  Object.assign(bar.dataset, { node: String(node), row: String(row), link: tree.texts[tree.link[node]] });
  Object.assign(bar.style, { left: `${100 * left}%`, width: `${100 * width}%`, top: `${ROW * row}px` });
  if (kind === "range" || kind === "module") bar.style.setProperty("--lost", active === null ? "0%" : `${100 - active}%`);
  else if (kind !== "idle" && painted) Object.assign(bar.style, { background: painted.color, color: painted.text });
  if (kind === "idle" && tree.texts[tree.name[node]] === BETWEEN) bar.dataset.between = "true";
  return bar;
}

/** The class that a bar is, or that a kernel is in. */
function classAround(tree: Tree, node: number): number {
  return KINDS[tree.kind[node]] === "kernel" && tree.parent[node] >= 0 ? tree.parent[node] : node;
}

/** What a bar is, in full. */
function describe(tree: Tree, node: number, unit: string): string[] {
  const active = tree.active[node];
  const share = formatPercent(100 * tree.time[node] / tree.time[0]);
  const count = tree.launches[node];
  return [
    tree.texts[tree.name[node]],
    `${formatSeconds(tree.time[node] * 1e-9)}, ${share} ${unit}`,
    ...(KINDS[tree.kind[node]] === "idle" ? [] : [`Tensor Active ${active === null ? "–" : formatPercent(active)}`]),
    ...(count ? [`${count} launch${count === 1 ? "" : "es"}`] : []),
  ];
}

/** Arrow keys move along a row, and up and down between rows. */
function moveFocus(box: HTMLElement, event: KeyboardEvent): void {
  const at = document.activeElement;
  if (!(at instanceof HTMLElement) || !box.contains(at)) return;
  const place = (bar: HTMLElement) => ({ row: Number(bar.dataset.row), left: parseFloat(bar.style.left) });
  const { row, left } = place(at);
  const barsOf = (wanted: number) => findAll("button", box).filter((bar) => place(bar).row === wanted);
  const near = (wanted: number) => barsOf(wanted).sort((a, b) => Math.abs(place(a).left - left) - Math.abs(place(b).left - left))[0];
  const inRow = barsOf(row).sort((a, b) => place(a).left - place(b).left);
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const next = step ? inRow[inRow.indexOf(at) + step]
    : event.key === "ArrowUp" ? near(row - 1) : event.key === "ArrowDown" ? near(row + 1) : undefined;
  if (!next) return;
  event.preventDefault();
  at.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
