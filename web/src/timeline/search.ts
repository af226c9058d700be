/** The first place in an ascending array whose value is above the limit. */
export function firstAbove(values: ArrayLike<number>, limit: number): number {
  let [from, to] = [0, values.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle] > limit) to = middle;
    else from = middle + 1;
  }
  return from;
}
