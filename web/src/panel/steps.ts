/** Where one can go from a selection: to the instance before, the next one, and the longest one. */
import type { Selection } from "../selection_fragment";
import { spanOf, type Subject, type Subjects } from "../timeline/subjects";

export interface Steps {
  previous: Selection | null;
  next: Selection | null;
  /** The instance that took longest on the GPU; null where there is only one. */
  longest: Selection | null;
}

export function stepsOf(subjects: Subjects, subject: Subject): Steps {
  const { selection, instances, at } = subject;
  if (selection.kind === "window") return windowSteps(selection);
  if (!instances.length) return { previous: null, next: null, longest: null };
  const select = (place: number): Selection | null => {
    if (place < 0 || place >= instances.length) return null;
    if (selection.kind === "range" || selection.kind === "kernel") return { ...selection, instance: place };
    const { number } = subject.gpu.details.iterations;
    return selection.kind === "iteration" ? { ...selection, number: number[place] } : null;
  };
  return {
    previous: at < 0 ? null : select(at - 1),
    next: select(at + 1),
    longest: instances.length > 1 ? select(longestOf(subjects, subject)) : null,
  };
}

function windowSteps(selection: Selection & { kind: "window" }): Steps {
  const length = selection.end - selection.start;
  const moved = (by: number) => ({ ...selection, start: selection.start + by, end: selection.end + by });
  return { previous: selection.start >= length ? moved(-length) : null, next: moved(length), longest: null };
}

function longestOf(subjects: Subjects, { selection, gpu, instances }: Subject): number {
  const { iterations } = gpu.details;
  const lengths = instances.map((bar) => {
    const span = selection.kind === "range" ? subjects.windowOf(gpu, bar)
      : spanOf(selection.kind === "kernel" ? gpu.lanes.work : iterations, bar);
    return span.end - span.start;
  });
  return lengths.indexOf(lengths.reduce((a, b) => Math.max(a, b), 0));
}
