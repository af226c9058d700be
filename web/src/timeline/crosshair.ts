/** A line over all curves and lanes at the pointer, with the time that it stands for. */
import { find } from "../dom";
import { formatMoment } from "../format";
import type { Drawing } from "./drawing";

export function followCrosshair(plot: HTMLElement, drawing: Drawing): void {
  const stage = plot.parentElement!;
  const line = find(".crosshair", stage);
  stage.addEventListener("pointermove", (event) => {
    const { l, t, w, h } = drawing.axes;
    const x = event.clientX - stage.getBoundingClientRect().left;
    line.hidden = event.pointerType === "touch" || x < l || x > l + w;
    Object.assign(line.style, { left: `${x}px`, top: `${t}px`, height: `${h}px` });
    line.dataset.time = formatMoment(drawing.locate(event).time);
    line.classList.toggle("late", x > l + 0.8 * w);
  });
  stage.addEventListener("pointerleave", () => { line.hidden = true; });
}
