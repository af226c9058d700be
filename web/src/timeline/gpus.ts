/** What the packed data holds of each GPU, as typed arrays. */
import { makeRows, type PlacedBars, type Row } from "./bars";
import type { PackedBars, PackedGpu, PackedRanges, PackedTrack } from "./header";
import { endsOf, makeTrack, once, type Level } from "./samples";
import { readDetails, type Details } from "./details";
import type { ReadArray } from "./unpack";

/** Bars with what is said of each: percentages by name, NaN where unknown. */
export interface Bars extends PlacedBars {
  percents: Record<string, Float32Array>;
  rows: Map<number, Row>;
}

export interface RangeBars extends Bars {
  /** How many kernels each launched. */
  kernels: Uint32Array;
}

/** The lanes of one GPU: ranges on the CPU, where their work is on the GPU, and the work by stream. */
export interface Lanes {
  host: RangeBars;
  windows: RangeBars;
  work: Bars;
  labels: Record<number, string>;
  /** How many rows a stream has. */
  streamRows: number;
  /** Tensor Active of the last colour of ranges: 100 %, unless the reader asks for less. */
  scaleTop: number;
}

/** Where the values of a metric are: the levels of its track, its place in their curves, and the step of its values. */
interface PlacedCurve {
  levels: Level[];
  place: number;
  step: number;
  unit: string;
}

export interface Gpu {
  gpu: number;
  curves: Map<string, PlacedCurve>;
  lanes: Lanes;
  /** Read when something is selected: the first drawing does not wait for it. */
  readonly details: Details;
}

export function readGpu(read: ReadArray, packed: PackedGpu): Gpu {
  const { gpu, labels, rows: streamRows, percentStep } = packed;
  const curves = new Map(packed.tracks.flatMap((track) => readTrack(read, track)));
  const host = readRanges(read, packed.host, percentStep);
  const windows = readRanges(read, packed.windows, percentStep);
  const work = readBars(read, packed.work, percentStep);
  const lanes = { host, windows, work, labels, streamRows, scaleTop: 100 };
  let details: Details | null = null;
  return { gpu, curves, lanes, get details() { return (details ??= readDetails(read, packed)); } };
}

function readTrack(read: ReadArray, track: PackedTrack): [string, PlacedCurve][] {
  const start = read(track.start, Float64Array, 1e-9);
  const end = endsOf(start, read(track.breaks, Uint32Array), read(track.ends, Float64Array, 1e-9));
  const curves = track.curves.map(({ values }) => once(() => {
    const [mean, low = mean, high = mean] = values.map((number) => read(number, Uint16Array));
    return { mean, low, high };
  }));
  const levels = makeTrack(start, end, curves, track.curves[0].values.length > 1);
  return track.curves.map(({ metric, unit, step }, place) => [metric, { levels, place, step, unit }]);
}

function readBars(read: ReadArray, packed: PackedBars, step: number): Bars {
  const start = read(packed.start, Float64Array, 1e-9);
  const end = read(packed.length, Float64Array, 1e-9);
  for (let i = 0; i < end.length; i++) end[i] += start[i];
  const percents: Bars["percents"] = {};
  for (const [name, number] of Object.entries(packed.percents)) {
    Object.defineProperty(percents, name, { get: once(() => readPercents(read(number, Float32Array), step)), enumerable: true });
  }
  const bars = {
    start, end, percents,
    row: read(packed.row, Uint8Array), id: read(packed.id, Uint32Array), merged: read(packed.merged, Uint32Array),
  };
  return { ...bars, rows: makeRows(bars) };
}

function readPercents(steps: Float32Array, step: number): Float32Array {
  for (let i = 0; i < steps.length; i++) steps[i] = steps[i] ? step * (steps[i] - 1) : NaN;
  return steps;
}

function readRanges(read: ReadArray, packed: PackedRanges, step: number): RangeBars {
  return { ...readBars(read, packed, step), kernels: read(packed.kernels, Uint32Array) };
}
