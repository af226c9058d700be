/** Where one can go from a selection: to the instance before, the next one, the longest, and the least active one. */
import type { Selection } from "../selection_fragment";
import { meanWithin } from "../timeline/samples";
import { spanOf, type Subject, type Subjects } from "../timeline/subjects";

export interface Steps {
  previous: Selection | null;
  next: Selection | null;
  /** The instance that took longest on the GPU; null where there is only one. */
  longest: Selection | null;
  /** The one with the lowest Tensor Active; null where that is known of none. */
  least: Selection | null;
}

export const NOWHERE: Steps = { previous: null, next: null, longest: null, least: null };

export function stepsOf(subjects: Subjects, subject: Subject): Steps {
  const { selection, instances, at } = subject;
  if (selection.kind === "window") return windowSteps(selection);
  if (!instances.length) return NOWHERE;
  const select = (place: number): Selection | null => {
    if (place < 0 || place >= instances.length) return null;
    if (selection.kind === "range" || selection.kind === "kernel") return { ...selection, instance: place };
    const numbers = selection.kind === "step" ? subject.gpu.details.steps : selection.kind === "gap" ? subject.gpu.details.gaps : null;
    return numbers && "number" in selection ? { ...selection, number: numbers.number[place] } : null;
  };
  return {
    previous: at < 0 ? null : select(at - 1),
    next: select(at + 1),
    longest: instances.length > 1 ? select(longestOf(subjects, subject)) : null,
    least: instances.length > 1 && selection.kind !== "gap" ? select(leastActiveOf(subject)) : null,
  };
}

function windowSteps(selection: Selection & { kind: "window" }): Steps {
  const length = selection.end - selection.start;
  const moved = (by: number) => ({ ...selection, start: selection.start + by, end: selection.end + by });
  return { previous: selection.start >= length ? moved(-length) : null, next: moved(length), longest: null, least: null };
}

function longestOf(subjects: Subjects, { selection, gpu, instances }: Subject): number {
  const { steps, gaps } = gpu.details;
  const bars = selection.kind === "kernel" ? gpu.lanes.work : selection.kind === "gap" ? gaps! : steps;
  return placeOfLeast(instances, (bar) => {
    const span = selection.kind === "range" ? subjects.windowOf(gpu, bar) : spanOf(bars, bar);
    return span.start - span.end;
  });
}

/** The place of the instance with the lowest Tensor Active, of those of which it is known; -1 where it is of none. */
function leastActiveOf({ selection, gpu, instances }: Subject): number {
  const { lanes: { host, work }, details: { steps }, curves } = gpu;
  const curve = curves.get("Tensor Active");
  return placeOfLeast(instances, (bar) => {
    if (selection.kind === "range") return host.percents.tensor_active_mean_pct[bar];
    if (selection.kind === "kernel") return work.percents.tensor_active_pct[bar];
    const [level] = curve?.levels ?? [];
    return level ? meanWithin(level, level.curves[curve!.place](), curve!.step, steps.start[bar], steps.end[bar]) : NaN;
  });
}

/** The place of the first bar of which something is least; -1 where it is known of none. */
function placeOfLeast(bars: Uint32Array, valueOf: (bar: number) => number): number {
  let [best, least] = [-1, Infinity];
  for (let place = 0; place < bars.length; place++) {
    const value = valueOf(bars[place]);
    if (value < least) [best, least] = [place, value]; // NaN is below nothing
  }
  return best;
}
