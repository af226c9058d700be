/** Bars of the timeline, in rows. Knows no page. */
import { firstAbove, type Intervals } from "../intervals";

/** Bars by start, each in a row. */
export interface PlacedBars extends Intervals {
  row: Uint8Array;
}

/** The bars of one row by start, and the latest end so far, by which a window's first one is found. */
export interface Row {
  members: Uint32Array;
  reach: Float64Array;
}

const MOST_ROWS = 256; // as many as a byte can tell apart

/** The rows that have bars, from the top. */
export function makeRows({ row: rowOf, end }: Pick<PlacedBars, "row" | "end">): Map<number, Row> {
  const counts = new Uint32Array(MOST_ROWS);
  for (let i = 0; i < rowOf.length; i++) counts[rowOf[i]]++;
  const members = Array.from(counts, (count) => new Uint32Array(count));
  const reach = Array.from(counts, (count) => new Float64Array(count));
  const filled = new Uint32Array(MOST_ROWS);
  const until = new Float64Array(MOST_ROWS).fill(-Infinity);
  for (let i = 0; i < rowOf.length; i++) {
    const row = rowOf[i];
    const place = filled[row]++;
    if (end[i] > until[row]) until[row] = end[i];
    members[row][place] = i;
    reach[row][place] = until[row];
  }
  const used = Array.from(counts.keys()).filter((row) => counts[row]);
  return new Map(used.map((row) => [row, { members: members[row], reach: reach[row] }]));
}

/** Part of a recording, in seconds, and the width of its bins, below which bars are drawn together. */
export interface Window {
  low: number;
  high: number;
  narrow: number;
}

/** Look at the bars of one row in a window.
 *
 * @param wide - Is given each bar that is at least a bin wide.
 * @param merge - Is given the seconds of each other bar, for each bin that it reaches into.
 */
export function scanRow(
  { start: starts, end: ends }: Pick<Intervals, "start" | "end">, { members, reach }: Row, { low, high, narrow }: Window,
  wide: (bar: number) => void, merge: (bin: number, bar: number, seconds: number) => void,
): void {
  let [bin, border] = [-1, low]; // of the bar at hand, and where that bin ends: bars are by start
  for (let k = firstAbove(reach, low); k < members.length; k++) {
    const bar = members[k];
    const start = starts[bar];
    if (start >= high) break;
    const end = ends[bar];
    if (end <= low) continue;
    if (end - start >= narrow) { wide(bar); continue; }
    while (start >= border) border = low + (++bin + 1) * narrow;
    if (end <= border) merge(bin, bar, end - start);
    else {
      merge(bin, bar, border - start);
      merge(bin + 1, bar, end - border);
    }
  }
}

/** A part of a bar, in seconds. */
export interface Piece {
  bar: number;
  start: number;
  end: number;
}

/** Cut some bars that lie in each other, by start, to the one that is open at each time and began last. */
export function innermost({ start, end }: Pick<Intervals, "start" | "end">, some: ArrayLike<number>): Piece[] {
  const pieces: Piece[] = [];
  const open: number[] = [];
  let time = -Infinity;
  const add = (until: number) => {
    if (until > time) pieces.push({ bar: open[open.length - 1], start: time, end: until });
    time = Math.max(time, until);
  };
  const close = (before: number) => {
    while (open.length && end[open[open.length - 1]] <= before) { add(end[open[open.length - 1]]); open.pop(); }
  };
  for (let i = 0; i < some.length; i++) {
    close(start[some[i]]);
    if (open.length) add(start[some[i]]);
    time = start[some[i]];
    open.push(some[i]);
  }
  close(Infinity);
  return pieces;
}
