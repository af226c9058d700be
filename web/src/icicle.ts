/** Icicles: time in parts of parts, as rows of bars that are buttons; of a recording, or of two sides on one scale. */
import type { Painted } from "./colors";
import { besideOf, element, find, findAll } from "./dom";
import type { Grouping } from "./explorer/model";
import { explorers } from "./explorer/tools";
import { formatPercent, formatSeconds } from "./format";
import { type Bar, type Bars, chainOf, type Change, KINDS, largestDifferences, layOut, type Order, rankBars, type Side, type Tree } from "./icicle_tree";
import { parseSelection, select } from "./selection";

interface Data {
  unit: string;
  /** The colours of classes, by title. */
  classes: Record<string, Painted>;
  trees: (Bars & { sides: Side[] })[];
}

const ROW = 26; // pixels
const NARROWEST = 3; // pixels of a bar that is drawn
const LEAST_LABEL = 28; // pixels of a bar that has a name

/** Draw all icicles of a page. */
export function startIcicles(): void {
  findAll("[data-icicle]").forEach(startIcicle);
}

function startIcicle(icicle: HTMLElement): void {
  const data = JSON.parse(document.getElementById(icicle.dataset.icicle!)!.textContent) as Data;
  const boxes = findAll(":scope > .bars", icicle);
  const [treeOf, orderOf] = ["[data-tree]", "[data-order]"].map((name) => icicle.querySelector<HTMLSelectElement>(name));
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
    if (compared) showChanges(icicle, compared, focus);
    markHits(boxes, words);
  }
  icicle.addEventListener("click", ({ target }) => {
    const bar = target instanceof Element ? target.closest<HTMLElement>("[data-node]") : null;
    if (!bar || bar.dataset.select) return; // idle time selects its longest gap
    const selection = parseSelection(bar.dataset.link ?? "");
    focus = Number(bar.dataset.node);
    show();
    if (compared) selectRow(icicle, compared, focus);
    else if (selection) select(selection, { from: "figure" });
  });
  if (compared) markTwins(icicle);
  document.addEventListener("tcprof:hits", ({ detail }) => { words = detail; markHits(boxes, words); });
  for (const box of findAll(".bars", icicle)) box.addEventListener("keydown", (event) => moveFocus(box, event));
  treeOf?.addEventListener("change", () => { focus = 0; show(); });
  orderOf?.addEventListener("change", show);
  new ResizeObserver(show).observe(compared ? icicle : boxes[0]);
  find(".undrawn", icicle).remove();
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
  const bar = element("button", {
    type: "button", className: `bar-${kind}`, tabIndex: -1, title: [...describe(tree, node, data.unit), ...more].join("\n"),
    textContent: width * pixels >= LEAST_LABEL ? tree.texts[tree.name[node]] : "",
  });
  bar.classList.toggle("unnamed", !bar.textContent);
  bar.setAttribute("aria-label", bar.title);
  Object.assign(bar.dataset, { node: String(node), row: String(row), [kind === "idle" ? "select" : "link"]: tree.texts[tree.link[node]] });
  Object.assign(bar.style, { left: `${100 * left}%`, width: `${100 * width}%`, top: `${ROW * row}px` });
  if (kind === "range" || kind === "module") bar.style.setProperty("--lost", active === null ? "0%" : `${100 - active}%`);
  else if (kind !== "idle" && painted) Object.assign(bar.style, { background: painted.color, color: painted.text });
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
  if (!(at instanceof HTMLElement) || !box.contains(at) || !event.key.startsWith("Arrow")) return;
  const next = besideOf(findAll("button", box), at, event.key, (bar) => ({ row: Number(bar.dataset.row), left: parseFloat(bar.style.left) }));
  if (!next) return;
  event.preventDefault();
  at.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

/** The bars of both sides, and what a comparison says of them. */
export interface Compared extends Bars {
  sides: [Side, Side];
  /** What stands behind the difference of a block that is inconclusive. */
  mark: string[];
  names: [string, string];
  /** What each side's figures are the mean of. */
  means: [string, string];
  /** The table whose rows the blocks are, and what it is grouped by for them. */
  table: string;
  by: Grouping["by"];
}

const MOST = 8; // blocks whose difference is listed
const LEAST = 0.002; // of a step: what differs by less has no edge

const timesOf = ({ sides: [base, added] }: Compared, node: number): [number, number] => [base.time[node], added.time[node]];

const changeOf = ({ sides: [base, added] }: Compared, node: number): Change => ({ node, change: added.time[node] - base.time[node] });

const nameOn = ({ sides, texts }: Compared, side: number, node: number) => texts[sides[side].name[node]];

/** Its name on the new side, or where that lacks it on the baseline. */
const nameOf = (data: Compared, node: number) => nameOn(data, timesOf(data, node)[1] ? 1 : 0, node);

const format = (ns: number) => formatSeconds(ns * 1e-9);

/** A difference with its sign, and with the mark of one that is inconclusive. */
const formatChange = (ns: number, mark = "") => `${ns > 0 ? "+" : ""}${format(ns)}${mark && ` ${mark}`}`;

export function describeChange(data: Compared, node: number, isBrief = false): string {
  const [base, added] = timesOf(data, node);
  if (!base || !added) return `only in ${data.names[base ? 0 : 1]}`;
  return `${format(base)} → ${format(added)}${isBrief ? "" : `: ${formatChange(added - base, data.mark[node])}`}`;
}

/** The classes of a block's edge: shorter, longer, or on one side alone. */
export function edgeOf(data: Compared, node: number): string[] {
  const { change } = changeOf(data, node);
  const isSmall = Math.abs(change) < LEAST * Math.max(...timesOf(data, 0));
  return [isSmall ? "alike" : change < 0 ? "shorter" : "longer", ...(timesOf(data, node).includes(0) ? ["alone"] : [])];
}

/** How long both sides take, the block that is zoomed in, and what lies in it by the size of its difference. */
export function showChanges(icicle: HTMLElement, data: Compared, focus: number): void {
  findAll("[data-length]", icicle).forEach((length, side) => {
    const time = timesOf(data, focus)[side];
    length.textContent = `${time ? format(time) : `– without ${nameOn(data, 1 - side, focus)}`}${focus ? "" : `, ${data.means[side]}`}`;
  });
  const inside = data.parent.flatMap((parent, node) => (parent === focus ? [changeOf(data, node)] : []));
  const { shown, rest, count } = largestDifferences(inside, MOST);
  const all = [changeOf(data, focus), ...shown];
  const largest = Math.max(...all.map(({ change }) => Math.abs(change)), 1);
  const rows = all.map((each) => makeRow(data, each, largest));
  rows[0].className = "whole";
  if (count) rows.push(element("li", { className: "rest" }, `${count} smaller differences: ${formatChange(rest)}`));
  find(".changes", icicle).replaceChildren(...rows);
}

function makeRow(data: Compared, { node, change }: Change, largest: number): HTMLElement {
  const size = 50 * Math.abs(change) / largest;
  const fill = element("i");
  Object.assign(fill.style, { left: `${change < 0 ? 50 - size : 50}%`, width: `${size}%` });
  const button = element("button", { type: "button" },
    element("bdi", {}, nameOf(data, node)),
    element("span", { className: `scale ${edgeOf(data, node).join(" ")}` }, fill),
    element("b", {}, formatChange(change, data.mark[node])),
    element("small", {}, describeChange(data, node, true)));
  button.dataset.node = String(node);
  return element("li", {}, button);
}

/** Outline the block that is pointed at wherever it is drawn. */
export function markTwins(icicle: HTMLElement): void {
  for (const name of ["pointerover", "focusin", "pointerleave"]) {
    icicle.addEventListener(name, ({ target }) => {
      const node = target instanceof Element ? target.closest<HTMLElement>("[data-node]")?.dataset.node : undefined;
      for (const each of findAll("[data-node]", icicle)) each.classList.toggle("twin", each.dataset.node === node);
    });
  }
}

/** Point at the row of a block, or of the innermost one around it that has one, and link to it; the page stays where it is. */
export function selectRow(icicle: HTMLElement, data: Compared, node: number): void {
  const paths = chainOf(data, node).map((each) => data.texts[data.link[each]]).filter(Boolean).reverse();
  const button = find<HTMLButtonElement>(".chosen-block button", icicle);
  const isPart = ["class", "idle"].includes(KINDS[data.kind[node]]);
  find("[role=status]", icicle).textContent =
    `${nameOf(data, node)}: ${describeChange(data, node)}.${isPart ? " Its row is the enclosing block's." : ""}`;
  button.hidden = !explorers.get(data.table)?.point(data.by, paths);
  button.onclick = () => document.getElementById(data.table)!.scrollIntoView({ block: "center" });
}
