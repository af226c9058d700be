// The lanes of a window: which bars, in which colours, and what the pointer shows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCount, formatPercent, formatSeconds, timeTicks } from "../src/format";
import { makeRows } from "../src/timeline/bars";
import type { Lanes, RangeBars } from "../src/timeline/gpus";
import type { Names } from "../src/timeline/header";
import { fillLanes, type FilledLanes, type View } from "../src/timeline/lanes";

const NAMES: Names = {
  rangeColors: {
    light: ["cold", "hot", "unknown"].map((color) => ({ color, text: "dark" })),
    dark: ["cold", "hot", "unknown"].map((color) => ({ color: `dark ${color}`, text: "light" })),
  },
  classes: ["tensor", "other", "idle"].map((name) => ({ name, color: name, text: "dark" })),
  paths: { names: ["step", "step / &lt;b&gt;"], cuts: [["step"], ["<b>"]] },
  works: {
    names: ["gemm", "add"], cuts: [["gemm"], ["add"]], geometry: ["8x1x1 32x1x1", ""], class: [0, 1],
    low: [80, null], high: [90, null],
  },
};

type Bar = [start: number, end: number, row: number, id: number, merged?: number];
function bars(rows: Bar[], percents: Record<string, number[]>): RangeBars {
  const column = (place: number) => rows.map((bar) => bar[place]);
  const found = {
    start: Float64Array.from(column(0)), end: Float64Array.from(column(1)), row: Uint8Array.from(column(2)),
    id: Uint32Array.from(column(3)), kernels: new Uint32Array(rows.length).fill(2),
    merged: Uint32Array.from(rows.map((bar) => bar[4] ?? 1)),
    percents: Object.fromEntries(Object.entries(percents).map(([name, values]) => [name, Float32Array.from(values)])),
  };
  return { ...found, rows: makeRows(found) };
}
const NONE = bars([], { tensor_active_mean_pct: [], coverage_pct: [], tensor_active_pct: [] });
const lanes = (changes: Partial<Lanes>): Lanes =>
  ({ host: NONE, windows: NONE, work: NONE, labels: { 4: "stream 7" }, streamRows: 2, scaleTop: 10, ...changes });
const view = (low: number, high: number, pixels = 100): View =>
  ({ low, high, pixel: (high - low) / pixels, narrow: (2 * (high - low)) / pixels, theme: "light" });

const labels = ({ places }: FilledLanes): string[] => places.map(({ say }) => say());

/* Painted time of a colour in full heights of a bar. */
function painted(filled: FilledLanes, color: string, height: number): number {
  const edges = filled.bars.get(color) ?? [];
  let sum = 0;
  for (let i = 0; i < edges.length; i += 4) sum += ((edges[i + 1] - edges[i]) * (edges[i + 3] - edges[i + 2])) / height;
  return sum;
}

test("ranges have the colour of their Tensor Active; unknown has its own", () => {
  const percents = { tensor_active_mean_pct: [2, 10, NaN], coverage_pct: [100, 100, NaN] };
  const host = bars([[0, 30, 1, 0], [30, 60, 1, 1], [60, 90, 1, 0]], percents);
  const filled = fillLanes(lanes({ host }), NAMES, view(0, 100));
  assert.deepEqual([...filled.bars.keys()].sort(), ["cold", "hot", "unknown"]);
  assert.ok(Math.abs(painted(filled, "hot", 0.84) - 30) < 1.1);
  const shown = labels(filled).find((text) => text.includes("&lt;b&gt;"));
  assert.match(shown ?? "", /Tensor Active mean 10\.0 %, coverage 100\.0 %, 2 kernels/);
});

test("a bar that reaches out of the window is cut, and its name stands in the part that is seen", () => {
  const host = bars([[-1000, 50, 1, 0]], { tensor_active_mean_pct: [1], coverage_pct: [100] });
  const [name] = fillLanes(lanes({ host }), NAMES, view(0, 100)).names;
  assert.ok(name.left >= -1 && name.right === 50);
});

test("a bar that stands for several says so, and counts for all", () => {
  const percents = { tensor_active_mean_pct: [1, 1, 1], coverage_pct: [100, 100, 100] };
  const host = bars([[0, 50, 1, 0, 34], [60, 60.5, 1, 0, 3], [60.5, 61, 1, 0]], percents);
  const said = labels(fillLanes(lanes({ host }), NAMES, view(0, 100)));
  assert.match(said[0], /<b>step<\/b>, 34 short ones drawn as one<br>/);
  assert.match(said[said.length - 1], /<b>4 short ranges<\/b>/);
});

test("single kernels say name, geometry, stream, time and fitted Tensor Active with its interval", () => {
  const work = bars([[0.010, 0.0101, 4, 0], [0.0101, 0.0102, 4, 1]], { tensor_active_pct: [84.5, NaN] });
  const filled = fillLanes(lanes({ work }), NAMES, view(0.0099, 0.0103));
  const [gemm, add] = labels(filled);
  assert.equal(gemm, "<b>gemm</b><br>grid and block 8x1x1 32x1x1<br>stream 7, from 10.0000 ms, for 100 µs<br>" +
    "tensor, Tensor Active 84.5 % (95 % interval of its kernel 80.0 % to 90.0 %)");
  assert.equal(add, "<b>add</b><br>stream 7, from 10.1000 ms, for 100 µs<br>other");
  assert.deepEqual(filled.names.map(({ cuts }) => cuts[0]), ["gemm", "add"]);
});

test("short kernels are drawn as shares of the time, which add up", () => {
  const rows = Array.from({ length: 1000 }, (_, i): Bar => [i, i + (i % 2 ? 0.25 : 0.5), 4, i % 2]);
  const work = bars(rows, { tensor_active_pct: rows.map(() => NaN) });
  const filled = fillLanes(lanes({ work }), NAMES, view(0, 1000));
  assert.ok(Math.abs(painted(filled, "tensor", 1.84) - 250) < 1e-6);
  assert.ok(Math.abs(painted(filled, "other", 1.84) - 125) < 1e-6);
  assert.ok(Math.abs(painted(filled, "idle", 1.84) - 1000) < 1e-6);
  assert.match(labels(filled)[0], /20 short kernels and copies.*tensor 25\.0 %, other 12\.5 % of the time/);
});

test("work that runs at once fills a bin, and no more", () => {
  const rows = Array.from({ length: 30 }, (): Bar => [10, 11, 4, 0]);
  const work = bars(rows, { tensor_active_pct: rows.map(() => NaN) });
  assert.ok(painted(fillLanes(lanes({ work }), NAMES, view(0, 100)), "tensor", 1.84) <= 2 + 1e-9);
});

test("the bars of all that was recorded are kept, for that window and these colours alone", () => {
  const percents = { tensor_active_mean_pct: [2], coverage_pct: [100] };
  const all = lanes({ host: bars([[0, 30, 1, 0]], percents) });
  const whole = fillLanes(all, NAMES, view(0, 100), true);
  assert.equal(fillLanes(all, NAMES, view(0, 100)), whole);
  assert.notEqual(fillLanes(all, NAMES, view(0, 50)), whole);
  all.scaleTop = 2;
  assert.deepEqual([...fillLanes(all, NAMES, view(0, 100)).bars.keys()].sort(), ["hot"]);
});

test("ticks of time have a space before their unit", () => {
  assert.deepEqual(timeTicks(0, 0.12, 3).ticktext, ["0 ms", "50 ms", "100 ms"]);
  assert.deepEqual(timeTicks(15.6, 15.6402, 4).ticktext, ["15.60 s", "15.62 s", "15.64 s"]);
  assert.deepEqual(timeTicks(1e-6, 1.31e-6, 4).ticktext, ["1.0 µs", "1.1 µs", "1.2 µs", "1.3 µs"]);
});

test("numbers are written as tcprof's tables write them", () => {
  const written = [0, 1e-9, 1.234e-6, 0.00999999, 0.1234, 12.345, NaN].map(formatSeconds);
  assert.deepEqual(written, ["0 ns", "1.00 ns", "1.23 µs", "10.0 ms", "123 ms", "12.3 s", "–"]);
  assert.deepEqual([0, 999, 1000, 1234567.5, -12345, NaN].map(formatCount), ["0", "999", "1,000", "1,234,568", "-12,345", "–"]);
  assert.deepEqual([0, 0.0005, 0.031, 0.25, 87.34, NaN].map(formatPercent),
    ["0.0 %", "<0.001 %", "0.031 %", "0.25 %", "87.3 %", "–"]);
});
