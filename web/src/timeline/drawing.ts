/** The timeline as it is drawn: curves and bars are painted on a canvas for each window, below plotly's axes and legend.
 *
 * Plotly's traces have no points: it takes longer for them than all else does. */
import { coarsePointer, isDark, readColor } from "../colors";
import { element, find } from "../dom";
import { CONFIG, dress } from "../figures";
import { timeTicks } from "../format";
import type { FullLayout, PlotElement, Trace } from "../plotly";
import type { Gpu } from "./gpus";
import { fillCurves, nearestPoint, type CurvePoint, type FilledCurve, type Strip } from "./curves";
import type { Header, TimelineFigure, TimelineTrace } from "./header";
import { outlinesIn, type Highlights } from "./highlights";
import { fillLanes, type FilledLanes, type Place } from "./lanes";
import { paint, penOf, type Frame } from "./paint";
import type { Shown } from "./shown";

const TOOLS = {
  doubleClick: false,
  modeBarButtonsToRemove: [...CONFIG.modeBarButtonsToRemove, "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"],
};
const BINS = 4000; // of all curves together
const LEAST_BINS = 150; // of each curve
const NARROW = 2; // pixels below which bars are drawn together
const REACH = 3; // pixels beside a bar that still are on it
const TICK_PIXELS = 120;
const EDGE = 20; // pixels before the right end of the axis, where a time would be cut at the figure's edge
const BESIDE_AXES = 96; // pixels, before plotly has laid out
const PICTURE = 2; // pixels of a saved picture for one of the page
const PAPER = 2; // and of print: with 3, Chromium prints the canvas 1.6 % smaller than the axes over it
const PAGE = 850; // pixels of a printed page that a timeline may take: one that is cut in two cannot be read

/** What the pointer is at, in pixels of the plot, and what is said of it. */
interface Pointed {
  x: number;
  y: number;
  say: () => string;
}

export class Drawing {
  /** What is outlined in the lanes. */
  highlights: Highlights | null = null;
  #height = 0; // of the figure in the window
  readonly #plot: PlotElement;
  readonly #box: HTMLElement;
  readonly #canvas: HTMLCanvasElement;
  readonly #header: Header;
  readonly #gpus: readonly Gpu[];
  readonly #shown: Shown;
  #filled: FilledLanes | null = null;
  #curves: FilledCurve[] = [];
  #place = 0;
  #isStale = true;
  #onPaper = false;
  #ink = "";
  #filledPixels = 0;
  #waiting = 0;

  constructor(plot: PlotElement, box: HTMLElement, header: Header, gpus: readonly Gpu[], shown: Shown) {
    this.#plot = plot;
    this.#box = box;
    this.#canvas = find<HTMLCanvasElement>("canvas", box);
    this.#header = header;
    this.#gpus = gpus;
    this.#shown = shown;
  }

  /** The figure of the GPU that is shown. */
  get figure(): TimelineFigure {
    return this.#header.figures[this.#place];
  }

  /** The GPU that is shown. */
  get gpu(): Gpu {
    return this.#gpus[this.#place];
  }

  /** Show another GPU, from the next frame on. */
  showGpu(gpu: Gpu): void {
    const { dragmode } = this.figure.layout;
    this.#place = this.#gpus.indexOf(gpu);
    if (dragmode !== undefined) this.figure.layout.dragmode = dragmode;
    this.#plot.style.height = `${this.figure.layout.height}px`;
    this.scheduleAnew();
  }

  /** Draw the window before the next frame. */
  readonly schedule = (): void => {
    if (!this.#waiting) this.#waiting = requestAnimationFrame(() => void this.draw());
  };

  /** Draw axes and legend anew, too: another GPU, size, theme or choice of curves. */
  readonly scheduleAnew = (): void => {
    this.#isStale = true;
    this.schedule();
  };

  /** Draw for paper, or for the window again, at once: print does not wait. */
  readonly print = (onPaper: boolean): void => {
    const { layout } = this.figure;
    if (!this.#onPaper) this.#height = layout.height;
    this.#onPaper = onPaper;
    layout.height = onPaper ? Math.min(this.#height, PAGE) : this.#height;
    this.#plot.style.height = `${layout.height}px`;
    this.#isStale = true;
    void this.draw();
  };

  /** Draw the window that is to be shown. */
  readonly draw = async (): Promise<void> => {
    this.#waiting = 0;
    const { low, high } = this.#shown;
    this.#fill([low, high]);
    const ticks = this.#ticks(low, high);
    const range: [number, number] = [low, high];
    Object.assign(this.figure.layout.xaxis, { range, autorange: false, tickmode: "array", ...ticks });
    if (this.#isStale) {
      this.#isStale = false;
      await this.#layOut();
    } else {
      Object.assign(this.#layout.xaxis, ticks); // plotly lays out all else again where it is told of them
      await Plotly.relayout(this.#plot, { "xaxis.range": range });
    }
    Plotly.Fx.unhover(this.#plot); // what was told of is elsewhere now, until the pointer moves
    find(".shown", this.#box).textContent = this.#shown.said;
    this.#plot.dataset.window = `${low} ${high}`;
  };

  /** Paint where the axes are now: plotly also lays out by itself, some time after a resize. */
  readonly followAxes = (): void => {
    const { xaxis, _size } = this.#layout;
    this.#paint(xaxis.range);
    if (_size.w !== this.#filledPixels) this.scheduleAnew(); // the legend needs fewer lines, or more
  };

  /** Paint a window to which plotly is about to move its axes. */
  paintWindow(window: readonly [number, number]): void {
    this.#fill(window);
    this.#paint(window);
  }

  #paint([low, high]: readonly [number, number], canvas = this.#canvas, ratio = this.#onPaper ? PAPER : devicePixelRatio || 1): void {
    const { l, t, w, h } = this.#layout._size;
    const [width, height] = [this.#plot.clientWidth, this.#plot.clientHeight];
    const frame: Frame = { left: l, width: w, top: t, height: h, low, high, ink: this.#ink, mark: this.#shown.mark };
    const outlines = this.highlights?.gpu === this.gpu ? outlinesIn(this.highlights, low, high, (high - low) / w) : [];
    const lanes = this.#laneTraces().map((trace) => ({ ...this.#filled!, ...this.#stripOf(trace), outlines }));
    const curves = this.#curves.map((curve) => ({ ...curve, ...this.#stripOf(curve.trace) }));
    paint(canvas, { width, height, ratio }, frame, lanes, curves);
  }

  /** The time under the pointer, and the row of the lanes, NaN where it is not over them. */
  locate({ clientX, clientY }: MouseEvent): { time: number; row: number; pixel: number } {
    const box = this.#plot.getBoundingClientRect();
    const { _size: { l, w }, xaxis: { range: [low, high] } } = this.#layout;
    const [x, y] = [clientX - box.left - l, clientY - box.top];
    const pixel = (high - low) / w;
    for (const trace of this.#laneTraces()) {
      const { top, bottom } = this.#stripOf(trace);
      const { range } = this.#axisOf(trace);
      const row = range[1] + ((y - top) / (bottom - top)) * (range[0] - range[1]);
      if (y >= top && y <= bottom) return { time: low + x * pixel, row, pixel };
    }
    return { time: low + x * pixel, row: NaN, pixel };
  }

  /** What the pointer can find in the lanes of the window that is shown. */
  get places(): readonly Place[] {
    return this.#filled?.places ?? [];
  }

  /** The bar or the point of a curve at an event, or the nearest one within some pixels. */
  pointAt(event: MouseEvent): Pointed | null {
    const { time, row, pixel } = this.locate(event);
    const { _size: { l }, xaxis: { range: [low] } } = this.#layout;
    const across = (at: number) => l + (at - low) / pixel;
    if (Number.isNaN(row)) {
      const found = this.#nearestCurve(event, time, pixel);
      return found && { x: across(found.point.time), y: found.strip.place(found.point.value), say: found.point.say };
    }
    const place = nearestPlace(this.places, row, time, REACH * pixel);
    if (!place) return null;
    const y = this.#stripOf(this.#laneTraces()[0]).place((place.top + place.bottom) / 2);
    return { x: across(Math.min(Math.max(time, place.left), place.right)), y, say: place.say };
  }

  #nearestCurve({ clientY }: MouseEvent, time: number, pixel: number): { point: CurvePoint; strip: Strip } | null {
    const height = clientY - this.#plot.getBoundingClientRect().top;
    let best: { point: CurvePoint; strip: Strip } | null = null;
    for (const curve of this.#curves) {
      const strip = this.#stripOf(curve.trace);
      if (height < strip.top || height > strip.bottom) continue;
      const point = nearestPoint(curve, strip.place, { time, height, pixel });
      if (point && (!best || point.away < best.point.away)) best = { point, strip };
    }
    return best;
  }

  /** The curves of the window, with their points. */
  get points(): Trace[] {
    return this.#curves.map(({ trace, line: { x, y } }) => ({ ...trace, x, y }) as Trace);
  }

  /** Pixels of the axes: left, top, width and height. */
  get axes(): FullLayout["_size"] {
    return this.#layout._size;
  }

  #laneTraces(): TimelineTrace[] {
    return this.figure.data.filter(({ meta }) => meta?.role === "lanes");
  }

  /** Where the strip of a trace is. */
  #stripOf(trace: TimelineTrace): Strip {
    const { t, h } = this.#layout._size;
    const { domain, range: [first, last] } = this.#axisOf(trace);
    const [bottom, top] = domain.map((share) => t + (1 - share) * h);
    return { top, bottom, place: (value) => top + ((value - last) / (first - last)) * (bottom - top) };
  }

  /** The vertical axis of a trace. */
  #axisOf({ yaxis = "y" }: TimelineTrace): TimelineFigure["layout"]["yaxis"] {
    return this.figure.layout[yaxis.replace("y", "yaxis") as "yaxis"];
  }

  /** The axes over the bars over the page's colour, as a PNG. */
  async picture(): Promise<string> {
    const [width, height, scale] = [this.#plot.clientWidth, this.#plot.clientHeight, PICTURE];
    const axes = new Image();
    axes.src = await Plotly.toImage(this.#plot, { format: "png", width, height, scale });
    await axes.decode();
    const [whole, below] = [element("canvas", { width: scale * width, height: scale * height }), element("canvas")];
    const pen = penOf(whole);
    pen.fillStyle = getComputedStyle(document.body).backgroundColor;
    pen.fillRect(0, 0, whole.width, whole.height);
    this.#paint(this.#layout.xaxis.range, below, scale);
    for (const layer of [below, axes]) pen.drawImage(layer, 0, 0, whole.width, whole.height);
    return whole.toDataURL();
  }

  get #layout(): FullLayout {
    if (!this.#plot._fullLayout) throw new Error("plotly has not drawn yet");
    return this.#plot._fullLayout;
  }

  /** Find the bars and the points of a window. */
  #fill([low, high]: readonly [number, number]): void {
    const pixels = this.#plot._fullLayout ? this.#plot._fullLayout._size.w : this.#plot.clientWidth - BESIDE_AXES;
    this.#filledPixels = pixels;
    const pixel = (high - low) / Math.max(pixels, 100);
    const drawn = this.figure.data.filter(({ visible }) => visible !== "legendonly");
    const curves = drawn.filter(({ meta }) => meta?.role === "curve").length;
    const most = Math.min(pixels / 1.5, Math.max(BINS / curves, LEAST_BINS));
    this.#filled = fillLanes(this.gpu.lanes, this.#header, { low, high, pixel, narrow: NARROW * pixel, theme: isDark() ? "dark" : "light" }, this.#shown.isWhole);
    this.#curves = fillCurves(this.#gpus, drawn, low, high, most);
  }

  /** Times at the axis, and lines without a time where it would be cut. */
  #ticks(low: number, high: number): { tickvals: number[]; ticktext: string[] } {
    const { tickvals, ticktext } = timeTicks(low, high, Math.max(2, Math.floor(this.#filledPixels / TICK_PIXELS)));
    const last = high - (EDGE / this.#filledPixels) * (high - low);
    return { tickvals, ticktext: ticktext.map((text, i) => (tickvals[i] > last ? "" : text)) };
  }

  /** Let plotly draw all that is its own. */
  async #layOut(): Promise<void> {
    this.#ink = readColor("--focus");
    const { layout, layout: { dragmode } } = this.figure;
    dress(layout);
    if (dragmode && !coarsePointer.matches) layout.dragmode = dragmode; // as the reader chose
    layout.xaxis.ticklabeloverflow = "allow"; // see ticks
    for (const trace of this.figure.data) trace.x ||= trace.y = [null]; // without a point it has no place in the legend
    await Plotly.react(this.#plot, this.figure.data, layout, { ...CONFIG, ...TOOLS });
  }
}

function nearestPlace(places: readonly Place[], row: number, time: number, reach: number): Place | null {
  let [best, distance]: [Place | null, number] = [null, Infinity];
  for (const place of places) {
    if (row < place.top || row > place.bottom) continue;
    const away = Math.max(place.left - time, time - place.right, 0);
    if (away <= reach && away < distance) [best, distance] = [place, away];
  }
  return best;
}
