/** What of a selection is outlined in the lanes, and the arrow from the call that launched it. */
import type { PlacedBars, Span } from "../intervals";
import type { Gpu } from "./data";
import { openAt } from "./launching";
import type { Lane } from "./layout";
import type { Marks, Outline } from "./paint";
import type { Subject, Subjects } from "./subjects";

const NEAR = 4; // pixels: what is narrower and no further apart has one outline, which leaves its colours to be seen

/** Some bars of a lane, by start. */
interface Outlined {
  kind: Lane["kind"];
  lane: Pick<PlacedBars, "start" | "end" | "row">;
  bars: ArrayLike<number>;
}

export interface Highlights {
  gpu: Gpu;
  parts: Outlined[];
  arrow: Marks["arrow"];
}

export function highlightsOf(subjects: Subjects, subject: Subject): Highlights {
  const { gpu, selection: { kind }, instances, at } = subject;
  const { host, windows, work } = gpu.lanes;
  const onCpu = (subject.parts ?? [subject]).filter(({ selection }) => selection.kind === "range").flatMap((range): Outlined[] => {
    const bars = range.instances.subarray(Math.max(range.at, 0), range.at < 0 ? undefined : range.at + 1);
    const onGpu = Int32Array.from(bars, (bar) => subjects.windowBar(gpu, bar)).filter((bar) => bar >= 0).sort();
    return [{ kind: "host", lane: host, bars }, { kind: "windows", lane: windows, bars: onGpu }];
  });
  const bar = instances[at];
  const launched = kind === "kernel" && at >= 0 ? gpu.details.launched[bar] : NaN;
  const around = Number.isNaN(launched) ? [] : openAt(host, host.rows, launched).slice(0, 1);
  const gap = kind === "gap" && subject.gap ? subject.gap : null;
  return {
    gpu,
    parts: [
      ...onCpu, { kind: "host", lane: host, bars: around },
      { kind: "work", lane: work, bars: kind === "window" ? [] : subject.work() },
      ...(subject.place && gap ? [{ kind: "work" as const, lane: inRows(subject.place, gap.rows), bars: [...gap.rows.keys()] }] : []),
    ],
    arrow: gap ? gap.arrow : Number.isNaN(launched) ? null : { from: launched, to: work.start[bar], row: work.row[bar] },
  };
}

/** A time as a bar of each row. */
const inRows = ({ start, end }: Span, rows: readonly number[]): Outlined["lane"] =>
  ({ start: Float64Array.from(rows, () => start), end: Float64Array.from(rows, () => end), row: Uint8Array.from(rows) });

/** The outlines in a window of a lane, of all bars that it shows some of. */
export function outlinesIn({ parts }: Pick<Highlights, "parts">, kind: Lane["kind"], low: number, high: number, pixel: number): Outline[] {
  const outlines: Outline[] = [];
  const near = NEAR * pixel;
  const [wanted, isOne] = kind === "inner" ? ["host", true] : [kind, false];
  for (const { lane: { start, end, row: rows }, bars } of parts.filter((part) => part.kind === wanted)) {
    const row = isOne ? new Uint8Array(rows.length) : rows;
    const last: (Outline | undefined)[] = []; // of each row
    for (let i = 0; i < bars.length && start[bars[i]] <= high; i++) {
      const bar = bars[i];
      if (end[bar] < low) continue;
      const before = last[row[bar]];
      const isNarrow = end[bar] - start[bar] < near || (before && before.right - before.left < near);
      if (before && isNarrow && start[bar] - before.right < near) before.right = Math.max(before.right, end[bar]);
      else outlines.push(last[row[bar]] = { left: start[bar], right: end[bar], top: row[bar], bottom: row[bar] + 1 });
    }
  }
  return outlines;
}
