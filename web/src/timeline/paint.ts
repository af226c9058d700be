/** Curves and bars on a canvas below the axes. Plotly draws the axes and shows what the pointer finds. */
import { paintCurve, type FilledCurve, type Strip } from "./curves";
import type { FilledLanes } from "./lanes";

const FONT = "10.5px system-ui, sans-serif";
const BESIDE = 6; // pixels beside a name

/** Where the axes are, in pixels, and the seconds that they show. */
export interface Frame extends Record<"left" | "width" | "top" | "height" | "low" | "high", number> {
  /** The colour of outlines. */
  ink: string;
  /** What is selected, which is framed, in seconds. */
  mark: readonly [number, number] | null;
}

/** A bar that is outlined: seconds, and rows. */
export interface Outline {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** The lanes of one GPU, and where a row is, in pixels. */
interface PlacedLanes extends FilledLanes, Strip {
  outlines: readonly Outline[];
}

/** A canvas in CSS pixels, and how many of its own stand for one. */
interface Size {
  width: number;
  height: number;
  ratio: number;
}

export function paint(
  canvas: HTMLCanvasElement, size: Size, frame: Frame, lanes: readonly PlacedLanes[], curves: readonly (FilledCurve & Strip)[],
): void {
  const pen = prepare(canvas, size, frame);
  const across = (seconds: number) => frame.left + ((seconds - frame.low) / (frame.high - frame.low)) * frame.width;
  for (const placed of lanes) paintLanes(pen, frame, across, placed);
  for (const placed of curves) {
    pen.save();
    pen.beginPath();
    pen.rect(frame.left, placed.top, frame.width, placed.bottom - placed.top);
    pen.clip();
    paintCurve(pen, placed, across, placed.place);
    pen.restore();
  }
  if (frame.mark) paintMark(pen, frame, frame.mark.map(across));
}

function paintMark(pen: CanvasRenderingContext2D, { top, height }: Frame, [left, right]: readonly number[]): void {
  pen.strokeStyle = "rgba(128,128,128,0.7)";
  pen.lineWidth = 1;
  pen.setLineDash([3, 3]);
  pen.strokeRect(left, top + 0.5, right - left, height - 1);
}

function paintLanes(
  pen: CanvasRenderingContext2D, frame: Frame, across: (seconds: number) => number, { bars, names, place, outlines }: PlacedLanes,
): void {
  for (const [color, edges] of bars) {
    pen.fillStyle = color;
    for (let i = 0; i < edges.length; i += 4) {
      const left = across(edges[i]);
      const top = place(edges[i + 2]);
      pen.fillRect(left, top, Math.max(across(edges[i + 1]) - left, 1), place(edges[i + 3]) - top);
    }
  }
  for (const { left, right, middle, cuts, color } of names) {
    const [from, to] = [Math.max(across(left), frame.left), Math.min(across(right), frame.left + frame.width)];
    const text = longestFitting(pen, cuts, to - from - BESIDE);
    pen.fillStyle = color;
    if (text) pen.fillText(text, (from + to) / 2, place(middle) + 0.5);
  }
  pen.strokeStyle = frame.ink;
  pen.lineWidth = 2;
  for (const { left, right, top, bottom } of outlines) {
    const [from, above] = [across(left), place(top)];
    pen.strokeRect(from, above, Math.max(across(right) - from, 1), place(bottom) - above);
  }
}

/** An empty canvas of a size in CSS pixels, on which nothing is drawn outside the axes. */
function prepare(canvas: HTMLCanvasElement, size: Size, frame: Frame): CanvasRenderingContext2D {
  canvas.style.width = `${size.width}px`;
  canvas.style.height = `${size.height}px`;
  const pen = penOn(canvas, size);
  pen.beginPath();
  pen.rect(frame.left, frame.top, frame.width, frame.height);
  pen.clip();
  pen.font = FONT;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  return pen;
}

/** Empty a canvas of a size in CSS pixels, in which its pen draws. */
export function penOn(canvas: HTMLCanvasElement, { width, height, ratio }: Size): CanvasRenderingContext2D {
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = penOf(canvas);
  pen.scale(ratio, ratio);
  return pen;
}

export function penOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const pen = canvas.getContext("2d");
  if (!pen) throw new Error("this browser cannot draw on a canvas");
  return pen;
}

const widths = new Map<string, number>();

function longestFitting(pen: CanvasRenderingContext2D, cuts: readonly string[], available: number): string {
  for (let i = cuts.length - 1; i >= 0; i--) {
    const text = cuts[i];
    const width = widths.get(text) ?? pen.measureText(text).width;
    widths.set(text, width);
    if (width <= available) return text;
  }
  return "";
}
