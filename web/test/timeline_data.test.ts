// The timeline's data in the page: unpacking, levels of detail, gaps, and bars in rows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { makeRows, scanRow } from "../src/intervals";
import { endsOf, group, type Level, makeTrack, stepLine, windowOf } from "../src/timeline/samples";
import { unpack } from "../src/timeline/unpack";

const all = (values: Uint16Array) => () => ({ mean: values, low: values, high: values });
function track(values: number[], { gapAfter = -1, period = 1 } = {}): Level[] {
  const start = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) start[i] = (i + (gapAfter >= 0 && i > gapAfter ? 1000 : 0)) * period;
  const end = start.map((time) => time + period);
  return makeTrack(start, end, [all(Uint16Array.from(values))], false);
}
function numbers(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

test("unpacks what Python packs: planes of bytes, differences, a base and a factor", async () => {
  const header = { name: "x", arrays: [
    { at: 0, length: 3, bytes: 2, base: -5, factor: 1, least: null, type: "i4" },
    { at: 6, length: 3, bytes: 1, base: 7, factor: 10, least: 0, type: "f8", scale: 0.5 },
    { at: 6, length: 3, bytes: 1, base: 0, factor: 1, least: null, type: "f8", scale: 2, unknown: 10, behind: 1 },
    { at: 9, length: 2, bytes: 1, base: 0, factor: 1, least: -1, type: "i4" },
  ], first: { array: 0 }, inner: { list: [{ second: { array: 1 } }], third: { array: 2 }, fourth: { array: 3 } } };
  const head = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(4);
  size.writeUInt32LE(head.length);
  const planes = Buffer.from([0, 1, 255, 0, 1, 2, 0, 5, 3, 1, 0]);
  const found = await unpack<typeof header>(`\n${deflateSync(Buffer.concat([size, head, planes])).toString("base64")}\n`);
  assert.equal(found.name, "x");
  const { first, inner: { list: [{ second }], third, fourth } } = found as unknown as {
    first: Int32Array; inner: { list: { second: Float64Array }[]; third: Float64Array; fourth: Int32Array } };
  assert.deepEqual([first, second], [Int32Array.of(-5, 252, 762), Float64Array.of(3.5, 28.5, 43.5)]);
  assert.deepEqual([third, fourth], [Float64Array.of(3.5, 38.5, 49.5), Int32Array.of(0, -1)]);
});

test("the ends of intervals are the next starts, but before gaps", () => {
  const end = endsOf(Float64Array.of(0, 1, 5), Uint32Array.of(1, 2), Float64Array.of(2, 6));
  assert.deepEqual([...end], [1, 2, 6]);
});

test("few samples are shown as they are", () => {
  const level = windowOf(track([1, 2, 3, 4, 5]), 1.5, 3.5, 100);
  assert.equal(level.binned, false);
  assert.deepEqual([...level.start], [1, 2, 3]);
  assert.deepEqual([...level.curves[0]().mean], [2, 3, 4]);
});

test("bins keep extremes and the mean by time, at every zoom", () => {
  const random = numbers(3);
  const values = Array.from({ length: 100_000 }, () => 1 + Math.floor(random() * 10_000));
  const levels = track(values);
  assert.ok(levels.length >= 3);
  for (const [low, high] of [[0, 100_000], [1000, 60_000], [40_000, 41_000], [500.5, 20_000.5]]) {
    const level = windowOf(levels, low, high, 500);
    assert.ok(level.start.length <= 510 && level.start.length >= 60, `${level.start.length} bins`);
    assert.ok(level.start[0] <= low && level.end[level.end.length - 1] >= Math.min(high, 100_000));
    for (let g = 0; g < level.start.length; g += 7) {
      const inside = values.slice(level.start[g], level.end[g]);
      assert.equal(level.curves[0]().low[g], Math.min(...inside));
      assert.equal(level.curves[0]().high[g], Math.max(...inside));
      const mean = inside.reduce((sum, value) => sum + value, 0) / inside.length;
      assert.ok(Math.abs(level.curves[0]().mean[g] - mean) < 0.01 * mean);
    }
  }
});

test("bins of a window that moves stay where they are", () => {
  const levels = track(Array.from({ length: 50_000 }, (_, i) => 1 + (i % 97)));
  const first = windowOf(levels, 10_000, 20_000, 400);
  const second = windowOf(levels, 10_003, 20_003, 400);
  const starts = new Set(first.start);
  assert.ok([...second.start].filter((time) => time < 20_000).every((time) => starts.has(time)));
});

test("unknown samples are left out of a bin, and a bin of them is unknown", () => {
  const level = group(track([0, 5, 0, 0])[0], 0, 4, 2);
  assert.deepEqual([...level.curves[0]().mean], [5, 0]);
  assert.deepEqual([...level.curves[0]().low], [5, 0]);
});

test("no bin reaches over a long gap, at any level", () => {
  const levels = track(Array.from({ length: 20_000 }, () => 3), { gapAfter: 9_999 });
  for (const level of levels) {
    const over = [...level.start].filter((start, i) => start < 10_000 && level.end[i] > 10_000);
    assert.deepEqual(over, []);
  }
  const coarsest = levels[levels.length - 1];
  const { x, y } = stepLine(coarsest, coarsest.curves[0](), 1);
  assert.deepEqual(x.filter((_, i) => Number.isNaN(y[i])), [10_000, 21_000]);
});

test("many short gaps do not keep levels from getting coarser", () => {
  const start = Float64Array.from({ length: 100_000 }, (_, i) => 2 * i);
  const levels = makeTrack(start, start.map((time) => time + 1), [all(new Uint16Array(100_000).fill(2))], false);
  assert.ok(levels[levels.length - 1].start.length <= 4000);
});

test("a line steps at the starts and breaks at gaps and unknown samples", () => {
  const [level] = track([1, 11, 0, 21]);
  const { x, y, places } = stepLine(level, level.curves[0](), 0.1);
  assert.deepEqual(x, [0, 1, 2, 2, 3, 4, 4]);
  assert.deepEqual(y.map((value) => Math.round(10 * value)), [0, 10, 10, NaN, 20, 20, NaN]);
  assert.deepEqual(places, [0, 1, 1, 1, 3, 3, 3]);
});

test("a window before or after all samples is empty", () => {
  for (const [low, high] of [[-10, -5], [100, 200]]) {
    const level = windowOf(track([1, 2, 3]), low, high, 10);
    assert.deepEqual(stepLine(level, level.curves[0](), 1).x, []);
  }
});

test("bars of a window against a naive search, and no time is lost in bins", () => {
  const random = numbers(11);
  const [starts, ends, rowOf]: number[][] = [[], [], []];
  for (let time = 0, i = 0; i < 3000; i++) {
    time += random() * 3;
    const length = random() < 0.02 ? 400 * random() : 2 * random();
    starts.push(time);
    ends.push(time + length);
    rowOf.push(Math.floor(3 * random()));
  }
  const bars = { start: Float64Array.from(starts), end: Float64Array.from(ends), row: Uint8Array.from(rowOf) };
  const rows = makeRows(bars);
  assert.deepEqual([...rows.keys()], [0, 1, 2]);
  for (const [low, high, narrow] of [[0, 5000, 1], [1000, 1100, 0.5], [2000, 2001, 0.001]]) {
    for (const [row, members] of rows) {
      const wide: number[] = [];
      let time = 0;
      scanRow(bars, members, { low, high, narrow }, (bar) => wide.push(bar), (_bin, _bar, seconds) => {
        assert.ok(seconds >= 0 && seconds <= narrow * (1 + 1e-9));
        time += seconds;
      });
      const inside = starts.map((_, i) => i)
        .filter((i) => bars.row[i] === row && bars.start[i] < high && bars.end[i] > low);
      const length = (i: number) => bars.end[i] - bars.start[i];
      assert.deepEqual(wide, inside.filter((i) => length(i) >= narrow));
      const short = inside.filter((i) => length(i) < narrow).reduce((sum, i) => sum + length(i), 0);
      assert.ok(Math.abs(time - short) < 1e-6);
    }
  }
});
