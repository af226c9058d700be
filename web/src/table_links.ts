/** Rows of tables and what they stand for in the timeline. */
import { find, findAll } from "./dom";
import { formatSeconds } from "./format";
import { countWithin, preferred, typical, type Intervals } from "./intervals";
import { rowsOf } from "./table";
import type { GpuIntervals } from "./timeline/gpus";
import type { Timeline, WindowChange } from "./timeline/timeline";

/** Milliseconds that a window must stay before the tables follow it. */
const PAUSE = 150;

/** A click on a row shows it in the timeline; what lies in the timeline's window is marked in the tables. */
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
      const items = row && itemsOf(table);
      const found = items && typical(items, Number(row.dataset.item));
      if (found) timeline.showWindow(Number(table.dataset.gpu), found.start, found.end);
    });
  }
  let waiting = 0;
  document.addEventListener("tcprof:window", ({ detail }) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      linked.forEach((table) => showWithin(table, itemsOf(table), detail));
      showBars(detail);
    }, PAUSE);
  });
}

/** What the timeline has of a table's rows. A range is where its work on the GPU is, if it has any. */
function makeItems(timeline: Timeline): (table: HTMLTableElement) => Intervals | undefined {
  const known = new Map<GpuIntervals, Intervals>();
  return ({ dataset: { gpu: wanted, items } }) => {
    const gpu = timeline.data?.gpus.find((each) => each.gpu === Number(wanted));
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

/** Say above the tables which window the timeline shows. */
function showBars({ start, end, whole }: WindowChange): void {
  for (const bar of findAll(".window-bar")) {
    bar.hidden = whole;
    find("span", HTMLElement, bar).textContent =
      `The timeline shows ${formatSeconds(end - start)} from ${formatSeconds(start)} on; what has no part in it is dimmed.`;
  }
}
