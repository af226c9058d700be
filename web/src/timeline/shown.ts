/** The window that the timeline shows. */
import { formatSeconds } from "../format";
import type { Span } from "./subjects";

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
    return this.isWhole ? `all that is drawn, ${formatSeconds(this.length)}` : `${formatSeconds(this.high - this.low)} of ${formatSeconds(this.length)}`;
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
