/** Samples of the timeline: levels of detail, and the points of one window. Knows no page. */
import { firstAbove } from "../intervals";

/** A curve's smallest, mean and largest value of each interval, in steps, from 1 on; 0 is unknown. */
export type Curve<Values = Uint16Array | Float32Array> = Record<"low" | "mean" | "high", Values>;

/** A curve that is made when it is looked at: most of a recording's are hidden at first. */
export type LazyCurve<Values = Uint16Array | Float32Array> = () => Curve<Values>;

/** Intervals, in seconds, and the curves over them. */
export interface Level {
  start: Float64Array;
  end: Float64Array;
  curves: readonly LazyCurve[];
  /** Whether intervals are bins of samples, not samples. */
  binned: boolean;
  /** The mean distance from one interval to the next, in seconds. */
  period: number;
}

/** Points of a line, and the interval of each; values are NaN where it is broken. */
export type Line = Record<"x" | "y" | "places", number[]>;

/** Each coarser level has an eighth of the intervals of the one before it. */
const FACTOR = 8;
const FEW = 4000;

/** The ends of intervals: the next one's start, but at breaks. */
export function endsOf(start: Float64Array, breaks: Uint32Array, ends: Float64Array): Float64Array {
  const end = new Float64Array(start.length);
  end.set(start.subarray(1));
  breaks.forEach((place, i) => { end[place] = ends[i]; });
  return end;
}

/** Levels of detail: first what was stored, then coarser ones. */
export function makeTrack(start: Float64Array, end: Float64Array, curves: readonly LazyCurve[], binned: boolean): Level[] {
  const period = start.length ? (end[end.length - 1] - start[0]) / start.length : 0;
  let coarsest: Level = { start, end, curves, binned, period };
  const levels = [coarsest];
  while (coarsest.start.length > FEW) {
    coarsest = group(coarsest, 0, coarsest.start.length, FACTOR);
    levels.push(coarsest);
  }
  return levels;
}

/** Where groups of so many intervals begin; a group does not reach over a gap that is longer than a group. */
function groupStarts({ start, end, period }: Level, from: number, to: number, size: number): number[] {
  const edges = [];
  const longest = size * period;
  for (let i = from; i < to; i++) {
    if (i === from || i % size === 0 || start[i] - end[i - 1] > longest) edges.push(i);
  }
  edges.push(to);
  return edges;
}

/** Neighbouring intervals as one: their smallest, mean (by time) and largest value. */
export function group(level: Level, from: number, to: number, size: number): Level {
  const edges = groupStarts(level, from, to, size);
  const count = edges.length - 1;
  const start = new Float64Array(count);
  const end = new Float64Array(count);
  for (let g = 0; g < count; g++) {
    start[g] = level.start[edges[g]];
    end[g] = level.end[edges[g + 1] - 1];
  }
  const curves = level.curves.map((curve) => once(() => groupCurve(level, curve(), edges)));
  return { start, end, curves, binned: true, period: level.period * size };
}

function groupCurve(level: Level, curve: Curve, edges: readonly number[]): Curve<Float32Array> {
  const count = edges.length - 1;
  const grouped = { low: new Float32Array(count), mean: new Float32Array(count), high: new Float32Array(count) };
  if (curve.mean instanceof Uint16Array && curve.low === curve.mean && curve.high === curve.mean) groupSamples(level, curve.mean, edges, grouped);
  else groupBins(level, curve, edges, grouped);
  return grouped;
}

/** Samples are their own extremes. There are so many that they have a loop of their own, which meets one type. */
function groupSamples(
  { start, end }: Level, values: Uint16Array, edges: readonly number[], { low, mean, high }: Curve<Float32Array>,
): void {
  for (let g = 0; g < mean.length; g++) {
    let [sum, time, smallest, largest] = [0, 0, 65535, 0];
    for (let i = edges[g]; i < edges[g + 1]; i++) {
      const value = values[i];
      if (value === 0) continue;
      const length = end[i] - start[i];
      sum += length * value;
      time += length;
      if (value < smallest) smallest = value;
      if (value > largest) largest = value;
    }
    if (!time) continue;
    mean[g] = Math.min(Math.max(sum / time, smallest), largest);
    low[g] = smallest;
    high[g] = largest;
  }
}

function groupBins(
  { start, end }: Level, { low, mean, high }: Curve, edges: readonly number[], grouped: Curve<Float32Array>,
): void {
  const count = edges.length - 1;
  for (let g = 0; g < count; g++) {
    let [sum, time, smallest, largest] = [0, 0, Infinity, 0];
    for (let i = edges[g]; i < edges[g + 1]; i++) {
      if (mean[i] === 0) continue;
      const length = end[i] - start[i];
      sum += length * mean[i];
      time += length;
      if (low[i] < smallest) smallest = low[i];
      if (high[i] > largest) largest = high[i];
    }
    if (!time) continue;
    grouped.mean[g] = Math.min(Math.max(sum / time, smallest), largest);
    grouped.low[g] = smallest;
    grouped.high[g] = largest;
  }
}

/** The intervals of a window in at most about so many bins: samples where they are few enough. */
export function windowOf(levels: readonly Level[], low: number, high: number, most: number): Level {
  for (const level of levels) {
    const from = firstAbove(level.end, low);
    const to = Math.max(from, firstAbove(level.start, high));
    const size = Math.ceil((to - from) / most);
    if (size > 4 * FACTOR && level !== levels[levels.length - 1]) continue;
    return size > 1 ? group(level, from - (from % size), to, size) : cutLevel(level, from, to);
  }
  throw new Error("a track has no level");
}

function cutLevel(level: Level, from: number, to: number): Level {
  const curves = level.curves.map((curve) => once(() => {
    const { low, mean, high } = curve();
    return { low: low.subarray(from, to), mean: mean.subarray(from, to), high: high.subarray(from, to) };
  }));
  return { ...level, start: level.start.subarray(from, to), end: level.end.subarray(from, to), curves };
}

/** Whether the line goes on from an interval to the next one. */
function goesOn(level: Level, curve: Curve, i: number): boolean {
  return level.start[i + 1] <= level.end[i] && curve.mean[i + 1] !== 0;
}

/** Points of a line that steps at the starts, broken where values are unknown. */
export function stepLine(level: Level, curve: Curve, step: number): Line {
  const [x, y, places]: number[][] = [[], [], []];
  const add = (time: number, value: number, place: number) => { x.push(time); y.push(value); places.push(place); };
  for (let i = 0; i < level.start.length; i++) {
    if (curve.mean[i] === 0) continue;
    const value = step * (curve.mean[i] - 1);
    add(level.start[i], value, i);
    if (!goesOn(level, curve, i)) {
      add(level.end[i], value, i);
      add(level.end[i], NaN, i);
    }
  }
  return { x, y, places };
}

/** The mean of a curve over a time, weighed by time; NaN where it is unknown. */
export function meanWithin({ start, end }: Level, { mean }: Curve, step: number, low: number, high: number): number {
  let [sum, time] = [0, 0];
  for (let i = firstAbove(end, low); i < start.length && start[i] < high; i++) {
    if (mean[i] === 0) continue;
    const length = Math.min(end[i], high) - Math.max(start[i], low);
    sum += length * step * (mean[i] - 1);
    time += length;
  }
  return time ? sum / time : NaN;
}

/** A value that is made when it is first asked for. */
export function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | null = null;
  return () => (made ??= { value: make() }).value;
}
