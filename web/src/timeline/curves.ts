/** The curves of a window: their points, how they are painted, and what the pointer finds. Knows neither page nor plotly. */
import { formatMoment, formatPercent, formatScaled } from "../format";
import type { Gpu } from "./gpus";
import type { TimelineTrace } from "./header";
import { firstAbove } from "../intervals";
import { stepLine, windowOf, type Curve, type Level, type Line } from "./samples";

const REACH = 14; // pixels beside a line that still are on it
const ALIKE = 0.1; // pixels by which heights are not told apart

/** A curve, or the band around it, in a window. */
export interface FilledCurve {
  trace: TimelineTrace;
  level: Level;
  curve: Curve;
  step: number;
  line: Line;
}

/** Where the strip of a curve is, in pixels, and where a value of it is. */
export interface Strip {
  top: number;
  bottom: number;
  place: (value: number) => number;
}

/** What the pointer finds: where, in seconds and in the curve's unit, and what is said of it, as a label of plotly. */
export interface CurvePoint {
  time: number;
  value: number;
  away: number;
  say: () => string;
}

/** The points of curves in a window, in at most about so many bins for each. */
export function fillCurves(
  gpus: readonly Gpu[], traces: readonly TimelineTrace[], low: number, high: number, most: number,
): FilledCurve[] {
  const cuts = new Map<readonly Level[], Level>(); // curves share their times
  return traces.flatMap((trace): FilledCurve[] => {
    const { meta } = trace;
    if (!meta || meta.role === "lanes") return []; // its bars are painted by themselves
    const found = gpus[meta.gpu].curves.get(meta.curve);
    if (!found) throw new Error(`it has no curve ${meta.curve}`);
    const { levels, place, step } = found;
    const level = cuts.get(levels) ?? windowOf(levels, low, high, most);
    cuts.set(levels, level);
    const curve = level.curves[place]();
    return [{ trace, level, curve, step, line: stepLine(level, curve, step) }];
  });
}

/** Draw the line, or fill the area. Both are made of rectangles, for which a browser takes a tenth of the time of a path. */
export function paintCurve(
  pen: CanvasRenderingContext2D, filled: FilledCurve, across: (seconds: number) => number, place: Strip["place"],
): void {
  if (filled.trace.meta?.role === "band") paintBand(pen, filled, across, place);
  else paintLine(pen, filled, across, place);
}

/** A value holds until the next one, which may be far above or below it. */
function paintLine(
  pen: CanvasRenderingContext2D, { trace, line: { x, y } }: FilledCurve, across: (seconds: number) => number, place: Strip["place"],
): void {
  const width = trace.line?.width ?? 1;
  pen.fillStyle = trace.line?.color ?? "";
  for (let i = 0; i + 1 < x.length; i++) {
    if (Number.isNaN(y[i])) continue;
    const [left, height] = [across(x[i]), place(y[i])];
    while (i + 2 < x.length && Math.abs(place(y[i + 1]) - height) < ALIKE) i++;
    const [right, next] = [across(x[i + 1]), place(y[i + 1])];
    pen.fillRect(left - width / 2, height - width / 2, right - left + width, width);
    if (!Number.isNaN(next)) pen.fillRect(right - width / 2, Math.min(height, next), width, Math.abs(next - height));
  }
}

/** From the smallest to the largest value of each bin, or from 0 to each sample. Neighbours share whole pixels: else they would overlap. */
function paintBand(
  pen: CanvasRenderingContext2D, { trace, level, curve, step }: FilledCurve, across: (seconds: number) => number, place: Strip["place"],
): void {
  const ratio = pen.getTransform().a;
  const round = (pixels: number) => Math.round(ratio * pixels) / ratio;
  pen.fillStyle = trace.fillcolor ?? "";
  for (let i = 0; i < level.start.length; i++) {
    if (curve.mean[i] === 0) continue;
    const left = round(across(level.start[i]));
    const top = place(step * (curve.high[i] - 1));
    pen.fillRect(left, top, round(across(level.end[i])) - left, place(level.binned ? step * (curve.low[i] - 1) : 0) - top);
  }
}

/** The point of a line that is nearest to the pointer, if one is near: at a time, in seconds, and a height, in pixels. */
export function nearestPoint(
  { trace, level, curve, step, line: { x, y, places } }: FilledCurve, place: Strip["place"],
  { time, height, pixel }: { time: number; height: number; pixel: number },
): CurvePoint | null {
  if (trace.meta?.role !== "curve") return null;
  const { unit } = trace.meta;
  const tell = (value: number) => (unit === "%" ? formatPercent(value) : formatScaled(value, unit ?? "").trim());
  let [best, away] = [-1, REACH];
  for (let i = Math.max(firstAbove(x, time - REACH * pixel) - 1, 0); i < x.length && x[i] <= time + REACH * pixel; i++) {
    const until = x[i + 1] ?? x[i];
    const beside = Math.max(x[i] - time, time - until, 0) / pixel;
    const distance = Math.hypot(beside, place(y[i]) - height); // not a number at a gap
    if (distance < away) [best, away] = [i, distance];
  }
  if (best < 0) return null;
  const at = places[best];
  const extremes = () => [curve.low[at], curve.high[at]].map((steps) => tell(step * (steps - 1)));
  const say = () => `<b>${trace.name}</b> ${tell(y[best])}<br>at ${formatMoment(x[best])}` +
    (level.binned ? `<br>mean of the bin; smallest ${extremes()[0]}, largest ${extremes()[1]}` : "");
  return { time: Math.min(Math.max(time, x[best]), x[best + 1] ?? x[best]), value: y[best], away, say };
}
