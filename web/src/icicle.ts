/** Icicles: time in parts of parts, as rows of bars that are buttons. A click zooms and selects. */
import { isDark, onColors, type Painted, type Theme } from "./colors";
import { element as make, find, findAll } from "./dom";
import { formatPercent, formatSeconds } from "./format";
import { chainOf, KINDS, layOut, turnAround, type Bar, type Order, type Tree } from "./icicle_tree";
import { onSelection, select } from "./selection";
import { nameOfSame, parseSelection, toFragment } from "./selection_fragment";

/** How bars are drawn. */
export interface Look {
  unit: string;
  /** The scale of Tensor Active, lowest first; the last is for unknown. */
  colors: Record<Theme, Painted[]>;
  /** What else is to be said of a bar. */
  more?: (node: number) => string[];
}

interface Data extends Look {
  trees: Tree[];
}

const ROW = 26; // pixels
const NARROWEST = 3; // pixels of a bar that is drawn
const LEAST_LABEL = 28; // pixels of a bar that has a name

/** Draw all icicles of a page. */
export function startIcicles(): void {
  findAll("[data-icicle]").forEach(startIcicle);
}

function startIcicle(element: HTMLElement): void {
  const data = JSON.parse(document.getElementById(element.dataset.icicle!)!.textContent) as Data;
  const [bars, places] = [find(".bars", element), find(".places", element)];
  const title = find("h4", places);
  const below = find(".bars", places);
  const [treeOf, orderOf] = ["[data-tree]", "[data-order]"].map((name) => element.querySelector<HTMLSelectElement>(name));
  let focus = 0;
  let kernel = "";
  const tree = () => data.trees[Number(treeOf?.value ?? 0)];
  const order = () => (orderOf?.value ?? "start") as Order;

  function show(): void {
    drawBars(bars, tree(), data, focus, order());
    const turned = kernel ? turnAround(tree(), kernel, normal) : null;
    places.hidden = !turned;
    if (!turned) return;
    title.textContent = `Where ${turned.texts[turned.name[0]]} is launched from`;
    drawBars(below, turned, data, 0, "time");
  }
  function choose(chosen: Tree, node: number): void {
    if (chosen === tree()) focus = node;
    const link = chosen.texts[chosen.link[node]];
    if (KINDS[chosen.kind[node]] === "kernel") kernel = normal(link);
    show();
    const selection = parseSelection(link);
    if (selection) select(selection, { from: "figure" });
  }
  bars.addEventListener("click", ({ target }) => { const node = nodeOf(target); if (node >= 0) choose(tree(), node); });
  below.addEventListener("click", ({ target }) => {
    const selection = target instanceof HTMLElement ? parseSelection(target.dataset.link ?? "") : null;
    if (selection) select(selection, { from: "figure" });
  });
  for (const each of [bars, below]) each.addEventListener("keydown", (event) => moveFocus(each, event));
  treeOf?.addEventListener("change", () => { focus = 0; show(); });
  orderOf?.addEventListener("change", show);
  onSelection(({ selection }) => {
    const same = selection?.kind === "kernel" ? nameOfSame(selection) : "";
    if (same && !kernel) return; // what is below would move away from under whoever chose it there
    kernel = same;
    show();
  });
  new ResizeObserver(show).observe(bars);
  onColors(show);
  find(".undrawn", element).remove();
}

/** Links of Python and of this script escape other letters. */
function normal(link: string): string {
  const selection = parseSelection(link);
  return selection ? toFragment({ selection }) : link;
}

export const nodeOf = (target: EventTarget | null) => Number(target instanceof HTMLElement ? target.dataset.node ?? -1 : -1);

/** Draw a tree's bars in a box, with one of them at its full width. */
export function drawBars(box: HTMLElement, tree: Tree, data: Look, focus: number, order: Order): void {
  const width = box.clientWidth || 1;
  const drawn = layOut(tree, focus, order, NARROWEST / width);
  const had = box.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.node : undefined;
  const chain = new Set(chainOf(tree, focus));
  box.style.height = `${ROW * (1 + Math.max(...drawn.map(({ row }) => row)))}px`;
  box.replaceChildren(...drawn.map((bar) => makeBar(bar, tree, data, width, chain)));
  const again = box.querySelector<HTMLElement>(`[data-node="${had ?? focus}"]`) ?? box.querySelector("button");
  if (again) again.tabIndex = 0;
  if (had !== undefined) again?.focus({ preventScroll: true });
}

function makeBar({ node, row, left, width }: Bar, tree: Tree, data: Look, pixels: number, chain: Set<number>): HTMLElement {
  const kind = KINDS[tree.kind[node]];
  const name = tree.texts[tree.name[node]];
  const active = tree.active[node];
  const colors = data.colors[isDark() ? "dark" : "light"];
  const last = colors.length - 1;
  const painted = colors[active === null ? last : Math.min(Math.floor(active / 100 * last), last - 1)];
  const bar = make("button", {
    type: "button", className: `bar-${kind}`, tabIndex: -1, title: [...describe(tree, node, data.unit), ...data.more?.(node) ?? []].join("\n"),
    textContent: width * pixels >= LEAST_LABEL ? name : "",
  });
  bar.classList.toggle("unnamed", !bar.textContent);
  bar.setAttribute("aria-label", bar.title);
  if (chain.has(node)) bar.setAttribute("aria-expanded", "true");
  Object.assign(bar.dataset, { node: String(node), row: String(row), link: tree.texts[tree.link[node]] });
  Object.assign(bar.style, { left: `${100 * left}%`, width: `${100 * width}%`, top: `${ROW * row}px` });
  if (kind !== "idle") Object.assign(bar.style, { background: painted.color, color: painted.text });
  return bar;
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
export function moveFocus(box: HTMLElement, event: KeyboardEvent): void {
  const at = document.activeElement;
  if (!(at instanceof HTMLElement) || !box.contains(at)) return;
  const all = findAll("button", box);
  const place = (bar: HTMLElement) => ({ row: Number(bar.dataset.row), left: parseFloat(bar.style.left) });
  const { row, left } = place(at);
  const near = (wanted: number) => all.filter((bar) => place(bar).row === wanted)
    .sort((a, b) => Math.abs(place(a).left - left) - Math.abs(place(b).left - left))[0];
  const inRow = all.filter((bar) => place(bar).row === row).sort((a, b) => place(a).left - place(b).left);
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const next = step ? inRow[inRow.indexOf(at) + step]
    : event.key === "ArrowUp" ? near(row - 1) : event.key === "ArrowDown" ? near(row + 1) : undefined;
  if (!next) return;
  event.preventDefault();
  at.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
