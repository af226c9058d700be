/** The bar under the pointer, and what it stands for. Knows no page. */
import { firstAbove } from "../intervals";
import type { Selection } from "../selection_fragment";
import type { Pointed } from "./drawing";
import type { Bars, Gpu } from "./gpus";
import type { Lane } from "./layout";
import { spanOf, type Subjects } from "./subjects";

const REACH = 3; // pixels beside a bar that still are on it

export interface FoundBar {
  kind: Exclude<Lane["kind"], "curve" | "inner">;
  bar: number;
}

/** The bar at a time in a row of a lane, or the nearest one within some pixels; null where there is none. */
export function barAt({ lanes }: Pick<Gpu, "lanes">, { lane, row, time, pixel }: Pick<Pointed, "row" | "time" | "pixel"> & { lane: Pick<Lane, "kind"> | null }): FoundBar | null {
  if (!lane || lane.kind === "curve" || lane.kind === "inner") return null; // what is innermost depends on what is wide
  const bar = nearest(lanes[lane.kind], Math.floor(row), time, REACH * pixel);
  return bar < 0 ? null : { kind: lane.kind, bar };
}

function nearest({ rows, start, end }: Bars, wanted: number, time: number, reach: number): number {
  const row = rows.get(wanted);
  let [best, distance] = [-1, Infinity];
  if (!row) return best;
  for (let k = firstAbove(row.reach, time - reach); k < row.members.length && start[row.members[k]] <= time + reach; k++) {
    const bar = row.members[k];
    const away = Math.max(start[bar] - time, time - end[bar], 0);
    if (away <= reach && away <= distance) [best, distance] = [bar, away];
  }
  return best;
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
