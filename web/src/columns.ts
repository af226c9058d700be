/** Which columns of a table are shown: those that its view declares first, and what the reader chooses. */
import { findAll } from "./dom";

/** Hide the columns that are for later, and offer a list of all columns, if there are any. */
export function startColumns(table: HTMLTableElement): void {
  const headings = Array.from(table.tHead!.rows[0].cells);
  const tools = document.querySelector(`[data-csv="${table.id}"]`)?.parentElement;
  if (!tools || !headings.some((heading) => heading.classList.contains("further"))) return;
  const chooser = Object.assign(document.createElement("details"), { className: "columns" });
  const style = chooser.appendChild(document.createElement("style")); // with which it goes when the page's content is replaced
  const summary = chooser.appendChild(document.createElement("summary"));
  const list = chooser.appendChild(document.createElement("div"));
  const boxes = headings.slice(1).map((heading) => addBox(list, heading));
  function show(): void {
    const hidden = boxes.flatMap((box, place) => (box.checked ? [] : [`:nth-child(${place + 2})`]));
    style.textContent = hidden.length ? `#${table.id} tr > :is(${hidden.join()}) { display: none; }` : "";
    summary.textContent = `Columns (${boxes.length - hidden.length} of ${boxes.length})`;
  }
  list.addEventListener("change", show);
  chooser.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !chooser.open) return;
    chooser.open = false;
    summary.focus();
    event.stopPropagation();
  });
  document.addEventListener("click", ({ target }) => {
    if (target instanceof Node && !chooser.contains(target)) chooser.open = false;
  });
  show();
  tools.insertBefore(chooser, tools.querySelector("button"));
}

/** A box for a column, which says on hover what its heading says. */
function addBox(list: HTMLElement, heading: HTMLTableCellElement): HTMLInputElement {
  const box = Object.assign(document.createElement("input"), { type: "checkbox" });
  box.checked = !heading.classList.contains("further");
  const [button] = findAll("button", heading);
  const label = Object.assign(document.createElement("label"), { title: button?.title ?? "" });
  label.append(box, ` ${heading.textContent.trim()}`);
  list.append(label);
  return box;
}
