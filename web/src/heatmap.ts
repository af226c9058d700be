/** The heat map of a job: a cell for each rank and step. Its data are packed as the timeline's are. */
import { onColors, readColor } from "./colors";
import { element, find, onKeys } from "./dom";
import { formatPercent, formatScaled, formatSeconds } from "./format";
import { penOn } from "./timeline/paint";
import { unpack } from "./timeline/unpack";

interface Metric extends Record<"low" | "high", number>, Record<"title" | "unit", string> {
  bad: boolean;
  /** By rank and step; NaN is unknown. */
  values: Float64Array;
}

interface Header extends Record<"ranks" | "order" | "steps", number[]> {
  links: string[];
  metrics: Metric[];
}

const LEFT = 56; // pixels for the ranks' numbers
const BELOW = 22; // pixels for the steps' numbers
const ROW = { least: 1, most: 20, all: 640 }; // pixels of a row, and of all where there is room
const LABEL = { row: 14, column: 48 }; // pixels from one number to the next

/** Draw the heat map of a page that has one. */
export async function startHeatmap(): Promise<void> {
  const box = document.querySelector<HTMLElement>("[data-heatmap]");
  if (!box) return;
  new Heatmap(box, await unpack<Header>(document.getElementById(box.dataset.heatmap!)!.textContent));
  find(".undrawn", box).remove();
}

class Heatmap {
  readonly #box: HTMLElement;
  readonly #header: Header;
  readonly #canvas: HTMLCanvasElement;
  readonly #metricOf: HTMLSelectElement;
  readonly #orderOf: HTMLSelectElement;
  readonly #row: number; // pixels
  #cursor: { row: number; column: number } | null = null;

  constructor(box: HTMLElement, header: Header) {
    [this.#box, this.#header] = [box, header];
    this.#canvas = find<HTMLCanvasElement>("canvas", box);
    [this.#metricOf, this.#orderOf] = [find("[data-metric]", box), find("[data-order]", box)];
    this.#row = Math.min(Math.max(ROW.all / header.ranks.length, ROW.least), ROW.most);
    this.#listen();
    this.#show();
  }

  get #metric(): Metric {
    return this.#header.metrics[Number(this.#metricOf.value)];
  }

  #rankAt(row: number): number {
    return this.#orderOf.value === "cost" ? this.#header.order[row] : row;
  }

  #valueOf({ values }: Metric, row: number, column: number): number {
    return values[this.#rankAt(row) * this.#header.steps.length + column];
  }

  #listen(): void {
    const { ranks, steps } = this.#header;
    this.#canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
      if (offsetY > this.#row * ranks.length) return;
      this.#moveTo(Math.floor(offsetY / this.#row), Math.floor((offsetX - LEFT) / (this.#canvas.clientWidth - LEFT) * steps.length));
    });
    this.#canvas.addEventListener("click", () => this.#open());
    const step = (down: number, right: number) => () => this.#moveTo((this.#cursor?.row ?? 0) + down, (this.#cursor?.column ?? 0) + right);
    onKeys(this.#canvas, {
      ArrowUp: step(-1, 0), ArrowDown: step(1, 0), ArrowLeft: step(0, -1), ArrowRight: step(0, 1), Enter: () => this.#open(),
    });
    for (const choice of [this.#metricOf, this.#orderOf]) choice.addEventListener("change", () => this.#show());
    new ResizeObserver(() => this.#draw()).observe(find(".table-tools", this.#box));
    onColors(() => this.#show());
  }

  /** Say what a cell is. */
  #moveTo(row: number, column: number): void {
    const { ranks, steps, metrics, links } = this.#header;
    [row, column] = [Math.min(Math.max(row, 0), ranks.length - 1), Math.min(Math.max(column, 0), steps.length - 1)];
    this.#cursor = { row, column };
    this.#draw();
    const rank = this.#rankAt(row);
    const texts = metrics.map((metric) => `${metric.title} ${format(this.#valueOf(metric, row, column), metric.unit)}`);
    find("[data-cell]", this.#box).textContent = `Rank ${ranks[rank]}, step ${steps[column]}: ${texts.join(", ")}${links[rank] ? ". Click to open the step on its page" : ""}`;
  }

  #open(): void {
    const { links, steps } = this.#header;
    const link = links[this.#rankAt(this.#cursor?.row ?? 0)];
    if (link) location.href = `${link}&step=${steps[this.#cursor?.column ?? 0]}`;
  }

  #show(): void {
    const { low, high, unit, bad } = this.#metric;
    find("[data-low]", this.#box).textContent = format(low, unit);
    find("[data-high]", this.#box).textContent = format(high, unit);
    const ends = bad ? "var(--kept), var(--loss)" : "var(--loss), var(--kept)";
    find(".swatch", this.#box).style.background = `linear-gradient(90deg, ${ends})`;
    this.#draw();
  }

  #draw(): void {
    const { ranks, steps } = this.#header;
    const [width, height] = [Math.max(this.#canvas.clientWidth - LEFT, 1), this.#row * ranks.length];
    this.#canvas.style.height = `${height + BELOW}px`;
    const pen = penOn(this.#canvas, { width: width + LEFT, height: height + BELOW, ratio: devicePixelRatio || 1 });
    pen.imageSmoothingEnabled = this.#row < 1 || steps.length > width;
    pen.drawImage(this.#cells(), LEFT, 0, width, height);
    this.#drawNumbers(pen, width, height);
    if (!this.#cursor) return;
    const cell = width / steps.length;
    pen.lineWidth = 2;
    pen.strokeStyle = pen.fillStyle;
    pen.strokeRect(LEFT + this.#cursor.column * cell, this.#cursor.row * this.#row, cell, this.#row);
  }

  #drawNumbers(pen: CanvasRenderingContext2D, width: number, height: number): void {
    const { ranks, steps } = this.#header;
    pen.fillStyle = getComputedStyle(this.#canvas).color;
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (let row = 0; row < ranks.length; row += Math.ceil(LABEL.row / this.#row)) {
      pen.fillText(`${row ? "" : "rank "}${ranks[this.#rankAt(row)]}`, LEFT - 6, Math.max((row + 0.5) * this.#row, LABEL.row / 2));
    }
    pen.fillText("step", LEFT - 6, height + BELOW / 2);
    pen.textAlign = "center";
    for (let column = 0; column < steps.length; column += Math.ceil(LABEL.column * steps.length / width)) {
      pen.fillText(String(steps[column]), LEFT + (column + 0.5) * width / steps.length, height + BELOW / 2);
    }
  }

  /** The cells as a picture of a pixel each. */
  #cells(): HTMLCanvasElement {
    const size = { width: this.#header.steps.length, height: this.#header.ranks.length };
    const [cells, image] = [element("canvas"), new ImageData(size.width, size.height)];
    const [good, bad] = ["--kept", "--loss"].map((name) => [1, 3, 5].map((at) => parseInt(readColor(name).slice(at, at + 2), 16))); // of #d81b60
    const { low, high, bad: muchIsBad } = this.#metric;
    for (let row = 0; row < size.height; row++) {
      for (let column = 0; column < size.width; column++) {
        const value = this.#valueOf(this.#metric, row, column);
        if (Number.isNaN(value)) continue; // transparent
        const part = Math.min(Math.max((value - low) / (high - low || 1), 0), 1);
        const share = muchIsBad ? part : 1 - part;
        const at = 4 * (row * size.width + column);
        for (let k = 0; k < 3; k++) image.data[at + k] = good[k] + (bad[k] - good[k]) * share;
        image.data[at + 3] = 255;
      }
    }
    penOn(cells, { ...size, ratio: 1 }).putImageData(image, 0, 0);
    return cells;
  }
}

function format(value: number, unit: string): string {
  if (unit === "ns") return formatSeconds(value * 1e-9);
  return unit === "pct" ? formatPercent(value) : formatScaled(value, "Hz");
}
