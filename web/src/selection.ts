/** The one state of a page: what is selected, and the timeline's window. It stands in the fragment of the address, for links
 * and Back: names as they are read, percent-encoded. A fragment without "=" leads to a part of the page. */

/** One thing that is selected. Names are those of tcprof/views/paths.py; instances count from 0, in an address from 1. */
export type Selection =
  | { kind: "window"; gpu: number; start: number; end: number }
  | { kind: "range"; gpu: number; name: string; instance?: number }
  | { kind: "kernel"; gpu: number; name: string; instance?: number }
  | { kind: "module"; gpu: number; name: string }
  | { kind: "step" | "gap"; gpu: number; number: number }
  | { kind: "finding"; name: string }
  /** Several at once, by their ids: kernels within a lasso, modules that are folded into a row. */
  | { kind: Several; gpu: number; ids: readonly number[] }
  /** Parts of a change, by their numbers in the list of parts: of one side against the baseline. */
  | { kind: "parts"; gpu: number; side: number; ids: readonly number[] };

export type Several = "kernels" | "modules";

/** Seconds of the recording that the timeline shows. */
export type View = readonly [start: number, end: number];

/** What a page's address holds; a view of null is all that was recorded. */
export interface PageState {
  selection: Selection | null;
  view: View | null;
}

/** Whether the reader chose, and where, or the address did: when the page is opened, and by Back and Forward. */
export type Origin = "address" | "element" | "figure" | "keyboard" | "panel" | "search" | "table" | "timeline";

export interface Change extends PageState {
  from: Origin;
}

const PAUSE = 200; // milliseconds that the window must stay before the address follows it
const listeners: ((change: Change) => void)[] = [];
let state: PageState = { selection: null, view: null };
let isKnown: (selection: Selection) => boolean = () => true;
let waiting: ReturnType<typeof setTimeout>;
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
  writeAddress(); // so that Back finds the window as it was left
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
  waiting = setTimeout(writeAddress, PAUSE);
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
  if (fragmentOfPage()) readAddress();
}

/** A link to a part of the page changes nothing of what is selected. */
function readAddress(): void {
  const fragment = fragmentOfPage();
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

/** The fragment that holds the page's state, empty for none; null where the address leads to a part of the page. */
function fragmentOfPage(): string | null {
  const fragment = location.hash;
  return fragment && !fragment.includes("=") ? null : fragment.replace(/^#/, "");
}

/** Put the state into the address: by itself as a step that Back undoes where the window was chosen by hand, else in place. */
function writeAddress(how: "pushState" | "replaceState" = isZoom ? "pushState" : "replaceState"): void {
  clearTimeout(waiting);
  isZoom = false;
  const fragment = toFragment(state);
  if (fragment === (fragmentOfPage() ?? "")) return;
  try {
    history[how](history.state, "", fragment ? `#${fragment}` : location.pathname + location.search);
  } catch { /* a page within another one may have no history of its own */ }
}

/** Open the closed parts that a link leads to, or into, now and later. An address that holds a selection keeps it. */
export function openLinkedParts(): void {
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a[href^='#']") : null;
    if (!link) return;
    openAround(link.hash.slice(1));
    if (!fragmentOfPage()) return;
    event.preventDefault();
    document.getElementById(link.hash.slice(1))?.scrollIntoView();
  });
  openAround(location.hash.slice(1));
}

/** Open the closed parts around an element, and itself. */
export function openAround(id: string): void {
  const target = document.getElementById(id);
  for (let part = target?.closest("details"); part; part = part.parentElement?.closest("details")) part.open = true;
}

/** The fragment of a state; without a view, of what is selected alone. */
export function toFragment({ selection, view }: Pick<PageState, "selection"> & Partial<PageState>): string {
  const fields = selection ? fieldsOf(selection) : [];
  if (view) fields.push(["view", pairText(view)]);
  return fields.map(([name, value]) => `${name}=${encode(value)}`).join("&");
}

/** The state that a fragment holds; what it holds of anything else is left out. */
export function fromFragment(fragment: string): PageState {
  const fields = new Map<string, string>();
  for (const field of fragment.replace(/^#/, "").split("&")) {
    const [name, value] = field.split(/=(.*)/s);
    const text = value === undefined ? null : decode(value);
    if (text !== null) fields.set(name, text);
  }
  return { selection: selectionOf(fields), view: pairOf(fields.get("view")) };
}

/** The selection of a fragment, such as a page's attribute holds; null where it is none. */
export function parseSelection(text: string): Selection | null {
  return fromFragment(text).selection;
}

export function isSame(a: Selection | null, b: Selection | null): boolean {
  return toFragment({ selection: a }) === toFragment({ selection: b });
}

/** A text that is the same for all instances of a range, a kernel or another thing, and for nothing else. */
export function nameOfSame(selection: Selection): string {
  const { instance: _, ...any } = { instance: 0, ...selection };
  return toFragment({ selection: any });
}

/** How the main field of each kind of selection is written, and what is read of it; null where it is none. */
interface Field {
  write: (selection: never) => string;
  read: (text: string) => object | null;
}

const NAME: Field = { write: ({ name }: { name: string }) => name, read: (name) => (name ? { name } : null) };
const NUMBER: Field = { write: ({ number }: { number: number }) => String(number), read: (text) => known(wholeNumber(text), (number) => ({ number })) };
const PAIR: Field = { write: ({ start, end }: Selection & { kind: "window" }) => pairText([start, end]), read: (text) => known(pairOf(text), ([start, end]) => ({ start, end })) };
const IDS: Field = {
  write: ({ ids }: { ids: readonly number[] }) => ids.join(","),
  read: (text) => { const ids = text.split(",").map(wholeNumber); return ids.includes(null) ? null : { ids }; },
};
const FIELDS: Record<Selection["kind"], Field> = {
  window: PAIR, step: NUMBER, gap: NUMBER, kernels: IDS, modules: IDS, parts: IDS, range: NAME, kernel: NAME, module: NAME, finding: NAME,
};

const known = <Value>(value: Value | null, make: (value: Value) => object) => (value === null ? null : make(value));

function fieldsOf(selection: Selection): [string, string][] {
  const fields: [string, string][] = [[selection.kind, FIELDS[selection.kind].write(selection as never)]];
  if (selection.kind === "parts" && selection.side > 1) fields.push(["side", String(selection.side)]);
  if ("gpu" in selection && selection.gpu) fields.push(["gpu", String(selection.gpu)]);
  if ("instance" in selection && selection.instance !== undefined) fields.push(["instance", String(selection.instance + 1)]);
  return fields;
}

function selectionOf(fields: ReadonlyMap<string, string>): Selection | null {
  const kind = (Object.keys(FIELDS) as Selection["kind"][]).find((each) => fields.has(each));
  const main = kind && FIELDS[kind].read(fields.get(kind)!);
  const [gpu, side, instance] = [["gpu", "0"], ["side", "1"], ["instance", "1"]].map(([name, usual]) => wholeNumber(fields.get(name) ?? usual));
  if (!main || gpu === null || side === null || instance === 0) return null;
  return {
    kind, ...(kind === "finding" ? {} : { gpu }), ...main, ...(kind === "parts" ? { side } : {}),
    ...((kind === "range" || kind === "kernel") && fields.has("instance") && instance !== null ? { instance: instance - 1 } : {}),
  } as Selection;
}

function pairText(pair: View): string {
  return pair.map((seconds) => Number(seconds.toFixed(9))).join(",");
}

function pairOf(text: string | undefined): View | null {
  const [start, end, ...more] = text ? text.split(",").map((part) => (part.trim() ? Number(part) : NaN)) : [];
  return Number.isFinite(start) && Number.isFinite(end) && start < end && !more.length ? [start, end] : null;
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** Letters that are read well in an address stay as they are. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll("%2F", "/").replaceAll("%2C", ",").replaceAll("%3A", ":");
}

function decode(text: string): string | null {
  try { return decodeURIComponent(text); } catch { return null; }
}
