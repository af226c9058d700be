/** The heat map of a job: a cell for each rank and step. Its data are packed as the timeline's are. */
import { readColor, systemDark } from "./colors";
import { find } from "./dom";
import { formatPercent, formatScaled, formatSeconds } from "./format";
import { unpack } from "./timeline/unpack";

interface Metric extends Record<"scale" | "values" | "least" | "low" | "high", number>, Record<"title" | "unit", string> {
  bad: boolean;
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
  const element = document.querySelector<HTMLElement>("[data-heatmap]");
  if (!element) return;
  const { header, read } = await unpack<Header>(document.getElementById(element.dataset.heatmap!)!.textContent);
  const values = header.metrics.map(({ values: number }) => read(number, Float64Array));
  const [canvas, cell] = [find<HTMLCanvasElement>("canvas", element), find("[data-cell]", element)];
  const [metricOf, orderOf] = ["[data-metric]", "[data-order]"].map((name) => find<HTMLSelectElement>(name, element));
  const columns = header.steps.length;
  const cursor = { row: 0, column: 0, isSet: false };
  const metric = () => header.metrics[Number(metricOf.value)];
  const rankAt = (row: number) => orderOf.value === "cost" ? header.order[row] : row;
  const height = () => Math.min(Math.max(ROW.all / header.ranks.length, ROW.least), ROW.most);

  function readValue(number: number, cell: number): number {
    const { scale, least } = header.metrics[number];
    const stored = values[number][cell];
    return stored ? least + (stored - 1) * scale : NaN; // 0 is unknown
  }
  function valueAt(place: number, column: number): number {
    return readValue(Number(metricOf.value), place * columns + column);
  }

  function paintCells(): HTMLCanvasElement {
    const cells = Object.assign(document.createElement("canvas"), { width: columns, height: header.ranks.length });
    const context = cells.getContext("2d")!;
    const image = context.createImageData(columns, header.ranks.length);
    const [good, bad] = ["--kept", "--loss"].map((name) => readChannels(readColor(name)));
    const { low, high, bad: muchIsBad } = metric();
    for (let row = 0; row < header.ranks.length; row++) {
      for (let column = 0; column < columns; column++) {
        const value = valueAt(rankAt(row), column);
        if (Number.isNaN(value)) continue; // transparent
        const part = Math.min(Math.max((value - low) / (high - low || 1), 0), 1);
        const share = muchIsBad ? part : 1 - part;
        const at = 4 * (row * columns + column);
        for (let k = 0; k < 3; k++) image.data[at + k] = good[k] + (bad[k] - good[k]) * share;
        image.data[at + 3] = 255;
      }
    }
    context.putImageData(image, 0, 0);
    return cells;
  }

  function draw(): void {
    const [width, rows] = [Math.max(canvas.clientWidth - LEFT, 1), height() * header.ranks.length];
    const ratio = devicePixelRatio || 1;
    canvas.style.height = `${rows + BELOW}px`;
    Object.assign(canvas, { width: (width + LEFT) * ratio, height: (rows + BELOW) * ratio });
    const context = canvas.getContext("2d")!;
    context.scale(ratio, ratio);
    context.imageSmoothingEnabled = height() < 1 || columns > width;
    context.drawImage(paintCells(), LEFT, 0, width, rows);
    context.fillStyle = getComputedStyle(canvas).color;
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "right";
    context.textBaseline = "middle";
    const everyRow = Math.ceil(LABEL.row / height());
    for (let row = 0; row < header.ranks.length; row += everyRow) {
      context.fillText(`${row ? "" : "rank "}${header.ranks[rankAt(row)]}`, LEFT - 6, Math.max((row + 0.5) * height(), LABEL.row / 2));
    }
    context.fillText("step", LEFT - 6, rows + BELOW / 2);
    context.textAlign = "center";
    const everyColumn = Math.ceil(LABEL.column * columns / width);
    for (let column = 0; column < columns; column += everyColumn) {
      context.fillText(String(header.steps[column]), LEFT + (column + 0.5) * width / columns, rows + BELOW / 2);
    }
    if (!cursor.isSet) return;
    context.lineWidth = 2;
    context.strokeStyle = context.fillStyle;
    context.strokeRect(LEFT + cursor.column * width / columns, cursor.row * height(), width / columns, height());
  }

  function say(): void {
    const place = rankAt(cursor.row);
    const texts = header.metrics.map(({ title, unit }, number) =>
      `${title} ${format(readValue(number, place * columns + cursor.column), unit)}`);
    const opens = header.links[place] ? ". Click: its page" : "";
    cell.textContent = `Rank ${header.ranks[place]}, step ${header.steps[cursor.column]}: ${texts.join(", ")}${opens}`;
  }

  function show(): void {
    const { low, high, unit } = metric();
    find("[data-low]", element!).textContent = format(low, unit);
    find("[data-high]", element!).textContent = format(high, unit);
    const ends = metric().bad ? "var(--kept), var(--loss)" : "var(--loss), var(--kept)";
    find(".swatch", element!).style.background = `linear-gradient(90deg, ${ends})`;
    draw();
  }

  function moveTo(row: number, column: number): void {
    cursor.row = Math.min(Math.max(row, 0), header.ranks.length - 1);
    cursor.column = Math.min(Math.max(column, 0), columns - 1);
    cursor.isSet = true;
    draw();
    say();
  }
  function open(): void {
    const link = header.links[rankAt(cursor.row)];
    if (link) location.href = link;
  }

  canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
    const width = canvas.clientWidth - LEFT;
    if (offsetX < LEFT || offsetY > height() * header.ranks.length) return;
    moveTo(Math.floor(offsetY / height()), Math.floor((offsetX - LEFT) / width * columns));
  });
  canvas.addEventListener("click", open);
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "Enter") open();
    if (!step) return;
    event.preventDefault();
    moveTo(cursor.row + step[0], cursor.column + step[1]);
  });
  for (const choice of [metricOf, orderOf]) choice.addEventListener("change", show);
  new ResizeObserver(draw).observe(find(".table-tools", element));
  new MutationObserver(show).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  systemDark.addEventListener("change", show);
  show();
  find(".undrawn", element).remove();
}

/** Red, green and blue of a colour such as #d81b60. */
function readChannels(color: string): number[] {
  return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
}

function format(value: number, unit: string): string {
  if (unit === "ns") return formatSeconds(value * 1e-9);
  return unit === "pct" ? formatPercent(value) : formatScaled(value, "Hz");
}
