// The rows of the page's table: what is asked for, opened and sorted by.
import assert from "node:assert/strict";
import { test } from "node:test";
import { EVERYTHING, type Grouping, Model } from "../src/explorer/model";

// whole > net > (layer a > kernels 1 and 2; layer b > kernel 1); net is slower in b.
const GROUPING: Grouping = {
  by: "module", gpu: 0, name: "modules-0", caption: "", first: "Module", more: "", longest: 42, least: 42, isOrdered: false, notes: [],
  columns: [{ title: "Time", meaning: "", columns: ["ns"], words: false, shown: true, width: 10,
    text: ["9", "9", "3", "1", "2", "6", "6"], sort: ["9", "9", "3", "1", "2", "6", ""] }],
  rows: {
    name: ["whole", "net", "a", "gemm", "copy", "b", "gemm"], full: ["", "net", "net.a", "gemm<1>", "copy<2>", "net.b", "gemm<1>"],
    tag: ["", "", "", "", "", "", ""], kind: ["", "module", "module", "kernel", "kernel", "module", "kernel"],
    item: [-1, 0, 1, 10, 11, 2, 10], parent: [-1, 0, 1, 2, 2, 1, 5], alike: {},
  },
  sites: {
    line: [3, 4, 6], phase: ["forward", "backward", "backward"], precision: ["fp16", "fp32", "fp16"],
    timeClass: ["Tensor kernel", "Memory-bound", "Tensor kernel"], isTensor: [1, 0, 1], ns: [1, 2, 6],
  },
};

const seen = (model: Model) => model.seen().map(({ row, depth }) => `${"-".repeat(depth)}${GROUPING.rows.name[row]}`);

test("the largest come first, and kernels in places are closed", () => {
  assert.deepEqual(seen(new Model(GROUPING)), ["whole", "-net", "--b", "--a"]);
});

test("what is asked for is opened with what it lies in, and summed there", () => {
  const model = new Model(GROUPING);
  model.want({ ...EVERYTHING, phases: new Set(["backward"]), noTensor: true });
  assert.deepEqual(seen(model), ["whole", "-net", "--a", "---copy"]);
  assert.deepEqual([...model.matching], [2, 2, 2, 0, 2, 0, 0]);
  assert.deepEqual(model.count(), { found: 1, all: 3 });
  model.want(EVERYTHING);
  assert.deepEqual(seen(model), ["whole", "-net", "--b", "--a"]);
});

test("precision, class and single kernels are asked for", () => {
  const model = new Model(GROUPING);
  for (const wanted of [{ precision: "fp32" }, { timeClass: "Memory-bound" }, { kernels: new Set([11]) }]) {
    model.want({ ...EVERYTHING, ...wanted });
    assert.deepEqual(seen(model).slice(-1), ["---copy"]);
  }
});

test("words find rows, and all that lies in what they find can be opened", () => {
  const model = new Model(GROUPING);
  model.want({ ...EVERYTHING, words: "NET.A" });
  assert.deepEqual(seen(model), ["whole", "-net", "--a"]);
  model.toggle(2);
  assert.deepEqual(seen(model), ["whole", "-net", "--a", "---copy", "---gemm"]);
});

test("a row that is opened is closed again, and what a row lies in is opened", () => {
  const model = new Model(GROUPING);
  model.toggle(1);
  assert.deepEqual(seen(model), ["whole", "-net"]);
  model.reveal(6);
  assert.deepEqual(seen(model), ["whole", "-net", "--b", "---gemm", "--a"]);
});

test("flat rows are sorted beside each other, unknown last, and upwards if asked", () => {
  const model = new Model(GROUPING);
  model.isFlat = true;
  assert.deepEqual(seen(model), ["whole", "net", "b", "a"]);
  model.order = { key: 0, direction: 1 };
  assert.deepEqual(seen(model), ["a", "b", "whole", "net"]);
  model.order = { key: "name", direction: 1 };
  assert.deepEqual(seen(model), ["a", "b", "net", "whole"]);
});

test("what is saved has kernels in places only where they are asked for", () => {
  const model = new Model(GROUPING);
  assert.deepEqual(model.all(), [0, 1, 5, 2]);
  model.want({ ...EVERYTHING, noTensor: true });
  assert.deepEqual(model.all(), [0, 1, 2, 4]);
});
