/** The one state of a page: what is selected, and the timeline's window. It stands in the address, for links and Back. */
import { readAddress as fragmentOfAddress, writeAddress as writeFragment } from "./address";
import { fromFragment, isSame, parseSelection, toFragment, type PageState, type Selection, type View } from "./selection_fragment";

export type { Selection, View } from "./selection_fragment";

/** Whether the reader chose, and where, or the address did: when the page is opened, and by Back and Forward. */
export type Origin = "address" | "element" | "figure" | "keyboard" | "panel" | "search" | "table" | "timeline";

export interface Change extends PageState {
  from: Origin;
}

const PAUSE = 200; // milliseconds that the window must stay before the address follows it
const listeners: ((change: Change) => void)[] = [];
let state: PageState = { selection: null, view: null };
let isKnown: (selection: Selection) => boolean = () => true;
let waiting = 0;
let isTelling = false;
let isZoom = false; // whether the window that is to be kept was chosen by hand

/** Be told of each selection, of the same one again, too; and of none, as null. */
export function onSelection(listener: (change: Change) => void): void {
  listeners.push(listener);
}

export function currentSelection(): Selection | null {
  return state.selection;
}

/** Select something, or nothing. Each new selection is a step that Back undoes. What the page does not know is ignored. */
export function select(selection: Selection | null, { from }: { from: Origin }): void {
  if (selection && !isKnown(selection)) return;
  writeWindow(); // so that Back finds the window as it was left
  const isNew = !isSame(selection, state.selection);
  state = { selection, view: state.view };
  if (isNew) writeAddress("pushState");
  tell(from);
}

/** Keep the timeline's window in the address, unless it is that which the page opens on: a step that Back undoes where it
 * was chosen by itself, and part of the selection that it follows. */
export function keepView(view: View, isHome: boolean): void {
  state = { selection: state.selection, view: isHome && !state.selection ? null : view };
  isZoom ||= !isTelling;
  clearTimeout(waiting);
  waiting = setTimeout(writeWindow, PAUSE);
}

function writeWindow(): void {
  writeAddress(isZoom ? "pushState" : "replaceState");
}

/** Select what the address asks for, now and after Back; and by a click on any element with `data-select`.
 *
 * @param known - Whether the page has it.
 */
export function startSelection(known: (selection: Selection) => boolean): void {
  isKnown = known;
  addEventListener("popstate", readAddress);
  document.addEventListener("click", (event) => {
    const element = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-select]") : null;
    const selection = element && parseSelection(element.dataset.select ?? "");
    if (!selection) return;
    event.preventDefault();
    select(selection, { from: element.closest(".panel") ? "panel" : "element" });
  });
  if (fragmentOfAddress()) readAddress();
}

/** A link to a part of the page changes nothing of what is selected. */
function readAddress(): void {
  const fragment = fragmentOfAddress();
  if (fragment === null) return;
  clearTimeout(waiting);
  isZoom = false;
  const { selection, view } = fromFragment(fragment);
  state = { selection: selection && isKnown(selection) ? selection : null, view };
  tell("address");
}

function tell(from: Origin): void {
  const change = { ...state, from };
  isTelling = true;
  for (const listener of listeners) listener(change);
  isTelling = false;
}

function writeAddress(how: "pushState" | "replaceState"): void {
  clearTimeout(waiting);
  isZoom = false;
  writeFragment(toFragment(state), how);
}
