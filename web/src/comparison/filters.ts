/** Searches above tables, which leave the rows with the words. */
import { find, findAll } from "../dom";
import { nameOf, rowsOf } from "../table";
import { flatten } from "../tables";

export function startFilters(): void {
  for (const input of findAll<HTMLInputElement>("[data-filter]")) {
    const table = document.getElementById(input.dataset.filter!) as HTMLTableElement;
    input.addEventListener("input", () => filter(table, input.value.trim().toLowerCase()));
  }
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
  const count = find(`[data-count="${table.id}"]`);
  count.textContent = wanted ? `${shown} of ${rows.length} rows` : "";
}
