/** What the packed data holds of each GPU, as typed arrays. */
import { makeRows, type PlacedBars, type Row } from "./bars";
import type { PackedBars, PackedGpu, PackedRanges, PackedTrack, Strip } from "./header";
import { endsOf, makeTrack, once, type Level } from "./samples";
import { readDetails, type Details } from "./details";
import { rest } from "../dom";
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

/** The lanes of one GPU: ranges on the CPU, where their work is on the GPU, the work by stream, and calls of the API. */
export interface Lanes {
  host: RangeBars;
  windows: RangeBars;
  work: Bars;
  calls: Bars;
  callNames: readonly string[];
  streams: readonly string[];
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
  /** Seconds of the mean step; NaN where none was found. */
  meanStep: number;
  curves: Map<string, PlacedCurve>;
  strips: readonly Strip[];
  lanes: Lanes;
  readonly details: Details;
}

/** Read one GPU, with a rest for the browser after each lane. */
export async function readGpu(read: ReadArray, packed: PackedGpu): Promise<Gpu> {
  const { gpu, meanStep, strips, streams, percentStep, calls: { names: callNames } } = packed;
  const curves = new Map<string, PlacedCurve>();
  for (const track of packed.tracks) {
    readTrack(read, track).forEach(([name, curve]) => curves.set(name, curve));
    await rest();
  }
  const [work, host, windows, calls] = [
    await readBars(read, packed.work, percentStep), await readRanges(read, packed.host, percentStep),
    await readRanges(read, packed.windows, percentStep), await readBars(read, packed.calls, percentStep),
  ];
  const lanes = { host, windows, work, calls, callNames, streams };
  return { gpu, meanStep: 1e-9 * (meanStep ?? NaN), curves, strips, lanes, details: readDetails(read, packed) };
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

async function readBars(read: ReadArray, packed: PackedBars, step: number): Promise<Bars> {
  const start = read(packed.start, Float64Array, 1e-9);
  await rest();
  const end = read(packed.length, Float64Array, 1e-9);
  for (let i = 0; i < end.length; i++) end[i] += start[i];
  await rest();
  const percents: Bars["percents"] = {};
  for (const [name, number] of Object.entries(packed.percents)) {
    Object.defineProperty(percents, name, { get: once(() => readPercents(read(number, Float32Array), step)), enumerable: true });
  }
  const [row, id, merged] = [read(packed.row, Uint8Array), read(packed.id, Uint32Array), read(packed.merged, Uint32Array)];
  await rest();
  const rows = makeRows({ row, end });
  await rest();
  return { start, end, percents, row, id, merged, rows };
}

function readPercents(steps: Float32Array, step: number): Float32Array {
  for (let i = 0; i < steps.length; i++) steps[i] = steps[i] ? step * (steps[i] - 1) : NaN;
  return steps;
}

async function readRanges(read: ReadArray, packed: PackedRanges, step: number): Promise<RangeBars> {
  return { ...await readBars(read, packed, step), kernels: read(packed.kernels, Uint32Array) };
}
