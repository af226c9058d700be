/** What the bars of two sides differ by: the edges of the bars, a list of differences, and the row of a block in the table. */
import { element, find, findAll } from "./dom";
import type { Grouping } from "./explorer/model";
import { explorers } from "./explorer/tools";
import { formatSeconds } from "./format";
import { type Bars, chainOf, type Change, KINDS, largestDifferences, type Side } from "./icicle_tree";

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
