/** The lanes of one GPU in a window: bars to be painted, and what the pointer shows over them. */
import type { Painted, Theme } from "../colors";
import { formatMoment, formatPercent, formatSeconds } from "../format";
import { scanRow, type Window } from "./bars";
import type { Bars, Lanes, RangeBars } from "./gpus";
import type { Names } from "./header";

const GAP = 0.08; // above and below a bar, in rows

/** A window, with the seconds of one pixel. */
export interface View extends Window {
  pixel: number;
  theme: Theme;
}

/** The name of a wide bar: where there is space for it, in seconds and rows, and what to write, shortest first. */
interface FittedName extends Record<"left" | "right" | "middle", number> {
  cuts: readonly string[];
  color: string;
}

/** Where the pointer finds something, in seconds and rows, and what is said of it, as a label of plotly. */
export interface Place extends Record<"left" | "right" | "top" | "bottom", number> {
  say: () => string;
}

export interface FilledLanes {
  /** By colour, of each bar left, right (seconds), top, bottom (rows). */
  bars: Map<string, number[]>;
  names: FittedName[];
  places: Place[];
}

/** Top and bottom of a bar, and its middle, in rows. */
type Span = Record<"top" | "bottom" | "middle", number>;

/** What is gathered while lanes are filled, and from what. */
interface Filling extends FilledLanes {
  lanes: Lanes;
  header: Names;
  view: View;
}

type Describe = (bar: number) => string;

const kept = new WeakMap<Lanes, { key: string; filled: FilledLanes }>();

/** The bars of a GPU in a window: wide ones each, narrower ones drawn together.
 *
 * @param isWhole - The window is all that was recorded. It takes longest, and one comes back to it: its bars are kept.
 */
export function fillLanes(lanes: Lanes, names: Names, view: View, isWhole = false): FilledLanes {
  const key = [view.low, view.high, view.pixel, view.theme, lanes.scaleTop].join();
  const known = kept.get(lanes);
  if (known?.key === key) return known.filled;
  const filling: Filling = { bars: new Map(), names: [], places: [], lanes, header: names, view };
  fillRanges(filling, lanes.host, "on the CPU");
  fillRanges(filling, lanes.windows, "on the GPU, first activity to last,");
  fillWork(filling, lanes.work);
  if (isWhole) kept.set(lanes, { key, filled: filling });
  return filling;
}

function paint({ bars }: Filling, { color }: Painted, left: number, right: number, top: number, bottom: number): void {
  let edges = bars.get(color);
  if (!edges) bars.set(color, edges = []);
  edges.push(left, right, top, bottom);
}

/** A bar that begins in a row and is so many rows high. */
function spanOf(row: number, rows: number): Span {
  return { top: row - 0.5 + GAP, bottom: row - 0.5 + rows - GAP, middle: row + (rows - 1) / 2 };
}

function addWide(
  filling: Filling, bars: Bars, bar: number, span: Span, look: Painted, cuts: readonly string[], describe: Describe,
): void {
  const { view } = filling;
  const left = Math.max(bars.start[bar], view.low - view.pixel);
  const right = Math.min(bars.end[bar], view.high + view.pixel);
  const pixels = (right - left) / view.pixel;
  const apart = pixels > 3 ? 0.4 * view.pixel : 0; // so that neighbours can be told apart
  paint(filling, look, left + apart, right - apart, span.top, span.bottom);
  if (pixels > 24) filling.names.push({ left, right, middle: span.middle, cuts, color: look.text });
  filling.places.push({ left, right, top: span.top, bottom: span.bottom, say: () => describe(bar) });
}

/** The colour of a range: the last one is for unknown. */
function rangeLook({ lanes, header: names, view }: Filling, percent: number): Painted {
  const colors = names.rangeColors[view.theme];
  const last = colors.length - 1;
  const step = Math.min(last - 1, Math.floor((last * percent) / lanes.scaleTop));
  return colors[Number.isNaN(percent) ? last : step];
}

/** What is said of a bar that stands for several. */
function describeMerged({ merged }: Bars, bar: number): string {
  return merged[bar] > 1 ? `, ${merged[bar]} short ones drawn as one` : "";
}

function describeRange({ header: names }: Filling, bars: RangeBars, bar: number, where: string): string {
  const { tensor_active_mean_pct: active, coverage_pct: coverage } = bars.percents;
  return `<b>${names.paths.names[bars.id[bar]]}</b>${describeMerged(bars, bar)}<br>${where} from ` +
    `${formatMoment(bars.start[bar])}, for ${formatSeconds(bars.end[bar] - bars.start[bar])}<br>` +
    `Tensor Active mean ${formatPercent(active[bar])}, coverage ${formatPercent(coverage[bar])}, ` +
    `${bars.kernels[bar]} kernels`;
}

/** Short bars of a row, by bin: how many there are, how many they stand for, and the first one. */
class Bins {
  readonly size: number;
  readonly bars: Uint32Array;
  readonly count: Uint32Array;
  readonly first: Uint32Array;

  constructor({ low, high, narrow }: View) {
    this.size = Math.ceil((high - low) / narrow) + 1;
    [this.bars, this.count, this.first] = [new Uint32Array(this.size), new Uint32Array(this.size), new Uint32Array(this.size)];
  }

  add(bin: number, bar: number, merged: number): void {
    if (!this.bars[bin]++) this.first[bin] = bar;
    this.count[bin] += merged;
  }
}

function fillRanges(filling: Filling, bars: RangeBars, where: string): void {
  const { header: names, view } = filling;
  const active = bars.percents.tensor_active_mean_pct;
  const { merged } = bars;
  const describe: Describe = (bar) => describeRange(filling, bars, bar, where);
  for (const [row, members] of bars.rows) {
    const bins = new Bins(view);
    const [time, sum] = [new Float64Array(bins.size), new Float64Array(bins.size)]; // of those whose Tensor Active is known
    const span = spanOf(row, 1);
    scanRow(bars, members, view,
      (bar) => addWide(filling, bars, bar, span, rangeLook(filling, active[bar]), names.paths.cuts[bars.id[bar]], describe),
      (bin, bar, seconds) => {
        if (bin < 0) return; // it begins before the window
        bins.add(bin, bar, merged[bar]);
        const value = active[bar];
        if (Number.isNaN(value)) return;
        time[bin] += seconds;
        sum[bin] += seconds * value;
      });
    for (let bin = 0; bin < bins.size; bin++) {
      if (bins.bars[bin]) addRangeBin(filling, bars, span, bin, bins, time[bin] ? sum[bin] / time[bin] : NaN, describe);
    }
  }
}

function addRangeBin(
  filling: Filling, bars: RangeBars, span: Span, bin: number, bins: Bins, mean: number, describe: Describe,
): void {
  const { view, header: names } = filling;
  const left = view.low + bin * view.narrow;
  paint(filling, rangeLook(filling, mean), left, left + view.narrow, span.top, span.bottom);
  addBin(filling, span, bin, bins, describe, () => `<b>${bins.count[bin]} short ranges</b>, the first ` +
    `${names.paths.names[bars.id[bins.first[bin]]]}<br>Tensor Active mean ${formatPercent(mean)}`);
}

/** Where the pointer finds what is drawn together. */
function addBin(filling: Filling, { top, bottom }: Span, bin: number, bins: Bins, describe: Describe, sayAll: () => string): void {
  const { low, narrow } = filling.view;
  const left = low + bin * narrow;
  const say = () => (bins.bars[bin] === 1 ? describe(bins.first[bin]) : sayAll());
  filling.places.push({ left, right: left + narrow, top, bottom, say });
}

function describeWork({ lanes, header: { works, classes } }: Filling, bars: Bars, bar: number): string {
  const id = bars.id[bar];
  const active = bars.percents.tensor_active_pct[bar];
  const [low, high] = [works.low[id], works.high[id]];
  const interval = low === null || high === null ? "" : ` (95 % interval of its kernel ` +
    `${formatPercent(low)} to ${formatPercent(high)})`;
  return `<b>${works.names[id]}</b>${describeMerged(bars, bar)}<br>${works.geometry[id] ? `grid and block ${works.geometry[id]}<br>` : ""}` +
    `${lanes.labels[bars.row[bar]]}, from ${formatMoment(bars.start[bar])}, for ` +
    `${formatSeconds(bars.end[bar] - bars.start[bar])}<br>${classes[works.class[id]].name}` +
    (Number.isNaN(active) ? "" : `, Tensor Active ${formatPercent(active)}${interval}`);
}

function fillWork(filling: Filling, bars: Bars): void {
  const { view, lanes, header: { works, classes } } = filling;
  const { id, merged } = bars;
  const describe: Describe = (bar) => describeWork(filling, bars, bar);
  const idle = classes[classes.length - 1];
  for (const [row, members] of bars.rows) {
    const bins = new Bins(view);
    const time = new Float64Array(bins.size * classes.length); // of each bin by class
    const span = spanOf(row, lanes.streamRows);
    paint(filling, idle, view.low, view.high, span.top, span.bottom);
    scanRow(bars, members, view,
      (bar) => addWide(filling, bars, bar, span, classes[works.class[id[bar]]], works.cuts[id[bar]], describe),
      (bin, bar, seconds) => {
        if (bin < 0) return;
        bins.add(bin, bar, merged[bar]);
        time[bin * classes.length + works.class[id[bar]]] += seconds;
      });
    for (let bin = 0; bin < bins.size; bin++) {
      const mine = time.subarray(bin * classes.length, (bin + 1) * classes.length);
      if (bins.bars[bin]) stackBin(filling, span, bin, bins, mine, describe);
    }
  }
}

/** Short work of one bin: the height of each colour is its share of the time. */
function stackBin(filling: Filling, span: Span, bin: number, bins: Bins, byClass: Float64Array, describe: Describe): void {
  const { view, header: { classes } } = filling;
  const left = view.low + bin * view.narrow;
  const busy = byClass.reduce((sum, time) => sum + time, 0);
  const height = (span.bottom - span.top) / Math.max(busy, view.narrow);
  let { bottom } = span;
  byClass.forEach((time, place) => {
    if (!time) return;
    paint(filling, classes[place], left, left + view.narrow, bottom - height * time, bottom);
    bottom -= height * time;
  });
  const shares = () => Array.from(byClass, (time, place) => [classes[place].name, time] as const)
    .filter(([, time]) => time).map(([name, time]) => `${name} ${formatPercent((100 * time) / view.narrow)}`);
  addBin(filling, span, bin, bins, describe, () => `<b>${bins.count[bin]} short kernels and copies</b><br>in ` +
    `${formatSeconds(view.narrow)} from ${formatMoment(left)}<br>${shares().join(", ")} of the time`);
}
