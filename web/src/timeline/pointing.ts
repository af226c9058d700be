/** The bar under the pointer, and what it stands for. Knows neither page nor plotly. */
import type { Selection } from "../selection_fragment";
import type { Bars, Gpu, Lanes } from "./gpus";
import { firstAbove } from "../intervals";
import { spanOf, type Subjects } from "./subjects";

const REACH = 3; // pixels beside a bar that still are on it

export interface FoundBar {
  lane: "host" | "windows" | "work";
  bar: number;
}

/** The bar at a time in a row of a GPU's lanes, or the nearest one within some pixels; null where there is none. */
export function barAt(lanes: Lanes, row: number, time: number, pixel: number): FoundBar | null {
  for (const lane of ["host", "windows", "work"] as const) {
    const rows = lane === "work" ? lanes.streamRows : 1;
    const bar = nearest(lanes[lane], row, rows, time, REACH * pixel);
    if (bar >= 0) return { lane, bar };
  }
  return null;
}

function nearest({ rows, start, end }: Bars, wanted: number, height: number, time: number, reach: number): number {
  let [best, distance] = [-1, Infinity];
  for (const [row, { members, reach: until }] of rows) {
    if (!(wanted >= row - 0.5 && wanted < row - 0.5 + height)) continue;
    for (let k = firstAbove(until, time - reach); k < members.length && start[members[k]] <= time + reach; k++) {
      const bar = members[k];
      const away = Math.max(start[bar] - time, time - end[bar], 0);
      if (away <= reach && away <= distance) [best, distance] = [bar, away];
    }
  }
  return best;
}

/** What a bar stands for: an instance of a range, a launch of a kernel, or of a copy its time. */
export function selectionOf(subjects: Subjects, gpu: Gpu, { lane, bar }: FoundBar): Selection | null {
  if (lane === "work") {
    return subjects.instanceAt(gpu, "kernel", bar) ?? { kind: "window", gpu: gpu.gpu, ...spanOf(gpu.lanes.work, bar) };
  }
  const host = lane === "host" ? bar : gpu.details.hostOfWindow[bar];
  if (host >= 0) return subjects.instanceAt(gpu, "range", host);
  return { kind: "range", gpu: gpu.gpu, name: subjects.header.links.ranges[gpu.lanes.windows.id[bar]] };
}
