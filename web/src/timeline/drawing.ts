/** The timeline as it is drawn: plotly's traces, filled for a window, over bars that are painted on a canvas. */
import { readColor } from "../colors";
import { find } from "../dom";
import { formatSeconds, timeTicks } from "../format";
import { coarsePointer, narrowScreen } from "../media";
import type { FullLayout, PlotElement } from "../plotly";
import type { Gpu } from "./gpus";
import type { Header, TimelineFigure, TimelineMeta, TimelineTrace } from "./header";
import type { Highlights } from "./highlights";
import { fillLanes, type FilledLanes, type Place } from "./lanes";
import { paint, penOf } from "./paint";
import { areaOutline, stepLine, windowOf, type Level } from "./samples";
import type { Shown } from "./shown";

const CONFIG = {
  responsive: true,
  displaylogo: false,
  doubleClick: false,
  plotlyServerURL: "",
  showSendToCloud: false,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"],
};
const BINS = 4000; // of all curves together
const NARROW = 2; // pixels below which bars are drawn together
const REACH = 3; // pixels beside a bar that still are on it
const TICK_PIXELS = 120;
const BESIDE_AXES = 96; // pixels, before plotly has laid out

/** The part of a window that one level of detail gives, of the GPU at a place. */
type Cut = (gpu: number, levels: readonly Level[]) => Level;

export class Drawing {
  /** What is outlined in the lanes. */
  highlights: Highlights | null = null;
  private readonly plot: PlotElement;
  private readonly box: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly header: Header;
  private readonly gpus: readonly Gpu[];
  private readonly shown: Shown;
  private filled: FilledLanes | null = null;
  private place = 0;
  private filledPixels = 0;
  private waiting = 0;

  constructor(plot: PlotElement, box: HTMLElement, header: Header, gpus: readonly Gpu[], shown: Shown) {
    this.plot = plot;
    this.box = box;
    this.canvas = find("canvas", HTMLCanvasElement, box);
    this.header = header;
    this.gpus = gpus;
    this.shown = shown;
  }

  /** The figure of the GPU that is shown. */
  get figure(): TimelineFigure {
    return this.header.figures[this.place];
  }

  /** The GPU that is shown. */
  get gpu(): Gpu {
    return this.gpus[this.place];
  }

  /** Show another GPU, from the next frame on. */
  showGpu(gpu: Gpu): void {
    const { dragmode } = this.figure.layout;
    this.place = this.gpus.indexOf(gpu);
    if (dragmode !== undefined) this.figure.layout.dragmode = dragmode;
    this.plot.style.height = `${this.figure.layout.height}px`;
    this.schedule();
  }

  /** Draw before the next frame. */
  readonly schedule = (): void => {
    this.waiting ||= requestAnimationFrame(() => void this.draw());
  };

  /** Draw the window that is to be shown. */
  readonly draw = async (): Promise<void> => {
    this.waiting = 0;
    this.fillTraces();
    Object.assign(this.figure.layout, this.appearance(), { shapes: this.markShape() });
    const { xaxis } = this.figure.layout;
    const ticks = timeTicks(this.shown.low, this.shown.high, Math.max(2, Math.floor(this.filledPixels / TICK_PIXELS)));
    Object.assign(xaxis, { range: [this.shown.low, this.shown.high], autorange: false, tickmode: "array", ...ticks });
    await Plotly.react(this.plot, this.figure.data, this.figure.layout, CONFIG);
    const { low, high, length, isWhole } = this.shown;
    find(".shown", HTMLElement, this.box).textContent = isWhole
      ? `all that was recorded, ${formatSeconds(high - low)}`
      : `${formatSeconds(high - low)} of ${formatSeconds(length)}`;
    this.plot.dataset.window = `${low} ${high}`;
  };

  /** Paint the bars where the axes are now: plotly also lays out by itself, some time after a resize. */
  readonly followAxes = (): void => {
    const { xaxis, _size } = this.layout;
    this.paintLanes(xaxis.range);
    if (_size.w !== this.filledPixels) this.schedule();
  };

  /** Paint the bars below the axes; in a window that is only moved, before its traces are filled. */
  paintLanes([low, high]: readonly [number, number]): void {
    const { l, t, w, h } = this.layout._size;
    const frame = { left: l, width: w, top: t, height: h, low, high, ink: readColor("--focus") };
    const { filled } = this;
    const outlines = this.highlights?.gpu === this.gpu ? this.highlights.bars : [];
    const lanes = (filled ? this.laneTraces() : []).map((trace) => {
      const { top, bottom, range } = this.pixelsOf(trace);
      const place = (row: number) => top + ((row - range[1]) / (range[0] - range[1])) * (bottom - top);
      return { ...filled!, place, outlines };
    });
    paint(this.canvas, this.plot.clientWidth, this.plot.clientHeight, frame, lanes);
  }

  /** The time under the pointer, and the row of the lanes, NaN where it is not over them. */
  locate({ clientX, clientY }: MouseEvent): { time: number; row: number; pixel: number } {
    const box = this.plot.getBoundingClientRect();
    const { _size: { l, w }, xaxis: { range: [low, high] } } = this.layout;
    const [x, y] = [clientX - box.left - l, clientY - box.top];
    const pixel = (high - low) / w;
    for (const trace of this.laneTraces()) {
      const { top, bottom, range } = this.pixelsOf(trace);
      const row = range[1] + ((y - top) / (bottom - top)) * (range[0] - range[1]);
      if (y >= top && y <= bottom) return { time: low + x * pixel, row, pixel };
    }
    return { time: low + x * pixel, row: NaN, pixel };
  }

  /** What the pointer can find in the lanes of the window that is shown. */
  get places(): readonly Place[] {
    return this.filled?.places ?? [];
  }

  /** Where an event is over the lanes, and the place there, or the nearest one within some pixels. */
  placeAt(event: MouseEvent): { place: Place | null; x: number; y: number } | null {
    const { time, row, pixel } = this.locate(event);
    const [trace] = this.laneTraces();
    if (!trace || Number.isNaN(row)) return null;
    const { top, bottom, range } = this.pixelsOf(trace);
    const { _size: { l }, xaxis: { range: [low] } } = this.layout;
    const place = nearestPlace(this.places, row, time, REACH * pixel);
    const middle = place ? (place.top + place.bottom) / 2 : row;
    const y = top + ((middle - range[1]) / (range[0] - range[1])) * (bottom - top);
    const at = place ? Math.min(Math.max(time, place.left), place.right) : time;
    return { place, x: l + (at - low) / pixel, y };
  }

  /** Pixels of the axes: left, top, width and height. */
  get axes(): FullLayout["_size"] {
    return this.layout._size;
  }

  private laneTraces(): TimelineTrace[] {
    return this.figure.data.filter(({ meta }) => meta?.role === "lanes");
  }

  /** Top and bottom of a trace's axis in pixels, and its range. */
  private pixelsOf(trace: TimelineTrace): { top: number; bottom: number; range: [number, number] } {
    const { t, h } = this.layout._size;
    const { domain, range } = this.axisOf(trace);
    const [bottom, top] = domain.map((share) => t + (1 - share) * h);
    return { top, bottom, range };
  }

  /** The vertical axis of a trace. */
  axisOf({ yaxis = "y" }: TimelineTrace): TimelineFigure["layout"]["yaxis"] {
    return this.figure.layout[yaxis.replace("y", "yaxis") as "yaxis"];
  }

  /** The axes over the bars over the page's colour, as a PNG. */
  async picture(): Promise<string> {
    const [width, height, scale] = [this.plot.clientWidth, this.plot.clientHeight, 2];
    const axes = new Image();
    axes.src = await Plotly.toImage(this.plot, { format: "png", width, height, scale });
    await axes.decode();
    const whole = Object.assign(document.createElement("canvas"), { width: scale * width, height: scale * height });
    const pen = penOf(whole);
    pen.fillStyle = getComputedStyle(document.body).backgroundColor;
    pen.fillRect(0, 0, whole.width, whole.height);
    for (const layer of [this.canvas, axes]) pen.drawImage(layer, 0, 0, whole.width, whole.height);
    return whole.toDataURL();
  }

  private get layout(): FullLayout {
    if (!this.plot._fullLayout) throw new Error("plotly has not drawn yet");
    return this.plot._fullLayout;
  }

  private fillTraces(): void {
    const { low, high } = this.shown;
    const pixels = this.plot._fullLayout ? this.plot._fullLayout._size.w : this.plot.clientWidth - BESIDE_AXES;
    this.filledPixels = pixels;
    const pixel = (high - low) / Math.max(pixels, 100);
    const view = { low, high, pixel, narrow: NARROW * pixel };
    const drawn = this.figure.data.filter(({ meta, visible }) => meta && visible !== "legendonly");
    const curves = drawn.filter(({ meta }) => meta?.role === "curve").length;
    const most = Math.min(pixels / 1.5, Math.max(BINS / curves, 150));
    this.filled = fillLanes(this.gpu.lanes, this.header, view);
    const cut = makeCut(this.gpus, low, high, most);
    for (const trace of drawn) if (trace.meta) Object.assign(trace, this.fillTrace(trace.meta, cut));
    for (const trace of this.figure.data) trace.x ||= trace.y = [null]; // without a point it has no place in the legend
  }

  private fillTrace(meta: TimelineMeta, cut: Cut): object {
    if (meta.role === "lanes") return {}; // its bars are painted, and told of by hover.ts
    const curve = this.gpus[meta.gpu].curves.get(meta.curve);
    if (!curve) throw new Error(`it has no curve ${meta.curve}`);
    const level = cut(meta.gpu, curve.levels);
    if (meta.role === "band") return areaOutline(level, level.curves[curve.place], curve.step);
    const hovertemplate = meta.templates[level.binned ? 1 : 0];
    return { ...stepLine(level, level.curves[curve.place], curve.step), hovertemplate };
  }

  private appearance(): object {
    return {
      font: { ...this.figure.layout.font, color: readColor("--ink"), size: narrowScreen.matches ? 11 : 12 },
      hoverlabel: {
        bgcolor: readColor("--card"), bordercolor: readColor("--soft"), font: { color: readColor("--ink") },
        align: "left", namelength: -1,
      },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: readColor("--soft"), activecolor: readColor("--accent") },
      dragmode: coarsePointer.matches ? false : this.figure.layout.dragmode || "zoom",
    };
  }

  private markShape(): object[] {
    if (!this.shown.mark) return [];
    const [x0, x1] = this.shown.mark;
    const line = { color: "rgba(128,128,128,0.7)", width: 1, dash: "dot" };
    return [{ type: "rect", xref: "x", yref: "paper", x0, x1, y0: 0, y1: 1, line, layer: "above" }];
  }
}

/** Gives the window's part of a track, made once. */
function makeCut(gpus: readonly Gpu[], low: number, high: number, most: number): Cut {
  const made = gpus.map(() => new Map<readonly Level[], Level>());
  return (gpu, levels) => {
    const level = made[gpu].get(levels) ?? windowOf(levels, low, high, most);
    made[gpu].set(levels, level);
    return level;
  };
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
