import assert from "node:assert/strict";
import { test } from "node:test";
import { chainOf, largestDifferences, layOut, rankBars, type Tree } from "../src/icicle_tree";

/* step: forward (tensor: gemm) and backward (tensor: gemm, memory: copy), then idle. */
const tree: Tree = {
  kind: [0, 0, 2, 3, 0, 2, 3, 2, 3, 4],
  parent: [-1, 0, 1, 2, 0, 4, 5, 4, 7, 0],
  time: [100, 30, 30, 20, 50, 40, 40, 10, 10, 20],
  launches: [5, 2, 2, 2, 3, 2, 2, 1, 1, 0],
  start: [0, 10, 10, 10, 45, 50, 50, 45, 45, 5],
  active: [40, 60, 60, 80, 40, 50, 70, 0, 0, null],
  name: [1, 2, 4, 5, 3, 4, 5, 6, 7, 8],
  link: [9, 0, 0, 10, 0, 0, 10, 0, 11, 0],
  texts: ["", "step", "forward", "backward", "Tensor", "gemm", "Memory", "copy", "Idle", "range=step", "kernel=gemm", "kernel=copy"],
};
const named = (bars: { node: number }[]) => bars.map(({ node }) => tree.texts[tree.name[node]]);

test("bars follow each other in time, or the largest is first, and are as wide as their time", () => {
  const rows = (order: "start" | "time") => layOut(tree, 0, rankBars(tree.start, [tree.time], order), 0).filter(({ row }) => row === 1);
  assert.deepEqual(named(rows("start")), ["Idle", "forward", "backward"]);
  assert.deepEqual(named(rows("time")), ["backward", "forward", "Idle"]);
  assert.deepEqual(rows("time").map(({ left }) => left), [0, 0.5, 0.8]);
});

test("what is zoomed in has all the width, below what it lies in; narrow bars are left out", () => {
  const bars = layOut(tree, 4, rankBars(tree.start, [tree.time], "time"), 0.3);
  assert.deepEqual(named(bars), ["step", "backward", "Tensor", "gemm"]);
  assert.deepEqual(bars.map(({ row, width }) => [row, width]), [[0, 1], [1, 1], [2, 0.8], [3, 0.8]]);
  assert.deepEqual(chainOf(tree, 6), [0, 4, 5, 6]);
  assert.deepEqual(named(layOut(tree, 0, tree.start, 0.6)), ["step", "Idle"], "idle time of the step is there however little it is");
});

test("both icicles have one order: of the first begin, of the longest on either side, or of the largest difference", () => {
  const times = [[10, 3, 0], [4, 3, 5]];
  assert.deepEqual(rankBars([2, 1, 3], times, "start"), [2, 1, 3]);
  assert.deepEqual(rankBars([2, 1, 3], times, "time"), [-10, -3, -5]);
  assert.deepEqual(rankBars([2, 1, 3], times, "change"), [-6, -0, -5]);
});

test("small differences are one line with their sum, where there are several", () => {
  const changes = [1, -7, 3, 2].map((change, node) => ({ node, change }));
  const found = largestDifferences(changes, 2);
  assert.deepEqual(found.shown.map(({ node }) => node), [1, 2]);
  assert.deepEqual([found.rest, found.count], [3, 2]);
  assert.equal(largestDifferences(changes, 3).shown.length, 4);
});
