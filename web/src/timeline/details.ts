/** What is told of a thing that is selected, as typed arrays: see tcprof/render/html/timeline/packing.py. */
import type { PackedGpu, PackedModules, PackedTotals } from "./header";
import type { WorkShare } from "./launching";
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

export interface Details {
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
  own: { module: number; phase: string; share: WorkShare }[];
}

export function readDetails(read: ReadArray, packed: PackedGpu): Details {
  const { paths, kernels, modules } = packed.totals;
  const { first, step, changes } = packed.launches;
  const launched = sumUp(read(changes, Float64Array)).map((value) => (value ? 1e-9 * (first + step * (value - 1)) : NaN));
  return {
    steps: readSteps(read, packed.steps),
    launched,
    moduleOf: Int32Array.from(read(packed.moduleOfWork, Uint32Array), (id) => id - 1),
    instances: readFigures(read, packed.instances),
    hostOfWindow: new Int32Array(sumUp(read(packed.hostOfWindow.changes, Float64Array))),
    paths: readTotals(read, paths),
    kernels: readTotals(read, kernels),
    modules: readModules(read, modules),
  };
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
  return { ...readTotals(read, packed), names: packed.names, parents: packed.parents, ids, own };
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
