/** The table of a page's modules, ranges and kernels: its rows, and what they and the rest of the page tell each other. */
import type { Cells } from "../csv";
import { element, find, isPlain, onPrint } from "../dom";
import { formatSeconds } from "../format";
import { countWithin } from "../intervals";
import { nameOfSame, onSelection, select, type Selection } from "../selection";
import type { Timeline, WindowChange } from "../timeline/timeline";
import { makeHead, makeRow, markRow, type Marks, type Shown, shownColumns } from "./drawing";
import { type Grouping, type Key, type Kind, Model, type Seen } from "./model";
import { VirtualRows } from "./virtual";

/** Milliseconds that the timeline's window must stay before the rows follow it. */
const PAUSE = 150;

export class Explorer {
  readonly #models: readonly Model[];
  readonly #timeline: Timeline | null;
  readonly #table: HTMLTableElement;
  readonly #rows: VirtualRows;
  readonly #told: () => void;
  readonly #hidden = new Map<string, Set<string>>(); // columns that the reader hides or shows, by grouping
  #gpu: number;
  #by: Grouping["by"];
  #seen: Seen[] = [];
  #columns: readonly Shown[] = [];
  #selection: Selection | null = null;
  #marks: Marks = { current: new Set(), holding: new Set(), within: null };
  #window: WindowChange | null = null;
  #within: Marks["within"] = null;
  #cursor = -1; // the row that the keyboard is at
  #pointed = -1; // a row that the page points at, which selects nothing

  /** @param told - Is called after each change of what is shown. */
  constructor(box: HTMLElement, groupings: readonly Grouping[], timeline: Timeline | null, told: () => void) {
    this.#models = groupings.map((grouping) => new Model(grouping));
    this.#timeline = timeline;
    this.#told = told;
    [{ gpu: this.#gpu, by: this.#by }] = groupings;
    this.#table = find<HTMLTableElement>("table", box);
    this.#rows = new VirtualRows(find(".table-box", box), this.#table.tBodies[0], (place) => this.#makeRow(place));
    this.#listen();
    this.#show();
  }

  get model(): Model {
    return this.#models.find(({ grouping }) => grouping.gpu === this.#gpu && grouping.by === this.#by)
      ?? this.#models.find(({ grouping }) => grouping.gpu === this.#gpu) ?? this.#models[0];
  }

  /** What the rows of the GPU that is shown can be grouped by. */
  get ways(): Grouping["by"][] {
    return this.#models.filter(({ grouping }) => grouping.gpu === this.#gpu).map(({ grouping }) => grouping.by);
  }

  /** How many columns are drawn. */
  get columnCount(): number {
    return this.#columns.filter(({ column }) => column).length;
  }

  /** The parts of a change that its kernels belong to; none where they belong to none. */
  get groups(): readonly string[] {
    return this.#models.flatMap(({ grouping: { rows } }) => rows.group ?? []);
  }

  groupBy(by: Grouping["by"]): void {
    const { wanted } = this.model;
    this.#by = by;
    if (this.model.wanted !== wanted) this.model.want(wanted);
    this.#mark();
    this.#show();
    if (this.#selection) this.#reveal();
  }

  /** Point at the first of some rows, by their whole names, that is there; whether one is. */
  point(by: Grouping["by"], names: readonly string[]): boolean {
    this.#by = by;
    const { full } = this.model.grouping.rows;
    this.#pointed = names.map((name) => full.indexOf(name)).find((row) => row >= 0) ?? -1;
    this.#mark();
    this.#show();
    if (this.#pointed >= 0) this.#reveal();
    return this.#pointed >= 0;
  }

  /** Ask for something; of launches by what they are, the slowest one of the slowest place is selected. */
  ask(change: Partial<Model["wanted"]>): void {
    const { model } = this;
    model.want({ ...model.wanted, ...change });
    this.#show();
    if (!model.isFiltered || model.wanted.kernels || [...this.#marks.current].some((row) => model.isKept(row))) return;
    this.#pointAt(this.#seen.findIndex(({ row }) => model.isSite(row)));
    this.#choose();
  }

  flatten(isFlat: boolean): void {
    this.model.isFlat = isFlat;
    this.#show();
  }

  isShown(title: string): boolean {
    const column = this.model.grouping.columns.find((each) => each.title === title);
    return Boolean(column?.shown) !== Boolean(this.#hidden.get(this.#by)?.has(title));
  }

  showColumn(title: string): void {
    const changed = this.#hidden.get(this.#by) ?? new Set();
    if (!changed.delete(title)) changed.add(title);
    this.#hidden.set(this.#by, changed);
    this.#show();
  }

  /** What is saved: all that is asked for, with the numbers behind the texts. */
  lines(): Cells[] {
    const { grouping: { first, columns, rows } } = this.model;
    const values = (row: number) => columns.flatMap(({ columns: names, sort, values: several }) =>
      names.map((_, place) => (several ? several[row][place] : place ? "" : sort[row]) ?? ""));
    const name = (row: number) => rows.full[row] || rows.name[row];
    return [[first, ...columns.flatMap((column) => column.columns)], ...this.model.all().map((row) => [name(row), ...values(row)])];
  }

  #show(): void {
    const { model } = this;
    this.#seen = model.seen();
    const width = this.#table.closest(".explorer")!.clientWidth / letterWidth(this.#table);
    this.#columns = shownColumns(model, (title) => this.isShown(title), (title) => Boolean(this.#hidden.get(this.#by)?.has(title)), width);
    makeHead(this.#table, model, this.#columns, (key) => this.#sortBy(key));
    this.#table.setAttribute("aria-rowcount", String(this.#seen.length + 1));
    this.#rows.show(this.#seen.length);
    this.#pointAt(Math.min(this.#cursor, this.#seen.length - 1));
    this.#told();
  }

  #sortBy(key: Key): void {
    const { order } = this.model;
    const isWord = key === "name" || (typeof key === "number" && this.model.grouping.columns[key].words);
    const first = isWord ? 1 : -1;
    this.model.order = { key, direction: order.key === key ? (-order.direction as 1 | -1) : first };
    this.#show();
    const again = this.#table.tHead!.querySelector<HTMLElement>("[aria-sort]:not([aria-sort=none]) button");
    again?.focus({ preventScroll: true });
  }

  #makeRow(place: number): HTMLTableRowElement {
    const row = makeRow(this.model, this.#seen[place], place, this.#columns);
    markRow(row, this.#seen[place], this.#marks);
    row.classList.toggle("cursor", place === this.#cursor);
    return row;
  }

  #listen(): void {
    const body = this.#table.tBodies[0];
    body.addEventListener("click", ({ target }) => {
      if (!(target instanceof Element) || !getSelection()?.isCollapsed) return;
      const row = target.closest<HTMLElement>("tr[data-place]");
      if (!row) return;
      this.#pointAt(Number(row.dataset.place));
      const { open } = this.#seen[this.#cursor];
      if (target.closest(".fold") || (open !== undefined && !this.#selects(this.#cursor))) this.#toggle();
      else this.#choose();
    });
    this.#table.addEventListener("keydown", (event) => this.#press(event));
    onSelection(({ selection, from }) => {
      this.#selection = selection;
      this.#mark();
      if (from !== "table" && selection) this.#reveal();
      else this.#redraw();
    });
    document.addEventListener("tcprof:gpu", ({ detail }) => { this.#gpu = detail; this.#within = this.#countWithin(); this.#mark(); this.#show(); });
    let waiting = 0;
    document.addEventListener("tcprof:window", ({ detail }) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { this.#window = detail; this.#within = this.#countWithin(); this.#mark(); this.#redraw(); }, PAUSE);
    });
    onPrint((isPrinted) => this.#print(isPrinted));
  }

  #print(isPrinted: boolean): void {
    this.model.isUnfolded = isPrinted;
    this.#rows.showWhole(isPrinted);
    this.#show();
  }

  #redraw(): void {
    for (const [place, row] of this.#rows.drawn()) markRow(row, this.#seen[place], this.#marks);
  }

  #choose(): void {
    const selection = this.#selectionOf(this.#seen[this.#cursor]?.row ?? -1);
    if (selection) select(selection, { from: "table" });
  }

  #toggle(): void {
    this.model.toggle(this.#seen[this.#cursor].row);
    this.#show();
  }

  #press(event: KeyboardEvent): void {
    if (!isPlain(event) || event.target !== this.#table) return;
    const { open, depth } = this.#seen[this.#cursor] ?? { open: undefined, depth: 0 };
    const around = () => { for (let at = this.#cursor; at > 0; at--) if (this.#seen[at].depth < depth) return at; return 0; };
    const moves: Record<string, () => void> = {
      ArrowDown: () => this.#pointAt(this.#cursor + 1), ArrowUp: () => this.#pointAt(this.#cursor - 1),
      Home: () => this.#pointAt(0), End: () => this.#pointAt(this.#seen.length - 1),
      PageDown: () => this.#pointAt(this.#cursor + 20), PageUp: () => this.#pointAt(this.#cursor - 20),
      ArrowRight: () => { if (open === false) this.#toggle(); else this.#pointAt(this.#cursor + 1); },
      ArrowLeft: () => { if (open) this.#toggle(); else this.#pointAt(around()); },
      Enter: () => { if (this.#selects(this.#cursor)) this.#choose(); else if (open !== undefined) this.#toggle(); },
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    event.stopPropagation();
    moves[event.key]();
  }

  /** Move the keyboard's place to a row. */
  #pointAt(place: number): void {
    const before = this.#rows.at(this.#cursor);
    before?.classList.remove("cursor");
    before?.removeAttribute("id");
    this.#cursor = this.#seen.length ? Math.max(-1, Math.min(place, this.#seen.length - 1)) : -1;
    if (this.#cursor < 0) { this.#table.removeAttribute("aria-activedescendant"); return; }
    this.#rows.reach(this.#cursor);
    const row = this.#rows.at(this.#cursor);
    if (!row) return;
    row.classList.add("cursor");
    row.id = `${this.#table.closest(".explorer")!.id}-at`;
    this.#table.setAttribute("aria-activedescendant", row.id);
  }

  #selects(place: number): boolean {
    return !selectsNothing(this.model.grouping.rows.kind[this.#seen[place]?.row] ?? "");
  }

  /** What a row stands for. */
  #selectionOf(row: number): Selection | null {
    const { rows: { kind, item, alike }, gpu } = this.model.grouping;
    const mine = kind[row];
    if (selectsNothing(mine)) return null;
    if (mine === "gap") return { kind: "gap", gpu, number: item[row] };
    if (mine === "modules") return { kind: "modules", gpu, ids: alike[row] };
    const name = this.#timeline?.subjects.nameOf(mine, gpu, item[row]);
    return name === undefined ? null : { kind: mine, gpu, name };
  }

  /** Find the rows of what is selected, those that these lie in, and what is in the timeline's window. */
  #mark(): void {
    const { grouping: { rows, gpu } } = this.model;
    const subject = this.#selection && this.#timeline?.subjects.find(this.#selection);
    const several = subject ? [subject, ...(subject.parts ?? [])].filter((each) => each.gpu.gpu === gpu) : [];
    const wanted = new Set(several.map(({ selection, id }) => `${selection.kind} ${id}`));
    const together = this.#selection?.kind === "modules" ? nameOfSame(this.#selection) : null;
    const gap = this.#selection?.kind === "gap" ? this.#selection.number : -1;
    const isWanted = (row: number) => (rows.kind[row] === "gap" ? rows.item[row] === gap && rows.parent[row] >= 0 : rows.kind[row] === "modules"
      ? together !== null && nameOfSame(this.#selectionOf(row)!) === together
      : wanted.has(`${rows.kind[row]} ${rows.item[row]}`));
    const current = new Set(this.#pointed >= 0 ? [this.#pointed] : subject ? rows.kind.flatMap((kind, row) => (kind && isWanted(row) ? [row] : [])) : []);
    const holding = new Set<number>();
    for (const row of current) for (let at = rows.parent[row]; at >= 0 && !holding.has(at); at = rows.parent[at]) holding.add(at);
    this.#marks = { current, holding, within: this.#within };
  }

  /** Of what the timeline's window holds of each row: how often, and how long; null where it shows all. */
  #countWithin(): Marks["within"] {
    const gpu = this.#timeline?.subjects.gpus.find((each) => each.gpu === this.#gpu);
    if (!gpu || !this.#window || this.#window.whole) return null;
    const { start, end } = this.#window;
    const { host, windows, work } = gpu.lanes;
    const [onCpu, onGpu, inKernels] = [host, windows, work].map((each) => countWithin(each, start, end));
    const haveWork: boolean[] = []; // by id
    for (const id of windows.id) haveWork[id] = true;
    return (row) => {
      const { rows: { kind, item } } = this.model.grouping;
      if (this.model.isSite(row) || (kind[row] !== "range" && kind[row] !== "kernel")) return undefined;
      const share = (kind[row] === "kernel" ? inKernels : haveWork[item[row]] ? onGpu : onCpu).get(item[row]);
      return share ? `${share.count} × here, ${formatSeconds(share.seconds)}` : "";
    };
  }

  /** Open what the selection lies in, and bring it into the box's window; the page stays where it is. */
  #reveal(): void {
    const [row] = this.#marks.current;
    if (row === undefined || (this.model.isSite(row) && this.#marks.current.size > 1)) { this.#redraw(); return; }
    this.model.reveal(row);
    this.#show();
    this.#pointAt(this.#seen.findIndex((each) => each.row === row));
  }
}

/** Pixels of a letter in a table, as its columns are measured. */
function letterWidth(table: HTMLElement): number {
  const pen = element("canvas").getContext("2d")!;
  const { fontSize, fontFamily } = getComputedStyle(table);
  pen.font = `${fontSize} ${fontFamily}`;
  return pen.measureText("0").width || 1;
}

const selectsNothing = (kind: Kind): kind is "" | "row" => kind === "" || kind === "row";
