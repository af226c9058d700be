/** Which columns of a table are shown: those that its view declares first, and what the reader chooses. */
import { element, find, findAll } from "./dom";

/** Hide the columns that are for later, and offer a list of all columns, if there are any. */
export function startColumns(table: HTMLTableElement): void {
  const headings = Array.from(table.tHead!.rows[0].cells);
  const tools = document.querySelector(`[data-csv="${table.id}"]`)?.parentElement;
  if (!tools || !headings.some((heading) => heading.classList.contains("further"))) return;
  const [style, summary, list] = [element("style"), element("summary"), element("div")];
  const chooser = element("details", { className: "columns" }, style, summary, list); // the style goes with it when the page's content is replaced
  const boxes = headings.slice(1).map((heading) => addBox(list, heading));
  function show(): void {
    const hidden = boxes.flatMap((box, place) => (box.checked ? [] : [`:nth-child(${place + 2})`]));
    style.textContent = hidden.length ? `#${table.id} tr > :is(${hidden.join()}) { display: none; }` : "";
    summary.textContent = `Columns (${boxes.length - hidden.length} of ${boxes.length})`;
  }
  list.addEventListener("change", show);
  closeFromOutside(chooser);
  show();
  tools.insertBefore(chooser, tools.querySelector("button"));
}

/** Close a list of columns by Escape, and by a click beside it. */
export function closeFromOutside(chooser: HTMLDetailsElement): void {
  chooser.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !chooser.open) return;
    chooser.open = false;
    find("summary", chooser).focus();
    event.stopPropagation();
  });
  document.addEventListener("click", ({ target }) => {
    if (target instanceof Node && !chooser.contains(target)) chooser.open = false;
  });
}

/** A box for a column, which says on hover what its heading says. */
function addBox(list: HTMLElement, heading: HTMLTableCellElement): HTMLInputElement {
  const box = element("input", { type: "checkbox", checked: !heading.classList.contains("further") });
  const [button] = findAll("button", heading);
  list.append(element("label", { title: button?.title ?? "" }, box, ` ${heading.textContent.trim()}`));
  return box;
}
