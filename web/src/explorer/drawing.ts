/** The head and the rows of the table, as elements. Names are text. */
import { element } from "../dom";
import { formatSeconds } from "../format";
import type { Column, Key, Model, Seen } from "./model";

/** Rows of what is selected, those that hold some, and what is said of each in the timeline's window; null for all of it. */
export interface Marks {
  current: ReadonlySet<number>;
  holding: ReadonlySet<number>;
  within: ((row: number) => string | undefined) | null;
}

/** A column that is shown: its place, or the time of what is asked for. */
export interface Shown {
  key: Exclude<Key, "name" | "given">;
  title: string;
  meaning: string;
  words: boolean;
  column: Column | null;
}

const TAIL = 10; // letters of a name that stay, where its middle is left out
const MATCHING_WIDTH = 11;
const MATCHING = "Time of the kernels that match the filters.";

/** The columns that have something to show; those that the reader did not ask for only as long as names keep their width.
 *
 * @param isAsked - Whether the reader chose to see a column.
 * @param width - Of the table, in letters.
 */
export function shownColumns(model: Model, isShown: (title: string) => boolean, isAsked: (title: string) => boolean, width: number): Shown[] {
  const { columns, least } = model.grouping;
  let left = width - least - (model.isFiltered ? MATCHING_WIDTH : 0);
  const found: Shown[] = columns.flatMap((column, key) => {
    const { title, meaning, words, text } = column;
    const isEmpty = text.every((each, row) => !model.isKept(row) || each === "" || each === "–");
    if (!isShown(title) || (isEmpty && !isAsked(title))) return [];
    left -= column.width;
    return left >= 0 || isAsked(title) || width <= least ? [{ key, title, meaning, words, column }] : [];
  });
  return model.isFiltered ? [{ key: "matching", title: "Filtered", meaning: MATCHING, words: false, column: null }, ...found] : found;
}

/** The head, with the widths of the columns: those of their longest texts, so that nothing moves while it scrolls. */
export function makeHead(table: HTMLTableElement, model: Model, columns: readonly Shown[], sortBy: (key: Key) => void): void {
  const { grouping: { first, caption, by, gpu, least, longest }, order } = model;
  const heading = (key: Key, title: string, meaning: string, className: string) => {
    const button = element("button", { type: "button", title: meaning }, title, element("span", { className: "arrow", ariaHidden: "true" }));
    const cell = element("th", { scope: "col", className }, button);
    cell.setAttribute("aria-sort", order.key !== key ? "none" : order.direction > 0 ? "ascending" : "descending");
    button.addEventListener("click", () => sortBy(key));
    return cell;
  };
  table.caption!.textContent = caption;
  const widths = columns.map(({ column }) => column?.width ?? MATCHING_WIDTH);
  const name = element("col");
  table.querySelector("colgroup")!.replaceChildren(name, ...widths.map((width) => {
    const made = element("col");
    made.style.width = `${width}ch`;
    return made;
  }));
  const rest = widths.reduce((sum, width) => sum + width, 0);
  table.style.minWidth = `${least - 2 + rest}ch`;
  table.parentElement!.style.maxWidth = `${Math.max(longest, least) + 12 + rest}ch`; // names that are far from their figures are hard to follow
  Object.assign(table.dataset, { by, gpu });
  table.tHead!.replaceChildren(element("tr", {},
    heading("name", first, "", "first"),
    ...columns.map(({ key, title, meaning, words }) => heading(key, title, meaning, words ? "word" : "number"))));
}

export function makeRow(model: Model, { row, depth, open }: Seen, place: number, columns: readonly Shown[]): HTMLTableRowElement {
  const { rows } = model.grouping;
  const made = element("tr", { className: place % 2 ? "odd" : "" });
  made.dataset.place = String(place);
  made.setAttribute("aria-rowindex", String(place + 2));
  made.setAttribute("aria-level", String(depth + 1));
  if (rows.kind[row] && rows.item[row] >= 0) Object.assign(made.dataset, { kind: rows.kind[row], item: rows.item[row] });
  if (open !== undefined) made.setAttribute("aria-expanded", String(open));
  if (model.isSite(row)) made.classList.add("site");
  const title = [rows.full[row] || rows.name[row], rows.tag[row]].filter(Boolean).join("\n");
  const head = element("div", { className: "line" },
    element("span", { className: `fold${open === undefined ? " none" : ""}`, ariaHidden: "true" }),
    elided(model.isFlat ? rows.full[row] || rows.name[row] : rows.name[row]));
  if (rows.tag[row]) head.append(element("span", { className: "tag" }, rows.tag[row]));
  head.style.setProperty("--depth", String(depth));
  made.append(element("th", { scope: "row", title }, head), ...columns.map((shown) => makeCell(model, row, shown)));
  return made;
}

/** Mark a row as what is selected, or as what holds some of it, and say how much of it the timeline's window has. */
export function markRow(made: HTMLElement, { row, open }: Seen, { current, holding, within }: Marks): void {
  if (current.has(row)) made.setAttribute("aria-current", "true");
  else made.removeAttribute("aria-current");
  made.classList.toggle("holding", !current.has(row) && holding.has(row) && open !== true);
  const told = within?.(row);
  made.classList.toggle("outside", told === "");
  made.querySelector(".within")?.remove();
  if (!told) return;
  const [count, time] = told.split(" here, ");
  made.querySelector(".line")!.append(element("span", { className: "within", title: `${told} in the timeline's window`, ariaLabel: `${count} ${time} here` }, count));
}

/** A name on one line, of which the middle is left out where there is no space; all of it is copied. */
function elided(name: string): HTMLElement {
  const letters = Array.from(name);
  const tail = letters.length > TAIL + 4 ? letters.splice(-TAIL).join("") : "";
  const made = element("bdi", { className: "name" }, element("span", { className: "start" }, letters.join(""), element("span", { className: "tail" }, tail)));
  if (tail) made.dataset.tail = tail;
  return made;
}

function makeCell(model: Model, row: number, { column, words }: Shown): HTMLTableCellElement {
  const { grouping } = model;
  if (!column) return element("td", {}, model.matching[row] ? formatSeconds(model.matching[row] * 1e-9) : "");
  const cell = element("td", { className: words ? "word" : "" });
  const bar = column.bar?.[row] ?? -1;
  if (bar >= 0) {
    const length = element("i");
    length.style.width = `${bar}%`;
    cell.append(element("span", { className: `bar ${column.columns[0] === "lost_time_ns" ? "lost" : grouping.isOrdered ? "time" : ""}`, ariaHidden: "true" }, length));
  }
  cell.append(element("span", { className: `value ${column.tone?.[row] ?? ""}` }, column.text[row]));
  const note = column.note?.[row];
  if (note) cell.append(element("span", { className: "note-in" }, note));
  if (words) cell.title = column.text[row];
  return cell;
}
