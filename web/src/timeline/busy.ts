/** Where in a recording the GPUs have work. */
import type { Lanes } from "./gpus";

const REST = 0.01; // of all work: what lies before and behind may be without so much
const SMALL = 1 / 3; // a part that is smaller is shown by itself
const MARGIN = 0.04;

/** The part of a recording that has nearly all of the work, if it is small; else all of it. */
export function busyPart(
  gpus: readonly { lanes: Pick<Lanes, "work"> }[], whole: readonly [number, number],
): readonly [number, number] {
  const parts = gpus.map(({ lanes: { work } }) => coreOf(work)).filter((part) => part !== null);
  if (!parts.length) return whole;
  const start = Math.min(...parts.map(([from]) => from));
  const end = Math.max(...parts.map(([, to]) => to));
  const margin = MARGIN * (end - start);
  const isSmall = end > start && end - start < SMALL * (whole[1] - whole[0]);
  return isSmall ? [Math.max(start - margin, whole[0]), Math.min(end + margin, whole[1])] : whole;
}

/** From where to where bars, which are by start, have all of their time but a rest at either end. */
function coreOf({ start, end }: Pick<Lanes["work"], "start" | "end">): [number, number] | null {
  const total = start.reduce((sum, from, i) => sum + end[i] - from, 0);
  if (!(total > 0)) return null;
  const half = (REST / 2) * total;
  let [first, last, before, behind] = [0, start.length - 1, 0, 0];
  while ((before += end[first] - start[first]) < half) first++;
  while ((behind += end[last] - start[last]) < half) last--;
  return [start[first], end[last]];
}
