/** What of a selection is outlined in the lanes: its range on the CPU, its window on the GPU, and what it launched. */
import type { Bars, Gpu } from "./gpus";
import { openAt } from "./launching";
import type { Outline } from "./paint";
import type { Subject, Subjects } from "./subjects";

export const MOST = 4000; // outlines of work: more are not told apart
const INSIDE = 0.42; // of a row, from its middle

export interface Highlights {
  gpu: Gpu;
  bars: Outline[];
}

export function highlightsOf(subjects: Subjects, subject: Subject): Highlights {
  if (subject.parts) {
    const { gpu, parts } = subject;
    return { gpu, bars: parts.flatMap((part) => highlightsOf(subjects, part).bars).slice(0, MOST) };
  }
  const { gpu, selection: { kind }, instances, at } = subject;
  const { host, work } = gpu.lanes;
  const onCpu = kind === "range" ? Array.from(instances.subarray(Math.max(at, 0), at < 0 ? MOST : at + 1)) : [];
  const launched = kind === "kernel" && at >= 0 ? gpu.details.launched[instances[at]] : NaN;
  const around = Number.isNaN(launched) ? [] : openAt(host, host.rows, launched).slice(0, 1);
  const onGpu = kind === "window" ? [] : Array.from(subject.work().subarray(0, MOST));
  return {
    gpu,
    bars: [
      ...[...onCpu, ...around].map((bar) => outline(host, bar, 1)),
      ...onCpu.flatMap((bar) => windowOutline(subjects, gpu, bar)),
      ...around.map((bar) => ({ ...outline(host, bar, 1), left: launched, right: launched })),
      ...onGpu.map((bar) => outline(work, bar, gpu.lanes.streamRows)),
    ],
  };
}

function windowOutline(subjects: Subjects, gpu: Gpu, bar: number): Outline[] {
  const window = subjects.windowBar(gpu, bar);
  return window === undefined ? [] : [outline(gpu.lanes.windows, window, 1)];
}

function outline({ start, end, row }: Bars, bar: number, rows: number): Outline {
  return { left: start[bar], right: end[bar], top: row[bar] - INSIDE, bottom: row[bar] + rows - 1 + INSIDE };
}
