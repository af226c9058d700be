/** What a selection stands for in the recording: its bars, and where they are. Knows no page. */
import { rest } from "../dom";
import { firstAbove, type Intervals, placesOf, type Span, spanOf, typical } from "../intervals";
import type { Selection, Several } from "../selection";
import { type Gpu, type Header, readRest } from "./data";
import { HALF_GRAIN, launchedWithin, type Launches, modulesWithin, orderLaunches, runningIn } from "./launching";
import type { Lane } from "./layout";
import { once } from "./samples";

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
  /** Its time on the CPU, of an instance that is chosen; null where there is none. */
  host: Span | null;
  /** The bars of its instances by start: on the CPU those of ranges, of work those of kernels. */
  instances: Uint32Array;
  /** Which of them is selected; -1 where all are. */
  at: number;
  /** The bars of work that belong to it, by start. */
  work: () => Uint32Array;
  /** What it consists of, where it is several things. */
  parts?: readonly Subject[];
  finding?: Finding;
  /** Of a gap the rows that are idle, the bar that ends it, and when that was launched. */
  gap?: { rows: number[]; ending: number; arrow: { from: number; to: number; row: number } | null };
}

/** Everything of a recording that can be selected. */
export class Subjects {
  readonly header: Header;
  /** The findings that can be selected, by name. */
  findings: ReadonlyMap<string, Finding> = new Map();
  readonly #rangeIds: ReadonlyMap<string, number>;
  readonly #kernelIds: ReadonlyMap<string, number>;
  readonly #known = new Map<Gpu, { launches: Launches; windowOf: Int32Array }>();
  readonly #subjects = new WeakMap<Selection, Subject | null>(); // all who are told of a selection look for it

  constructor(header: Header) {
    this.header = header;
    this.#rangeIds = new Map(header.links.ranges.map((name, id) => [name, id]));
    this.#kernelIds = new Map(header.links.kernels.map((name, id) => [`${header.gpuOfKernel[id]} ${name}`, id]));
  }

  get gpus(): readonly Gpu[] {
    return this.header.gpus;
  }

  /** What a selection stands for; null where the recording does not have it. */
  find(selection: Selection): Subject | null {
    const known = this.#subjects.get(selection);
    if (known !== undefined) return known;
    const subject = this.#look(selection);
    if (subject) subject.work = once(subject.work);
    this.#subjects.set(selection, subject);
    return subject;
  }

  #look(selection: Selection): Subject | null {
    if (selection.kind === "finding") return this.#finding(selection);
    const gpu = this.gpus.find((each) => each.gpu === selection.gpu);
    if (!gpu) return null;
    switch (selection.kind) {
      case "window": return this.#window(gpu, selection);
      case "range": return this.#range(gpu, selection);
      case "kernel": return this.#kernel(gpu, selection);
      case "step": case "gap": return selection.kind === "gap" ? this.#gap(gpu, selection) : this.#step(gpu, selection);
      case "module": return this.#module(gpu, selection);
      case "kernels": case "modules": return this.#several(selection, this.#named(gpu, selection.kind, selection.ids));
      case "parts": return null;
    }
  }

  /** Read and order what selections need, so that the first of them does not wait for it; with rests for the browser. */
  async prepare(): Promise<void> {
    for (const gpu of this.gpus) {
      for (const part of [gpu.lanes.host.percents, gpu.lanes.work.percents, gpu.details]) await readRest(part);
      await rest();
      this.#of(gpu);
    }
  }

  /** What a bar stands for: an instance of a range, a launch of a kernel, which a call may have begun; else its time. */
  selectionAt(gpu: Gpu, kind: keyof Gpu["lanes"] & Lane["kind"], bar: number): Selection | null {
    const { lanes, details } = gpu;
    const called = kind === "calls" ? launchedWithin(this.#of(gpu).launches, lanes.calls, [bar])[0] : kind === "work" ? bar : undefined;
    const launch = called === undefined ? null : this.instanceAt(gpu, "kernel", called);
    if (kind === "calls" || kind === "work") return launch ?? { kind: "window", gpu: gpu.gpu, ...spanOf(lanes[kind], bar) };
    const host = kind === "host" ? bar : details.hostOfWindow[bar];
    return host >= 0 ? this.instanceAt(gpu, "range", host) : { kind: "range", gpu: gpu.gpu, name: this.header.links.ranges[lanes.windows.id[bar]] };
  }

  /** The gap at a time, which is selected by its number; null where the GPU worked, or for a moment alone did not. */
  gapAt(gpu: Gpu, time: number): Selection | null {
    const { gaps } = gpu.details;
    if (!gaps) return null;
    const place = firstAbove(gaps.start, time) - 1;
    return place >= 0 && gaps.end[place] >= time ? { kind: "gap", gpu: gpu.gpu, number: gaps.number[place] } : null;
  }

  /** The name by which the path, kernel or module of an id is selected. */
  nameOf(kind: "range" | "kernel" | "module", gpu: number, id: number): string | undefined {
    if (kind !== "module") return this.header.links[`${kind}s`][id];
    return this.gpus.find((each) => each.gpu === gpu)?.details.modules.names[id];
  }

  /** The selection of one instance: of a range by its bar on the CPU, of a kernel by its bar of work. */
  instanceAt(gpu: Gpu, kind: "range" | "kernel", bar: number): Selection | null {
    const bars = kind === "range" ? gpu.lanes.host : gpu.lanes.work;
    const name = this.header.links[`${kind}s`][bars.id[bar]];
    if (name === undefined) return null;
    return { kind, gpu: gpu.gpu, name, instance: placesOf(bars.id, bars.id[bar]).indexOf(bar) };
  }

  /** Where the work of a range's bar on the CPU is on the GPU; where it has none, its time on the CPU. */
  windowOf(gpu: Gpu, bar: number): Span {
    const window = this.windowBar(gpu, bar);
    return window < 0 ? spanOf(gpu.lanes.host, bar) : spanOf(gpu.lanes.windows, window);
  }

  /** The bar of its work on the GPU, of a range's bar on the CPU; -1 for none. */
  windowBar(gpu: Gpu, bar: number): number {
    return this.#of(gpu).windowOf[bar];
  }

  #window(gpu: Gpu, selection: Selection & { kind: "window" }): Subject {
    const { start, end } = selection;
    const work = () => Uint32Array.from(runningIn(gpu.lanes.work, gpu.lanes.work.rows, start, end));
    return { selection, gpu, id: -1, place: { start, end }, ...NOWHERE, work };
  }

  #range(gpu: Gpu, selection: Selection & { kind: "range" }): Subject | null {
    const id = this.#rangeIds.get(selection.name);
    if (id === undefined) return null;
    const instances = placesOf(gpu.lanes.host.id, id);
    const at = selection.instance ?? -1;
    if (at >= instances.length) return null;
    const { lanes: { host: bars, windows } } = gpu;
    const [host, place] = at < 0 ? [null, typical(windows, id) ?? typical(bars, id)]
      : [spanOf(bars, instances[at]), this.windowOf(gpu, instances[at])];
    const work = () => launchedWithin(this.#of(gpu).launches, bars, chosenOf(instances, at));
    return { selection, gpu, id, place, host, instances, at, work };
  }

  #kernel(gpu: Gpu, selection: Selection & { kind: "kernel" }): Subject | null {
    const id = this.#kernelIds.get(`${gpu.gpu} ${selection.name}`);
    if (id === undefined) return null;
    const instances = placesOf(gpu.lanes.work.id, id);
    const at = selection.instance ?? -1;
    if (at >= instances.length) return null;
    const place = at < 0 ? typical(gpu.lanes.work, id) : spanOf(gpu.lanes.work, instances[at]);
    return { selection, gpu, id, place, host: null, instances, at, work: () => chosenOf(instances, at) };
  }

  #module(gpu: Gpu, selection: Selection & { kind: "module" }): Subject | null {
    const { modules, moduleOf, steps } = gpu.details;
    const module = modules.names.indexOf(selection.name);
    if (module < 0) return null;
    const within = modulesWithin([module], modules);
    const bars = placesOf(Uint8Array.from(moduleOf, (id) => Number(within.has(id))), 1);
    const at = steps.start.length >> 1;
    const typical = bars.filter((bar) => gpu.lanes.work.start[bar] >= steps.start[at] && gpu.lanes.work.end[bar] <= steps.end[at]);
    const place = around(gpu.lanes.work, typical.length ? typical : bars);
    return { selection, gpu, id: module, place, ...NOWHERE, work: () => bars };
  }

  #step(gpu: Gpu, selection: Selection & { kind: "gap" | "step" }): Subject | null {
    const { steps } = gpu.details;
    const at = steps.number.indexOf(selection.number);
    if (at < 0) return null;
    const instances = Uint32Array.from(steps.number.keys());
    const work = () => launchedWithin(this.#of(gpu).launches, steps.host, [at]);
    return { selection, gpu, id: -1, place: spanOf(steps, at), host: spanOf(steps.host, at), instances, at, work };
  }

  #gap(gpu: Gpu, selection: Selection & { kind: "gap" | "step" }): Subject | null {
    const { gaps } = gpu.details;
    const at = gaps ? gaps.number.indexOf(selection.number) : -1;
    if (!gaps || at < 0) return null;
    const place = { start: gaps.start[at], end: gaps.end[at] };
    const { work, streams } = gpu.lanes;
    const ending = firstAbove(work.start, place.end - HALF_GRAIN);
    const launched = gpu.details.launched[ending] ?? NaN;
    const arrow = Number.isNaN(launched) ? null : { from: launched, to: place.end, row: work.row[ending] };
    const instances = Uint32Array.from(gaps.number.keys());
    return { selection, gpu, id: -1, place, host: null, instances, at, work: () => new Uint32Array(), gap: { rows: [...streams.keys()], ending, arrow } };
  }

  #finding(selection: Selection & { kind: "finding" }): Subject | null {
    const finding = this.findings.get(selection.name);
    const subject = finding && this.#several(selection, finding.about);
    return subject ? { ...subject, finding } : null;
  }

  /** Several things of one GPU as one, with the work of all; kernels from a figure have no place that stands for them. */
  #several(selection: Selection, about: readonly Selection[]): Subject | null {
    const found = about.map((each) => this.find(each)).filter((part) => part !== null);
    if (!found.length) return null;
    const [{ gpu }] = found;
    const parts = found.filter((part) => part.gpu === gpu);
    const work = () => {
      const isMine = new Uint8Array(gpu.lanes.work.id.length);
      for (const part of parts) part.work().forEach((bar) => { isMine[bar] = 1; });
      return placesOf(isMine, 1);
    };
    const place = selection.kind === "kernels" ? null : parts.find((part) => part.place)?.place ?? null;
    return { selection, gpu, id: -1, place, ...NOWHERE, work, parts };
  }

  #named({ gpu }: Gpu, kind: Several, ids: readonly number[]): Selection[] {
    const single = kind === "kernels" ? "kernel" : "module";
    const names = ids.map((id) => this.nameOf(single, gpu, id)).filter((name) => name !== undefined);
    return names.map((name) => ({ kind: single, gpu, name }));
  }

  #of(gpu: Gpu) {
    const known = this.#known.get(gpu);
    if (known) return known;
    const { lanes: { host }, details } = gpu;
    const windowOf = new Int32Array(host.id.length).fill(-1);
    details.hostOfWindow.forEach((bar, window) => { if (bar >= 0) windowOf[bar] = window; });
    const made = { launches: orderLaunches(details.launched), windowOf };
    this.#known.set(gpu, made);
    return made;
  }
}

/** From the start of the first of some bars, which are by start, to the last end; null where there are none. */
function around({ start, end }: Pick<Intervals, "start" | "end">, bars: Uint32Array): Span | null {
  return bars.length ? { start: start[bars[0]], end: bars.reduce((last, bar) => Math.max(last, end[bar]), 0) } : null;
}

/** The instance at a place, or all of them. */
const chosenOf = (instances: Uint32Array, at: number) => (at < 0 ? instances : instances.subarray(at, at + 1));

const NOWHERE = { host: null, instances: new Uint32Array(), at: -1 };
