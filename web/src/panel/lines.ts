/** Lists of the panel, of which each line selects something. */
import type { Selection } from "../selection_fragment";

const MOST = 8;

/** Names with their values, as texts. */
export type Facts = [string, string][];

export interface Line {
  name: string;
  note: string;
  selection: Selection | null;
}

export interface List {
  title: string;
  lines: Line[];
  /** How many more there are. */
  more: number;
}

/** The first of some things, as lines. */
export function listOf<Thing>(title: string, things: readonly Thing[], line: (thing: Thing) => Line): List {
  const lines = things.slice(0, MOST).map(line);
  return { title, lines, more: things.length - lines.length };
}
