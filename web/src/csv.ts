/** What a page saves as CSV: figures and small tables; large tables are explorers. */
import { download, find, findAll } from "./dom";
import type { Figure, Value } from "./plotly";

export type Cells = readonly (Value | undefined)[];

/** One line of CSV. A name that a spreadsheet would take for a formula is marked as text. */
export function csvLine(cells: Cells): string {
  return cells.map((cell) => {
    const text = String(cell ?? "");
    const isNumber = text !== "" && Number.isFinite(Number(text));
    const safe = !isNumber && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }).join(",");
}

/** Save rows as a file, named after the page and what they are. */
export function saveCsv(name: string, rows: readonly Cells[]): void {
  const page = find("h1").textContent.replaceAll(/[^\w.-]+/g, "_").slice(0, 60);
  const url = URL.createObjectURL(new Blob([rows.map(csvLine).join("\r\n")], { type: "text/csv" }));
  download(url, `${page}-${name}.csv`);
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** Start what saves them, and the rows of the timeline's curves. */
export function startSaving(drawn: () => Cells[]): void {
  for (const button of findAll<HTMLButtonElement>("[data-csv]")) {
    const id = button.dataset.csv!;
    const target = document.getElementById(id)!;
    const rows = () => {
      if (target instanceof HTMLTableElement) return tableRows(target);
      if (id === "timeline") return drawn();
      const { layout: { meta: { csv } } } = JSON.parse(document.getElementById(target.dataset.figure!)!.textContent) as Figure;
      return [csv.columns, ...csv.rows];
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
