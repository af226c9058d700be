// The part of a recording that has the work.
import assert from "node:assert/strict";
import { test } from "node:test";
import { busyPart } from "../src/timeline/shown";

const sides = (spans: [number, number][]) => [0, 1].map((side) => Float64Array.from(spans, (span) => span[side]));
const iterating = (steps: [number, number][], ...spans: [number, number][]) => {
  const [[start, end], [first, last]] = [spans, steps].map(sides);
  const details = { steps: { start: first, end: last } };
  return { lanes: { work: { start, end } }, details } as unknown as Parameters<typeof busyPart>[0][number];
};
const gpu = (...spans: [number, number][]) => iterating([], ...spans);
const busy = (from: number): [number, number][] => Array.from({ length: 100 }, (_, i) => [from + i / 100, from + i / 100 + 0.009]);

test("one busy second of sixteen is shown by itself, whatever little runs beside it", () => {
  const [start, end] = busyPart([gpu([0.5, 0.501], ...busy(8), [15, 15.001])], [0, 16]);
  assert.ok(start > 7.9 && start < 8 && end > 8.98 && end < 9.1, `${start} to ${end}`);
});

test("a recording with work in most of it, or with none, is shown whole", () => {
  assert.deepEqual(busyPart([gpu(...busy(0), ...busy(9))], [0, 10]), [0, 10]);
  assert.deepEqual(busyPart([gpu()], [0, 10]), [0, 10]);
});

test("steps are shown, whatever was copied long before them", () => {
  const steps: [number, number][] = [[14, 14.4], [14.5, 14.6], [NaN, NaN], [14.7, 14.8]];
  const [start, end] = busyPart([iterating(steps, [2, 8], ...steps)], [0, 16]);
  assert.ok(start > 13.9 && start < 14 && end > 14.8 && end < 14.9, `${start} to ${end}`);
  assert.deepEqual(busyPart([iterating(steps.slice(2), [2, 8], ...steps)], [0, 16]), [0, 16]);
});

test("all GPUs are shown", () => {
  const [start, end] = busyPart([gpu(...busy(2)), gpu(...busy(3))], [0, 16]);
  assert.ok(start < 2 && end > 3.98);
});
