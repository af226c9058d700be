/** The keys that hold everywhere on a page, and the list of all of them, which stands in the page. */
import { find, onPageKey } from "../dom";
import { currentSelection, select } from "../selection";

export function startKeys(): void {
  const dialog = find<HTMLDialogElement>("dialog.keys");
  find("[data-keys]").addEventListener("click", () => dialog.showModal());
  onPageKey((event) => {
    const selection = currentSelection();
    if (event.key === "/") find("#find").focus();
    else if (event.key === "?") dialog.showModal();
    else if (event.key === "f" && selection) select(selection, { from: "element" }); // which zooms, and goes there
    else return;
    event.preventDefault();
  });
}
