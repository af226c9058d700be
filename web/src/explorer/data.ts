/** The table of a page as tcprof/render/html/parts.py packs it: rows that lie in each other, and columns of texts. */
import { unpack } from "../timeline/unpack";

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

/** The table of a GPU, grouped by modules, ranges or kernels. */
export interface Grouping extends Record<"name" | "caption" | "first" | "more", string> {
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
  const { header } = await unpack<{ groupings: Grouping[] }>(packed.textContent);
  packed.remove(); // its letters take memory, and are needed no more
  return header.groupings;
}
