// What is selected, as the fragment of an address.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromFragment, isSame, nameOfSame, type PageState, parseSelection, type Selection, toFragment } from "../src/selection";

const HOSTILE = "</script>&gpu=7#x=1 %zz \u2028+=?\"'";
const SELECTIONS: Selection[] = [
  { kind: "window", gpu: 1, start: 0.001, end: 0.0025 },
  { kind: "range", gpu: 0, name: "step / forward" },
  { kind: "range", gpu: 3, name: HOSTILE, instance: 0 },
  { kind: "kernel", gpu: 0, name: "gemm<(int)4, 128> 1x2x3 · 64", instance: 12 },
  { kind: "module", gpu: 0, name: "Net.layers.0" },
  { kind: "step", gpu: 2, number: 11 },
  { kind: "finding", name: "idle" },
  { kind: "kernels", gpu: 0, ids: [0, 12, 7] },
  { kind: "modules", gpu: 1, ids: [3] },
  { kind: "parts", gpu: 0, side: 1, ids: [2] },
  { kind: "parts", gpu: 1, side: 2, ids: [0, 7] },
];
const state = (selection: Selection | null, view: PageState["view"] = null): PageState => ({ selection, view });

test("every selection comes back from its fragment", () => {
  for (const selection of SELECTIONS) {
    assert.deepEqual(fromFragment(`#${toFragment(state(selection, [1.5, 2]))}`), state(selection, [1.5, 2]));
    assert.deepEqual(parseSelection(toFragment(state(selection))), selection);
  }
  assert.deepEqual(fromFragment(toFragment(state(null))), state(null));
});

test("a fragment is read by people, and holds nothing that ends it or an attribute", () => {
  assert.equal(toFragment(state(SELECTIONS[1], [0.0012, 0.00345])), "range=step%20/%20forward&view=0.0012,0.00345");
  assert.equal(toFragment(state(SELECTIONS[0])), "window=0.001,0.0025&gpu=1");
  assert.match(toFragment(state(SELECTIONS[2])), /^range=[^<>&#"\s]*&gpu=3&instance=1$/);
});

test("what is no selection is none", () => {
  for (const text of ["", "#", "#part-kernels", "range=", "range=%zz", "window=2,1", "window=1", "window=a,b", "window=,1",
    "step=-1", "step=1e3", "range=a&gpu=x", "kernels=", "kernels=1,x", "modules=-1", "other=1", "{", "{}", "[1]", '{"kind":"range"}', "{null"]) {
    assert.equal(parseSelection(text), null, text);
  }
  assert.deepEqual(fromFragment("view=1,0").view, null);
  assert.deepEqual(fromFragment("view=1,2,3").view, null);
});

test("instances of a range are the same range", () => {
  const range = (name: string, instance: number, gpu = 0): Selection => ({ kind: "range", gpu, name, instance });
  const isOfSame = (a: Selection, b: Selection) => nameOfSame(a) === nameOfSame(b);
  assert.ok(isOfSame(range("a", 1), range("a", 2)) && !isSame(range("a", 1), range("a", 2)));
  assert.ok(!isOfSame(range("a", 1), range("b", 1)) && !isOfSame(range("a", 1), range("a", 1, 1)));
  assert.ok(!isOfSame(range("a", 1), { kind: "kernel", gpu: 0, name: "a", instance: 1 }));
  assert.ok(isSame(null, null) && !isSame(null, SELECTIONS[0]));
});

test("parts of a change have a short fragment, and what is none is nothing", () => {
  assert.deepEqual(SELECTIONS.slice(-2).map((selection) => toFragment(state(selection))), ["parts=2", "parts=0,7&side=2&gpu=1"]);
  for (const text of ["", "#", "#side-2", "parts=", "parts=1,x", "parts=1&side=a", "parts=1&gpu=", "%zz=%"]) {
    assert.equal(parseSelection(text), null, text);
  }
});
