// What is chosen on a comparison's page, as the fragment of its address.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromFragment, NOTHING, toFragment, type Chosen } from "../src/comparison/chosen_fragment";

test("every choice comes back from its fragment, which is short", () => {
  const choices: [Chosen, string][] = [
    [NOTHING, ""],
    [{ baseline: 3, parts: null }, "baseline=3"],
    [{ baseline: 1, parts: { side: 1, gpu: 0, ids: [2] } }, "parts=2"],
    [{ baseline: 2, parts: { side: 2, gpu: 1, ids: [0, 7] } }, "baseline=2&parts=0,7&side=2&gpu=1"],
  ];
  for (const [chosen, fragment] of choices) {
    assert.equal(toFragment(chosen), fragment);
    assert.deepEqual(fromFragment(`#${fragment}`), chosen);
  }
});

test("what is no choice is nothing", () => {
  for (const text of ["", "#", "#side-2", "baseline=x", "baseline=0", "baseline=-1", "parts=", "parts=1,x", "parts=1&side=a", "parts=1&gpu=", "%zz=%"]) {
    assert.deepEqual(fromFragment(text), NOTHING, text);
  }
});
