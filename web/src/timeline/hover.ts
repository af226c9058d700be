/** What is said of what is under the pointer, beside it, and a line there with its time. */
import { element, find } from "../dom";
import type { Drawing, Pointed } from "./drawing";
import { AXIS } from "./layout";
import { GUTTER } from "./paint";

export const NOWHERE = { clientX: 0, clientY: 0 };
const ASIDE = 14; // pixels from the pointer to what is said

/** Say lines at a point of the browser's window, the first in bold; nothing where there are none. */
export function say(lines: readonly string[] | null, { clientX, clientY }: Pick<MouseEvent, "clientX" | "clientY">): void {
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
