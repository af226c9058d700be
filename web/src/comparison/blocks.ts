/** The order of the blocks of two icicles, the same in both, and which differ most. */

export type Order = "start" | "time" | "change";

export interface Change {
  node: number;
  change: number;
}

/** By what the blocks of both sides are sorted, lowest first: when they begin, or how long they are on either side, or by
 * how much they differ, the largest first. */
export function rankBlocks(start: readonly number[], [base, added]: readonly (readonly number[])[], order: Order): number[] {
  if (order === "time") return base.map((time, node) => -Math.max(time, added[node]));
  if (order === "change") return base.map((time, node) => -Math.abs(added[node] - time));
  return [...start];
}

/** So many of the largest differences, and how many others there are with their sum; a single one is listed, too. */
export function largestDifferences(changes: readonly Change[], most: number): { shown: Change[]; rest: number; count: number } {
  const sorted = [...changes].sort((a, b) => Math.abs(b.change) - Math.abs(a.change) || a.node - b.node);
  const kept = sorted.length > most + 1 ? most : sorted.length;
  const others = sorted.slice(kept);
  return { shown: sorted.slice(0, kept), rest: others.reduce((sum, { change }) => sum + change, 0), count: others.length };
}
