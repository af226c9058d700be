/** Two icicles on one scale of time, and what their blocks differ by; see tcprof/views/comparison/icicle.py. */
import { onColors } from "../colors";
import { element, find, findAll } from "../dom";
import { formatSeconds } from "../format";
import { drawBars, moveFocus, nodeOf, type Look } from "../icicle";
import { chainOf, KINDS, type Tree } from "../icicle_tree";
import type { Grouping } from "../explorer/data";
import { explorers } from "../explorer/tools";
import { largestDifferences, rankBlocks, type Change, type Order } from "./blocks";

type Figures = Pick<Tree, "time" | "launches" | "active" | "name">;

interface Data extends Look, Pick<Tree, "kind" | "parent" | "start" | "link" | "texts"> {
  sides: [Figures, Figures];
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

export function startComparedIcicles(): void {
  findAll("[data-compared]").forEach(startOne);
}

function startOne(element: HTMLElement): void {
  const data = JSON.parse(document.getElementById(element.dataset.compared!)!.textContent) as Data;
  const [boxes, lengths] = [findAll(".bars", element), findAll("[data-length]", element)];
  const changes = find(".changes", element);
  const order = find<HTMLSelectElement>("[data-order]", element);
  const times = data.sides.map(({ time }) => time);
  const look = { ...data, more: (node: number) => [describeChange(data, node)] };
  let focus = 0;

  function show(): void {
    const start = rankBlocks(data.start, times, order.value as Order);
    const longest = Math.max(...times.map((time) => time[focus]));
    boxes.forEach((box, side) => {
      const time = times[side][focus];
      lengths[side].textContent = `${time ? formatSeconds(time * 1e-9) : `– without ${nameOn(data, 1 - side, focus)}`}${focus ? "" : `, ${data.means[side]}`}`;
      box.hidden = !time;
      box.style.width = `${100 * time / longest}%`;
      if (time) drawBars(box, { ...data, ...data.sides[side], start }, look, focus, "start");
    });
    for (const bar of findAll(".bars button", element)) bar.classList.add(...classesOf(data, Number(bar.dataset.node)));
    showChanges(changes, data, focus);
  }
  element.addEventListener("click", ({ target }) => {
    const node = nodeOf(target instanceof Element ? target.closest("[data-node]") : null);
    if (node < 0) return;
    focus = node;
    show();
    selectRow(element, data, node);
  });
  for (const name of ["pointerover", "focusin", "pointerleave"]) {
    element.addEventListener(name, ({ target }) => markTwins(element, target instanceof Element ? target.closest("[data-node]") : null));
  }
  boxes.forEach((box) => box.addEventListener("keydown", (event) => moveFocus(box, event)));
  order.addEventListener("change", show);
  new ResizeObserver(show).observe(element);
  onColors(show);
  find(".undrawn", element).remove();
}

const nameOn = ({ sides, texts }: Data, side: number, node: number) => texts[sides[side].name[node]];

const changeOf = ({ sides: [base, added] }: Data, node: number) => added.time[node] - base.time[node];

/** A difference with its sign, and with the mark of one that is inconclusive. */
function formatChange(ns: number, mark = ""): string {
  return `${ns > 0 ? "+" : ""}${formatSeconds(ns * 1e-9)}${mark && ` ${mark}`}`;
}

function describeChange(data: Data, node: number): string {
  const [base, added] = data.sides.map(({ time }) => time[node]);
  if (!base || !added) return `only in ${data.names[base ? 0 : 1]}`;
  return `${formatSeconds(base * 1e-9)} → ${formatSeconds(added * 1e-9)}: ${formatChange(added - base, data.mark[node])}`;
}

/** What a block's edge says: shorter, longer, or on one side alone. */
function classesOf(data: Data, node: number): string[] {
  const change = changeOf(data, node);
  const isAlone = data.sides.some(({ time }) => !time[node]);
  const isSmall = Math.abs(change) < LEAST * Math.max(...data.sides.map(({ time }) => time[0]));
  return [isSmall ? "alike" : change < 0 ? "shorter" : "longer", ...(isAlone ? ["alone"] : [])];
}

/** The block that is zoomed in, and what lies in it by the size of its difference. */
function showChanges(list: HTMLElement, data: Data, focus: number): void {
  const inside = data.parent.flatMap((parent, node) => (parent === focus ? [{ node, change: changeOf(data, node) }] : []));
  const { shown, rest, count } = largestDifferences(inside, MOST);
  const whole = { node: focus, change: changeOf(data, focus) };
  const largest = Math.max(...[whole, ...shown].map(({ change }) => Math.abs(change)), 1);
  const rows = [whole, ...shown].map((each) => {
    const row = makeRow(data, each, largest);
    if (each === whole) row.className = "whole";
    return row;
  });
  if (count) rows.push(element("li", { className: "rest" }, `${count} smaller differences: ${formatChange(rest)}`));
  list.replaceChildren(...rows);
}

function makeRow(data: Data, { node, change }: Change, largest: number): HTMLElement {
  const size = 50 * Math.abs(change) / largest;
  const fill = element("i");
  Object.assign(fill.style, { left: `${change < 0 ? 50 - size : 50}%`, width: `${size}%` });
  const [base, added] = data.sides.map(({ time }) => time[node]);
  const times = base && added ? `${formatSeconds(base * 1e-9)} → ${formatSeconds(added * 1e-9)}` : describeChange(data, node);
  const button = element("button", { type: "button" },
    element("bdi", {}, data.texts[data.sides[data.sides[1].time[node] ? 1 : 0].name[node]]),
    element("span", { className: `scale ${classesOf(data, node).join(" ")}` }, fill),
    element("b", {}, formatChange(change, data.mark[node])),
    element("small", {}, times));
  button.dataset.node = String(node);
  return element("li", {}, button);
}

/** Outline a block wherever it is drawn. */
function markTwins(element: HTMLElement, block: Element | null): void {
  const node = block instanceof HTMLElement ? block.dataset.node : undefined;
  for (const each of findAll("[data-node]", element)) each.classList.toggle("twin", each.dataset.node === node);
}

/** Point at the row of a block, or of the innermost one around it that has one, and link to it; the page stays where it is. */
function selectRow(element: HTMLElement, data: Data, node: number): void {
  const paths = chainOf({ ...data, ...data.sides[0] }, node).map((each) => data.texts[data.link[each]]).filter(Boolean).reverse();
  const [said, link] = [find("[role=status]", element), find<HTMLButtonElement>(".chosen-block button", element)];
  const kind = KINDS[data.kind[node]];
  said.textContent = `${data.texts[data.sides[data.sides[1].time[node] ? 1 : 0].name[node]]}: ${describeChange(data, node)}.${kind === "class" || kind === "idle" ? " Its row is that of the block around it." : ""}`;
  link.hidden = !explorers.get(data.table)?.point(data.by, paths);
  link.onclick = () => document.getElementById(data.table)!.scrollIntoView({ block: "center" });
}
