/** Which rows of a table are seen, and in which order: what a reader asks for, opens and sorts by. Knows no page. */
import { unpack } from "../timeline/unpack";

/** What a reader asks for: of launches of kernels, and of names. */
interface Wanted {
  phases: ReadonlySet<string>;
  noTensor: boolean;
  timeClass: string;
  precision: string;
  words: string;
  /** Some kernels alone, by their ids. */
  kernels: ReadonlySet<number> | null;
  /** Some parts of a change alone; empty for all. */
  groups: readonly string[];
}

export const EVERYTHING: Wanted = { phases: new Set(), noTensor: false, timeClass: "", precision: "", words: "", kernels: null, groups: [] };

/** A column, or the names, or the time of what is asked for, or the order in which the rows come. */
export type Key = number | "name" | "matching" | "given";

export type Order = { key: Key; direction: 1 | -1 };

/** A row as it is seen; `open` is undefined where nothing lies in it. */
export interface Seen {
  row: number;
  depth: number;
  open?: boolean | undefined;
}

const FEW = 60; // rows that are seen at first, if there are more

export class Model {
  readonly grouping: Grouping;
  /** Time of the launches that are asked for in each row, in ns. */
  readonly matching: Float64Array;
  wanted = EVERYTHING;
  order: Order;
  isFlat = false;
  /** Whether all is open but kernels in their places, as on paper. */
  isUnfolded = false;
  readonly #children: number[][];
  readonly #siteOf: Int32Array;
  readonly #texts: string[];
  readonly #opened: Uint8Array;
  readonly #toggled = new Set<number>();
  #kept: Uint8Array;
  #found: Uint8Array;
  readonly #keys = new Map<Key, Float64Array | string[]>();

  constructor(grouping: Grouping) {
    const { rows: { parent, name, full, tag }, sites } = grouping;
    this.grouping = grouping;
    this.order = grouping.isOrdered ? { key: "given", direction: 1 } : { key: 0, direction: -1 };
    this.#siteOf = new Int32Array(name.length).fill(-1);
    sites.line.forEach((row, site) => { this.#siteOf[row] = site; });
    this.#children = name.map((): number[] => []);
    parent.forEach((around, row) => { if (around >= 0) this.#children[around].push(row); });
    this.#texts = name.map((text, row) => `${text}\n${full[row]}\n${tag[row]}`.toLowerCase());
    this.matching = new Float64Array(name.length);
    this.#kept = new Uint8Array(name.length);
    this.#found = new Uint8Array(name.length);
    this.#opened = this.#openFew();
    this.want(EVERYTHING);
  }

  /** Whether launches of kernels are asked for, and not all of them. */
  get isFiltered(): boolean {
    const { phases, noTensor, timeClass, precision, kernels } = this.wanted;
    return phases.size > 0 || noTensor || timeClass !== "" || precision !== "" || kernels !== null;
  }

  isSite(row: number): boolean {
    return this.#siteOf[row] >= 0;
  }

  /** Whether a row has something of what is asked for. */
  isKept(row: number): boolean {
    return this.#kept[row] > 0;
  }

  /** Ask for something: rows with nothing of it are left out, and what has it is opened. */
  want(wanted: Wanted): void {
    this.wanted = wanted;
    this.#toggled.clear();
    this.#keys.delete("matching");
    const { rows: { parent }, sites } = this.grouping;
    const words = wanted.words.toLowerCase().split(/\s+/).filter(Boolean);
    const { group } = this.grouping.rows;
    const isChosen = (row: number) => !group || !wanted.groups.length || wanted.groups.includes(group[row]);
    const isNamed = (row: number) => isChosen(row) && words.every((word) => this.#texts[row].includes(word));
    const named = Uint8Array.from(parent, () => 0);
    this.#kept.fill(0);
    this.#found.fill(0);
    this.matching.fill(0);
    const keep = (row: number) => {
      this.#found[row] = 1;
      for (let at = row; at >= 0 && !this.#kept[at]; at = parent[at]) this.#kept[at] = 1;
    };
    parent.forEach((around, row) => {
      named[row] = Number((around >= 0 && named[around]) || isNamed(row));
      const site = this.#siteOf[row];
      if (this.isFiltered ? site >= 0 && named[row] && this.#asksFor(site) : named[row]) {
        if (!(words.length || wanted.groups.length) || isNamed(row) || this.isFiltered) keep(row);
        else this.#kept[row] = 1;
        for (let at = row; site >= 0 && at >= 0; at = parent[at]) this.matching[at] += sites.ns[site];
      }
    });
  }

  #asksFor(site: number): boolean {
    const { sites, rows } = this.grouping;
    const { phases, noTensor, timeClass, precision, kernels } = this.wanted;
    const row = sites.line[site];
    return (!phases.size || phases.has(sites.phase[site]))
      && !(noTensor && sites.isTensor[site])
      && (!timeClass || sites.timeClass[site] === timeClass)
      && (!precision || sites.precision[site] === precision)
      && (!kernels || kernels.has(rows.item[rows.kind[row] === "kernel" ? row : rows.parent[row]]));
  }

  /** How many rows have what is asked for, and of how many. */
  count(): { found: number; all: number } {
    const counted = this.#found.filter((_, row) => this.isSite(row) === this.isFiltered);
    return { found: counted.filter(Boolean).length, all: counted.length };
  }

  toggle(row: number): void {
    if (!this.#toggled.delete(row)) this.#toggled.add(row);
  }

  /** Open all that a row lies in. */
  reveal(row: number): void {
    const { parent } = this.grouping.rows;
    for (let at = parent[row]; at >= 0; at = parent[at]) if (!this.#isOpen(at)) this.toggle(at);
  }

  #isOpen(row: number): boolean {
    if (this.isUnfolded) return this.#children[row].some((child) => !this.isSite(child));
    const byItself = this.isFiltered || this.wanted.words ? this.#children[row].some((child) => this.#holdsFound(child)) : Boolean(this.#opened[row]);
    return byItself !== this.#toggled.has(row);
  }

  #holdsFound(row: number): boolean {
    return this.#found[row] > 0 || this.#children[row].some((child) => this.#kept[child] > 0 && this.#holdsFound(child));
  }

  /** The rows that are seen, from the top. */
  seen(): Seen[] {
    const { parent } = this.grouping.rows;
    if (this.isFlat) {
      const flat = parent.map((_, row) => row).filter((row) => this.#found[row] && (this.isFiltered || !this.isSite(row)));
      return this.#sort(flat).map((row) => ({ row, depth: 0 }));
    }
    const lines: Seen[] = [];
    const add = (rows: number[], depth: number): void => {
      for (const row of this.#sort(rows)) {
        const inside = this.#children[row].filter((child) => this.#kept[child]);
        if (this.isFiltered && depth && this.grouping.rows.kind[row] === "") { // what only holds others together
          add(inside, depth);
          continue;
        }
        const open = inside.length ? this.#isOpen(row) : undefined;
        lines.push({ row, depth, open });
        if (open) add(inside, depth + 1);
      }
    };
    add(parent.flatMap((around, row) => (around < 0 && this.#kept[row] ? [row] : [])), 0);
    return lines;
  }

  /** All rows that have what is asked for; launches of kernels only where they are asked for. */
  all(): number[] {
    const { parent, kind } = this.grouping.rows;
    const isThing = (row: number) => kind[row] !== "" || parent[row] < 0;
    const isListed = (row: number) => (this.isFiltered ? this.#kept[row] : this.#found[row] && !this.isSite(row)) && isThing(row);
    const list = (rows: number[]): number[] => this.#sort(rows).flatMap((row) => [...(isListed(row) ? [row] : []), ...list(this.#children[row])]);
    return list(parent.flatMap((around, row) => (around < 0 ? [row] : [])));
  }

  /** Rows beside each other: the largest first, or as is asked for; unknown last, and then as they were. */
  #sort(rows: number[]): number[] {
    const { key, direction } = this.order;
    const values = this.#keysOf(key);
    const time = (row: number) => (this.#siteOf[row] < 0 ? 0 : this.grouping.sites.ns[this.#siteOf[row]]);
    const isUnknown = (value: number | string) => value === "" || Number.isNaN(value);
    return [...rows].sort((a, b) => {
      const [first, second] = [values[a], values[b]];
      const unknown = Number(isUnknown(first)) - Number(isUnknown(second));
      const known = first < second ? -1 : Number(first > second);
      return unknown || (isUnknown(first) ? 0 : direction * known) || time(b) - time(a) || a - b;
    });
  }

  #keysOf(key: Key): Float64Array | string[] {
    const known = this.#keys.get(key);
    if (known) return known;
    const { rows, columns } = this.grouping;
    const column = typeof key === "number" ? columns[key] : null;
    const made = key === "given" ? Float64Array.from(rows.name, (_, row) => row) : key === "name" ? rows.name.map((name) => name.toLowerCase()) : !column ? this.matching
      : column.words ? column.sort.map((word) => word.toLowerCase()) : Float64Array.from(column.sort, (text) => (text ? Number(text) : NaN));
    this.#keys.set(key, made);
    return made;
  }

  /** Open rows level by level, as long as few are seen; kernels in places, and alike modules, are opened by the reader. */
  #openFew(): Uint8Array {
    const { parent, kind } = this.grouping.rows;
    const opened = new Uint8Array(parent.length);
    let level = parent.flatMap((around, row) => (around < 0 ? [row] : []));
    let seen = level.length;
    for (let depth = 0; ; depth++) {
      const opening = level.filter((row) => this.#children[row].some((child) => !this.isSite(child)));
      const inside = opening.flatMap((row) => this.#children[row]);
      seen += inside.length;
      if (!opening.length || (seen > FEW && depth > 1)) return opened;
      opening.forEach((row) => { opened[row] = 1; });
      level = inside.filter((row) => kind[row] !== "");
    }
  }
}

export interface Column {
  title: string;
  meaning: string;
  /** What its numbers are called in a file. */
  columns: readonly string[];
  words: boolean;
  shown: boolean;
  /** Letters that its texts take at most. */
  width: number;
  text: readonly string[];
  /** What each row is sorted by: a number or a word; empty where unknown. */
  sort: readonly string[];
  note?: readonly string[];
  /** Lengths of bars, in percent; negative for none. */
  bar?: readonly number[];
  /** Whether a change is better or worse. */
  tone?: readonly string[];
  /** The numbers of a row in a file, where the column stands for several. */
  values?: readonly (readonly string[])[];
}

/** What a row selects; "row" for nothing, and "" for what only holds others together. */
export type Kind = "module" | "modules" | "range" | "kernel" | "gap" | "row" | "";

/** Rows by columns; each comes after the one that it lies in. */
export interface Rows
  extends Record<"name" | "full" | "tag", readonly string[]>, Record<"item" | "parent", readonly number[]> {
  kind: readonly Kind[];
  /** The part of a change that each belongs to, where a reader may choose some. */
  group?: readonly string[];
  /** The numbers of the modules that some rows stand for, by the place of the row. */
  alike: Readonly<Record<number, readonly number[]>>;
}

/** The rows that are launches of a kernel in a place, with what a reader may ask for. */
export interface Sites
  extends Record<"line" | "isTensor" | "ns", readonly number[]>, Record<"phase" | "precision" | "timeClass", readonly string[]> {}

/** The table of a GPU, grouped by modules, ranges or kernels; ``longest`` is of its names, in letters, and their column has ``least``. */
export interface Grouping extends Record<"name" | "caption" | "first" | "more", string>, Record<"longest" | "least", number> {
  by: "module" | "range" | "kernel" | "gap" | "";
  gpu: number;
  /** Whether its rows are in the order that a reader sees first. */
  isOrdered: boolean;
  notes: readonly string[];
  columns: readonly Column[];
  rows: Rows;
  sites: Sites;
}

export async function readGroupings(packed: Element): Promise<readonly Grouping[]> {
  const { groupings } = await unpack<{ groupings: Grouping[] }>(packed.textContent);
  packed.remove(); // its letters take memory, and are needed no more
  return groupings;
}
