/** The bars of a lane in a window: what is painted, and what the pointer finds. Knows no page. */
import type { Painted } from "../colors";
import { formatPercent, formatSeconds } from "../format";
import { innermost, scanRow, type Window } from "./bars";
import type { Bars, RangeBars } from "./gpus";
import type { Header } from "./header";

const GAP = 0.06; // above and below a bar, in rows
const READABLE = 28; // pixels of a range that is worth to be seen as the innermost one
const LOST = 0.16; // of a range's bar: a line as long as the share that is lost

/** How bars look that have no colour in the data: ranges by turns, calls, and what of ranges is lost. */
export interface Looks {
  ranges: readonly Painted[];
  calls: readonly Painted[];
  lost: string;
}

/** A window, with the seconds of one pixel, and which bars of work are not looked for: these recede. */
export interface View extends Window {
  pixel: number;
  looks: Looks;
  hits: Uint8Array | null;
}

/** The name of a wide bar: where there is space for it, in seconds and rows, and what to write, shortest first. */
interface FittedName extends Record<"left" | "right" | "middle", number> {
  cuts: readonly string[];
  color: string;
}

/** Where the pointer finds something, in seconds and rows: the bar, or the first of several, and the lines that tell of it. */
export interface Place extends Record<"left" | "right" | "top" | "bottom" | "bar", number> {
  count: number;
  say: () => string[];
}

/** The colour of idle time, which is hatched, and what a colour of a bar that recedes begins with. */
export const IDLE = "idle";
export const FAINT = "faint ";

export interface FilledLane {
  /** By colour, of each bar left, right (seconds), top, bottom (rows). */
  bars: Map<string, number[]>;
  names: FittedName[];
  places: Place[];
}

export class Filling implements FilledLane {
  readonly bars = new Map<string, number[]>();
  readonly names: FittedName[] = [];
  readonly places: Place[] = [];
  readonly #header: Header;
  readonly #view: View;
  readonly #bars: Pick<Bars, "start" | "end" | "id" | "merged">;

  constructor(header: Header, bars: Bars, view: View) {
    [this.#header, this.#bars, this.#view] = [header, bars, view];
  }

  paint(color: string, left: number, right: number, top: number, bottom: number): void {
    let edges = this.bars.get(color);
    if (!edges) this.bars.set(color, edges = []);
    edges.push(left, right, top, bottom);
  }

  /** Add a bar that is wide enough to be drawn by itself, or a piece of it; where it is drawn. */
  addWide(bar: number, row: number, { color, text }: Painted, cuts: readonly string[], say: (bar: number) => string[], piece = { start: this.#bars.start[bar], end: this.#bars.end[bar] }): [left: number, right: number] {
    const { low, high, pixel } = this.#view;
    const [left, right] = [Math.max(piece.start, low - pixel), Math.min(piece.end, high + pixel)];
    const pixels = (right - left) / pixel;
    const apart = pixels > 3 ? 0.4 * pixel : 0; // so that neighbours can be told apart
    this.paint(color, left + apart, right - apart, row + GAP, row + 1 - GAP);
    if (pixels > 24) this.names.push({ left, right, middle: row + 0.5, cuts, color: text });
    this.places.push({ left, right, top: row, bottom: row + 1, bar, count: 1, say: () => say(bar) });
    return [left + apart, right - apart];
  }

  /** Let the pointer find what is drawn together. */
  addBin(bin: number, row: number, bins: Bins, say: (bar: number) => string[], sayAll: () => string[]): void {
    const left = this.#view.low + bin * this.#view.narrow;
    const [count, bar] = [bins.bars[bin], bins.first[bin]];
    this.places.push({ left, right: left + this.#view.narrow, top: row, bottom: row + 1, bar, count, say: () => (count === 1 ? say(bar) : sayAll()) });
  }

  /** What is said of any bar: its name, how long it took, and more. */
  describe(bar: number, name: string, ...more: string[]): string[] {
    const { start, end, merged } = this.#bars;
    const several = merged[bar] > 1 ? ` (${merged[bar]} short ones)` : "";
    return [`${name}${several}`, formatSeconds(end[bar] - start[bar]), ...more.filter(Boolean)];
  }

  get header(): Header {
    return this.#header;
  }
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

/** How ranges are drawn: what Tensor Active leaves of 100 % is a line in their bars, as in the icicle. */
function rangePainter(header: Header, bars: RangeBars, view: View) {
  const filling = new Filling(header, bars, view);
  const { ranges, lost } = view.looks;
  const active = bars.percents.tensor_active_mean_pct;
  const say = (bar: number) => filling.describe(bar, header.paths.names[bars.id[bar]],
    `Tensor Active ${formatPercent(active[bar])}, ${bars.kernels[bar]} kernels`);
  const addLost = (percent: number, row: number, left: number, right: number) => {
    if (percent < 100) filling.paint(lost, left, left + (right - left) * (1 - percent / 100), row + 1 - GAP - LOST, row + 1 - GAP);
  };
  const addWide = (bar: number, row: number, piece?: { start: number; end: number }) =>
    addLost(active[bar], row, ...filling.addWide(bar, row, ranges[bars.id[bar] % ranges.length], header.paths.cuts[bars.id[bar]], say, piece));
  return { filling, active, say, addLost, addWide };
}

/** The innermost range at each time, of those that are wide enough to be read. */
export function fillInner(header: Header, bars: RangeBars, view: View): FilledLane {
  const { filling, addWide } = rangePainter(header, bars, view);
  const wide: number[] = [];
  for (const row of bars.rows.values()) scanRow(bars, row, { ...view, narrow: READABLE * view.pixel }, (bar) => wide.push(bar), () => {});
  wide.sort((a, b) => bars.start[a] - bars.start[b] || a - b);
  for (const piece of innermost(bars, wide)) {
    if (piece.end > view.low && piece.start < view.high) addWide(piece.bar, 0, piece);
  }
  return filling;
}

/** Ranges in the rows of their depths; short ones are drawn together. */
export function fillRanges(header: Header, bars: RangeBars, view: View): FilledLane {
  const { filling, active, say, addLost, addWide } = rangePainter(header, bars, view);
  for (const [row, members] of bars.rows) {
    const bins = new Bins(view);
    const [time, sum] = [new Float64Array(bins.size), new Float64Array(bins.size)]; // of those whose Tensor Active is known
    scanRow(bars, members, view, (bar) => addWide(bar, row), (bin, bar, seconds) => {
      if (bin < 0) return; // it begins before the window
      bins.add(bin, bar, bars.merged[bar]);
      if (Number.isNaN(active[bar])) return;
      time[bin] += seconds;
      sum[bin] += seconds * active[bar];
    });
    for (let bin = 0; bin < bins.size; bin++) {
      if (!bins.bars[bin]) continue;
      const left = view.low + bin * view.narrow;
      filling.paint(view.looks.ranges[0].color, left, left + view.narrow, row + GAP, row + 1 - GAP);
      addLost(time[bin] ? sum[bin] / time[bin] : NaN, row, left, left + view.narrow);
      filling.addBin(bin, row, bins, say, () => [`${bins.count[bin]} short ranges`, `the first: ${header.paths.names[bars.id[bins.first[bin]]]}`]);
    }
  }
  return filling;
}

/** Calls of the CUDA API. */
export function fillCalls(header: Header, bars: Bars, names: readonly string[], view: View): FilledLane {
  const filling = new Filling(header, bars, view);
  const { calls } = view.looks;
  const look = (bar: number) => calls[Math.min(bars.id[bar], calls.length - 1)];
  const say = (bar: number) => filling.describe(bar, names[bars.id[bar]], "CUDA API call");
  for (const [row, members] of bars.rows) {
    const bins = new Bins(view);
    scanRow(bars, members, view,
      (bar) => filling.addWide(bar, row, look(bar), [names[bars.id[bar]]], say),
      (bin, bar) => { if (bin >= 0) bins.add(bin, bar, bars.merged[bar]); });
    for (let bin = 0; bin < bins.size; bin++) {
      if (!bins.bars[bin]) continue;
      const left = view.low + bin * view.narrow;
      filling.paint(look(bins.first[bin]).color, left, left + view.narrow, row + GAP, row + 1 - GAP);
      filling.addBin(bin, row, bins, say, () => [`${bins.count[bin]} short CUDA calls`]);
    }
  }
  return filling;
}

/** Kernels and copies in their classes' colours; what is left of a row is idle. */
export function fillWork(header: Header, bars: Bars, streams: readonly string[], view: View): FilledLane {
  const filling = new Filling(header, bars, view);
  const { works, classes } = header;
  const { id, merged } = bars;
  const active = bars.percents.tensor_active_pct;
  const isFaint = (bar: number) => view.hits !== null && !view.hits[bar];
  const colorOf = (kind: number, faint: boolean) => (faint ? FAINT : "") + classes[kind].color;
  const say = (bar: number) => filling.describe(bar, works.names[id[bar]], works.geometry[id[bar]] && `grid and block ${works.geometry[id[bar]]}`,
    `${classes[works.class[id[bar]]].name}${Number.isNaN(active[bar]) ? "" : `, Tensor Active ${formatPercent(active[bar])}`}, ${streams[bars.row[bar]]}`);
  for (const [row, members] of bars.rows) {
    const bins = new Bins(view);
    const time = new Float64Array(bins.size * classes.length * 2); // of each bin by class, and by class of what recedes
    filling.paint(IDLE, view.low, view.high, row + GAP, row + 1 - GAP);
    scanRow(bars, members, view,
      (bar) => {
        const kind = works.class[id[bar]];
        filling.addWide(bar, row, { ...classes[kind], color: colorOf(kind, isFaint(bar)) }, isFaint(bar) ? [] : works.cuts[id[bar]], say);
      },
      (bin, bar, seconds) => {
        if (bin < 0) return;
        bins.add(bin, bar, merged[bar]);
        time[(bin * 2 + Number(isFaint(bar))) * classes.length + works.class[id[bar]]] += seconds;
      });
    for (let bin = 0; bin < bins.size; bin++) {
      const mine = time.subarray(bin * 2 * classes.length, (bin + 1) * 2 * classes.length);
      if (bins.bars[bin]) stackBin(filling, view, row, bin, bins, mine, (place) => colorOf(place % classes.length, place >= classes.length), say);
    }
  }
  return filling;
}

/** Short work of one bin: the height of each colour is its share of the time. */
function stackBin(
  filling: Filling, view: View, row: number, bin: number, bins: Bins, times: Float64Array, colorOf: (place: number) => string, say: (bar: number) => string[],
): void {
  const left = view.low + bin * view.narrow;
  const busy = times.reduce((sum, time) => sum + time, 0);
  const height = (1 - 2 * GAP) / Math.max(busy, view.narrow);
  let bottom = row + 1 - GAP;
  times.forEach((time, place) => {
    if (!time) return;
    filling.paint(colorOf(place), left, left + view.narrow, bottom - height * time, bottom);
    bottom -= height * time;
  });
  const { classes } = filling.header;
  const shares = () => Array.from(times.subarray(0, classes.length), (time, place) => [classes[place].name, time] as const)
    .filter(([, time]) => time).map(([name, time]) => `${name} ${formatPercent((100 * time) / view.narrow)}`);
  filling.addBin(bin, row, bins, say, () => [`${bins.count[bin]} short kernels and copies`, `in ${formatSeconds(view.narrow)}`, shares().join(", ")]);
}
