/** The timeline on a canvas: the axis of time, lanes with their names, curves, and what is selected. */
import { FAINT, type FilledLane, IDLE } from "./lanes";
import { AXIS, type Lane, placeIn } from "./layout";
import { type FilledCurve, formatValue, heightIn, paintCurve } from "./samples";

const FONT = "10.5px system-ui, sans-serif";
const BESIDE = 6; // pixels beside a name
export const GUTTER = 92; // pixels beside the lanes, for their names

/** A canvas in CSS pixels, and how many of its own stand for one. */
export interface Size {
  width: number;
  height: number;
  ratio: number;
}

/** The colours of the page that the timeline takes. */
export const INKS = ["ink", "soft", "line", "page", "card", "focus", "bar"] as const;
export type Inks = Record<(typeof INKS)[number], string>;

/** What is shown of the timeline: seconds from left to right, and by how many pixels its lanes are scrolled. */
export interface Frame extends Size {
  low: number;
  high: number;
  scrolled: number;
  pinned: number;
  inks: Inks;
}

/** A bar that is outlined: seconds, and rows. */
export interface Outline extends Record<"left" | "right" | "top" | "bottom", number> {}

/** A lane with what is drawn in it. */
export interface DrawnLane {
  lane: Lane;
  filled: FilledLane | null;
  curves: readonly FilledCurve[];
  outlines: readonly Outline[];
}

/** Times with what is written at them, and from where to where the selection reaches. */
export interface Marks {
  ticks: readonly [seconds: number, text: string, isStrong: boolean][];
  selected: readonly [number, number] | null;
  /** From a call, in seconds and as a place of its lane, to the work that it launched. */
  arrow: { from: number; to: number; row: number } | null;
}

type Pen = CanvasRenderingContext2D;
type Across = (seconds: number) => number;

export const acrossOf = ({ low, high, width }: Pick<Frame, "low" | "high" | "width">): Across =>
  (seconds) => GUTTER + ((seconds - low) / (high - low)) * (width - GUTTER);

export function paint(canvas: HTMLCanvasElement, frame: Frame, drawn: readonly DrawnLane[], marks: Marks): void {
  canvas.style.width = `${frame.width}px`;
  canvas.style.height = `${frame.height}px`;
  const pen = penOn(canvas, frame);
  pen.font = FONT;
  pen.textBaseline = "middle";
  const across = acrossOf(frame);
  paintTicks(pen, frame, across, marks.ticks);
  for (const each of drawn) {
    const place = placeIn(each.lane, frame.scrolled);
    const [top, bottom] = [place(0), place(each.lane.rows)];
    if (bottom < 0 || top > frame.height) continue;
    pen.save();
    clip(pen, 0, each.lane.isPinned ? 0 : frame.pinned, frame.width, frame.height);
    paintLabels(pen, frame, each.lane, place);
    clip(pen, GUTTER, top - 1, frame.width - GUTTER, bottom - top + 2);
    paintLane(pen, frame, across, each, place);
    pen.restore();
  }
  if (marks.selected) paintSelected(pen, frame, marks.selected.map(across));
  if (marks.arrow) paintArrow(pen, frame, drawn, across, marks.arrow);
}

function clip(pen: Pen, left: number, top: number, width: number, height: number): void {
  pen.beginPath();
  pen.rect(left, top, width, height);
  pen.clip();
}

/** Steps first: a time that would touch the name of one has none. */
function paintTicks(pen: Pen, { height, width, inks }: Frame, across: Across, ticks: Marks["ticks"]): void {
  const taken: [left: number, right: number][] = [];
  pen.textAlign = "left";
  for (const [seconds, text, isStrong] of [...ticks].sort((a, b) => Number(b[2]) - Number(a[2]))) {
    const left = Math.round(across(seconds)) + 0.5;
    if (left < GUTTER - 1) continue;
    pen.fillStyle = isStrong ? inks.soft : inks.line;
    const right = left + 12 + widthOf(pen, text);
    const isNamed = right <= width + 8 && !taken.some(([from, to]) => left < to && right > from);
    pen.fillRect(left - 0.5, isStrong && isNamed ? 2 : AXIS - 4, 1, height);
    if (!isNamed) continue;
    pen.fillStyle = isStrong ? inks.ink : inks.soft;
    pen.fillText(text, left + 4, AXIS / 2);
    taken.push([left, right]);
  }
}

function paintLabels(pen: Pen, { inks }: Frame, { labels, rows, strip, kind }: Lane, place: (row: number) => number): void {
  pen.textAlign = "right";
  pen.fillStyle = inks.soft;
  const height = place(1) - place(0);
  labels.forEach((label, row) => {
    const middle = labels.length === rows ? place(row + 0.5) : place(rows / 2);
    pen.fillText(label, GUTTER - 6, strip ? place(0) + height / 2 : middle, GUTTER - 10);
  });
  if (strip && kind === "curve" && strip.unit) {
    pen.fillText(formatValue(strip.high, strip.unit), GUTTER - 6, place(0) + 6);
    pen.fillText(formatValue(0, strip.unit), GUTTER - 6, place(rows) - 5);
  }
}

function paintLane(pen: Pen, frame: Frame, across: Across, { lane, filled, curves, outlines }: DrawnLane, place: (row: number) => number): void {
  if (lane.strip) {
    const [top, bottom] = [place(0), place(1)];
    pen.fillStyle = frame.inks.line;
    pen.fillRect(GUTTER, bottom - 1, frame.width, 1);
    for (const curve of curves) {
      pen.fillStyle = lane.group === "tensor" ? frame.inks.bar : curve.color;
      paintCurve(pen, curve, across, heightIn(lane.strip, top, bottom));
    }
  }
  if (filled) paintBars(pen, frame, across, filled, place);
  pen.strokeStyle = frame.inks.focus;
  pen.lineWidth = 2;
  for (const { left, right, top, bottom } of outlines) {
    const [from, above] = [across(left), place(top) + 1];
    pen.strokeRect(from, above, Math.max(across(right) - from, 1), place(bottom) - above - 1);
  }
}

function paintBars(pen: Pen, frame: Frame, across: Across, { bars, names }: FilledLane, place: (row: number) => number): void {
  for (const [color, edges] of bars) {
    const isFaint = color.startsWith(FAINT);
    pen.globalAlpha = isFaint ? 0.18 : 1;
    pen.fillStyle = color === IDLE ? hatch(pen, frame.inks) : isFaint ? color.slice(FAINT.length) : color;
    for (let i = 0; i < edges.length; i += 4) {
      const left = across(edges[i]);
      const top = place(edges[i + 2]);
      pen.fillRect(left, top, Math.max(across(edges[i + 1]) - left, 1), place(edges[i + 3]) - top);
    }
  }
  pen.globalAlpha = 1;
  pen.textAlign = "center";
  for (const { left, right, middle, cuts, color } of names) {
    const [from, to] = [Math.max(across(left), GUTTER), Math.min(across(right), frame.width)];
    const text = longestFitting(pen, cuts, to - from - BESIDE);
    pen.fillStyle = color;
    if (text) pen.fillText(text, (from + to) / 2, place(middle) + 0.5);
  }
}

/** Idle time is hatched, as in the bar of the verdict. */
export function hatch(pen: Pen, { line, card }: Pick<Inks, "line" | "card">): CanvasPattern {
  const tile = document.createElement("canvas");
  const ratio = pen.getTransform().a;
  tile.width = tile.height = 8 * ratio;
  const brush = penOf(tile);
  brush.scale(ratio, ratio);
  brush.fillStyle = card;
  brush.fillRect(0, 0, 8, 8);
  brush.strokeStyle = line;
  brush.lineWidth = 2;
  for (const from of [-8, 0, 8]) {
    brush.beginPath();
    brush.moveTo(from, 8);
    brush.lineTo(from + 8, 0);
    brush.stroke();
  }
  const pattern = pen.createPattern(tile, "repeat")!;
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}

function paintSelected(pen: Pen, { height, inks }: Frame, [left, right]: readonly number[]): void {
  pen.strokeStyle = inks.focus;
  pen.lineWidth = 1;
  pen.setLineDash([3, 3]);
  pen.strokeRect(Math.round(Math.max(left, GUTTER)) + 0.5, AXIS - 3.5, Math.max(right - Math.max(left, GUTTER), 0), height - AXIS);
  pen.setLineDash([]);
}

/** From the call that launched something to where it began on the GPU. */
function paintArrow(pen: Pen, frame: Frame, drawn: readonly DrawnLane[], across: Across, { from, to, row }: NonNullable<Marks["arrow"]>): void {
  const [calls, work] = ["calls", "work"].map((kind) => drawn.find(({ lane }) => lane.kind === kind)?.lane);
  if (!calls || !work) return;
  const [x, y] = [across(from), placeIn(calls, frame.scrolled)(0.5)];
  const [toX, toY] = [across(to), placeIn(work, frame.scrolled)(row + 0.95)];
  pen.save();
  clip(pen, GUTTER, frame.pinned, frame.width, frame.height);
  pen.strokeStyle = pen.fillStyle = frame.inks.focus;
  pen.lineWidth = 1.8;
  pen.beginPath();
  pen.moveTo(x, y);
  pen.bezierCurveTo(x, (y + toY) / 2, toX, (y + toY) / 2, toX, toY + 6);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(toX, toY);
  pen.lineTo(toX - 4, toY + 8);
  pen.lineTo(toX + 4, toY + 8);
  pen.fill();
  pen.restore();
}

/** Empty a canvas of a size in CSS pixels, in which its pen draws. */
export function penOn(canvas: HTMLCanvasElement, { width, height, ratio }: Size): Pen {
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = penOf(canvas);
  pen.scale(ratio, ratio);
  return pen;
}

export const penOf = (canvas: HTMLCanvasElement): Pen => canvas.getContext("2d")!;

const widths = new Map<string, number>();

function widthOf(pen: Pen, text: string): number {
  const width = widths.get(text) ?? pen.measureText(text).width;
  widths.set(text, width);
  return width;
}

function longestFitting(pen: Pen, cuts: readonly string[], available: number): string {
  for (let i = cuts.length - 1; i >= 0; i--) if (widthOf(pen, cuts[i]) <= available) return cuts[i];
  return "";
}
