/** What of a selection is outlined in the lanes: its range on the CPU, its window on the GPU, and what it launched. */
import type { PlacedBars } from "./bars";
import type { Gpu } from "./gpus";
import { openAt } from "./launching";
import type { Outline } from "./paint";
import type { Subject, Subjects } from "./subjects";

const NEAR = 4; // pixels: what is narrower and no further apart has one outline, which leaves its colours to be seen
const INSIDE = 0.42; // of a row, from its middle

/** Some bars of a lane, by start, each so many rows high. */
interface Outlined {
  lane: Pick<PlacedBars, "start" | "end" | "row">;
  bars: ArrayLike<number>;
  rows: number;
}

export interface Highlights {
  gpu: Gpu;
  parts: Outlined[];
  /** When what is selected was launched, in a range. */
  launch: Outline[];
}

export function highlightsOf(subjects: Subjects, subject: Subject): Highlights {
  const { gpu, selection: { kind }, instances, at } = subject;
  const { host, windows, work, streamRows } = gpu.lanes;
  const onCpu = (subject.parts ?? [subject]).filter(({ selection }) => selection.kind === "range").flatMap((range): Outlined[] => {
    const bars = range.instances.subarray(Math.max(range.at, 0), range.at < 0 ? undefined : range.at + 1);
    const onGpu = Int32Array.from(bars, (bar) => subjects.windowBar(gpu, bar)).filter((bar) => bar >= 0).sort();
    return [{ lane: host, bars, rows: 1 }, { lane: windows, bars: onGpu, rows: 1 }];
  });
  const launched = kind === "kernel" && at >= 0 ? gpu.details.launched[instances[at]] : NaN;
  const around = Number.isNaN(launched) ? [] : openAt(host, host.rows, launched).slice(0, 1);
  return {
    gpu,
    parts: [...onCpu, { lane: host, bars: around, rows: 1 }, { lane: work, bars: kind === "window" ? [] : subject.work(), rows: streamRows }],
    launch: around.map((bar) => ({ left: launched, right: launched, top: host.row[bar] - INSIDE, bottom: host.row[bar] + INSIDE })),
  };
}

/** The outlines in a window, of all bars that it shows some of. */
export function outlinesIn({ parts, launch }: Pick<Highlights, "parts" | "launch">, low: number, high: number, pixel: number): Outline[] {
  const outlines = [...launch];
  const near = NEAR * pixel;
  for (const { lane: { start, end, row }, bars, rows } of parts) {
    const last: (Outline | undefined)[] = []; // of each row
    for (let i = 0; i < bars.length && start[bars[i]] <= high; i++) {
      const bar = bars[i];
      if (end[bar] < low) continue;
      const before = last[row[bar]];
      const isNarrow = end[bar] - start[bar] < near || (before && before.right - before.left < near);
      if (before && isNarrow && start[bar] - before.right < near) before.right = Math.max(before.right, end[bar]);
      else outlines.push(last[row[bar]] = { left: start[bar], right: end[bar], top: row[bar] - INSIDE, bottom: row[bar] + rows - 1 + INSIDE });
    }
  }
  return outlines;
}
