// The lanes of a window: which bars, in which colours, and what the pointer shows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCount, formatPercent, formatSeconds, timeTicks } from "../src/format";
import { innermost, makeRows } from "../src/intervals";
import type { Header, RangeBars } from "../src/timeline/data";
import { FAINT, type FilledLane, fillInner, fillRanges, fillWork, IDLE, type View } from "../src/timeline/lanes";

const NAMES = {
  classes: ["tensor", "other", "idle"].map((name) => ({ name, color: name, text: "dark" })),
  paths: { names: ["step", "step / <b>"], cuts: [["step"], ["<b>"]] },
  works: { names: ["gemm", "add"], cuts: [["gemm"], ["add"]], geometry: ["8x1x1 32x1x1", ""], class: [0, 1] },
} as unknown as Header;
const LOOKS = { ranges: ["even", "odd"].map((color) => ({ color, text: "ink" })), calls: [{ color: "call", text: "ink" }], lost: "pink" };

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
const view = (low: number, high: number, pixels = 100, hits: Uint8Array | null = null): View =>
  ({ low, high, pixel: (high - low) / pixels, narrow: (2 * (high - low)) / pixels, looks: LOOKS, hits });
const ranges = (rows: Bar[], active: number[]) => bars(rows, { tensor_active_mean_pct: active });
const work = (rows: Bar[], active = rows.map(() => NaN)) => bars(rows, { tensor_active_pct: active });
const fill = (rows: Bar[], shown: View) => fillWork(NAMES, work(rows), ["stream 7"], shown);
const labels = ({ places }: FilledLane): string[] => places.map(({ say }) => say().join("\n"));

/* Painted time of a colour in full heights of a bar. */
function painted(filled: FilledLane, color: string, height = 0.88): number {
  const edges = filled.bars.get(color) ?? [];
  let sum = 0;
  for (let i = 0; i < edges.length; i += 4) sum += ((edges[i + 1] - edges[i]) * (edges[i + 3] - edges[i + 2])) / height;
  return sum;
}

test("what of a range is lost is a line in its bar; where that is unknown there is none", () => {
  const host = ranges([[0, 30, 0, 0], [30, 60, 0, 1], [60, 90, 0, 0]], [20, 100, NaN]);
  const filled = fillRanges(NAMES, host, view(0, 100));
  assert.ok(Math.abs(painted(filled, "even") - 60) < 2 && Math.abs(painted(filled, "odd") - 30) < 1.1);
  assert.ok(Math.abs(painted(filled, "pink", 0.16) - 24) < 1.1, "80 % of 30 and nothing of 30");
  assert.match(labels(filled).find((text) => text.startsWith("step / <b>")) ?? "", /Tensor Active 100\.0 %, 2 kernels/);
});

test("a bar that reaches out of the window is cut, and its name stands in the part that is seen", () => {
  const [name] = fillRanges(NAMES, ranges([[-1000, 50, 0, 0]], [1]), view(0, 100)).names;
  assert.ok(name.left >= -1 && name.right === 50);
});

test("a bar that stands for several says so, and counts for all", () => {
  const host = ranges([[0, 50, 0, 0, 34], [60, 60.5, 0, 0, 3], [60.5, 61, 0, 0]], [1, 1, 1]);
  const said = labels(fillRanges(NAMES, host, view(0, 100)));
  assert.match(said[0], /^step \(34 short ones\)/);
  assert.match(said[said.length - 1], /^4 short ranges/);
});

test("the innermost range is seen where it is wide enough, and what lies around it elsewhere", () => {
  const host = ranges([[0, 100, 0, 0], [10, 60, 1, 1], [20, 21, 2, 0]], [1, 1, 1]);
  assert.deepEqual(innermost(host, [0, 1, 2]).map(({ bar, start, end }) => [bar, start, end]),
    [[0, 0, 10], [1, 10, 20], [2, 20, 21], [1, 21, 60], [0, 60, 100]]);
  const { places } = fillInner(NAMES, host, view(0, 100));
  assert.deepEqual(places.map(({ bar, left, right }) => [bar, left, right]), [[0, 0, 10], [1, 10, 60], [0, 60, 100]]);
});

test("single kernels say name, geometry, stream, time and fitted Tensor Active", () => {
  const filled = fillWork(NAMES, work([[0.010, 0.0101, 0, 0], [0.0101, 0.0102, 0, 1]], [84.5, NaN]), ["stream 7"], view(0.0099, 0.0103));
  const [gemm, add] = labels(filled);
  assert.equal(gemm, "gemm\n100 µs\ngrid and block 8x1x1 32x1x1\ntensor, Tensor Active 84.5 %, stream 7");
  assert.equal(add, "add\n100 µs\nother, stream 7");
  assert.deepEqual(filled.names.map(({ cuts }) => cuts[0]), ["gemm", "add"]);
});

test("short kernels are drawn as shares of the time, which add up", () => {
  const filled = fill(Array.from({ length: 1000 }, (_, i): Bar => [i, i + (i % 2 ? 0.25 : 0.5), 0, i % 2]), view(0, 1000));
  assert.ok(Math.abs(painted(filled, "tensor") - 250) < 1e-6);
  assert.ok(Math.abs(painted(filled, "other") - 125) < 1e-6);
  assert.ok(Math.abs(painted(filled, IDLE) - 1000) < 1e-6);
  assert.match(labels(filled)[0], /20 short kernels and copies\n.*\ntensor 25\.0 %, other 12\.5 %/);
});

test("work that runs at once fills a bin, and no more", () => {
  assert.ok(painted(fill(Array.from({ length: 30 }, (): Bar => [10, 11, 0, 0]), view(0, 100)), "tensor") <= 2 + 1e-9);
});

test("what a search does not find recedes, wide and short", () => {
  const rows: Bar[] = [[0, 20, 0, 0], [20, 40, 0, 0], [50, 51, 0, 1], [51, 52, 0, 1]];
  const filled = fill(rows, view(0, 100, 100, Uint8Array.of(1, 0, 1, 0)));
  for (const [name, time] of [["tensor", 19.2], [`${FAINT}tensor`, 19.2], ["other", 1], [`${FAINT}other`, 1]] as const) {
    assert.ok(Math.abs(painted(filled, name) - time) < 1e-6, name);
  }
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
