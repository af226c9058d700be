/** What a page saves as CSV: figures and small tables; large tables are explorers. */
import { download, find, findAll } from "./dom";
import { ARRAY_TYPES, type Figure, type Value, type Values } from "./plotly";

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

/** A figure as rows: the table that it carries, or else the points of its traces; gaps are left out. */
export function figureRows({ data = [], layout }: Partial<Pick<Figure, "data" | "layout">>): Cells[] {
  const table = layout?.meta?.csv;
  if (table) return [table.columns, ...table.rows];
  const rows: Cells[] = [["series", "x", "y"]];
  for (const trace of data) {
    const [x, y] = [valuesOf(trace.x), valuesOf(trace.y)];
    const labels = trace.orientation === "h" ? trace.hovertext ?? [] : [];
    for (let i = 0; i < Math.max(x.length, y.length); i++) {
      const name = [trace.name ?? "", labels[i] ?? ""].filter(Boolean).map(plainText).join(": ");
      if (![x[i], y[i]].some((value) => value === null || Number.isNaN(value))) rows.push([name, x[i], y[i]]);
    }
  }
  return rows;
}

/** An array of a figure: plain, typed, or as plotly for Python packs it. */
function valuesOf(values: Values | undefined): ArrayLike<Value> {
  if (!values) return [];
  if (!("bdata" in values)) return values;
  const bytes = Uint8Array.from(atob(values.bdata), (letter) => letter.charCodeAt(0));
  return new ARRAY_TYPES[values.dtype](bytes.buffer);
}

const MARKS: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&#36;": "$", "&amp;": "&" };

/** A label of a figure as plain text: its first line, without what is markup. */
function plainText(label: string): string {
  const [line = ""] = label.split("<br>");
  return line.replaceAll(/<[^>]*>/g, "").replaceAll(/&(?:lt|gt|amp|#36);/g, (mark) => MARKS[mark] ?? mark);
}

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
      const figure = target as Partial<Figure>; // plotly leaves data and layout on the element that it has drawn in
      return drawn(id) ?? figureRows(figure.data ? figure : JSON.parse(document.getElementById(target.dataset.figure!)!.textContent) as Figure);
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
