/** The bars of a lane in a window: what is painted, and what the pointer finds. Knows no page. */
import type { Painted } from "../colors";
import { formatPercent, formatSeconds } from "../format";
import { innermost, type Row, scanRow, spanOf, type Window } from "../intervals";
import type { Bars, Header, RangeBars } from "./data";

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

/** How the bars of a lane look, and what is said of them. */
interface Style {
  /** The colours that bars have, and which of them each has: short bars are stacked by it. */
  colors: readonly string[];
  colorOf: (bar: number) => number;
  /** A bar's name in several lengths, and the colour of its letters. */
  nameOf: (bar: number) => { cuts: readonly string[]; color: string };
  say: (bar: number) => string[];
  /** What is said of several short bars: how many they are, the first, and the time of each colour. */
  sayAll: (count: number, first: number, times: Float64Array) => string[];
  /** Whether a row is idle between its bars: short ones are then as high as their share of the time. */
  hasIdle: boolean;
  /** Tensor Active of each bar; what it leaves of 100 % is a line, as in the icicle. */
  active?: Float32Array;
}

class Filling implements FilledLane {
  readonly bars = new Map<string, number[]>();
  readonly names: FittedName[] = [];
  readonly places: Place[] = [];
  readonly #view: View;
  readonly #bars: Bars;
  readonly #style: Style;

  constructor(bars: Bars, view: View, style: Style) {
    [this.#bars, this.#view, this.#style] = [bars, view, style];
  }

  #paint(color: string, left: number, right: number, top: number, bottom: number): void {
    let edges = this.bars.get(color);
    if (!edges) this.bars.set(color, edges = []);
    edges.push(left, right, top, bottom);
  }

  #paintLost(active: number, row: number, left: number, right: number): void {
    const bottom = row + 1 - GAP;
    if (active < 100) this.#paint(this.#view.looks.lost, left, left + (right - left) * (1 - active / 100), bottom - LOST, bottom);
  }

  /** Add all bars of a row: those that are wide enough each by itself, the others by bin. */
  addRow(row: number, members: Row): void {
    const { low, high, narrow } = this.#view;
    const { colors, colorOf, hasIdle, active } = this.#style;
    const size = Math.ceil((high - low) / narrow) + 1;
    const [bars, count, first] = [new Uint32Array(size), new Uint32Array(size), new Uint32Array(size)];
    const [times, known, sum] = [new Float64Array(size * colors.length), new Float64Array(size), new Float64Array(size)];
    if (hasIdle) this.#paint(IDLE, low, high, row + GAP, row + 1 - GAP);
    scanRow(this.#bars, members, this.#view, (bar) => this.addWide(bar, row), (bin, bar, seconds) => {
      if (bin < 0) return; // it begins before the window
      if (!bars[bin]++) first[bin] = bar;
      count[bin] += this.#bars.merged[bar];
      times[bin * colors.length + colorOf(bar)] += seconds;
      if (!active || Number.isNaN(active[bar])) return;
      known[bin] += seconds;
      sum[bin] += seconds * active[bar];
    });
    for (let bin = 0; bin < size; bin++) {
      if (!bars[bin]) continue;
      const left = low + bin * narrow;
      const mine = times.subarray(bin * colors.length, (bin + 1) * colors.length);
      this.#stack(mine, row, left, left + narrow);
      this.#paintLost(known[bin] ? sum[bin] / known[bin] : NaN, row, left, left + narrow);
      const say = () => (bars[bin] === 1 ? this.#style.say(first[bin]) : this.#style.sayAll(count[bin], first[bin], mine));
      this.places.push({ left, right: left + narrow, top: row, bottom: row + 1, bar: first[bin], say });
    }
  }

  /** Add a bar that is wide enough to be drawn by itself, or a piece of it. */
  addWide(bar: number, row: number, { start, end } = spanOf(this.#bars, bar)): void {
    const { low, high, pixel } = this.#view;
    const { colors, colorOf, nameOf, say, active } = this.#style;
    const [left, right] = [Math.max(start, low - pixel), Math.min(end, high + pixel)];
    const pixels = (right - left) / pixel;
    const apart = pixels > 3 ? 0.4 * pixel : 0; // so that neighbours can be told apart
    this.#paint(colors[colorOf(bar)], left + apart, right - apart, row + GAP, row + 1 - GAP);
    if (active) this.#paintLost(active[bar], row, left + apart, right - apart);
    if (pixels > 24) this.names.push({ left, right, middle: row + 0.5, ...nameOf(bar) });
    this.places.push({ left, right, top: row, bottom: row + 1, bar, say: () => say(bar) });
  }

  /** The height of each colour is its share of the time, or of that of all bars. */
  #stack(times: Float64Array, row: number, left: number, right: number): void {
    const busy = times.reduce((all, time) => all + time, 0);
    const height = (1 - 2 * GAP) / (this.#style.hasIdle ? Math.max(busy, right - left) : busy);
    let bottom = row + 1 - GAP;
    times.forEach((time, color) => {
      if (!time) return;
      this.#paint(this.#style.colors[color], left, right, bottom - height * time, bottom);
      bottom -= height * time;
    });
  }
}

function fill(bars: Bars, view: View, style: Style): FilledLane {
  const filling = new Filling(bars, view, style);
  for (const [row, members] of bars.rows) filling.addRow(row, members);
  return filling;
}

/** What is said of any bar: its name, how long it took, and more. */
function describe({ start, end, merged }: Bars, bar: number, name: string, ...more: string[]): string[] {
  const several = merged[bar] > 1 ? ` (${merged[bar]} short ones)` : "";
  return [`${name}${several}`, formatSeconds(end[bar] - start[bar]), ...more.filter(Boolean)];
}

function styleRanges({ paths: { names, cuts } }: Header, bars: RangeBars, { looks: { ranges } }: View): Style {
  const { id, kernels, percents: { tensor_active_mean_pct: active } } = bars;
  return {
    colors: ranges.map(({ color }) => color),
    colorOf: (bar) => id[bar] % ranges.length,
    nameOf: (bar) => ({ cuts: cuts[id[bar]], color: ranges[0].text }),
    say: (bar) => describe(bars, bar, names[id[bar]], `Tensor Active ${formatPercent(active[bar])}, ${kernels[bar]} kernels`),
    sayAll: (count, first) => [`${count} short ranges`, `the first: ${names[id[first]]}`],
    hasIdle: false, active,
  };
}

/** Ranges in the rows of their depths; short ones are drawn together. */
export const fillRanges = (header: Header, bars: RangeBars, view: View): FilledLane => fill(bars, view, styleRanges(header, bars, view));

/** The innermost range at each time, of those that are wide enough to be read. */
export function fillInner(header: Header, bars: RangeBars, view: View): FilledLane {
  const filling = new Filling(bars, view, styleRanges(header, bars, view));
  const wide: number[] = [];
  for (const row of bars.rows.values()) scanRow(bars, row, { ...view, narrow: READABLE * view.pixel }, (bar) => wide.push(bar), () => {});
  wide.sort((a, b) => bars.start[a] - bars.start[b] || a - b);
  for (const piece of innermost(bars, wide)) {
    if (piece.end > view.low && piece.start < view.high) filling.addWide(piece.bar, 0, piece);
  }
  return filling;
}

/** Calls of the CUDA API. */
export function fillCalls(bars: Bars, names: readonly string[], view: View): FilledLane {
  const { calls } = view.looks;
  const colorOf = (bar: number) => Math.min(bars.id[bar], calls.length - 1);
  return fill(bars, view, {
    colors: calls.map(({ color }) => color), colorOf, hasIdle: false,
    nameOf: (bar) => ({ cuts: [names[bars.id[bar]]], color: calls[colorOf(bar)].text }),
    say: (bar) => describe(bars, bar, names[bars.id[bar]], "CUDA API call"),
    sayAll: (count) => [`${count} short CUDA calls`],
  });
}

/** Kernels and copies in their classes' colours; what is left of a row is idle. */
export function fillWork({ works, classes }: Header, bars: Bars, streams: readonly string[], view: View): FilledLane {
  const { id, row, percents: { tensor_active_pct: active } } = bars;
  const colors = classes.map(({ color }) => color);
  const isFaint = (bar: number) => view.hits !== null && !view.hits[bar];
  return fill(bars, view, {
    colors: [...colors, ...colors.map((color) => FAINT + color)], hasIdle: true,
    colorOf: (bar) => works.class[id[bar]] + (isFaint(bar) ? classes.length : 0),
    nameOf: (bar) => ({ cuts: isFaint(bar) ? [] : works.cuts[id[bar]], color: classes[works.class[id[bar]]].text }),
    say: (bar) => describe(bars, bar, works.names[id[bar]], works.geometry[id[bar]] && `grid and block ${works.geometry[id[bar]]}`,
      `${classes[works.class[id[bar]]].name}${Number.isNaN(active[bar]) ? "" : `, Tensor Active ${formatPercent(active[bar])}`}, ${streams[row[bar]]}`),
    sayAll: (count, _, times) => [`${count} short kernels and copies`, `in ${formatSeconds(view.narrow)}`,
      classes.map(({ name }, place) => times[place] && `${name} ${formatPercent((100 * times[place]) / view.narrow)}`).filter(Boolean).join(", ")],
  });
}
