/** Bars of the timeline, in rows. Knows neither page nor plotly. */
import type { Intervals } from "../intervals";
import { firstAbove } from "./search";

/** Bars by start, each in a row. */
export interface PlacedBars extends Intervals {
  row: Uint8Array;
}

/** The bars of one row by start, and the latest end so far, by which a window's first one is found. */
export interface Row {
  members: Uint32Array;
  reach: Float64Array;
}

/** The rows that have bars, from the top. */
export function makeRows({ row: rowOf, end }: Pick<PlacedBars, "row" | "end">): Map<number, Row> {
  const counts = new Map<number, number>();
  for (const row of rowOf) counts.set(row, (counts.get(row) ?? 0) + 1);
  const rows = new Map([...counts].sort((a, b) => a[0] - b[0]).map(([row, count]) =>
    [row, { members: new Uint32Array(count), reach: new Float64Array(count), filled: 0 }]));
  for (let i = 0; i < rowOf.length; i++) {
    const row = rows.get(rowOf[i])!;
    row.members[row.filled] = i;
    row.reach[row.filled] = Math.max(row.filled ? row.reach[row.filled - 1] : -Infinity, end[i]);
    row.filled++;
  }
  return rows;
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
  bars: Pick<Intervals, "start" | "end">, { members, reach }: Row, { low, high, narrow }: Window,
  wide: (bar: number) => void, merge: (bin: number, bar: number, seconds: number) => void,
): void {
  for (let k = firstAbove(reach, low); k < members.length; k++) {
    const bar = members[k];
    const start = bars.start[bar];
    if (start >= high) break;
    const end = bars.end[bar];
    if (end <= low) continue;
    if (end - start >= narrow) { wide(bar); continue; }
    const bin = Math.floor((start - low) / narrow);
    const border = low + (bin + 1) * narrow;
    if (end <= border) merge(bin, bar, end - start);
    else {
      merge(bin, bar, border - start);
      merge(bin + 1, bar, end - border);
    }
  }
}
