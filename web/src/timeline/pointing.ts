/** What the bar under the pointer stands for. Knows no page. */
import type { Selection } from "../selection_fragment";
import type { Bars, Gpu } from "./gpus";
import type { Lane } from "./layout";
import { spanOf, type Subjects } from "./subjects";

export interface FoundBar {
  kind: Exclude<Lane["kind"], "curve" | "inner">;
  bar: number;
}

/** What a bar stands for: an instance of a range, a launch of a kernel, or of a copy or a call its time. */
export function selectionOf(subjects: Subjects, gpu: Gpu, { kind, bar }: FoundBar): Selection | null {
  const { lanes } = gpu;
  const time = (bars: Bars): Selection => ({ kind: "window", gpu: gpu.gpu, ...spanOf(bars, bar) });
  if (kind === "work") return subjects.instanceAt(gpu, "kernel", bar) ?? time(lanes.work);
  if (kind === "calls") return launchBy(subjects, gpu, bar) ?? time(lanes.calls);
  const host = kind === "host" ? bar : gpu.details.hostOfWindow[bar];
  if (host >= 0) return subjects.instanceAt(gpu, "range", host);
  return { kind: "range", gpu: gpu.gpu, name: subjects.header.links.ranges[lanes.windows.id[bar]] };
}

/** The launch that a call of the CUDA API began; null where it began none that is drawn by itself. */
function launchBy(subjects: Subjects, gpu: Gpu, call: number): Selection | null {
  const bars = subjects.launchedIn(gpu, spanOf(gpu.lanes.calls, call));
  return bars.length ? subjects.instanceAt(gpu, "kernel", bars[0]) : null;
}
