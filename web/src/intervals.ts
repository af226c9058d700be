/** Intervals of the timeline, in seconds, each with the id of what it is an instance of. */

export interface Intervals {
  start: Float64Array;
  end: Float64Array;
  id: Uint32Array;
  /** How many instances each stands for, one after the other: 1 for most. */
  merged: Uint32Array;
}

/** How often an id lies in a window, and for how long. */
export interface Share {
  count: number;
  seconds: number;
}

/** How often each id lies in a window, and for how long, in seconds; of intervals by start. */
export function countWithin({ start, end, id, merged }: Intervals, from: number, to: number): Map<number, Share> {
  const shares: Share[] = []; // by id, with gaps
  for (let i = 0; i < id.length && start[i] < to; i++) {
    if (end[i] <= from) continue;
    const share = (shares[id[i]] ??= { count: 0, seconds: 0 });
    share.count += merged[i];
    share.seconds += Math.min(end[i], to) - Math.max(start[i], from);
  }
  return new Map(Object.entries(shares).map(([each, share]) => [Number(each), share]));
}

/** The places that have a value, of up to millions: no function is called for each. */
export function placesOf(values: Uint8Array | Uint32Array, wanted: number): Uint32Array {
  const places = new Uint32Array(values.length);
  let found = 0;
  for (let place = 0; place < values.length; place++) if (values[place] === wanted) places[found++] = place;
  return places.slice(0, found);
}

const MANY = 10_000; // of more, some that are spread evenly tell what is typical

/** The one of an id's intervals whose length is the median, of those that are not merged if there are any; or null. */
export function typical({ start, end, id, merged }: Intervals, wanted: number): { start: number; end: number } | null {
  const all = placesOf(id, wanted);
  let single = 0;
  for (let i = 0; i < all.length; i++) if (merged[all[i]] === 1) single++;
  const every = Math.ceil((single || all.length) / MANY);
  const some: number[] = [];
  for (let i = 0, nth = 0; i < all.length; i++) {
    if ((!single || merged[all[i]] === 1) && nth++ % every === 0) some.push(all[i]);
  }
  some.sort((a, b) => end[a] - start[a] - (end[b] - start[b]));
  const middle = some[(some.length - 1) >> 1];
  return middle === undefined ? null : { start: start[middle], end: end[middle] };
}

export function firstAbove(values: ArrayLike<number>, limit: number): number {
  let [from, to] = [0, values.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle] > limit) to = middle;
    else from = middle + 1;
  }
  return from;
}
