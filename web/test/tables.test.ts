// Tables of the pages: order, CSV, and what lies in the timeline's window.
import assert from "node:assert/strict";
import { test } from "node:test";
import { csvLine } from "../src/csv";
import { countWithin, typical } from "../src/intervals";

const ITEMS = {
  start: Float64Array.of(0, 2, 4, 10), end: Float64Array.of(1, 5, 5, 11), id: Uint32Array.of(7, 7, 8, 7),
  merged: Uint32Array.of(1, 1, 1, 1),
};

test("CSV quotes what it must, and no name becomes a formula", () => {
  assert.equal(csvLine(["plain", "1.5", "-3e-9", ""]), "plain,1.5,-3e-9,");
  assert.equal(csvLine(['a "b", c', "two\nlines"]), '"a ""b"", c","two\nlines"');
  assert.equal(csvLine(["=1+1", "@x", "+y", "-z"]), "'=1+1,'@x,'+y,'-z");
});

test("what lies in a window is counted with its part of it", () => {
  const found = countWithin(ITEMS, 3, 10);
  assert.deepEqual([...found], [[7, { count: 1, seconds: 2 }], [8, { count: 1, seconds: 1 }]]);
});

test("the typical interval of an id is the one of median length", () => {
  assert.deepEqual(typical(ITEMS, 7), { start: 10, end: 11 });
  assert.deepEqual(typical(ITEMS, 8), { start: 4, end: 5 });
  assert.equal(typical(ITEMS, 9), null);
});

test("a merged interval counts for all that it stands for, and is typical only of what has no other", () => {
  const items = { ...ITEMS, merged: Uint32Array.of(1, 1, 30, 9) };
  assert.deepEqual(countWithin(items, 3, 11).get(7), { count: 10, seconds: 3 });
  assert.deepEqual(typical(items, 7), { start: 0, end: 1 });
  assert.deepEqual(typical(items, 8), { start: 4, end: 5 });
});
