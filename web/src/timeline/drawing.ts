/** The timeline as it is drawn, on one canvas: what is in its window, and what the pointer finds there. */
import { isDark, type Painted, readColor } from "../colors";
import { element, find } from "../dom";
import { formatMoment, formatSeconds, timeTicks } from "../format";
import { firstAbove } from "../intervals";
import type { Gpu, Header } from "./data";
import { type Highlights, outlinesIn } from "./highlights";
import { fillCalls, type FilledLane, fillInner, fillRanges, fillWork, type Looks, type Place } from "./lanes";
import { type Choices, type Lane, layOut, type Layout, placeIn, standardChoices } from "./layout";
import { acrossOf, type DrawnLane, type Frame, GUTTER, INKS, type Inks, type Marks, paint, penOf } from "./paint";
import { fillCurves, type FilledCurve, heightIn, nearestPoint } from "./samples";
import type { Shown } from "./shown";

const NARROW = 2; // pixels below which bars are drawn together
const BIN = 1.5; // pixels of a bin of a curve
const REACH = 3; // pixels beside a bar that still are on it
const TICK_PIXELS = 120;
const PICTURE = 2; // pixels of a saved picture for one of the page
const PAPER = { width: 690, ratio: 2, height: 850 }; // of A4 between its margins, and of a timeline that is not cut in two
const MOST_HEIGHT = 0.42; // of the window
const KEPT = 24; // lanes whose bars are kept, as one comes back to them

/** What the pointer is at. */
export interface Pointed {
  lane: Lane | null;
  row: number;
  time: number;
  /** Seconds of a pixel. */
  pixel: number;
}

export class Drawing {
  highlights: Highlights | null = null;
  /** Of the bars of work of the GPU that is shown, those that a search found; null for no search. */
  hits: Uint8Array | null = null;
  readonly choices: Choices = standardChoices();
  readonly canvas: HTMLCanvasElement;
  readonly #plot: HTMLElement;
  readonly #stage: HTMLElement;
  readonly #header: Header;
  readonly #shown: Shown;
  readonly #kept = new Map<string, FilledLane>();
  #drawn: DrawnLane[] = [];
  #layout: Layout;
  #frame: Frame;
  #isStale = true;
  #onPaper = false;
  #looks: Looks | null = null;
  #inks: Inks | null = null;
  #waiting = 0;
  #gpu: Gpu;

  constructor(plot: HTMLElement, header: Header, gpu: Gpu, shown: Shown) {
    [this.#plot, this.#header, this.#gpu, this.#shown] = [plot, header, gpu, shown];
    this.#stage = plot.parentElement!;
    this.canvas = find<HTMLCanvasElement>("canvas", plot);
    this.#layout = layOut(gpu, this.choices);
    this.#frame = this.#makeFrame();
    this.#stage.addEventListener("scroll", () => this.#paint(), { passive: true });
  }

  get gpu(): Gpu {
    return this.#gpu;
  }

  /** Show another GPU, from the next frame on. */
  showGpu(gpu: Gpu): void {
    if (gpu === this.#gpu) return;
    this.#gpu = gpu;
    this.showHits(null);
    this.scheduleAnew();
    document.dispatchEvent(new CustomEvent("tcprof:gpu", { detail: gpu.gpu }));
  }

  /** Let all work recede but some bars; null for none that does. */
  showHits(bars: Uint8Array | null): void {
    this.hits = bars;
    this.schedule();
  }

  /** Draw the window before the next frame. */
  readonly schedule = (): void => {
    if (!this.#waiting) this.#waiting = requestAnimationFrame(this.draw);
  };

  /** Lay out anew, too: another GPU, size, theme or choice of lanes. */
  readonly scheduleAnew = (): void => {
    this.#isStale = true;
    this.schedule();
  };

  /** Draw for paper, or for the window again, at once: print does not wait. */
  readonly print = (onPaper: boolean): void => {
    this.#onPaper = onPaper;
    this.#isStale = true;
    this.draw();
  };

  /** Draw the window that is to be shown. */
  readonly draw = (): void => {
    cancelAnimationFrame(this.#waiting);
    this.#waiting = 0;
    if (this.#isStale) this.#layOut();
    this.#frame = this.#makeFrame();
    this.#drawn = this.#layout.lanes.map((lane) => this.#fill(lane));
    this.#paint();
    this.#plot.dataset.window = `${this.#shown.low} ${this.#shown.high}`;
  };

  #layOut(): void {
    this.#isStale = false;
    this.#looks = this.#inks = null;
    this.#kept.clear();
    this.#layout = layOut(this.#gpu, this.choices);
    const most = this.#onPaper ? PAPER.height : Math.max(MOST_HEIGHT * innerHeight, this.#layout.pinned + 60);
    this.#plot.style.height = `${this.#layout.height}px`;
    this.#stage.style.height = `${Math.min(this.#layout.height, most)}px`;
  }

  #makeFrame(): Frame {
    const { low, high } = this.#shown;
    const [width, ratio] = this.#onPaper ? [PAPER.width, PAPER.ratio] : [this.#plot.clientWidth, devicePixelRatio || 1];
    const height = parseFloat(this.#stage.style.height) || this.#layout.height;
    return { width, height, ratio, low, high, scrolled: this.#stage.scrollTop, pinned: this.#layout.pinned, inks: this.#inks ??= readInks() };
  }

  #fill(lane: Lane): DrawnLane {
    const { low, high, width } = this.#frame;
    const pixels = Math.max(width - GUTTER, 100);
    const pixel = (high - low) / pixels;
    const { kind, strip } = lane;
    const outlines = this.highlights?.gpu === this.#gpu ? outlinesIn(this.highlights, kind, low, high, pixel) : [];
    const curves: FilledCurve[] = strip ? fillCurves(this.#gpu.curves, strip, low, high, pixels / BIN) : [];
    return { lane, outlines, curves, filled: strip ? null : this.#fillBars(kind, pixel) };
  }

  #fillBars(kind: Lane["kind"], pixel: number): FilledLane {
    const { low, high } = this.#shown;
    const { lanes } = this.#gpu;
    const key = [kind, low, high, pixel].join();
    const known = this.hits ? undefined : this.#kept.get(key);
    if (known) return known;
    const view = { low, high, pixel, narrow: NARROW * pixel, looks: this.#looks ??= readLooks(), hits: this.hits };
    const filled = kind === "work" ? fillWork(this.#header, lanes.work, lanes.streams, view)
      : kind === "calls" ? fillCalls(lanes.calls, lanes.callNames, view)
      : kind === "inner" ? fillInner(this.#header, lanes.host, view)
      : fillRanges(this.#header, lanes[kind as "host" | "windows"], view);
    if (this.#kept.size > KEPT) this.#kept.clear();
    if (!this.hits) this.#kept.set(key, filled);
    return filled;
  }

  #paint(canvas = this.canvas, ratio = this.#frame.ratio): void {
    const arrow = this.highlights?.gpu === this.#gpu ? this.highlights.arrow : null;
    this.#frame.scrolled = this.#stage.scrollTop;
    paint(canvas, { ...this.#frame, ratio }, this.#drawn, { ticks: this.#ticks(), selected: this.#shown.mark, arrow });
  }

  /** A time in words: since its step began, or the recording where it is in none. */
  momentAt(time: number): string {
    const { start, end, number } = this.#gpu.details.steps;
    const at = firstAbove(start, time) - 1;
    return at >= 0 && time <= end[at] ? `step ${number[at]} + ${formatSeconds(time - start[at])}` : formatMoment(time);
  }

  /** Where steps begin; and times, counted from the beginning of the first step that is seen, or of the recording. */
  #ticks(): Marks["ticks"] {
    const { low, high, width } = this.#frame;
    const { start, number } = this.#gpu.details.steps;
    const first = Math.max(firstAbove(start, low + 0.02 * (high - low)) - 1, 0);
    const last = firstAbove(start, high);
    const steps = Array.from(start.subarray(first, last), (time, i): Marks["ticks"][number] => [time, `step ${number[first + i]}`, true]);
    const origin = start[first] < high ? start[first] : this.#shown.whole[0];
    const { tickvals, ticktext } = timeTicks(low - origin, high - origin, Math.max(2, (width - GUTTER) / TICK_PIXELS));
    const times = tickvals.map((value, i): Marks["ticks"][number] => [value + origin, value ? `${value > 0 ? "+" : ""}${ticktext[i]}` : ticktext[i], false]);
    return [...steps, ...times].sort((a, b) => a[0] - b[0] || Number(b[2]) - Number(a[2]));
  }

  /** The time under the pointer, and the lane with the row. */
  locate({ clientX, clientY }: Pick<MouseEvent, "clientX" | "clientY">): Pointed {
    const box = this.canvas.getBoundingClientRect();
    const { low, high, width, pinned } = this.#frame;
    const pixel = (high - low) / Math.max(width - GUTTER, 1);
    const y = clientY - box.top;
    const lane = this.#layout.lanes.find((each) => {
      const place = placeIn(each, this.#frame.scrolled);
      return y >= Math.max(place(0), each.isPinned ? 0 : pinned) && y < place(each.rows);
    }) ?? null;
    const place = lane && placeIn(lane, this.#frame.scrolled);
    const row = place ? (y - place(0)) / (place(1) - place(0)) : NaN;
    return { lane, row, time: low + (clientX - box.left - GUTTER) * pixel, pixel };
  }

  /** What can be found in the lanes of the window that is shown. */
  get places(): { lane: Lane; place: Place }[] {
    return this.#drawn.flatMap(({ lane, filled }) => (filled?.places ?? []).map((place) => ({ lane, place })));
  }

  /** The bar or bars at a point, or the nearest within some pixels. */
  placeAt({ lane, row, time, pixel }: Pointed): Place | null {
    const places = this.#drawn.find((each) => each.lane === lane)?.filled?.places ?? [];
    let [best, distance]: [Place | null, number] = [null, Infinity];
    for (const place of places) {
      if (row < place.top || row > place.bottom) continue;
      const away = Math.max(place.left - time, time - place.right, 0);
      if (away <= REACH * pixel && away < distance) [best, distance] = [place, away];
    }
    return best;
  }

  /** What is said of a curve at a point, if one is near. */
  curveAt({ lane, time, pixel }: Pointed, clientY: number): string[] | null {
    const drawn = this.#drawn.find((each) => each.lane === lane);
    if (!lane?.strip || !drawn) return null;
    const place = placeIn(lane, this.#frame.scrolled);
    const heightOf = heightIn(lane.strip, place(0), place(1));
    const height = clientY - this.canvas.getBoundingClientRect().top;
    const points = drawn.curves.map((curve) => nearestPoint(curve, heightOf, { time, height, pixel }));
    const found = points.filter((point) => point !== null).sort((a, b) => a.away - b.away);
    return found[0]?.say() ?? null;
  }

  /** Where a place of a lane is, in pixels of the browser's window. */
  centre(lane: Lane, { left, right, top, bottom }: Place): { clientX: number; clientY: number } {
    const box = this.canvas.getBoundingClientRect();
    const { low, high } = this.#frame;
    const middle = acrossOf(this.#frame)((Math.max(left, low) + Math.min(right, high)) / 2);
    return { clientX: box.left + middle, clientY: box.top + placeIn(lane, this.#frame.scrolled)((top + bottom) / 2) };
  }

  /** The curves of the window. */
  get curves(): FilledCurve[] {
    return this.#drawn.flatMap(({ curves }) => curves);
  }

  get frame(): Frame {
    return this.#frame;
  }

  /** The lanes over the page's colour. */
  picture(): HTMLCanvasElement {
    const lanes = element("canvas");
    this.#paint(lanes, PICTURE);
    const pen = penOf(lanes);
    pen.globalCompositeOperation = "destination-over";
    pen.fillStyle = this.#frame.inks.page;
    pen.fillRect(0, 0, lanes.width, lanes.height);
    return lanes;
  }
}

const readInks = () => Object.fromEntries(INKS.map((name) => [name, readColor(`--${name}`)])) as Inks;

function readLooks(): Looks {
  const text = readColor("--ink");
  const paint = (name: string): Painted => ({ color: readColor(name), text });
  const waiting: Painted = { color: readColor("--warn-line"), text: isDark() ? "#000000" : "#ffffff" };
  return { ranges: ["--range-1", "--range-2"].map(paint), calls: [paint("--call"), waiting], lost: readColor("--loss") };
}
