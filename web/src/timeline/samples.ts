/** Samples of the timeline: levels of detail, and the points of one window. Knows no page. */
import { formatPercent, formatScaled } from "../format";
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

/** Where the values of a metric are: the levels of its track, its place in their curves, and the step of its values. */
export interface PlacedCurve {
  levels: Level[];
  place: number;
  step: number;
  unit: string;
}

/** A strip of curves, from 0 to its highest value. */
export interface Strip {
  title: string;
  high: number;
  unit: string;
  curves: { name: string; color: string; isHidden: boolean }[];
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

function groupCurve({ start, end }: Level, { low, mean, high }: Curve, edges: readonly number[]): Curve<Float32Array> {
  const count = edges.length - 1;
  const grouped = { low: new Float32Array(count), mean: new Float32Array(count), high: new Float32Array(count) };
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
  return grouped;
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

const REACH = 14; // pixels beside a line that still are on it
const ALIKE = 0.1; // pixels by which heights are not told apart
const WIDTH = 1.2;

/** A curve in a window; with a band from the smallest to the largest value of each bin, or from 0 to each sample. */
export interface FilledCurve {
  name: string;
  color: string;
  unit: string;
  hasBand: boolean;
  level: Level;
  curve: Curve;
  step: number;
  line: Line;
}

type Place = (value: number) => number;

/** How high a value is in a strip, in pixels from the top of the canvas. */
export const heightIn = ({ high }: Strip, top: number, bottom: number): Place => (value) => bottom - 1 - (value / high) * (bottom - top - 3);

/** The curves of a strip that are shown, in at most about so many bins each. */
export function fillCurves(curves: ReadonlyMap<string, PlacedCurve>, { curves: lines }: Strip, low: number, high: number, most: number): FilledCurve[] {
  const cuts = new Map<readonly Level[], Level>(); // curves share their times
  return lines.filter(({ isHidden }) => !isHidden).map(({ name, color }) => {
    const { levels, place, step, unit } = curves.get(name)!;
    const level = cuts.get(levels) ?? windowOf(levels, low, high, most);
    cuts.set(levels, level);
    const curve = level.curves[place]();
    return { name, color, unit, hasBand: lines.length === 1 && unit === "%", level, curve, step, line: stepLine(level, curve, step) };
  });
}

export function formatValue(value: number, unit: string): string {
  return unit === "%" ? formatPercent(value) : formatScaled(value, unit).trim();
}

/** Draw the line and its band in the colour of the pen, both of rectangles, for which a browser takes a tenth of the time of a path. */
export function paintCurve(pen: CanvasRenderingContext2D, filled: FilledCurve, across: (seconds: number) => number, place: Place): void {
  if (filled.hasBand) {
    pen.globalAlpha = 0.28;
    paintBand(pen, filled, across, place);
    pen.globalAlpha = 1;
  }
  paintLine(pen, filled, across, place);
}

/** A value holds until the next one, which may be far above or below it. */
function paintLine(pen: CanvasRenderingContext2D, { line: { x, y } }: FilledCurve, across: (seconds: number) => number, place: Place): void {
  for (let i = 0; i + 1 < x.length; i++) {
    if (Number.isNaN(y[i])) continue;
    const [left, height] = [across(x[i]), place(y[i])];
    while (i + 2 < x.length && Math.abs(place(y[i + 1]) - height) < ALIKE) i++;
    const [right, next] = [across(x[i + 1]), place(y[i + 1])];
    pen.fillRect(left - WIDTH / 2, height - WIDTH / 2, right - left + WIDTH, WIDTH);
    if (!Number.isNaN(next)) pen.fillRect(right - WIDTH / 2, Math.min(height, next), WIDTH, Math.abs(next - height));
  }
}

/** Neighbours share whole pixels: else they would overlap. */
function paintBand(pen: CanvasRenderingContext2D, { level, curve, step }: FilledCurve, across: (seconds: number) => number, place: Place): void {
  const ratio = pen.getTransform().a;
  const round = (pixels: number) => Math.round(ratio * pixels) / ratio;
  for (let i = 0; i < level.start.length; i++) {
    if (curve.mean[i] === 0) continue;
    const left = round(across(level.start[i]));
    const top = place(step * (curve.high[i] - 1));
    pen.fillRect(left, top, round(across(level.end[i])) - left, place(level.binned ? step * (curve.low[i] - 1) : 0) - top);
  }
}

/** The point of a line that is nearest to the pointer, if one is near: how many pixels away, and what is said of it. */
export function nearestPoint(
  { name, unit, level, curve, step, line: { x, y, places } }: FilledCurve, place: Place,
  { time, height, pixel }: { time: number; height: number; pixel: number },
): { away: number; say: () => string[] } | null {
  const tell = (value: number) => formatValue(value, unit);
  let [best, away] = [-1, REACH];
  for (let i = Math.max(firstAbove(x, time - REACH * pixel) - 1, 0); i < x.length && x[i] <= time + REACH * pixel; i++) {
    const until = x[i + 1] ?? x[i];
    const beside = Math.max(x[i] - time, time - until, 0) / pixel;
    const distance = Math.hypot(beside, place(y[i]) - height); // not a number at a gap
    if (distance < away) [best, away] = [i, distance];
  }
  if (best < 0) return null;
  const [smallest, largest] = [curve.low, curve.high].map((values) => tell(step * (values[places[best]] - 1)));
  const say = () => [`${name} ${tell(y[best])}`, ...(level.binned ? [`mean of the bin; smallest ${smallest}, largest ${largest}`] : [])];
  return { away, say };
}
