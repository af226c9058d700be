/** The trees of an icicle, as tcprof/views/recording/icicle.py packs them, and the order and the places of their bars. */

export const KINDS = ["range", "module", "class", "kernel", "idle"] as const;

/** The figures of one side, a column each; it has no time for a bar that it lacks. Times are in ns. */
export interface Side extends Record<"time" | "launches" | "name", number[]> {
  active: (number | null)[];
}

/** The bars of all sides: each comes after the one that it lies in. */
export interface Bars extends Record<"kind" | "parent" | "start" | "link", number[]> {
  texts: string[];
}

/** The bars with the figures of a side. */
export type Tree = Bars & Side;

export type Order = "start" | "time" | "change";

/** A bar to draw: its node, its row, and from where to where it reaches, as shares of the width. */
export type Bar = Record<"node" | "row" | "left" | "width", number>;

/** By what bars are sorted, lowest first, the same on all sides: when they begin, or the longest or largest change first. */
export function rankBars(start: readonly number[], times: readonly (readonly number[])[], order: Order): number[] {
  if (order === "start") return [...start];
  return start.map((_, node) => {
    const all = times.map((time) => time[node]);
    return order === "time" ? -Math.max(...all) : -Math.abs(all[1] - all[0]);
  });
}

/** By how much a bar of two sides differs, in ns. */
export type Change = Record<"node" | "change", number>;

/** So many of the largest differences, and how many others there are with their sum; a single one is listed, too. */
export function largestDifferences(changes: readonly Change[], most: number): { shown: Change[]; rest: number; count: number } {
  const sorted = [...changes].sort((a, b) => Math.abs(b.change) - Math.abs(a.change) || a.node - b.node);
  const kept = sorted.length > most + 1 ? most : sorted.length;
  const others = sorted.slice(kept);
  return { shown: sorted.slice(0, kept), rest: others.reduce((sum, { change }) => sum + change, 0), count: others.length };
}

/** What a node lies in, the outermost first, and itself. */
export function chainOf({ parent }: Pick<Bars, "parent">, node: number): number[] {
  const chain: number[] = [];
  for (let at = node; at >= 0; at = parent[at]) chain.unshift(at);
  return chain;
}

/** The bars that are seen with a node at full width: what it lies in above it, and what it consists of below. */
export function layOut(tree: Tree, focus: number, rank: readonly number[], narrowest: number): Bar[] {
  const children = tree.parent.map((): number[] => []);
  tree.parent.forEach((parent, node) => { if (parent >= 0) children[parent].push(node); });
  children.forEach((nodes) => nodes.sort((a, b) => rank[a] - rank[b] || a - b));
  const bars: Bar[] = chainOf(tree, focus).map((node, row) => ({ node, row, left: 0, width: 1 }));
  const add = (parent: Bar): void => {
    let left = parent.left;
    for (const node of children[parent.node]) {
      const bar = { node, row: parent.row + 1, left, width: parent.width * tree.time[node] / tree.time[parent.node] };
      left += bar.width;
      if (bar.width < narrowest && !(bar.row === 1 && KINDS[tree.kind[node]] === "idle")) continue; // between steps, idle is little, but asked for
      bars.push(bar);
      add(bar);
    }
  };
  add(bars[bars.length - 1]);
  return bars;
}
