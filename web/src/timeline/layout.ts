/** Which lanes the timeline shows, and where: the pinned ones stay above those that scroll. Knows no page. */
import type { Bars, Gpu } from "./data";
import type { Strip } from "./samples";

export type Group = "tensor" | "curves" | "kernels" | "cpu" | "ranges" | "windows";
export type Choices = Record<Group, { isShown: boolean; isPinned: boolean }>;

export const TITLES: Record<Group, string> = {
  tensor: "Tensor Active", curves: "Other curves", kernels: "Kernels", cpu: "CPU: calls and innermost range",
  ranges: "All ranges on the CPU", windows: "Ranges on the GPU",
};

/** A lane and its place in pixels, from the top of the lanes; a lane that scrolls moves up from there. */
export interface Lane {
  group: Group;
  kind: "curve" | "work" | "calls" | "inner" | "host" | "windows";
  /** What stands beside its rows, or beside all of it. */
  labels: readonly string[];
  rows: number;
  top: number;
  bottom: number;
  isPinned: boolean;
  strip: Strip | null;
}

export interface Layout {
  lanes: readonly Lane[];
  /** Pixels of the axis and of the pinned lanes, and of all. */
  pinned: number;
  height: number;
}

export const AXIS = 20; // pixels of the axis of time, above the lanes
const BETWEEN = 4; // pixels from one lane to the next
const PIXELS = { tensor: 60, curve: 44, work: 24, calls: 14, inner: 19, host: 18, windows: 18 }; // of a curve, or of a row

export function standardChoices(): Choices {
  const shown = ["tensor", "kernels", "cpu"];
  const choices = Object.keys(TITLES).map((group) => [group, { isShown: shown.includes(group), isPinned: group === "tensor" }]);
  return Object.fromEntries(choices) as Choices;
}

export function layOut(gpu: Gpu, choices: Choices): Layout {
  const all = lanesOf(gpu).filter(({ group }) => choices[group].isShown);
  const ordered = [...all.filter(({ group }) => choices[group].isPinned), ...all.filter(({ group }) => !choices[group].isPinned)];
  let [top, pinned] = [AXIS, AXIS];
  const lanes = ordered.map((lane): Lane => {
    const height = lane.rows * PIXELS[lane.group === "tensor" ? "tensor" : lane.kind];
    const { isPinned } = choices[lane.group];
    const placed = { ...lane, isPinned, top, bottom: top + height };
    top = placed.bottom + BETWEEN;
    if (isPinned) pinned = top;
    return placed;
  });
  return { lanes, pinned, height: Math.max(top, AXIS + PIXELS.work) };
}

/** The lanes that a GPU has. */
export function lanesOf({ strips, lanes: { host, windows, work, calls, streams } }: Gpu): Omit<Lane, "top" | "bottom" | "isPinned">[] {
  const curves = strips.map((strip): ReturnType<typeof lanesOf>[number] => ({
    group: strip.title === TITLES.tensor ? "tensor" : "curves", kind: "curve", labels: [strip.title], rows: 1, strip,
  }));
  const lane = (group: Group, kind: Lane["kind"], bars: Bars, rows: number, labels: readonly string[]) =>
    (bars.start.length ? [{ group, kind, rows, labels, strip: null }] : []);
  const depth = ({ rows }: Bars) => Math.max(...rows.keys()) + 1;
  return [
    ...curves,
    ...lane("kernels", "work", work, streams.length, streams),
    ...lane("cpu", "calls", calls, depth(calls), ["CUDA calls"]),
    ...lane("cpu", "inner", host, 1, ["range"]),
    ...lane("ranges", "host", host, depth(host), ["ranges, CPU"]),
    ...lane("windows", "windows", windows, depth(windows), ["ranges, GPU"]),
  ];
}

/** Where a row is, in pixels of the canvas, and the middle of a lane's rows. */
export function placeIn({ top, bottom, rows, isPinned }: Lane, scrolled: number): (row: number) => number {
  const from = isPinned ? top : top - scrolled;
  return (row) => from + (row / rows) * (bottom - top);
}
