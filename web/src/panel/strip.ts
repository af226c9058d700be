/** The strip that stays in view: all of the recording, with the timeline's window and the selection in it. */
import { onColors, readColor } from "../colors";
import { element, find, onDrag, onKeys } from "../dom";
import { formatSeconds } from "../format";
import { type Intervals, type Span, spanOf } from "../intervals";
import { onSelection } from "../selection";
import type { Gpu } from "../timeline/data";
import { penOn } from "../timeline/paint";
import { windowOf } from "../timeline/samples";
import type { Shown } from "../timeline/shown";
import type { Subject, Subjects } from "../timeline/subjects";
import type { Timeline } from "../timeline/timeline";

const TICKS = 4; // pixels of the row of the selection's instances

/** Draw the strip, and let it be dragged: the window moves; beside it, or where all is shown, a drag chooses one. */
export function startStrip(timeline: Timeline): void {
  const { subjects, shown } = timeline;
  const currentGpu = () => timeline.gpu;
  const strip = find(".strip");
  const map = find(".strip-map", strip);
  const canvas = find<HTMLCanvasElement>("canvas", map);
  let subject: Subject | null = null;
  let brushed: Span | null = null;
  let waiting = 0;
  let curve: HTMLCanvasElement | null = null; // it is drawn once for each GPU, size and theme
  const draw = () => {
    waiting ||= requestAnimationFrame(() => {
      waiting = 0;
      curve ??= drawCurve(canvas, currentGpu(), shown);
      drawMap(canvas, curve, shown, brushed, (pixels, pixelAt) => markPixels(pixels, subjects, subject, currentGpu(), pixelAt));
      describe(strip, map, shown);
    });
  };
  const drawAnew = () => { curve = null; draw(); };
  strip.hidden = false;
  onSelection(({ selection }) => { subject = selection && subjects.find(selection); draw(); });
  document.addEventListener("tcprof:window", draw);
  document.addEventListener("tcprof:gpu", drawAnew);
  new ResizeObserver(drawAnew).observe(map);
  onColors(drawAnew);
  followPointer(map, shown, (span) => { brushed = span; draw(); });
  onKeys(map, {
    ArrowLeft: () => shown.move(-0.4), ArrowRight: () => shown.move(0.4), Home: shown.showAll,
    ArrowUp: () => shown.zoom(0.5), ArrowDown: () => shown.zoom(2),
  });
}

function describe(strip: HTMLElement, map: HTMLElement, { low, high, whole, length, isWhole, said }: Shown): void {
  const text = isWhole ? said : `${said}, from ${formatSeconds(low)} on`;
  find(".strip-text", strip).textContent = isWhole ? "" : `Shown: ${text}`;
  map.setAttribute("aria-valuenow", String(Math.round((100 * ((low + high) / 2 - whole[0])) / length)));
  map.setAttribute("aria-valuetext", text);
}

function followPointer(map: HTMLElement, shown: Shown, brush: (span: Span | null) => void): void {
  const perPixel = () => shown.length / Math.max(map.clientWidth, 1);
  const timeAt = ({ clientX }: MouseEvent) => shown.whole[0] + (clientX - map.getBoundingClientRect().left) * perPixel();
  const spanOfDrag = (...ends: number[]): Span => {
    const [start, end] = ends.map((time) => Math.min(Math.max(time, shown.whole[0]), shown.whole[1])).sort((a, b) => a - b);
    return { start, end };
  };
  onDrag(map, (event) => {
    const [time, slack] = [timeAt(event), 3 * perPixel()];
    return { time, low: shown.low, moves: !shown.isWhole && time > shown.low - slack && time < shown.high + slack };
  }, ({ time, low, moves }, event) => {
    const by = timeAt(event) - time;
    if (moves) shown.set(low + by, low + by + shown.high - shown.low);
    else brush(spanOfDrag(time, timeAt(event)));
  }, ({ time, moves }, event, isDrag) => {
    brush(null);
    if (!event || moves) return;
    const half = (shown.high - shown.low) / 2;
    const { start, end } = spanOfDrag(time, timeAt(event));
    if (isDrag) shown.set(start, end);
    else if (!shown.isWhole) shown.set(time - half, time + half);
  });
}

function drawMap(
  canvas: HTMLCanvasElement, curve: HTMLCanvasElement, shown: Shown, brushed: Span | null,
  markSelected: (pixels: Uint8Array, pixelAt: (time: number) => number) => void,
): void {
  const { pen, width, height } = prepare(canvas, canvas);
  if (curve.width && curve.height) pen.drawImage(curve, 0, 0, width, height);
  const across = acrossOf(shown, width);
  pen.fillStyle = readColor("--focus");
  const pixels = new Uint8Array(Math.ceil(width) + 1);
  markSelected(pixels, (time) => Math.max(Math.floor(across(time)), 0));
  pixels.forEach((isMarked, left) => { if (isMarked) pen.fillRect(left, height - TICKS, 1.5, TICKS); });
  if (!shown.isWhole) drawWindow(pen, across(shown.low), across(shown.high), width, height);
  if (brushed) drawWindow(pen, across(brushed.start), across(brushed.end), width, height);
}

const acrossOf = ({ whole: [first], length }: Shown, width: number) => (time: number) => ((time - first) / length) * width;

/** An empty canvas of the size that another one is shown at. */
function prepare(canvas: HTMLCanvasElement, { clientWidth: width, clientHeight: height }: HTMLCanvasElement) {
  return { pen: penOn(canvas, { width, height, ratio: devicePixelRatio || 1 }), width, height };
}

/** Of all that was recorded: when the GPU worked, so that little Tensor Active has a place, too; and Tensor Active.
 *
 * Without samples, work of less than a pixel is as faint as its share of it. */
function drawCurve(shownAt: HTMLCanvasElement, { curves, lanes }: Gpu, shown: Shown): HTMLCanvasElement {
  const canvas = element("canvas");
  const { pen, width, height } = prepare(canvas, shownAt);
  const across = acrossOf(shown, width);
  const floor = height - TICKS - 2;
  const add = ({ start, end }: Pick<Intervals, "start" | "end">, color: string, opacity: number, share: (place: number) => number) => {
    pen.fillStyle = readColor(color);
    pen.globalAlpha = opacity;
    for (let i = 0; i < start.length; i++) {
      const left = across(start[i]);
      const rise = Math.max(floor * share(i), 0); // below 0 is unknown
      pen.fillRect(left, floor - rise, across(end[i]) - left, rise);
    }
  };
  const addCurve = (name: string, color: string, ofHighest: number) => {
    const curve = curves.get(name);
    if (!curve) return;
    const level = windowOf(curve.levels, ...shown.whole, Math.max(width, 100));
    const { high, mean } = level.curves[curve.place]();
    if (ofHighest) add(level, color, ofHighest, (i) => (curve.step * (high[i] - 1)) / 100);
    add(level, color, 1, (i) => (curve.step * (mean[i] - 1)) / 100);
  };
  addCurve("GR Active", "--line", 0);
  addCurve("Tensor Active", "--bar", 0.35);
  if (!curves.size) add(lanes.work, "--time", 1, () => 1);
  return canvas;
}

/** Which pixels of the strip have some of what is selected on the GPU. */
function markPixels(pixels: Uint8Array, subjects: Subjects, subject: Subject | null, shown: Gpu, pixelAt: (time: number) => number): void {
  if (subject?.gpu !== shown) return;
  const { gpu, selection: { kind }, at, place, parts } = subject;
  const mark = ({ start, end }: Span) => pixels.fill(1, pixelAt(start), Math.ceil(Math.max(pixelAt(end), pixelAt(start) + 1)));
  if (parts) parts.forEach((part) => markPixels(pixels, subjects, part, shown, pixelAt));
  else if (at < 0 && kind === "range") subject.instances.forEach((bar) => mark(subjects.windowOf(gpu, bar)));
  else if (at < 0 && (kind === "kernel" || kind === "module")) subject.work().forEach((bar) => mark(spanOf(gpu.lanes.work, bar)));
  else if (place) mark(place);
}

/** What is outside of the window is greyed. */
function drawWindow(pen: CanvasRenderingContext2D, left: number, right: number, width: number, height: number): void {
  pen.fillStyle = readColor("--page");
  pen.globalAlpha = 0.6;
  pen.fillRect(0, 0, left, height);
  pen.fillRect(right, 0, width - right, height);
  pen.globalAlpha = 1;
  pen.strokeStyle = readColor("--ink");
  pen.lineWidth = 1.5;
  pen.strokeRect(left, 0.75, Math.max(right - left, 2), height - 1.5);
}
