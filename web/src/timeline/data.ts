/** What the page has of a recording, as tcprof/render/html/timeline/__init__.py packs it: times are in seconds. */
import type { Painted } from "../colors";
import { rest } from "../dom";
import { type Intervals, makeRows, type Row } from "../intervals";
import { endsOf, type Level, makeTrack, type PlacedCurve, type Strip } from "./samples";

/** Bars of one kind, by start, each in a row; their ids are places in the header's `paths` or `works`, or in `callNames`. */
export interface Bars extends Intervals {
  row: Uint8Array;
  /** What is said of each: percentages by name, NaN where unknown. */
  percents: Figures;
  /** The bars of each row; put there by the script. */
  rows: Map<number, Row>;
}

export interface RangeBars extends Bars {
  /** How many kernels each launched. */
  kernels: Uint32Array;
}

/** Curves that share their times; where an interval does not reach to the next one's start, its end is in `ends`. */
export interface Track extends Record<"start" | "ends", Float64Array> {
  breaks: Uint32Array;
  /** Values of samples, or mean, smallest and largest of bins; in steps, from 1 on, 0 is unknown. */
  curves: { metric: string; unit: string; step: number; values: Uint16Array[] }[];
}

/** Figures by name, NaN where unknown. */
export type Figures = Record<string, Float32Array>;

/** What is said of things over all of their instances: by title a text of each, by id; unknown is a dash. */
export type Facts = Record<string, readonly string[]>;

/** Modules by id, and the kernels that belong to none within each. */
export interface Modules {
  /** Behind those of the modules are those that a table folds, whose ids are in `folded`. */
  facts: Facts;
  folded: readonly (readonly number[])[];
  /** Empty where the GPU has none of an id. */
  names: readonly string[];
  /** What each lies in, whose id is smaller; -1 for none. */
  parents: readonly number[];
  /** How many steps the facts are over. */
  steps: number;
  own: Record<"module" | "kernel" | "count", Uint32Array> & Record<"seconds" | "activeSeconds", Float32Array> & { phase: readonly string[] };
}

/** Times without work over 10 µs, by start; -1 in `step` and `path` is none. */
export interface Gaps extends Record<"start" | "end", Float64Array>, Record<"waited" | "saves", Float32Array>,
  Record<"number" | "step" | "between" | "cause" | "path" | "wait" | "launches", Int32Array> {
  /** The number of the longest of what costs most; 0 for none. */
  costliest: number;
}

/** Where the work of steps is on the GPU, by start, and where they are on the CPU. */
export interface Steps extends Spans {
  host: Spans;
  number: Uint32Array;
}

type Spans = Pick<Intervals, "start" | "end">;

/** What is told of a thing that is selected. */
interface Details {
  /** None where it is not known when the GPU worked. */
  gaps: Gaps | null;
  steps: Steps;
  /** When each bar of work was launched; NaN where unknown. */
  launched: Float64Array;
  /** The innermost module of each bar of work; -1 for none. */
  moduleOf: Int32Array;
  /** Figures of each bar of the ranges on the CPU; none where the page holds too many. */
  instances: Figures;
  /** The bar on the CPU of each bar of a range's work on the GPU; -1 for none. */
  hostOfWindow: Int32Array;
  /** Seconds of the mean step; null where none was found. */
  meanStep: number | null;
  paths: Facts;
  /** Of all launches together, and what holds for each; FLOP of a launch. */
  kernels: { all: Facts; each: Facts; flop: Float32Array };
  modules: Modules;
}

/** The lanes of one GPU: ranges on the CPU, where their work is on the GPU, the work by stream, and calls of the API. */
export interface Lanes {
  host: RangeBars;
  windows: RangeBars;
  work: Bars;
  calls: Bars;
  callNames: readonly string[];
  /** The names of the streams, by the row of their work. */
  streams: readonly string[];
}

export interface Gpu {
  gpu: number;
  tracks: readonly Track[];
  strips: readonly Strip[];
  lanes: Lanes;
  details: Details;
  /** The tracks' curves by name; put there by the script. */
  curves: Map<string, PlacedCurve>;
}

export interface Header {
  /** Classes of work; the last is for idle time. */
  classes: readonly (Painted & { name: string })[];
  causes: readonly string[];
  gapWaits: readonly string[];
  gpus: Gpu[];
  /** When what is drawn begins and ends. */
  range: [number, number];
  /** What the page's address calls the paths and the kernels, see tcprof/views/paths.py. */
  links: { ranges: readonly string[]; kernels: readonly string[] };
  gpuOfKernel: readonly number[];
  /** What bars are called and how they look; `cuts` are a name in several lengths, shortest first. */
  paths: { names: readonly string[]; cuts: readonly (readonly string[])[] };
  works: Record<"names" | "geometry", readonly string[]> & { cuts: readonly (readonly string[])[]; class: readonly number[] };
}

/** The levels of detail of a track as it is packed. */
function makeLevels({ start, breaks, ends, curves }: Track): Level[] {
  const lazy = curves.map(({ values }) => () => ({ mean: values[0], low: values[1] ?? values[0], high: values[2] ?? values[0] }));
  return makeTrack(start, endsOf(start, breaks, ends), lazy, curves[0].values.length > 1);
}

/** Make what is drawn of one GPU, with a rest for the browser after each array. */
export async function readGpu(gpu: Gpu): Promise<void> {
  gpu.curves = new Map();
  for (const track of gpu.tracks) {
    const levels = makeLevels(track);
    track.curves.forEach(({ metric, unit, step }, place) => gpu.curves.set(metric, { levels, place, step, unit }));
    await rest();
  }
  const { work, host, windows, calls } = gpu.lanes;
  for (const bars of [work, host, windows, calls]) {
    for (const name of ["start", "end", "row", "id", "merged"] as const) { void bars[name]; await rest(); }
    bars.rows = makeRows(bars);
    await rest();
  }
}

/** Make all else that was packed, so that the first selection does not wait for it. */
export async function readRest(part: object): Promise<void> {
  for (const name of Object.keys(part)) {
    await rest();
    const value = (part as Record<string, unknown>)[name];
    if (typeof value === "object" && value && !ArrayBuffer.isView(value) && !Array.isArray(value)) await readRest(value);
  }
}
