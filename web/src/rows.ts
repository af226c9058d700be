/** The order of a table's rows, and which of a tree's are folded away. */

/** A row, with what it is sorted by and its place in the tree. */
export interface KeyedRow {
  key: string;
  place: number;
}

/** 1 is ascending, -1 descending, 0 the tree's order. */
export type Direction = -1 | 0 | 1;

/** The order of rows: by number or by word, unknown last, else as in the tree. */
export function compareRows(direction: Direction, isText = false): (a: KeyedRow, b: KeyedRow) => number {
  return (a, b) => {
    if (!direction) return a.place - b.place;
    if (a.key === "" || b.key === "") return Number(a.key === "") - Number(b.key === "") || a.place - b.place;
    const order = isText ? a.key.localeCompare(b.key) : Number(a.key) - Number(b.key);
    return direction * order || a.place - b.place;
  };
}

/** Which rows of a tree are folded away, from the depth of each and whether it is closed. */
export function foldedRows(depths: readonly number[], closed: readonly boolean[]): boolean[] {
  let above = Infinity; // depth of the closed row that the next ones may lie in
  return depths.map((depth, place) => {
    if (depth > above) return true;
    above = closed[place] ? depth : Infinity;
    return false;
  });
}
