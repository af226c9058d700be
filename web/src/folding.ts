/** Trees of ranges that can be folded. */
import { element, find } from "./dom";
import { foldedRows } from "./rows";
import { nameOf, rowsOf } from "./table";

const LARGE_TREE = 60;

/** A range that holds others can be folded; a large tree shows its first two levels. */
export function makeFoldable(table: HTMLTableElement): void {
  const rows = rowsOf(table);
  const depths = rows.map((row) => Number(row.style.getPropertyValue("--level")));
  const closed = rows.map(() => false);
  function fold(place: number, isClosed: boolean): void {
    closed[place] = isClosed;
    find<HTMLButtonElement>("button.fold", rows[place]).setAttribute("aria-expanded", String(!isClosed));
  }
  function show(): void {
    foldedRows(depths, closed).forEach((folded, place) => rows[place].classList.toggle("folded", folded));
  }
  rows.forEach((row, place) => {
    const depth = depths[place];
    if (depth < 1 || !(depths[place + 1] > depth)) return;
    const button = element("button", { type: "button", className: "fold" });
    button.setAttribute("aria-label", `Ranges within ${nameOf(row)}`);
    button.addEventListener("click", () => { fold(place, !closed[place]); show(); });
    row.cells[0].prepend(button);
    table.classList.add("foldable");
    fold(place, rows.length > LARGE_TREE && depth > 1);
  });
  show();
}
