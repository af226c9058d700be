// What launched what: by the time of the launch on the CPU.
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeRows } from "../src/intervals";
import { outlinesIn } from "../src/timeline/highlights";
import { activeOf, busyTime, launchedWithin, openAt, orderLaunches, runningIn, sumWork } from "../src/timeline/launching";
import { meanWithin } from "../src/timeline/samples";

const WORK = {
  start: Float64Array.of(10, 12, 13, 20), end: Float64Array.of(11, 15, 16, 21), id: Uint32Array.of(5, 6, 6, 5),
  merged: Uint32Array.of(1, 1, 3, 1), row: Uint8Array.of(1, 1, 3, 1),
};

test("work belongs to the time in which it was launched, not to that in which it ran", () => {
  const launches = orderLaunches(Float64Array.of(4, 1, NaN, 2));
  const within = (...spans: [number, number][]) =>
    [...launchedWithin(launches, { start: Float64Array.from(spans, ([start]) => start), end: Float64Array.from(spans, ([, end]) => end) }, [...spans.keys()])];
  assert.deepEqual(within([1, 4]), [1, 3]);
  assert.deepEqual(within([4, 30]), [0]);
  assert.deepEqual(within([3, 3]), []);
  assert.deepEqual(within([0, 1.5], [1, 1.2], [3, 5]), [0, 1], "each once, by start");
  assert.deepEqual(within([0, 30], [1, 4], [2, 3]), [0, 1, 3]);
});

test("ranges that were open at a time, the innermost first", () => {
  const host = {
    start: Float64Array.of(0, 1, 5), end: Float64Array.of(10, 4, 9), id: Uint32Array.of(0, 1, 1),
    merged: Uint32Array.of(1, 1, 1), row: Uint8Array.of(1, 2, 2),
  };
  const rows = makeRows(host);
  assert.deepEqual(openAt(host, rows, 6), [2, 0]);
  assert.deepEqual(openAt(host, rows, 4), [0]);
  assert.deepEqual(openAt(host, rows, 10), []);
});

test("work is summed by kernel, and unknown Tensor Active stays unknown", () => {
  const sums = sumWork(WORK, Float32Array.of(50, NaN, NaN, 100), Uint32Array.of(0, 1, 2, 3));
  assert.deepEqual(sums, [
    { id: 6, count: 4, seconds: 6, activeSeconds: NaN }, { id: 5, count: 2, seconds: 2, activeSeconds: 1.5 },
  ]);
});

test("Tensor Active of several kernels is the least where that of some is unknown, and unknown where that of all is", () => {
  const of = (...active: number[]) => activeOf(sumWork(WORK, Float32Array.from(active), Uint32Array.of(0, 1, 2, 3)));
  assert.deepEqual(of(50, 40, 40, 100), { percent: (100 * (0.5 + 2.4 + 1)) / 8, isLeast: false });
  assert.deepEqual(of(50, NaN, NaN, 100), { percent: (100 * 1.5) / 8, isLeast: true });
  assert.deepEqual(of(NaN, NaN, NaN, NaN), { percent: NaN, isLeast: false });
});

test("overlapping work is busy once, and only within the window", () => {
  assert.equal(busyTime(WORK, [0, 1, 2, 3], 10.5, 20.5), 0.5 + 4 + 0.5);
  assert.deepEqual(runningIn(WORK, makeRows(WORK), 11, 14), [1, 2]);
});

test("the mean of a curve is over the time where it is known", () => {
  const curve = { mean: Float32Array.of(11, 0, 31), low: new Float32Array(3), high: new Float32Array(3) };
  const level = { start: Float64Array.of(0, 1, 2), end: Float64Array.of(1, 2, 3), curves: [() => curve], binned: false, period: 1 };
  assert.equal(meanWithin(level, curve, 1, 0.5, 3), (0.5 * 10 + 30) / 1.5);
  assert.ok(Number.isNaN(meanWithin(level, curve, 1, 1, 2)));
});

test("all bars of a selection are outlined, wherever the window is, and narrow neighbours together", () => {
  const bars = Array.from({ length: 10_000 }, (_, i) => i);
  const lane = {
    start: Float64Array.from(bars), end: Float64Array.from(bars, (i) => i + (i === 9_002 ? 0.9 : 0.25)), row: new Uint8Array(10_000).fill(3),
  };
  const outlines = (low: number, high: number, pixel: number) =>
    outlinesIn({ parts: [{ kind: "work", lane, bars }] }, "work", low, high, pixel).map(({ left, right }) => [left, right]);
  assert.deepEqual(outlines(9_000.1, 9_002.5, 0.01), [[9_000, 9_000.25], [9_001, 9_001.25], [9_002, 9_002.9]]);
  assert.deepEqual(outlines(8_990.1, 9_005, 0.5), [[8_990, 9_005.25]]);
  assert.deepEqual(outlines(9_000.1, 9_002.5, 0.1), [[9_000, 9_000.25], [9_001, 9_001.25], [9_002, 9_002.9]]);
});
