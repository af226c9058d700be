/** What is told of a thing that is selected, as typed arrays: see tcprof/render/html/timeline/packing.py. */
import type { GapSum, PackedGaps, PackedGpu, PackedModules, PackedTotals } from "./header";
import type { WorkShare } from "./launching";
import { once } from "./samples";
import type { ReadArray } from "./unpack";

/** Where steps are on the CPU, and where their work is on the GPU, by start, in seconds. */
export interface Steps extends Record<"start" | "end" | "hostStart" | "hostEnd", Float64Array> {
  number: Uint32Array;
}

/** Figures by name, NaN where unknown. */
export type Figures = Record<string, Float32Array>;

/** Figures of things over all of their instances, and the row of each id in them. */
export interface Totals {
  rowOf: ReadonlyMap<number, number>;
  figures: Figures;
}

/** Times without work, by start, in seconds; -1 in `step` and `path` is none. */
export interface Gaps extends Record<"start" | "end" | "waited" | "saves", Float64Array>, Record<"step" | "path", Int32Array>,
  Record<"number" | "between" | "cause" | "wait" | "launches", Uint32Array> {
  sums: readonly GapSum[];
}

export interface Details {
  /** None where it is not known when the GPU worked. */
  gaps: Gaps | null;
  steps: Steps;
  /** When each bar of work was launched, in seconds; NaN where unknown. */
  launched: Float64Array;
  /** The innermost module of each bar of work; -1 for none. */
  moduleOf: Int32Array;
  /** Figures of each bar of the ranges on the CPU; none where the page holds too many. */
  instances: Figures;
  /** The bar on the CPU of each bar of a range's work on the GPU; -1 for none. */
  hostOfWindow: Int32Array;
  paths: Totals;
  kernels: Totals;
  modules: Modules;
}

/** Modules by row, with the id of what each lies in, and the kernels that belong to none within it. */
export interface Modules extends Totals {
  names: readonly string[];
  parents: readonly number[];
  ids: Uint32Array;
  /** How many steps their figures are over, at least 1. */
  steps: number;
  own: { module: number; phase: string; share: WorkShare }[];
}

/** Each detail is read when it is first asked for: the first drawing needs few. */
export function readDetails(read: ReadArray, packed: PackedGpu): Details {
  const { gaps, launches: { first, step, changes }, totals: { paths, kernels, modules } } = packed;
  return lazily<Details>({
    gaps: () => (gaps ? readGaps(read, gaps) : null),
    steps: () => readSteps(read, packed.steps),
    launched: () => sumUp(read(changes, Float64Array)).map((value) => (value ? 1e-9 * (first + step * (value - 1)) : NaN)),
    moduleOf: () => Int32Array.from(read(packed.moduleOfWork, Uint32Array), (id) => id - 1),
    instances: () => readFigures(read, packed.instances),
    hostOfWindow: () => new Int32Array(sumUp(read(packed.hostOfWindow.changes, Float64Array))),
    paths: () => readTotals(read, paths),
    kernels: () => readTotals(read, kernels),
    modules: () => readModules(read, modules),
  });
}

function lazily<Thing extends object>(makers: { [Key in keyof Thing]: () => Thing[Key] }): Thing {
  const made = {} as Thing;
  for (const key of Object.keys(makers) as (keyof Thing)[]) Object.defineProperty(made, key, { get: once(makers[key]), enumerable: true });
  return made;
}

function readSteps(read: ReadArray, packed: PackedGpu["steps"]): Steps {
  const [start, hostStart] = [packed.start, packed.hostStart].map((number) => read(number, Float64Array, 1e-9));
  const ends = (starts: Float64Array, number: number) =>
    read(number, Float64Array, 1e-9).map((length, i) => starts[i] + length);
  return {
    number: read(packed.number, Uint32Array), start, hostStart,
    end: ends(start, packed.length), hostEnd: ends(hostStart, packed.hostLength),
  };
}

function readGaps(read: ReadArray, packed: PackedGaps): Gaps {
  const { steps, sums } = packed;
  const [start, length, waited] = [packed.start, packed.length, packed.waited].map((number) => read(number, Float64Array, 1e-9));
  const counted = read(packed.counted, Float64Array, 0.01);
  const [step, path] = [packed.step, packed.path].map((number) => Int32Array.from(read(number, Uint32Array), (value) => value - 1));
  const [number, between, cause, wait, launches] = [packed.number, packed.between, packed.cause, packed.wait, packed.launches]
    .map((each) => read(each, Uint32Array));
  const end = start.map((time, i) => time + length[i]);
  const saves = length.map((seconds, i) => seconds * counted[i] / steps);
  return { start, end, waited, saves, step, path, number, between, cause, wait, launches, sums };
}

function readTotals(read: ReadArray, { ids, figures }: PackedTotals): Totals {
  const rowOf = new Map(Array.from(read(ids, Uint32Array), (id, row) => [id, row]));
  return { rowOf, figures: readFigures(read, figures) };
}

function readModules(read: ReadArray, packed: PackedModules): Modules {
  const { module, kernel, count, phases, ...figures } = packed.own;
  const [ids, modules, kernels, counts] = [packed.ids, module, kernel, count].map((number) => read(number, Uint32Array));
  const { ns, active_ns: active } = readFigures(read, figures);
  const own = Array.from(modules, (id, i) => ({
    module: id,
    phase: phases[i],
    share: { id: kernels[i], count: counts[i], seconds: 1e-9 * ns[i], activeSeconds: 1e-9 * active[i] },
  }));
  return { ...readTotals(read, packed), names: packed.names, parents: packed.parents, ids, steps: Math.max(packed.steps, 1), own };
}

/** Numbers that are packed as the bits of single precision. */
function readFigures(read: ReadArray, packed: Record<string, number>): Figures {
  const bits = Object.entries(packed).map(([name, number]) => [name, read(number, Uint32Array)] as const);
  return Object.fromEntries(bits.map(([name, values]) => [name, new Float32Array(values.buffer)]));
}

function sumUp(changes: Float64Array): Float64Array {
  let sum = 0;
  return changes.map((change) => (sum += change));
}
