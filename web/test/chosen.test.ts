// What is chosen on a comparison's page, as the fragment of its address.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromFragment, toFragment, type Parts } from "../src/comparison/chosen_fragment";

test("every choice comes back from its fragment, which is short", () => {
  const choices: [Parts | null, string][] = [
    [null, ""],
    [{ side: 1, gpu: 0, ids: [2] }, "parts=2"],
    [{ side: 2, gpu: 1, ids: [0, 7] }, "parts=0,7&side=2&gpu=1"],
  ];
  for (const [chosen, fragment] of choices) {
    assert.equal(toFragment(chosen), fragment);
    assert.deepEqual(fromFragment(`#${fragment}`), chosen);
  }
});

test("what is no choice is nothing", () => {
  for (const text of ["", "#", "#side-2", "parts=", "parts=1,x", "parts=1&side=a", "parts=1&gpu=", "%zz=%"]) {
    assert.deepEqual(fromFragment(text), null, text);
  }
});
