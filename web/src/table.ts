/** What a table of paths or kernels is made of. */

export function rowsOf(table: HTMLTableElement): HTMLTableRowElement[] {
  return Array.from(table.tBodies[0].rows);
}

/** The path or the name that a row is about; empty where it is marked as neither. */
export function nameOf(row: HTMLTableRowElement): string {
  return [".ancestors", ".name"]
    .map((part) => row.cells[0].querySelector(part)?.textContent.trim() ?? "").join(" ").trim();
}
