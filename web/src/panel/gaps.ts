/** What is said of idle time: of one gap, and of all by what causes them and where. */
import { formatCount, formatMoment, formatPercent, formatSeconds } from "../format";
import { countWithin, innermost } from "../intervals";
import { select, type Selection } from "../selection";
import type { Gaps, Gpu } from "../timeline/data";
import { runningIn } from "../timeline/launching";
import type { Subject, Subjects } from "../timeline/subjects";
import type { Timeline } from "../timeline/timeline";

export interface Line {
  name: string;
  note: string;
  selection: Selection | null;
}

const nameOfCause = (cause: string) => (cause ? cause[0].toUpperCase() + cause.slice(1) : "Unknown cause");

const HINTS: Record<string, string> = {
  "launch-bound": "The CPU launches kernels more slowly than the GPU runs them",
  synchronization: "The CPU waited for the GPU, and launched nothing meanwhile",
  "copy wait": "The CPU waited for a copy, and launched nothing meanwhile",
  "data loading": "The CPU was loading data",
  "CPU work": "The CPU was busy with other work, and launched nothing",
  "launched before": "The next work was already launched; the GPU took time to start it",
};

export const shareOfStep = ({ meanStep }: Gpu, seconds: number) => formatPercent((100 * seconds) / (meanStep ?? NaN));

const whereOf = ({ header }: Subjects, gaps: Gaps, at: number) => {
  const path = header.links.ranges[gaps.path[at]] ?? "";
  return gaps.between[at] ? `between steps ${gaps.step[at]} and ${gaps.step[at] + 1}${path ? `, in ${path}` : ""}` : path;
};

export function titleOfGap({ header: { causes } }: Subjects, { gpu, at, place }: Subject): string {
  const gaps = gpu.details.gaps!;
  return `${nameOfCause(causes[gaps.cause[at]])}: idle for ${formatSeconds(place!.end - place!.start)}${gaps.between[at] ? " between steps" : ""}`;
}

/** The figures of a gap, and what closes it. */
export function factsOfGap(subjects: Subjects, { gpu, at, place, gap }: Subject): [string, string][] {
  const { header: { causes, gapWaits, works } } = subjects;
  const gaps = gpu.details.gaps!;
  const length = place!.end - place!.start;
  return [
    ["Why", HINTS[causes[gaps.cause[at]]] ?? "–"],
    ["Where", whereOf(subjects, gaps, at) || "outside ranges"],
    ["Length", formatSeconds(length)],
    ["Share of the step", shareOfStep(gpu, length)],
    ["Removing all such gaps saves up to", savingOfLike(gaps, at)],
    ["CPU waited", gaps.waited[at] ? `${formatSeconds(gaps.waited[at])} for ${gapWaits[gaps.wait[at]] || "the GPU"}` : "–"],
    ["Launches during the gap", formatCount(gaps.launches[at])],
    ["Ended by", works.cuts[gpu.lanes.work.id[gap!.ending]]?.at(-1) ?? "–"],
    ["Launched", gap!.arrow ? `${formatSeconds(place!.end - gap!.arrow.from)} before it began` : "–"],
    ["Step", gaps.step[at] >= 0 ? String(gaps.step[at]) : "–"],
    ["Start", formatMoment(place!.start)],
  ];
}

/** What the gaps of the same cause in the same range take of a step. */
function savingOfLike({ saves, cause, path }: Gaps, at: number): string {
  let sum = 0;
  for (let i = 0; i < saves.length; i++) if (cause[i] === cause[at] && path[i] === path[at]) sum += saves[i];
  return sum ? `${formatSeconds(sum)} per step` : "–";
}

/** The calls of the CUDA API in a gap, and the ranges that were innermost, each with its time in it. */
export function listsOfGap({ header: { links: { ranges } } }: Subjects, { gpu, place }: Subject): { title: string; lines: Line[] }[] {
  const { calls, callNames, host } = gpu.lanes;
  const { start, end } = place!;
  const called = [...countWithin(calls, start, end)].sort((a, b) => b[1].seconds - a[1].seconds);
  const times = new Map<string, number>();
  for (const piece of innermost(host, runningIn(host, host.rows, start, end))) {
    const name = ranges[host.id[piece.bar]];
    const seconds = Math.min(piece.end, end) - Math.max(piece.start, start);
    if (seconds > 0) times.set(name, (times.get(name) ?? 0) + seconds);
  }
  const inside = [...times].sort((a, b) => b[1] - a[1]);
  return [
    { title: "CUDA calls during the gap", lines: called.map(([id, { count, seconds }]) => ({ name: callNames[id], note: `${formatCount(count)} ×, ${formatSeconds(seconds)}`, selection: null })) },
    { title: "CPU ranges during the gap", lines: inside.map(([name, seconds]) => ({ name, note: formatSeconds(seconds), selection: { kind: "range", gpu: gpu.gpu, name } })) },
  ];
}

/** A click on idle time in the verdict's bar or in an icicle selects the longest gap that it has. */
export function startIdle(timeline: Timeline): void {
  document.addEventListener("click", ({ target }) => {
    const idle = target instanceof Element ? target.closest<HTMLElement>(".shares .idle, .share-names .idle-name, .bars .bar-idle") : null;
    const selection = idle && longestGap(timeline.gpu, idle);
    if (selection) select(selection, { from: "element" });
  });
}

/** Of a bar in an icicle the longest gap in the steps, or between them; else the longest of what costs most. */
function longestGap({ gpu, details: { gaps } }: Gpu, idle: HTMLElement): Selection | null {
  if (!gaps?.number.length) return null;
  let best = -1;
  if (idle.classList.contains("bar-idle")) {
    gaps.saves.forEach((saves, i) => {
      if (Boolean(gaps.between[i]) === (idle.dataset.between !== undefined) && saves > (gaps.saves[best] ?? 0)) best = i;
    });
  }
  const number = gaps.number[best] ?? gaps.costliest;
  return number ? { kind: "gap", gpu, number } : null;
}
