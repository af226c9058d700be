/** The lanes of one GPU in a window: bars to be painted, and what the pointer shows over them. */
import { formatMoment, formatPercent, formatSeconds } from "../format";
import { scanRow, type Window } from "./bars";
import type { Bars, Lanes, RangeBars } from "./gpus";
import type { Look, Names } from "./header";

const GAP = 0.08; // above and below a bar, in rows

/** A window, with the seconds of one pixel. */
export interface View extends Window {
  pixel: number;
}

/** The name of a wide bar: where there is space for it, in seconds and rows, and what to write, shortest first. */
export interface FittedName {
  left: number;
  right: number;
  middle: number;
  cuts: readonly string[];
  color: string;
}

/** Where the pointer finds something, in seconds and rows, and what is said of it, as a label of plotly. */
export interface Place {
  left: number;
  right: number;
  top: number;
  bottom: number;
  say: () => string;
}

export interface FilledLanes {
  /** By colour, of each bar left, right (seconds), top, bottom (rows). */
  bars: Map<string, number[]>;
  names: FittedName[];
  places: Place[];
}

/** Top and bottom of a bar, and its middle, in rows. */
interface Span {
  top: number;
  bottom: number;
  middle: number;
}

/** What is gathered while lanes are filled. */
class Filling {
  readonly bars: FilledLanes["bars"] = new Map();
  readonly fitted: FittedName[] = [];
  readonly places: Place[] = [];
  readonly lanes: Lanes;
  readonly names: Names;
  readonly view: View;

  constructor(lanes: Lanes, names: Names, view: View) {
    this.lanes = lanes;
    this.names = names;
    this.view = view;
  }

  paint({ color }: Look, left: number, right: number, top: number, bottom: number): void {
    getOrAdd(this.bars, color, () => []).push(left, right, top, bottom);
  }

  point(left: number, right: number, { top, bottom }: Span, say: () => string): void {
    this.places.push({ left, right, top, bottom, say });
  }
}

type Describe = (bar: number) => string;

/** The bars of a GPU in a window: wide ones each, narrower ones drawn together. */
export function fillLanes(lanes: Lanes, names: Names, view: View): FilledLanes {
  const filling = new Filling(lanes, names, view);
  fillRanges(filling, lanes.host, "on the CPU");
  fillRanges(filling, lanes.windows, "on the GPU, first activity to last,");
  fillWork(filling, lanes.work);
  return { bars: filling.bars, names: filling.fitted, places: filling.places };
}

function getOrAdd<Key, Found>(map: Map<Key, Found>, key: Key, make: () => Found): Found {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}

/** A bar that begins in a row and is so many rows high. */
function spanOf(row: number, rows: number): Span {
  return { top: row - 0.5 + GAP, bottom: row - 0.5 + rows - GAP, middle: row + (rows - 1) / 2 };
}

function addWide(
  filling: Filling, bars: Bars, bar: number, span: Span, look: Look, cuts: readonly string[], describe: Describe,
): void {
  const { view } = filling;
  const left = Math.max(bars.start[bar], view.low - view.pixel);
  const right = Math.min(bars.end[bar], view.high + view.pixel);
  const pixels = (right - left) / view.pixel;
  const apart = pixels > 3 ? 0.4 * view.pixel : 0; // so that neighbours can be told apart
  filling.paint(look, left + apart, right - apart, span.top, span.bottom);
  if (pixels > 24) filling.fitted.push({ left, right, middle: span.middle, cuts, color: look.text });
  filling.point(left, right, span, () => describe(bar));
}

/** The colour of a range: the last one is for unknown. */
function rangeLook({ lanes, names }: Filling, percent: number): Look {
  const last = names.rangeColors.length - 1;
  const step = Math.min(last - 1, Math.floor((last * percent) / (lanes.highestRange || 1)));
  return names.rangeColors[Number.isNaN(percent) ? last : step];
}

/** What is said of a bar that stands for several. */
function describeMerged({ merged }: Bars, bar: number): string {
  return merged[bar] > 1 ? `, ${merged[bar]} short ones drawn as one` : "";
}

function describeRange({ names }: Filling, bars: RangeBars, bar: number, where: string): string {
  const { tensor_active_mean_pct: active, coverage_pct: coverage } = bars.percents;
  return `<b>${names.paths.names[bars.id[bar]]}</b>${describeMerged(bars, bar)}<br>${where} from ` +
    `${formatMoment(bars.start[bar])}, for ${formatSeconds(bars.end[bar] - bars.start[bar])}<br>` +
    `Tensor Active mean ${formatPercent(active[bar])}, coverage ${formatPercent(coverage[bar])}, ` +
    `${bars.kernels[bar]} kernels`;
}

/** Short ranges of one bin; `time` is that of those whose Tensor Active is known, `sum` its sum over that time. */
interface RangeBin {
  bars: number;
  count: number;
  time: number;
  sum: number;
  first: number;
}

function fillRanges(filling: Filling, bars: RangeBars, where: string): void {
  const { names } = filling;
  const active = bars.percents.tensor_active_mean_pct;
  const describe: Describe = (bar) => describeRange(filling, bars, bar, where);
  for (const [row, members] of bars.rows) {
    const bins: RangeBin[] = []; // with gaps: only those that have bars
    const span = spanOf(row, 1);
    scanRow(bars, members, filling.view,
      (bar) => addWide(filling, bars, bar, span, rangeLook(filling, active[bar]), names.paths.cuts[bars.id[bar]], describe),
      (number, bar, seconds) => {
        const bin = (bins[number] ??= { bars: 0, count: 0, time: 0, sum: 0, first: bar });
        bin.count += bars.merged[bar];
        bin.bars++;
        if (Number.isNaN(active[bar])) return;
        bin.time += seconds;
        bin.sum += seconds * active[bar];
      });
    bins.forEach((bin, number) => addRangeBin(filling, bars, span, number, bin, describe));
  }
}

function addRangeBin(
  filling: Filling, bars: RangeBars, span: Span, number: number, bin: RangeBin, describe: Describe,
): void {
  const { view, names } = filling;
  const mean = bin.time ? bin.sum / bin.time : NaN;
  const left = view.low + number * view.narrow;
  filling.paint(rangeLook(filling, mean), left, left + view.narrow, span.top, span.bottom);
  const say = () => (bin.bars === 1 ? describe(bin.first) : `<b>${bin.count} short ranges</b>, the first ` +
    `${names.paths.names[bars.id[bin.first]]}<br>Tensor Active mean ${formatPercent(mean)}`);
  filling.point(left, left + view.narrow, span, say);
}

function describeWork({ lanes, names: { works, classes } }: Filling, bars: Bars, bar: number): string {
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

/** Short work of one bin: seconds of each class, 0 for none. */
interface WorkBin {
  bars: number;
  count: number;
  first: number;
  time: Float64Array;
}

function fillWork(filling: Filling, bars: Bars): void {
  const { view, lanes, names: { works, classes } } = filling;
  const classOf = (bar: number) => works.class[bars.id[bar]];
  const describe: Describe = (bar) => describeWork(filling, bars, bar);
  const idle = classes[classes.length - 1];
  for (const [row, members] of bars.rows) {
    const bins: WorkBin[] = []; // with gaps: only those that have bars
    const span = spanOf(row, lanes.streamRows);
    filling.paint(idle, view.low, view.high, span.top, span.bottom);
    scanRow(bars, members, view,
      (bar) => addWide(filling, bars, bar, span, classes[classOf(bar)], works.cuts[bars.id[bar]], describe),
      (number, bar, seconds) => {
        const bin = (bins[number] ??= { bars: 0, count: 0, first: bar, time: new Float64Array(classes.length) });
        bin.count += bars.merged[bar];
        bin.bars++;
        bin.time[classOf(bar)] += seconds;
      });
    bins.forEach((bin, number) => stackBin(filling, span, number, bin, describe));
  }
}

/** Short work of one bin: the height of each colour is its share of the time. */
function stackBin(filling: Filling, span: Span, number: number, bin: WorkBin, describe: Describe): void {
  const { view, names: { classes } } = filling;
  const left = view.low + number * view.narrow;
  const busy = bin.time.reduce((sum, time) => sum + time, 0);
  const height = (span.bottom - span.top) / Math.max(busy, view.narrow);
  let { bottom } = span;
  bin.time.forEach((time, place) => {
    if (!time) return;
    filling.paint(classes[place], left, left + view.narrow, bottom - height * time, bottom);
    bottom -= height * time;
  });
  const shares = () => Array.from(bin.time, (time, place) => [classes[place].name, time] as const)
    .filter(([, time]) => time).map(([name, time]) => `${name} ${formatPercent((100 * time) / view.narrow)}`);
  const say = () => (bin.bars === 1 ? describe(bin.first) : `<b>${bin.count} short kernels and copies</b><br>in ` +
    `${formatSeconds(view.narrow)} from ${formatMoment(left)}<br>${shares().join(", ")} of the time`);
  filling.point(left, left + view.narrow, span, say);
}
