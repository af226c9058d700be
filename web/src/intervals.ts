/** Intervals of the timeline, in seconds, and bars in rows. Knows no page. */

export interface Intervals {
  start: Float64Array;
  end: Float64Array;
  id: Uint32Array;
  /** How many instances each stands for, one after the other: 1 for most. */
  merged: Uint32Array;
}

/** A time, in seconds. */
export type Span = Record<"start" | "end", number>;

export const spanOf = ({ start, end }: Pick<Intervals, "start" | "end">, bar: number): Span => ({ start: start[bar], end: end[bar] });

/** How often an id lies in a window, and for how long. */
export type Share = Record<"count" | "seconds", number>;

/** How often each id lies in a window, and for how long, in seconds; of intervals by start. */
export function countWithin({ start, end, id, merged }: Intervals, from: number, to: number): Map<number, Share> {
  const shares: Share[] = []; // by id, with gaps
  for (let i = 0; i < id.length && start[i] < to; i++) {
    if (end[i] <= from) continue;
    const share = (shares[id[i]] ??= { count: 0, seconds: 0 });
    share.count += merged[i];
    share.seconds += Math.min(end[i], to) - Math.max(start[i], from);
  }
  return new Map(Object.entries(shares).map(([each, share]) => [Number(each), share]));
}

/** The places that have a value, of up to millions: no function is called for each. */
export function placesOf(values: Uint8Array | Uint32Array, wanted: number): Uint32Array {
  const places = new Uint32Array(values.length);
  let found = 0;
  for (let place = 0; place < values.length; place++) if (values[place] === wanted) places[found++] = place;
  return places.slice(0, found);
}

const MANY = 10_000; // of more, some that are spread evenly tell what is typical

/** The one of an id's intervals whose length is the median, of those that are not merged if there are any; or null. */
export function typical({ start, end, id, merged }: Intervals, wanted: number): Span | null {
  const all = placesOf(id, wanted);
  const single = all.filter((bar) => merged[bar] === 1);
  const some = single.length ? single : all;
  const every = Math.ceil(some.length / MANY);
  const sorted = Array.from(some.filter((_, i) => i % every === 0)).sort((a, b) => end[a] - start[a] - (end[b] - start[b]));
  const middle = sorted[(sorted.length - 1) >> 1];
  return middle === undefined ? null : spanOf({ start, end }, middle);
}

export function firstAbove(values: ArrayLike<number>, limit: number): number {
  let [from, to] = [0, values.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle] > limit) to = middle;
    else from = middle + 1;
  }
  return from;
}

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

/** Cut some bars that lie in each other, by start, to the one that is open at each time and began last. */
export function innermost({ start, end }: Pick<Intervals, "start" | "end">, some: ArrayLike<number>): (Span & { bar: number })[] {
  const pieces: (Span & { bar: number })[] = [];
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
