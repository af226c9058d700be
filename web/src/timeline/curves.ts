/** The curves of a window: their points, how they are painted, and what the pointer finds. Knows no page. */
import { formatPercent, formatScaled } from "../format";
import { firstAbove } from "../intervals";
import type { Gpu, Strip } from "./data";
import { type Curve, type Level, type Line, stepLine, windowOf } from "./samples";

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

/** What the pointer finds: how many pixels away, and what is said of it. */
export interface CurvePoint {
  away: number;
  say: () => string[];
}

type Place = (value: number) => number;

/** How high a value is in a strip, in pixels from the top of the canvas. */
export const heightIn = ({ high }: Strip, top: number, bottom: number): Place => (value) => bottom - 1 - (value / high) * (bottom - top - 3);

/** The curves of a strip that are shown, in at most about so many bins each. */
export function fillCurves({ curves }: Gpu, { curves: lines }: Strip, low: number, high: number, most: number): FilledCurve[] {
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

/** The point of a line that is nearest to the pointer, if one is near: at a time, in seconds, and a height, in pixels. */
export function nearestPoint(
  { name, unit, level, curve, step, line: { x, y, places } }: FilledCurve, place: Place,
  { time, height, pixel }: { time: number; height: number; pixel: number },
): CurvePoint | null {
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
