/** Tables whose rows are all in the page: sorting and saving; and figures, which are saved alike. */
import { figureRows, saveCsv, type Cells } from "./csv";
import { element, findAll, keepInPlace } from "./dom";
import type { Figure } from "./plotly";
import { compareRows, type Direction } from "./rows";
import { nameOf, rowsOf } from "./table";

const DIRECTIONS: Record<string, Direction> = { none: 0, ascending: 1, descending: -1 };

/** Start what all such tables can do.
 *
 * @param drawn - The rows of a drawing that is no figure of plotly, by its id; null where it is one.
 */
export function startTables(drawn: (id: string) => Cells[] | null = () => null): void {
  for (const table of findAll<HTMLTableElement>("table.paths")) {
    rowsOf(table).forEach((row, place) => { row.dataset.place = String(place); });
    for (const button of findAll("thead th[aria-sort] button", table)) {
      button.addEventListener("click", () => arrange(table, button.closest("th")!));
    }
    startNames(table);
  }
  startSaving(drawn);
}

/** A click on a row shows its name whole, if that was cut, until a click on another one. */
function startNames(table: HTMLTableElement): void {
  table.tBodies[0].addEventListener("click", ({ target }) => {
    const head = target instanceof Element ? target.closest("tr")?.cells[0] : undefined;
    if (!head || head.querySelector(".whole-name")) return;
    keepInPlace(head, () => table.querySelector(".whole-name")?.remove());
    if (!head.title || head.title === nameOf(head.closest("tr")!)) return;
    head.append(element("span", { className: "whole-name" }, head.title));
  });
}

/** Out of the tree's order a name alone says little, so the path is written out. */
export function flatten(table: HTMLTableElement): void {
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

function startSaving(drawn: (id: string) => Cells[] | null): void {
  for (const button of findAll<HTMLButtonElement>("[data-csv]")) {
    const id = button.dataset.csv!;
    const target = document.getElementById(id)!;
    const rows = () => {
      if (target instanceof HTMLTableElement) return tableRows(target);
      return drawn(id) ?? figureRows(target as Partial<Figure>); // plotly leaves data and layout on the element
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
