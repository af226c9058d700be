/** Tables whose rows are all in the page: sorting, filtering, folding, saving. */
import { startColumns } from "./columns";
import { startGroups } from "./comparison/groups";
import { figureRows, saveCsv, type Cells } from "./csv";
import { find, findAll, keepInPlace } from "./dom";
import { makeFoldable } from "./folding";
import type { Figure } from "./plotly";
import { compareRows, type Direction } from "./rows";
import { nameOf, rowsOf } from "./table";
import type { Timeline } from "./timeline/timeline";

const DIRECTIONS: Record<string, Direction> = { none: 0, ascending: 1, descending: -1 };

/** Start all that these tables can do. */
export function startTables(timeline: Timeline | null): void {
  for (const table of findAll<HTMLTableElement>("table.paths")) {
    rowsOf(table).forEach((row, place) => { row.dataset.place = String(place); });
    for (const button of findAll("thead th[aria-sort] button", table)) {
      button.addEventListener("click", () => arrange(table, button.closest("th")!));
    }
    if (isTree(table)) makeFoldable(table);
    startColumns(table);
    startNames(table);
  }
  for (const input of findAll<HTMLInputElement>("[data-filter]")) {
    const table = document.getElementById(input.dataset.filter!) as HTMLTableElement;
    input.addEventListener("input", () => filter(table, input.value.trim().toLowerCase()));
  }
  startGroups();
  startSaving(timeline);
}

/** Kernels stand beside each other; ranges and modules lie in each other. */
const isTree = (table: HTMLTableElement) => /^table-(ranges|modules)-/.test(table.id);

/** A click on a row shows its name whole, if that was cut, until a click on another one. */
function startNames(table: HTMLTableElement): void {
  table.tBodies[0].addEventListener("click", ({ target }) => {
    const head = target instanceof Element ? target.closest("tr")?.cells[0] : undefined;
    if (!head || head.querySelector(".whole-name")) return;
    keepInPlace(head, () => table.querySelector(".whole-name")?.remove());
    if (!head.title || head.title === nameOf(head.closest("tr")!)) return;
    head.append(Object.assign(document.createElement("span"), { className: "whole-name", textContent: head.title }));
  });
}

/** Out of the tree's order a name alone says little, so the path is written out. */
function flatten(table: HTMLTableElement): void {
  const sorted = table.dataset.sorted && table.dataset.sorted !== "none";
  table.classList.toggle("flat", Boolean(sorted || table.dataset.filtered));
}

/** A heading sorts numbers downwards, then upwards, words upwards first, and then back to the tree. */
function arrange(table: HTMLTableElement, heading: HTMLTableCellElement): void {
  const column = heading.cellIndex;
  const isText = column === 0 || heading.classList.contains("word");
  const steps = isText ? ["none", "ascending", "descending"] : ["none", "descending", "ascending"];
  const state = steps[(steps.indexOf(heading.getAttribute("aria-sort")!) + 1) % 3];
  findAll("thead th[aria-sort]", table).forEach((other) => other.setAttribute("aria-sort", "none"));
  heading.setAttribute("aria-sort", state);
  const keyed = rowsOf(table).map((row) => {
    const key = column ? row.cells[column].dataset.sort! : nameOf(row);
    return { row, place: Number(row.dataset.place), key };
  });
  keyed.sort(compareRows(DIRECTIONS[state], isText));
  table.tBodies[0].append(...keyed.map(({ row }) => row));
  table.dataset.sorted = state;
  flatten(table);
}

function filter(table: HTMLTableElement, wanted: string): void {
  const rows = rowsOf(table);
  let shown = 0;
  for (const row of rows) {
    row.hidden = !(nameOf(row) + row.cells[0].title).toLowerCase().includes(wanted);
    shown += row.hidden ? 0 : 1;
  }
  table.dataset.filtered = wanted;
  flatten(table);
  const count = find(`[data-count="${table.id}"]`, HTMLElement);
  count.textContent = wanted ? `${shown} of ${rows.length} rows` : "";
}

function startSaving(timeline: Timeline | null): void {
  for (const button of findAll<HTMLButtonElement>("[data-csv]")) {
    const id = button.dataset.csv!;
    const target = document.getElementById(id)!;
    const rows = () => {
      if (target instanceof HTMLTableElement) return tableRows(target);
      if (timeline && id === "timeline") return figureRows({ data: timeline.curves() });
      return figureRows(target as Partial<Figure>); // plotly leaves data and layout on the element
    };
    button.addEventListener("click", () => saveCsv(id, rows()));
  }
}

/** What a search and the choice of a group leave, with the numbers as they are behind the texts. */
function tableRows(table: HTMLTableElement): Cells[] {
  const [first, ...headings] = Array.from(table.tHead!.rows[0].cells);
  const columns = headings.map((heading) => heading.dataset.columns?.split(" ") ?? [heading.textContent.trim()]);
  const lines = rowsOf(table).filter((row) => !row.hidden && !row.classList.contains("other-group")).map((row) => {
    const [name, ...cells] = Array.from(row.cells);
    const values = cells.map((cell, place) => cellValues(cell, columns[place].length));
    return [name!.title || nameOf(row) || name!.textContent.trim(), ...values.flat()];
  });
  return [[first!.textContent.trim(), ...columns.flat()], ...lines];
}

/** The values of a cell, which may stand for several columns; unknown is empty. */
function cellValues(cell: HTMLTableCellElement, count: number): string[] {
  const shown = (cell.querySelector(".value") ?? cell).textContent.trim();
  const values = cell.dataset.values?.split(" ") ?? [cell.dataset.sort || (shown === "–" ? "" : shown)];
  return Array.from({ length: count }, (_, place) => values[place] ?? "");
}
