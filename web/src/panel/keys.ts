/** The keys that hold everywhere on a page, and the list of all of them, which stands in the page. */
import { find, onPageKey } from "../dom";
import { currentSelection, select } from "../selection";

export function startKeys(): void {
  const dialog = find<HTMLDialogElement>("dialog.keys");
  find("[data-keys]").addEventListener("click", () => dialog.showModal());
  onPageKey((event) => {
    const selection = currentSelection();
    const search = document.querySelector<HTMLElement>("#find, .explorer input[type=search]");
    if (event.key === "/" && search) search.focus();
    else if (event.key === "?") dialog.showModal();
    else if (event.key === "f" && selection) select(selection, { from: "element" }); // which zooms, and goes there
    else return;
    event.preventDefault();
  });
}
