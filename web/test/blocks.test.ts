import assert from "node:assert/strict";
import { test } from "node:test";
import { largestDifferences, rankBlocks } from "../src/comparison/blocks";

test("both icicles have one order: of the first begin, of the longest on either side, or of the largest difference", () => {
  const times = [[10, 3, 0], [4, 3, 5]];
  assert.deepEqual(rankBlocks([2, 1, 3], times, "start"), [2, 1, 3]);
  assert.deepEqual(rankBlocks([2, 1, 3], times, "time"), [-10, -3, -5]);
  assert.deepEqual(rankBlocks([2, 1, 3], times, "change"), [-6, -0, -5]);
});

test("small differences are one line with their sum, where there are several", () => {
  const changes = [1, -7, 3, 2].map((change, node) => ({ node, change }));
  const found = largestDifferences(changes, 2);
  assert.deepEqual(found.shown.map(({ node }) => node), [1, 2]);
  assert.deepEqual([found.rest, found.count], [3, 2]);
  assert.equal(largestDifferences(changes, 3).shown.length, 4);
});
