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

/** The bars of an id, which are by start already. */
export function barsOf({ id }: Pick<Intervals, "id">, wanted: number): Uint32Array {
  return placesOf(id.length, (bar) => id[bar] === wanted);
}

const MANY = 10_000; // of more, some that are spread evenly tell what is typical

/** The one of some intervals whose length is the median, of those that are not merged if there are any; or null. */
export function typical({ start, end, merged }: Intervals, some: Uint32Array): { start: number; end: number } | null {
  const single = placesOf(some.length, (i) => merged[some[i]] === 1);
  const count = single.length || some.length;
  const every = Math.ceil(count / MANY) || 1;
  const spread = Array.from({ length: Math.ceil(count / every) }, (_, i) => some[single.length ? single[i * every] : i * every]);
  const sorted = spread.sort((a, b) => end[a] - start[a] - (end[b] - start[b]));
  const middle = sorted[(sorted.length - 1) >> 1];
  return middle === undefined ? null : { start: start[middle], end: end[middle] };
}
