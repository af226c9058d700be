/** Rows of tables and what they stand for in the timeline. */
import { findAll, keepInPlace } from "./dom";
import { formatSeconds } from "./format";
import { countWithin, preferred, type Intervals } from "./intervals";
import { onSelection, select, type Selection } from "./selection";
import { nameOfSame } from "./selection_fragment";
import { rowsOf } from "./table";
import type { GpuIntervals } from "./timeline/gpus";
import type { Timeline, WindowChange } from "./timeline/timeline";

/** Milliseconds that a window must stay before the tables follow it. */
const PAUSE = 150;

/** A click on a row selects what it stands for; what lies in the timeline's window is marked in the tables. */
export function linkTables(timeline: Timeline | null): void {
  findAll("[data-whole]").forEach((button) => {
    button.addEventListener("click", () => document.querySelector<HTMLElement>("[data-action=whole]")?.click());
  });
  if (!timeline) return;
  const itemsOf = makeItems(timeline);
  const linked = findAll<HTMLTableElement>("table[data-items]");
  for (const table of linked) {
    table.tBodies[0].addEventListener("click", ({ target }) => {
      if (!(target instanceof Element) || target.closest("button.fold") || !getSelection()?.isCollapsed) return;
      const row = target.closest<HTMLElement>("tr[data-item]"); // its name is a button, for the keyboard
      if (!row) return;
      const name = row.querySelector(".name");
      keepInPlace(name, () => select(selectionOf(timeline, table, row), { from: "table" }));
      chosen = name;
      name?.scrollIntoView({ block: "nearest", inline: "nearest" }); // it may lie below the panel
    });
  }
  let chosen: Element | null = null; // the row that was clicked, while it is selected
  onSelection(({ selection, from }) => { if (from !== "table" || !selection) chosen = null; });
  onSelection(({ selection }) => linked.forEach((table) => markSelected(timeline, table, selection)));
  let waiting = 0;
  document.addEventListener("tcprof:window", ({ detail }) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => keepInPlace(chosen, () => linked.forEach((table) => showWithin(table, itemsOf(table), detail))), PAUSE);
  });
}

/** What a row stands for. */
function selectionOf(timeline: Timeline, { dataset: { gpu, items } }: HTMLElement, row: HTMLElement): Selection | null {
  if (row.dataset.alike) return { kind: "modules", gpu: Number(gpu), ids: row.dataset.alike.split(" ").map(Number) };
  const kind = items === "kernels" ? "kernel" : items === "modules" ? "module" : "range";
  const name = timeline.subjects?.nameOf(kind, Number(gpu), Number(row.dataset.item));
  return name === undefined ? null : { kind, gpu: Number(gpu), name };
}

/** Mark the row of what is selected, whichever instance of it; of several things each row. */
function markSelected(timeline: Timeline, table: HTMLTableElement, selection: Selection | null): void {
  const parts = selection && timeline.subjects?.find(selection)?.parts?.map((part) => part.selection);
  const wanted = new Set([...(parts ?? []), ...(selection ? [selection] : [])].map(nameOfSame));
  for (const row of rowsOf(table)) {
    const mine = wanted.size && row.dataset.item ? selectionOf(timeline, table, row) : null;
    if (mine && wanted.has(nameOfSame(mine))) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
}

/** What the timeline has of a table's rows. A range is where its work on the GPU is, if it has any. */
function makeItems(timeline: Timeline): (table: HTMLTableElement) => Intervals | undefined {
  const known = new Map<GpuIntervals, Intervals>();
  return ({ dataset: { gpu: wanted, items } }) => {
    const gpu = timeline.data?.gpus.find((each) => each.gpu === Number(wanted));
    if (items === "modules") return undefined; // a module has no time of its own
    if (!gpu || items === "kernels") return gpu?.kernels;
    if (!known.has(gpu)) known.set(gpu, preferred(gpu.windows, gpu.ranges));
    return known.get(gpu);
  };
}

/** Mark the rows of what lies in the timeline's window, with how much of it. */
function showWithin(table: HTMLTableElement, items: Intervals | undefined, { start, end, whole }: WindowChange): void {
  if (!items) return;
  const found = whole ? null : countWithin(items, start, end);
  for (const row of rowsOf(table)) {
    const note = row.querySelector(".within");
    const entry = found?.get(Number(row.dataset.item));
    row.classList.toggle("outside", Boolean(found && row.dataset.item && !entry));
    if (note) note.textContent = entry ? `${entry.count} × here, ${formatSeconds(entry.seconds)}` : "";
  }
}
