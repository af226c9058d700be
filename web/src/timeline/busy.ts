/** Where in a recording the GPUs have work. */
import type { Steps } from "./details";
import type { Lanes } from "./gpus";

const REST = 0.01; // of all work: what lies before and behind may be without so much
const SMALL = 1 / 3; // a part that is smaller is shown by itself
const MARGIN = 0.04;

const FEWEST = 3; // steps that stand for what is looked for

interface Busy {
  lanes: Pick<Lanes, "work">;
  details: { steps: Pick<Steps, "start" | "end"> };
}

/** The part of a recording that has the steps, or without these nearly all of the work, if it is small; else all of it.
 *
 * A model that is copied to the GPU long before its first step may take as long as all steps.
 */
export function busyPart(gpus: readonly Busy[], whole: readonly [number, number]): readonly [number, number] {
  const iterating = gpus.map(({ details }) => spanOf(details.steps)).filter((part) => part !== null);
  const parts = iterating.length ? iterating : gpus.map(({ lanes: { work } }) => coreOf(work)).filter((part) => part !== null);
  if (!parts.length) return whole;
  const start = Math.min(...parts.map(([from]) => from));
  const end = Math.max(...parts.map(([, to]) => to));
  const margin = MARGIN * (end - start);
  const isSmall = end > start && end - start < SMALL * (whole[1] - whole[0]);
  return isSmall ? [Math.max(start - margin, whole[0]), Math.min(end + margin, whole[1])] : whole;
}

/** From the start of the first step with work on the GPU to the end of the last one; null where there are few. */
function spanOf({ start, end }: Busy["details"]["steps"]): [number, number] | null {
  const [starts, ends] = [start, end].map((times) => times.filter(Number.isFinite));
  return starts.length < FEWEST ? null : [starts.reduce((a, b) => Math.min(a, b)), ends.reduce((a, b) => Math.max(a, b))];
}

/** From where to where bars, which are by start, have all of their time but a rest at either end. */
function coreOf({ start, end }: Pick<Lanes["work"], "start" | "end">): [number, number] | null {
  let total = 0;
  for (let i = 0; i < start.length; i++) total += end[i] - start[i];
  if (!(total > 0)) return null;
  const half = (REST / 2) * total;
  let [first, last, before, behind] = [0, start.length - 1, 0, 0];
  while ((before += end[first] - start[first]) < half) first++;
  while ((behind += end[last] - start[last]) < half) last--;
  return [start[first], end[last]];
}
