// Tables of the pages: order, CSV, and what lies in the timeline's window.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

const require = createRequire(import.meta.url);
const tables = require("../../tcprof/report/assets/tables.js");

const ITEMS = {
  start: Float64Array.of(0, 2, 4, 10), end: Float64Array.of(1, 5, 5, 11), id: Uint32Array.of(7, 7, 8, 7),
};

test("rows are sorted by number, unknown last, and put back into the tree's order", () => {
  const rows = [["3", 0], ["", 1], ["20", 2], ["3", 3]].map(([key, place]) => ({ key, place }));
  const order = (direction) => [...rows].sort(tables.compareRows(direction)).map(({ place }) => place);
  assert.deepEqual(order(1), [0, 3, 2, 1]);
  assert.deepEqual(order(-1), [2, 0, 3, 1]);
  assert.deepEqual([...rows].reverse().sort(tables.compareRows(0)).map(({ place }) => place), [0, 1, 2, 3]);
});

test("CSV quotes what it must, and no name becomes a formula", () => {
  assert.equal(tables.csvLine(["plain", "1.5", "-3e-9", ""]), "plain,1.5,-3e-9,");
  assert.equal(tables.csvLine(['a "b", c', "two\nlines"]), '"a ""b"", c","two\nlines"');
  assert.equal(tables.csvLine(["=1+1", "@x", "+y", "-z"]), "'=1+1,'@x,'+y,'-z");
});

test("a figure's points become rows, and gaps do not", () => {
  const traces = [
    { name: "line", x: [1, 2], y: [3, NaN] },
    { name: "idle", orientation: "h", x: [50], y: [0], hovertext: ["<b>step</b>"] },
  ];
  const rows = tables.figureRows({ data: traces });
  assert.deepEqual(rows.slice(0, 2), [["series", "x", "y"], ["line", 1, 3]]);
  assert.equal(rows.length, 3);
  assert.match(rows[2][0], /^idle: +step/);
});

test("what lies in a window is counted with its part of it", () => {
  const found = tables.countWithin(ITEMS, 3, 10);
  assert.deepEqual([...found], [[7, { count: 1, seconds: 2 }], [8, { count: 1, seconds: 1 }]]);
});

test("the typical interval of an id is the one of median length", () => {
  assert.deepEqual(tables.typical(ITEMS, 7), { start: 10, end: 11 });
  assert.deepEqual(tables.typical(ITEMS, 8), { start: 4, end: 5 });
  assert.equal(tables.typical(ITEMS, 9), null);
});
