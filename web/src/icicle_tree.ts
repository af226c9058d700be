/** The trees of an icicle, as tcprof/views/recording/icicle.py packs them, and the order and the places of their bars. */

export const KINDS = ["range", "module", "class", "kernel", "idle"] as const;

/** A bar's columns: each bar comes after the one that it lies in. Times are in ns. */
export interface Tree {
  kind: number[];
  parent: number[];
  time: number[];
  launches: number[];
  start: number[];
  active: (number | null)[];
  name: number[];
  link: number[];
  texts: string[];
}

export type Order = "start" | "time";

/** A bar to draw: its node, its row, and from where to where it reaches, as shares of the width. */
export interface Bar {
  node: number;
  row: number;
  left: number;
  width: number;
}

/** The nodes that lie in each node, in an order; idle time is last where the largest come first. */
export function childrenOf(tree: Tree, order: Order): number[][] {
  const children = tree.parent.map((): number[] => []);
  tree.parent.forEach((parent, node) => { if (parent >= 0) children[parent].push(node); });
  const key = order === "time"
    ? (node: number) => -tree.time[node]
    : (node: number) => tree.start[node];
  children.forEach((nodes) => nodes.sort((a, b) => key(a) - key(b) || a - b));
  return children;
}

/** What a node lies in, the outermost first, and itself. */
export function chainOf(tree: Tree, node: number): number[] {
  const chain: number[] = [];
  for (let at = node; at >= 0; at = tree.parent[at]) chain.unshift(at);
  return chain;
}

/** The bars that are seen with a node at full width: what it lies in above it, and what it consists of below. */
export function layOut(tree: Tree, focus: number, order: Order, narrowest: number): Bar[] {
  const children = childrenOf(tree, order);
  const chain = chainOf(tree, focus);
  const bars: Bar[] = chain.map((node, row) => ({ node, row, left: 0, width: 1 }));
  const add = (parent: Bar): void => {
    let left = parent.left;
    for (const node of children[parent.node]) {
      const bar = { node, row: parent.row + 1, left, width: parent.width * tree.time[node] / tree.time[parent.node] };
      left += bar.width;
      if (bar.width < narrowest) continue;
      bars.push(bar);
      add(bar);
    }
  };
  add(bars[bars.length - 1]);
  return bars;
}

/** A kernel by its link, and below it from where it is launched, inside out; null where the tree has no such kernel. */
export function turnAround(tree: Tree, link: string, normal = (text: string) => text): Tree | null {
  const found: Tree = {
    kind: [], parent: [], time: [], launches: [], start: [], active: [], name: [], link: [], texts: tree.texts,
  };
  const known = new Map<string, number>();
  const isWanted = (node: number) => KINDS[tree.kind[node]] === "kernel" && normal(tree.texts[tree.link[node]]) === link;
  tree.parent.forEach((_, leaf) => {
    if (!isWanted(leaf)) return;
    const chain = chainOf(tree, leaf).reverse().filter((node) => KINDS[tree.kind[node]] !== "class");
    let place = -1;
    for (const node of chain) {
      const key = `${place} ${tree.name[node]}`;
      const next = known.get(key) ?? found.kind.length;
      if (!known.has(key)) {
        known.set(key, next);
        for (const column of ["kind", "name", "link"] as const) found[column].push(tree[column][node]);
        found.active.push(tree.active[leaf]);
        found.parent.push(place);
        found.time.push(0);
        found.launches.push(0);
        found.start.push(tree.start[leaf]);
      }
      place = next;
      found.time[place] += tree.time[leaf];
      found.launches[place] += tree.launches[leaf];
    }
  });
  return found.kind.length ? found : null;
}
