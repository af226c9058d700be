/** The keys of a page: those that hold everywhere, and a list of all of them. */
import { find } from "../dom";
import { currentSelection, select } from "../selection";
import { element } from "./panel";

const KEYS: [keys: string, meaning: string][] = [
  ["/", "search for a range, a module or a kernel"],
  ["f", "show what is selected in the timeline"],
  ["n, p", "the next instance of it, and the one before"],
  ["l, a", "the longest instance, and the least active one"],
  ["Esc", "select nothing"],
  ["↑ ↓ Home End", "in the table: move between rows"],
  ["← →", "in the table: close and open a row; in the timeline: move"],
  ["Enter", "in the table: select the row"],
  ["+ − 0", "in the timeline: zoom in and out, and show everything"],
  ["?", "this list"],
];

export function startKeys(): void {
  const dialog = element("dialog", { className: "keys" },
    element("h2", {}, "Keys"),
    element("dl", {}, ...KEYS.map(([keys, meaning]) => element("div", {}, element("dt", {}, element("kbd", {}, keys)), element("dd", {}, meaning)))),
    element("form", { method: "dialog" }, element("button", { type: "submit" }, "Close")));
  dialog.setAttribute("aria-label", "Keys");
  find("main", HTMLElement).append(dialog);
  const open = element("button", { type: "button", title: "Keys (?)" }, "Keys");
  open.addEventListener("click", () => dialog.showModal());
  find(".strip-row", HTMLElement).append(open);
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof Element && event.target.closest("input, textarea, select, dialog");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const selection = currentSelection();
    if (event.key === "/") find("#find", HTMLInputElement).focus();
    else if (event.key === "?") dialog.showModal();
    else if (event.key === "f" && selection) select(selection, { from: "element" }); // which zooms, and goes there
    else return;
    event.preventDefault();
  });
}
