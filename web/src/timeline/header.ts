/** The header of the packed data: what tcprof/render/html/timeline/__init__.py writes. */
import type { Painted, Theme } from "../colors";
import type { Axis, Layout, Trace, TraceMeta } from "../plotly";

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

/** Figures of things, over all of their instances. */
export interface PackedTotals {
  ids: ArrayNumber;
  figures: Record<string, ArrayNumber>;
}

export interface PackedModules extends PackedTotals {
  names: readonly string[];
  parents: readonly number[];
  /** The kernels of each that belong to no module within it. */
  own: Record<"module" | "kernel" | "count" | "ns" | "active_ns", ArrayNumber> & { phases: readonly string[] };
}

export interface PackedGpu {
  gpu: number;
  tracks: PackedTrack[];
  host: PackedRanges;
  windows: PackedRanges;
  work: PackedBars;
  steps: Record<"number" | "start" | "length" | "hostStart" | "hostLength", ArrayNumber>;
  /** See tcprof/render/html/timeline/packing.py. */
  launches: { first: number; step: number; changes: ArrayNumber };
  /** The module of each bar of work, by its id and 1; 0 for none. */
  moduleOfWork: ArrayNumber;
  instances: Record<string, ArrayNumber>;
  hostOfWindow: { changes: ArrayNumber };
  totals: { paths: PackedTotals; kernels: PackedTotals; modules: PackedModules };
  percentStep: number;
  /** What stands beside rows: the streams, by row. */
  labels: Record<number, string>;
  /** How many rows a stream has. */
  rows: number;
}

/** What bars are called and how they look; names are labels of plotly, `cuts` plain text, shortest first. */
export interface Names {
  /** The scale of Tensor Active, lowest first; the last is for unknown. */
  rangeColors: Record<Theme, readonly Painted[]>;
  /** Classes of work; the last is for idle time. */
  classes: readonly (Painted & { name: string })[];
  paths: { names: readonly string[]; cuts: readonly (readonly string[])[] };
  works: {
    names: readonly string[];
    cuts: readonly (readonly string[])[];
    geometry: readonly string[];
    class: readonly number[];
    /** The 95 % interval of a kernel's Tensor Active; null where unknown. */
    low: readonly (number | null)[];
    high: readonly (number | null)[];
  };
}

/** What a trace of the timeline stands for: a curve, the band around it, or the places of a GPU's bars. */
export type TimelineMeta = TraceMeta & (
  | { role: "curve" | "band"; gpu: number; curve: string }
  | { role: "lanes"; gpu: number }
);

export type TimelineTrace = Trace<TimelineMeta>;

export interface TimelineLayout extends Layout, Record<"xaxis" | "yaxis", Axis> {
  margin: Record<"t" | "r" | "b" | "l", number>;
  /** The other axes: yaxis2 and so on. */
  [axis: `yaxis${number}`]: Axis;
}

export interface TimelineFigure {
  data: TimelineTrace[];
  layout: TimelineLayout;
}

export interface Header extends Names {
  gpus: PackedGpu[];
  /** One for each GPU. */
  figures: TimelineFigure[];
  /** Tensor Active of the range that has most. */
  highestRange: number;
  /** What the page's address calls the paths and the kernels, see tcprof/views/paths.py. */
  links: { ranges: readonly string[]; kernels: readonly string[] };
  gpuOfKernel: readonly number[];
  works: Names["works"] & { kernels: number };
}
