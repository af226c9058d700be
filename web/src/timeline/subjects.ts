/** What a selection stands for in the recording: its bars, and where they are. Knows neither page nor plotly. */
import { preferred, typical, type Intervals } from "../intervals";
import type { Selection, Several } from "../selection_fragment";
import type { Gpu } from "./gpus";
import type { Header } from "./header";
import { Launches, modulesWithin, runningIn } from "./launching";

/** A time, in seconds. */
export interface Span {
  start: number;
  end: number;
}

/** What a finding says, and what it is about. */
export interface Finding {
  name: string;
  title: string;
  gain: string;
  about: readonly Selection[];
}

/** What is selected. */
export interface Subject {
  selection: Selection;
  gpu: Gpu;
  /** The id of its path, kernel or module; -1 for none. */
  id: number;
  /** Its time on the GPU, or that of a typical instance; null where it has none of its own. */
  place: Span | null;
  /** Its times on the CPU: of all instances where none is chosen. */
  host: Span[];
  /** The bars of its instances by start: on the CPU those of ranges, of work those of kernels. */
  instances: number[];
  /** Which of them is selected; -1 where all are. */
  at: number;
  /** The bars of work that belong to it. */
  work: () => ArrayLike<number> & Iterable<number>;
  /** What it consists of, where it is several things. */
  parts?: readonly Subject[];
  finding?: Finding;
}

/** Everything of a recording that can be selected. */
export class Subjects {
  readonly header: Header;
  readonly gpus: readonly Gpu[];
  /** The findings that can be selected, by name. */
  findings: ReadonlyMap<string, Finding> = new Map();
  private readonly rangeIds: ReadonlyMap<string, number>;
  private readonly kernelIds: ReadonlyMap<string, number>;
  private readonly known = new Map<Gpu, { launches: Launches; ranges: Intervals; windowOf: Map<number, number> }>();

  constructor(header: Header, gpus: readonly Gpu[]) {
    this.header = header;
    this.gpus = gpus;
    this.rangeIds = new Map(header.links.ranges.map((name, id) => [name, id]));
    this.kernelIds = new Map(header.links.kernels.map((name, id) => [`${header.gpuOfKernel[id]} ${name}`, id]));
  }

  /** What a selection stands for; null where the recording does not have it. */
  find(selection: Selection): Subject | null {
    if (selection.kind === "finding") return this.finding(selection);
    const gpu = this.gpus.find((each) => each.gpu === selection.gpu);
    if (!gpu) return null;
    switch (selection.kind) {
      case "window": return this.window(gpu, selection);
      case "range": return this.range(gpu, selection);
      case "kernel": return this.kernel(gpu, selection);
      case "iteration": return this.iteration(gpu, selection);
      case "module": return this.module(gpu, selection);
      case "kernels": return this.several(selection, this.named(gpu, selection.kind, selection.ids));
      case "modules": {
        const subject = this.several(selection, this.named(gpu, selection.kind, selection.ids));
        return subject && { ...subject, place: subject.parts?.find(({ place }) => place)?.place ?? null };
      }
    }
  }

  /** The name by which the path, kernel or module of an id is selected. */
  nameOf(kind: "range" | "kernel" | "module", gpu: number, id: number): string | undefined {
    if (kind !== "module") return this.header.links[kind === "range" ? "ranges" : "kernels"][id];
    const modules = this.gpus.find((each) => each.gpu === gpu)?.details.modules;
    return modules?.names[modules.rowOf.get(id) ?? -1];
  }

  /** The selection of one instance: of a range by its bar on the CPU, of a kernel by its bar of work. */
  instanceAt(gpu: Gpu, kind: "range" | "kernel", bar: number): Selection | null {
    const bars = kind === "range" ? gpu.lanes.host : gpu.lanes.work;
    const name = this.header.links[kind === "range" ? "ranges" : "kernels"][bars.id[bar]];
    if (name === undefined) return null;
    return { kind, gpu: gpu.gpu, name, instance: barsOf(bars, bars.id[bar]).indexOf(bar) };
  }

  /** Where the work of a range's bar on the CPU is on the GPU; where it has none, its time on the CPU. */
  windowOf(gpu: Gpu, bar: number): Span {
    const window = this.windowBar(gpu, bar);
    return window === undefined ? spanOf(gpu.lanes.host, bar) : spanOf(gpu.lanes.windows, window);
  }

  /** The bar of its work on the GPU, of a range's bar on the CPU. */
  windowBar(gpu: Gpu, bar: number): number | undefined {
    return this.of(gpu).windowOf.get(bar);
  }

  private window(gpu: Gpu, selection: Selection & { kind: "window" }): Subject {
    const { start, end } = selection;
    const work = () => runningIn(gpu.lanes.work, gpu.lanes.work.rows, start, end);
    return { selection, gpu, id: -1, place: { start, end }, host: [], instances: [], at: -1, work };
  }

  private range(gpu: Gpu, selection: Selection & { kind: "range" }): Subject | null {
    const id = this.rangeIds.get(selection.name);
    if (id === undefined) return null;
    const instances = barsOf(gpu.lanes.host, id);
    const at = selection.instance ?? -1;
    if (at >= instances.length) return null;
    const chosen = at < 0 ? instances : [instances[at]];
    const host = chosen.map((bar) => spanOf(gpu.lanes.host, bar));
    const place = at < 0 ? typical(this.of(gpu).ranges, id) : this.windowOf(gpu, chosen[0]);
    return { selection, gpu, id, place, host, instances, at, work: () => this.launchedIn(gpu, host) };
  }

  private kernel(gpu: Gpu, selection: Selection & { kind: "kernel" }): Subject | null {
    const id = this.kernelIds.get(`${gpu.gpu} ${selection.name}`);
    if (id === undefined) return null;
    const instances = barsOf(gpu.lanes.work, id);
    const at = selection.instance ?? -1;
    if (at >= instances.length) return null;
    const place = at < 0 ? typical(gpu.lanes.work, id) : spanOf(gpu.lanes.work, instances[at]);
    return { selection, gpu, id, place, host: [], instances, at, work: () => (at < 0 ? instances : [instances[at]]) };
  }

  private module(gpu: Gpu, selection: Selection & { kind: "module" }): Subject | null {
    const { modules, moduleOf, iterations } = gpu.details;
    const row = modules.names.indexOf(selection.name);
    if (row < 0) return null;
    const within = modulesWithin([modules.ids[row]], modules);
    const bars = Array.from(moduleOf.keys()).filter((bar) => within.has(moduleOf[bar]));
    const at = iterations.start.length >> 1;
    const typical = bars.filter((bar) => gpu.lanes.work.start[bar] >= iterations.start[at] && gpu.lanes.work.end[bar] <= iterations.end[at]);
    const place = around(gpu.lanes.work, typical.length ? typical : bars);
    return { selection, gpu, id: modules.ids[row], place, host: [], instances: [], at: -1, work: () => bars };
  }

  private iteration(gpu: Gpu, selection: Selection & { kind: "iteration" }): Subject | null {
    const { number, start, end, hostStart, hostEnd } = gpu.details.iterations;
    const at = number.indexOf(selection.number);
    if (at < 0) return null;
    const host = [{ start: hostStart[at], end: hostEnd[at] }];
    const instances = Array.from(number.keys());
    const place = { start: start[at], end: end[at] };
    return { selection, gpu, id: -1, place, host, instances, at, work: () => this.launchedIn(gpu, host) };
  }

  private finding(selection: Selection & { kind: "finding" }): Subject | null {
    const finding = this.findings.get(selection.name);
    const subject = this.several(selection, finding?.about ?? []);
    const place = subject?.parts?.find((part) => part.place)?.place ?? null;
    return subject && finding ? { ...subject, place, finding } : null;
  }

  /** Several things of one GPU as one, with the work of all. */
  private several(selection: Selection, about: readonly Selection[]): Subject | null {
    const found = about.map((each) => this.find(each)).filter((part) => part !== null);
    if (!found.length) return null;
    const [{ gpu }] = found;
    const parts = found.filter((part) => part.gpu === gpu);
    const { start } = gpu.lanes.work;
    const work = () => [...new Set(parts.flatMap((part) => Array.from(part.work())))].sort((a, b) => start[a] - start[b]);
    return { selection, gpu, id: -1, place: null, host: [], instances: [], at: -1, work, parts };
  }

  private named({ gpu }: Gpu, kind: Several, ids: readonly number[]): Selection[] {
    const single = kind === "kernels" ? "kernel" : "module";
    const names = ids.map((id) => this.nameOf(single, gpu, id)).filter((name) => name !== undefined);
    return names.map((name) => ({ kind: single, gpu, name }));
  }

  /** The bars of work that were launched in some times on the CPU, each once. */
  private launchedIn(gpu: Gpu, host: readonly Span[]): number[] {
    const { launches } = this.of(gpu);
    const found: number[] = [];
    let until = -Infinity;
    for (const { start, end } of host) {
      for (const bar of launches.within(Math.max(start, until), end)) found.push(bar);
      until = Math.max(until, end);
    }
    return found.sort((a, b) => gpu.lanes.work.start[a] - gpu.lanes.work.start[b]);
  }

  private of(gpu: Gpu) {
    const known = this.known.get(gpu);
    if (known) return known;
    const { lanes: { host, windows }, details } = gpu;
    const windowOf = new Map<number, number>();
    details.hostOfWindow.forEach((bar, window) => { if (bar >= 0) windowOf.set(bar, window); });
    const made = { launches: new Launches(details.launched), ranges: preferred(windows, host), windowOf };
    this.known.set(gpu, made);
    return made;
  }
}

export function spanOf({ start, end }: Pick<Intervals, "start" | "end">, bar: number): Span {
  return { start: start[bar], end: end[bar] };
}

/** From the start of the first of some bars, which are by start, to the last end; null where there are none. */
function around({ start, end }: Pick<Intervals, "start" | "end">, bars: readonly number[]): Span | null {
  return bars.length ? { start: start[bars[0]], end: bars.reduce((last, bar) => Math.max(last, end[bar]), 0) } : null;
}

/** The bars of an id, which are by start already. */
function barsOf({ id }: Intervals, wanted: number): number[] {
  const found: number[] = [];
  for (let bar = id.indexOf(wanted); bar >= 0; bar = id.indexOf(wanted, bar + 1)) found.push(bar);
  return found;
}
