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

/** How often each id lies in a window, and for how long, in seconds. */
export function countWithin({ start, end, id, merged }: Intervals, from: number, to: number): Map<number, Share> {
  const found: Share[] = []; // by id, with gaps
  for (let i = 0; i < id.length; i++) {
    if (end[i] <= from || start[i] >= to) continue;
    const entry = (found[id[i]] ??= { count: 0, seconds: 0 });
    entry.count += merged[i];
    entry.seconds += Math.min(end[i], to) - Math.max(start[i], from);
  }
  return new Map(Object.entries(found).map(([each, share]) => [Number(each), share]));
}

/** The intervals of some, and of others those whose id the first have not. */
export function preferred(first: Intervals, others: Intervals): Intervals {
  const has = new Set(first.id);
  const places = Array.from(others.id.keys()).filter((place) => !has.has(others.id[place]));
  return {
    start: join(Float64Array, first.start, others.start, places),
    end: join(Float64Array, first.end, others.end, places),
    id: join(Uint32Array, first.id, others.id, places),
    merged: join(Uint32Array, first.merged, others.merged, places),
  };
}

function join<T extends Float64Array | Uint32Array>(
  type: new (length: number) => T, first: T, others: T, places: readonly number[],
): T {
  const joined = new type(first.length + places.length);
  joined.set(first);
  places.forEach((place, i) => { joined[first.length + i] = others[place]; });
  return joined;
}

/** The one of an id's intervals whose length is the median, of those that are not merged if there are any; or null. */
export function typical({ start, end, id, merged }: Intervals, wanted: number): { start: number; end: number } | null {
  const all = Array.from(id.keys()).filter((place) => id[place] === wanted);
  const single = all.filter((place) => merged[place] === 1);
  const mine = single.length ? single : all;
  mine.sort((a, b) => end[a] - start[a] - (end[b] - start[b]));
  const middle = mine[(mine.length - 1) >> 1];
  return middle === undefined ? null : { start: start[middle], end: end[middle] };
}
