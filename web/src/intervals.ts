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

/** The places of so many that are wanted. */
export function placesOf(count: number, isWanted: (place: number) => unknown): Uint32Array {
  const places = new Uint32Array(count);
  let wanted = 0;
  for (let place = 0; place < count; place++) if (isWanted(place)) places[wanted++] = place;
  return places.slice(0, wanted);
}

const MANY = 10_000; // of more, some that are spread evenly tell what is typical

/** The one of an id's intervals whose length is the median, of those that are not merged if there are any; or null. */
export function typical({ start, end, id, merged }: Intervals, wanted: number): { start: number; end: number } | null {
  const all = placesOf(id.length, (place) => id[place] === wanted);
  const single = all.filter((place) => merged[place] === 1);
  const mine = single.length ? single : all;
  const every = Math.ceil(mine.length / MANY);
  const sorted = Array.from(mine.filter((_, i) => i % every === 0)).sort((a, b) => end[a] - start[a] - (end[b] - start[b]));
  const middle = sorted[(sorted.length - 1) >> 1];
  return middle === undefined ? null : { start: start[middle], end: end[middle] };
}
