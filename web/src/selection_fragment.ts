/** What is selected on a page, as the fragment of its address: names as they are read, percent-encoded. */

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

function fieldsOf(selection: Selection): [string, string][] {
  const fields: [string, string][] = [[selection.kind, mainField(selection)]];
  if (selection.kind === "parts" && selection.side > 1) fields.push(["side", String(selection.side)]);
  if ("gpu" in selection && selection.gpu) fields.push(["gpu", String(selection.gpu)]);
  if ("instance" in selection && selection.instance !== undefined) fields.push(["instance", String(selection.instance + 1)]);
  return fields;
}

function mainField(selection: Selection): string {
  if (selection.kind === "window") return pairText([selection.start, selection.end]);
  if ("ids" in selection) return selection.ids.join(",");
  return "number" in selection ? String(selection.number) : selection.name;
}

function selectionOf(fields: ReadonlyMap<string, string>): Selection | null {
  const gpu = wholeNumber(fields.get("gpu") ?? "0");
  if (gpu === null) return null;
  const pair = pairOf(fields.get("window"));
  if (pair) return { kind: "window", gpu, start: pair[0], end: pair[1] };
  for (const kind of ["step", "gap"] as const) {
    const number = wholeNumber(fields.get(kind));
    if (number !== null) return { kind, gpu, number };
  }
  const side = wholeNumber(fields.get("side") ?? "1");
  for (const kind of ["kernels", "modules", "parts"] as const) {
    const ids = fields.get(kind)?.split(",").map(wholeNumber);
    if (ids?.every((id) => id !== null)) return kind === "parts" ? side === null ? null : { kind, gpu, side, ids } : { kind, gpu, ids };
  }
  const instance = wholeNumber(fields.get("instance"));
  if (instance === 0) return null;
  for (const kind of ["range", "kernel"] as const) {
    const name = fields.get(kind);
    if (name) return { kind, gpu, name, ...(instance === null ? {} : { instance: instance - 1 }) };
  }
  const [module, finding] = [fields.get("module"), fields.get("finding")];
  if (module) return { kind: "module", gpu, name: module };
  return finding ? { kind: "finding", name: finding } : null;
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
