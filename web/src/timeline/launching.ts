/** What launched what: work on the GPU by the time of its launch, and ranges on the CPU around it. Knows no page. */
import { firstAbove, type Intervals, placesOf, type Row } from "../intervals";
import type { Modules } from "./data";

/** How often and how long a kernel or a copy ran, and for how long of that the Tensor Cores were active. */
export interface WorkShare {
  id: number;
  count: number;
  seconds: number;
  /** NaN where it is known of no launch. */
  activeSeconds: number;
}

export const HALF_GRAIN = 0.5e-9; // seconds: times are whole nanoseconds

/** Launches of work by time. */
export type Launches = Record<"places", Uint32Array> & Record<"times", Float64Array>;

/** Order when bars of work were launched, NaN where unknown. They are nearly in the order of their work, which an array's sort
 * makes use of, and a typed one's does not. */
export function orderLaunches(launched: Float64Array): Launches {
  const known = Array.from(placesOf(Uint8Array.from(launched, (time) => Number(!Number.isNaN(time))), 1));
  const places = Uint32Array.from(known.sort((a, b) => launched[a] - launched[b] || a - b));
  return { places, times: Float64Array.from(places, (place) => launched[place]) };
}

/** The bars of work that were launched within some of the spans, which are by start: each bar once, and by start, too. */
export function launchedWithin({ places, times }: Launches, { start, end }: Pick<Intervals, "start" | "end">, some: ArrayLike<number>): Uint32Array {
  const within: number[] = [];
  for (let i = 0, next = 0; i < some.length; i++) {
    next = Math.max(next, firstAbove(times, start[some[i]] - HALF_GRAIN));
    while (next < times.length && times[next] < end[some[i]]) within.push(places[next++]);
  }
  return Uint32Array.from(within).sort();
}

/** The ranges that were open at a time, the innermost first. */
export function openAt(host: Intervals, rows: ReadonlyMap<number, Row>, time: number): number[] {
  const found: number[] = [];
  for (const { members, reach } of rows.values()) {
    for (let k = firstAbove(reach, time); k < members.length && host.start[members[k]] <= time; k++) {
      if (host.end[members[k]] > time) found.push(members[k]);
    }
  }
  return found.sort((a, b) => host.end[a] - host.start[a] - (host.end[b] - host.start[b]));
}

/** The work of some bars by kernel, the longest first. */
export function sumWork(work: Intervals, active: Float32Array, bars: Uint32Array): WorkShare[] {
  const shares: (WorkShare & { known: number })[] = []; // by id, with gaps
  for (let i = 0; i < bars.length; i++) {
    const bar = bars[i];
    const id = work.id[bar];
    const share = (shares[id] ??= { id, count: 0, seconds: 0, activeSeconds: 0, known: 0 });
    const seconds = work.end[bar] - work.start[bar];
    share.count += work.merged[bar];
    share.seconds += seconds;
    if (!Number.isNaN(active[bar])) {
      share.known += seconds;
      share.activeSeconds += (seconds * active[bar]) / 100;
    }
  }
  const all = Object.values(shares).sort((a, b) => b.seconds - a.seconds);
  return all.map(({ known, activeSeconds, ...share }) => ({ ...share, activeSeconds: known ? activeSeconds : NaN }));
}

const WHOLE = 0.99; // of the time: what is unknown of less is not told

export function sumOver(shares: readonly WorkShare[], key: "count" | "seconds" | "activeSeconds"): number {
  return shares.reduce((total, share) => total + share[key], 0);
}

/** Tensor Active of some work together, in percent: the least where that of a part is unknown; NaN where none is known. */
export function activeOf(shares: readonly WorkShare[]): { percent: number; isLeast: boolean } {
  const known = shares.filter(({ activeSeconds }) => !Number.isNaN(activeSeconds));
  const percent = known.length ? (100 * sumOver(known, "activeSeconds")) / sumOver(shares, "seconds") : NaN;
  return { percent, isLeast: known.length > 0 && sumOver(known, "seconds") < WHOLE * sumOver(shares, "seconds") };
}

/** Some modules, and all within them. */
export function modulesWithin(chosen: readonly number[], { parents }: Pick<Modules, "parents">): Set<number> {
  const within = new Set(chosen);
  parents.forEach((parent, module) => { if (within.has(parent)) within.add(module); });
  return within;
}

/** The kernels that belong to no module within theirs. */
export function ownKernels({ own: { module, phase, kernel, count, seconds, activeSeconds } }: Modules): (WorkShare & { module: number; phase: string })[] {
  return phase.map((name, i) => ({ module: module[i], phase: name, id: kernel[i], count: count[i], seconds: seconds[i], activeSeconds: activeSeconds[i] }));
}

/** The kernels of some modules and of all within them by phase, the longest first. */
export function sumModules(chosen: readonly number[], modules: Modules): [phase: string, shares: WorkShare[]][] {
  const within = modulesWithin(chosen, modules);
  const phases = new Map<string, WorkShare[]>(); // by id, with gaps
  for (const { module, phase, id, count, seconds, activeSeconds } of ownKernels(modules)) {
    if (!within.has(module)) continue;
    const shares = phases.get(phase) ?? [];
    const sum = (shares[id] ??= { id, count: 0, seconds: 0, activeSeconds: 0 });
    sum.count += count;
    sum.seconds += seconds;
    sum.activeSeconds += activeSeconds;
    phases.set(phase, shares);
  }
  return [...phases].map(([phase, shares]) => [phase, Object.values(shares).sort((a, b) => b.seconds - a.seconds)]);
}

/** Seconds of a window in which at least one of some bars, by start, ran. */
export function busyTime({ start, end }: Intervals, bars: Iterable<number>, low: number, high: number): number {
  let [busy, until] = [0, low];
  for (const bar of bars) {
    const from = Math.max(start[bar], until);
    const to = Math.min(end[bar], high);
    if (to > from) busy += to - from;
    until = Math.max(until, to);
  }
  return busy;
}

/** The bars, by start, that run within a window. */
export function runningIn(work: Intervals, rows: ReadonlyMap<number, Row>, low: number, high: number): number[] {
  const found: number[] = [];
  for (const { members, reach } of rows.values()) {
    for (let k = firstAbove(reach, low); k < members.length && work.start[members[k]] < high; k++) {
      if (work.end[members[k]] > low) found.push(members[k]);
    }
  }
  return found.sort((a, b) => work.start[a] - work.start[b]);
}
