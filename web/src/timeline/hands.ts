/** What a reader does to the timeline by hand: clicks, drags, the wheel, two fingers, and keys. */
import { besideOf, element, find, onDrag, onKeys, onPageKey } from "../dom";
import { formatSeconds } from "../format";
import type { Span } from "../intervals";
import type { Drawing, Pointed } from "./drawing";
import type { Place } from "./lanes";
import { AXIS, type Lane } from "./layout";
import { GUTTER } from "./paint";
import type { Shown } from "./shown";

const STEP = 0.25; // of the window, by a key

/** What the timeline does with what a reader points at. */
export interface Reactions {
  click(pointed: Pointed): void;
  /** The time of what is at a point; null where there is nothing. */
  spanAt(pointed: Pointed): Span | null;
  measure(span: Span): void;
}

const shareAt = ({ frame: { width }, canvas }: Drawing, clientX: number): number =>
  Math.min(Math.max((clientX - canvas.getBoundingClientRect().left - GUTTER) / (width - GUTTER), 0), 1);

/** A click selects, a drag measures, a double click zooms to the bar that both clicks hit. */
export function followMouse(plot: HTMLElement, drawing: Drawing, shown: Shown, reactions: Reactions): void {
  const brush = find(".brush", plot);
  let [wasDrag, first]: [boolean, Span | null] = [false, null]; // and the first of two clicks
  onDrag(plot, (event) => (event.pointerType === "touch" ? null : { x: event.clientX, time: drawing.locate(event).time }), ({ x, time }, event) => {
    const box = plot.getBoundingClientRect().left;
    brush.hidden = false;
    Object.assign(brush.style, { left: `${Math.max(GUTTER, Math.min(x, event.clientX) - box)}px`, width: `${Math.abs(event.clientX - x)}px` });
    brush.textContent = formatSeconds(Math.abs(drawing.locate(event).time - time));
  }, ({ time }, event, isDrag) => {
    brush.hidden = true;
    wasDrag = isDrag;
    if (!event || !isDrag) return;
    const [start, end] = [time, drawing.locate(event).time].map((each) => Math.min(Math.max(each, shown.low), shown.high)).sort((a, b) => a - b);
    reactions.measure({ start, end });
  });
  plot.addEventListener("click", (event) => {
    if (wasDrag) { wasDrag = false; return; }
    const pointed = drawing.locate(event);
    const span = reactions.spanAt(pointed);
    if (event.detail === 2 && span && first?.start === span.start && first.end === span.end) shown.show(span);
    else reactions.click(pointed);
    first = span;
  });
}

/** Ctrl-wheel and a pinch zoom where they are, Shift-wheel and two fingers sideways pan; else the page scrolls. */
export function followWheel(plot: HTMLElement, drawing: Drawing, shown: Shown): void {
  plot.addEventListener("wheel", (event) => {
    const { deltaX, deltaY, ctrlKey, metaKey, shiftKey } = event;
    const sideways = shiftKey ? deltaX || deltaY : Math.abs(deltaX) > Math.abs(deltaY) ? deltaX : 0;
    if (!ctrlKey && !metaKey && !sideways) return;
    event.preventDefault();
    if (sideways && !ctrlKey) shown.move(sideways / (drawing.frame.width - GUTTER));
    else shown.zoom(Math.exp(Math.min(Math.max(deltaY, -100), 100) / 250), shareAt(drawing, event.clientX));
  }, { passive: false });
}

/** Two fingers zoom and move, one moves sideways: the times below them stay there. */
export function followFingers(plot: HTMLElement, drawing: Drawing, shown: Shown): void {
  const fingers = new Map<number, number>(); // where each is, across
  const spread = () => [Math.min(...fingers.values()), Math.max(...fingers.values())];
  plot.addEventListener("pointerdown", ({ pointerType, pointerId, clientX }) => {
    if (pointerType === "touch") fingers.set(pointerId, clientX);
  });
  plot.addEventListener("pointermove", ({ pointerId, clientX }) => {
    const before = fingers.get(pointerId);
    if (before === undefined) return;
    const [left, right] = spread();
    fingers.set(pointerId, clientX);
    const [newLeft, newRight] = spread();
    const share = (x: number) => (x - plot.getBoundingClientRect().left - GUTTER) / (drawing.frame.width - GUTTER);
    const length = shown.high - shown.low;
    const grown = right > left && newRight > newLeft ? (length * (right - left)) / (newRight - newLeft) : length;
    const start = shown.low + share(left) * length - share(newLeft) * grown;
    shown.set(start, start + grown);
  });
  for (const name of ["pointerup", "pointercancel"] as const) plot.addEventListener(name, ({ pointerId }) => fingers.delete(pointerId));
}

/** W and S zoom, A and D move, wherever one is; in the timeline arrows go from bar to bar, and Enter selects. */
export function followKeys(plot: HTMLElement, drawing: Drawing, shown: Shown, reactions: Reactions): void {
  const moves: Record<string, () => void> = {
    w: () => shown.zoom(0.5), s: () => shown.zoom(2), a: () => shown.move(-STEP), d: () => shown.move(STEP),
    "+": () => shown.zoom(0.5), "=": () => shown.zoom(0.5), "-": () => shown.zoom(2), 0: shown.showAll,
  };
  onPageKey((event) => {
    const { key } = event;
    const isHere = plot.contains(document.activeElement);
    if (key in moves && (isHere || "wasd".includes(key))) { event.preventDefault(); moves[key](); }
  });
  let at: { lane: Lane; place: Place } | null = null;
  const here = (places: Drawing["places"]) => places.find(({ lane, place }) => lane.kind === at?.lane.kind && place.bar === at.place.bar && place.top === at.place.top);
  const move = (key: string) => {
    const { places } = drawing;
    const known = here(places);
    at = known ? besideOf(places, known, key, ({ lane, place }) => ({ row: lane.top * 1000 + place.top, left: place.left })) ?? known : places[0] ?? at;
    if (at) say(at.place.say(), drawing.centre(at.lane, at.place));
  };
  onKeys(plot, {
    ...Object.fromEntries(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].map((key) => [key, () => move(key)])),
    Enter: () => { const known = here(drawing.places); if (known) reactions.click(drawing.locate(drawing.centre(known.lane, known.place))); },
  });
  plot.addEventListener("blur", () => say(null));
}

const ASIDE = 14; // pixels from the pointer to what is said

/** Say lines at a point of the browser's window, the first in bold; nothing where there are none. */
export function say(lines: readonly string[] | null, { clientX, clientY } = { clientX: 0, clientY: 0 }): void {
  const tooltip = find(".tooltip");
  tooltip.hidden = !lines?.length;
  if (!lines?.length) return;
  tooltip.replaceChildren(...lines.map((line, i) => element(i ? "div" : "b", {}, line)));
  const { width, height } = tooltip.getBoundingClientRect();
  const left = clientX + ASIDE + width > innerWidth ? clientX - ASIDE - width : clientX + ASIDE;
  const top = Math.min(clientY + ASIDE, innerHeight - height - 4);
  Object.assign(tooltip.style, { left: `${Math.max(left, 4)}px`, top: `${top}px` });
}

/** Follow the pointer over the timeline.
 *
 * @param sayOf - What is said of a point.
 */
export function followPointer(plot: HTMLElement, drawing: Drawing, sayOf: (pointed: Pointed, event: MouseEvent) => readonly string[] | null): void {
  const line = find(".crosshair", plot);
  plot.addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch") return;
    const pointed = drawing.locate(event);
    const x = event.clientX - plot.getBoundingClientRect().left;
    line.hidden = x < GUTTER;
    Object.assign(line.style, { left: `${x}px`, top: `${AXIS}px`, height: `${drawing.frame.height - AXIS}px`, marginTop: `${drawing.frame.scrolled}px` });
    line.dataset.time = drawing.momentAt(pointed.time);
    line.classList.toggle("late", x > 0.8 * drawing.frame.width);
    say(x < GUTTER || event.buttons ? null : sayOf(pointed, event), event);
  });
  plot.addEventListener("pointerleave", (event) => { line.hidden = true; say(null, event); });
}
