/** The window that the timeline shows, and where in a recording the GPUs have work. Knows no page. */
import { formatSeconds } from "../format";
import type { Span } from "../intervals";
import type { Lanes, Steps } from "./data";

const SHORTEST = 100e-9; // seconds of a window

/** A part of the recording, in seconds, that moves and zooms within the whole of it. */
export class Shown {
  /** What was asked for within the window, and is marked. */
  mark: [number, number] | null = null;
  low: number;
  high: number;
  readonly whole: readonly [number, number];
  /** The window that the page opens on. */
  readonly #home: readonly [number, number];
  readonly #changed: (shown: Shown) => void;

  /**
   * @param whole - All that was recorded.
   * @param home - The window to begin with.
   * @param changed - Is called after each change.
   */
  constructor(whole: readonly [number, number], home: readonly [number, number], changed: (shown: Shown) => void) {
    this.whole = [...whole];
    this.#home = [...home];
    [this.low, this.high] = this.#home;
    this.#changed = changed;
  }

  get isWhole(): boolean {
    return this.low <= this.whole[0] && this.high >= this.whole[1];
  }

  get isHome(): boolean {
    return this.low === this.#home[0] && this.high === this.#home[1];
  }

  /** Seconds of all that was recorded. */
  get length(): number {
    return this.whole[1] - this.whole[0];
  }

  /** How much of the recording the window shows, in words. */
  get said(): string {
    return this.isWhole ? `everything, ${formatSeconds(this.length)}` : `${formatSeconds(this.high - this.low)} of ${formatSeconds(this.length)}`;
  }

  /** Show this window: not shorter than the shortest, and within the whole. */
  set(low: number, high: number): void {
    const length = Math.min(Math.max(high - low, SHORTEST), this.length);
    const middle = (low + high) / 2;
    const start = Math.min(Math.max(middle - length / 2, this.whole[0]), this.whole[1] - length);
    [this.low, this.high] = length >= this.length ? this.whole : [start, start + length];
    this.#changed(this);
  }

  readonly showHome = (): void => this.set(...this.#home);

  readonly showAll = (): void => this.set(...this.whole);

  /** Zoom at a place from 0, the left edge, to 1, the right one. */
  zoom(factor: number, place = 0.5): void {
    const length = this.high - this.low;
    const fixed = this.low + place * length;
    this.set(fixed - place * length * factor, fixed + (1 - place) * length * factor);
  }

  /** Move by a share of the window; to the right where it is positive. */
  move(share: number): void {
    const by = share * (this.high - this.low);
    this.set(this.low + by, this.high + by);
  }

  /** Mark an interval, and show it, or what lies around it, with a margin and at least so many seconds. */
  show(marked: Span, { start, end }: Span = marked, least = SHORTEST): void {
    const margin = Math.max(0.15 * (end - start), (least - (end - start)) / 2);
    this.mark = [marked.start, marked.end];
    this.set(start - margin, end + margin);
  }
}

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
  const iterating = gpus.map(({ details }) => stepsSpan(details.steps)).filter((part) => part !== null);
  const parts = iterating.length ? iterating : gpus.map(({ lanes: { work } }) => coreOf(work)).filter((part) => part !== null);
  if (!parts.length) return whole;
  const start = Math.min(...parts.map(([from]) => from));
  const end = Math.max(...parts.map(([, to]) => to));
  const margin = MARGIN * (end - start);
  const isSmall = end > start && end - start < SMALL * (whole[1] - whole[0]);
  return isSmall ? [Math.max(start - margin, whole[0]), Math.min(end + margin, whole[1])] : whole;
}

/** From the start of the first step with work on the GPU to the end of the last one; null where there are few. */
function stepsSpan({ start, end }: Busy["details"]["steps"]): [number, number] | null {
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
