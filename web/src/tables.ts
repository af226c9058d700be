/** Small tables and figures, which are saved alike; large tables are explorers. */
import { figureRows, saveCsv, type Cells } from "./csv";
import { findAll } from "./dom";
import type { Figure } from "./plotly";

/** Start what saves them.
 *
 * @param drawn - The rows of a drawing that is no figure of plotly, by its id; null where it is one.
 */
export function startSaving(drawn: (id: string) => Cells[] | null): void {
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

/** The rows of a table, with the numbers as they are behind the texts. */
function tableRows(table: HTMLTableElement): Cells[] {
  const [first, ...headings] = Array.from(table.tHead!.rows[0].cells);
  const columns = headings.map((heading) => heading.dataset.columns?.split(" ") ?? [heading.textContent.trim()]);
  const lines = Array.from(table.tBodies[0].rows, (row) => {
    const [name, ...cells] = Array.from(row.cells);
    const values = cells.map((cell, place) => cellValues(cell, columns[place].length));
    return [name!.title || name!.textContent.trim(), ...values.flat()];
  });
  return [[first!.textContent.trim(), ...columns.flat()], ...lines];
}

/** The values of a cell, which may stand for several columns; unknown is empty. */
function cellValues(cell: HTMLTableCellElement, count: number): string[] {
  const shown = (cell.querySelector(".value") ?? cell).textContent.trim();
  const values = cell.dataset.values?.split(" ") ?? [cell.dataset.sort || (shown === "–" ? "" : shown)];
  return Array.from({ length: count }, (_, place) => values[place] ?? "");
}
