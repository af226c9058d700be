/** The header of the packed data: what tcprof/render/html/timeline/__init__.py writes. */
import type { Painted } from "../colors";

/** A number that stands for an array of the packed data. */
export type ArrayNumber = number;

/** Bars of one kind, by start. */
export interface PackedBars extends Record<"start" | "length" | "row", ArrayNumber> {
  /** Of what each bar is an instance: the place in the header's `paths` or `works`. */
  id: ArrayNumber;
  /** How many each bar stands for: more than one where the page would hold too many. */
  merged: ArrayNumber;
  percents: Record<string, ArrayNumber>;
}

export interface PackedRanges extends PackedBars {
  kernels: ArrayNumber;
}

/** Curves that share their times; where an interval does not reach to the next one's start, its end is in `ends`. */
export interface PackedTrack extends Record<"start" | "breaks" | "ends", ArrayNumber> {
  /** Values of samples, or mean, smallest and largest of bins; in steps, from 1 on, 0 is unknown. */
  curves: { metric: string; unit: string; step: number; values: ArrayNumber[] }[];
}

/** A strip of curves, from 0 to its highest value. */
export interface Strip {
  title: string;
  high: number;
  unit: string;
  curves: { name: string; color: string; isHidden: boolean }[];
}

/** Figures of things, over all of their instances. */
export interface PackedTotals {
  ids: ArrayNumber;
  figures: Record<string, ArrayNumber>;
}

export interface PackedModules extends PackedTotals {
  names: readonly string[];
  parents: readonly number[];
  /** How many steps their figures are over. */
  steps: number;
  /** The kernels of each that belong to no module within it. */
  own: Record<"module" | "kernel" | "count" | "ns" | "active_ns", ArrayNumber> & { phases: readonly string[] };
}

/** Idle time by cause and place: in a step, in ns, and its share of the step; the rest of many has no cause. */
export interface GapSum extends Record<"gap_count" | "longest_ns" | "longest_gap" | "saving_ns" | "share_pct", number> {
  cause: string | null;
  path: string;
  wait: string;
  /** Whether it is that of the gaps that are too short to be listed. */
  short: boolean;
}

/** The gaps of a GPU over 10 µs, by start, in ns; `step` and `path` are one higher, and 0 for none. */
export interface PackedGaps
  extends Record<"number" | "start" | "length" | "step" | "between" | "cause" | "path" | "wait" | "waited" | "launches" | "counted", ArrayNumber> {
  /** How many steps figures are over. */
  steps: number;
  sums: readonly GapSum[];
}

export interface PackedGpu {
  gpu: number;
  /** Nanoseconds of the mean step; null where none was found. */
  meanStep: number | null;
  tracks: PackedTrack[];
  strips: Strip[];
  gaps: PackedGaps | null;
  host: PackedRanges;
  windows: PackedRanges;
  work: PackedBars;
  /** Calls of the CUDA API; their ids are places in `names`. */
  calls: PackedBars & { names: readonly string[] };
  steps: Record<"number" | "start" | "length" | "hostStart" | "hostLength", ArrayNumber>;
  /** See tcprof/render/html/timeline/packing.py. */
  launches: { first: number; step: number; changes: ArrayNumber };
  /** The module of each bar of work, by its id and 1; 0 for none. */
  moduleOfWork: ArrayNumber;
  instances: Record<string, ArrayNumber>;
  hostOfWindow: { changes: ArrayNumber };
  totals: { paths: PackedTotals; kernels: PackedTotals; modules: PackedModules };
  percentStep: number;
  /** The names of the streams, by the row of their work. */
  streams: readonly string[];
}

/** What bars are called and how they look; `cuts` are a name in several lengths, shortest first. */
export interface Names {
  /** Classes of work; the last is for idle time. */
  classes: readonly (Painted & { name: string })[];
  paths: { names: readonly string[]; cuts: readonly (readonly string[])[] };
  works: {
    names: readonly string[];
    cuts: readonly (readonly string[])[];
    geometry: readonly string[];
    bound: readonly string[];
    precision: readonly string[];
    class: readonly number[];
    /** The 95 % interval of a kernel's Tensor Active; null where unknown. */
    low: readonly (number | null)[];
    high: readonly (number | null)[];
  };
}

export interface Header extends Names {
  causes: readonly string[];
  gapWaits: readonly string[];
  gpus: PackedGpu[];
  /** When what is drawn begins and ends, in seconds. */
  range: [number, number];
  /** What the page's address calls the paths and the kernels, see tcprof/views/paths.py. */
  links: { ranges: readonly string[]; kernels: readonly string[] };
  gpuOfKernel: readonly number[];
  works: Names["works"] & { kernels: number };
}
