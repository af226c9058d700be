/** What is said of what is under the pointer, in plotly's labels, and a line there with its time. Plotly knows none of it. */
import { readColor } from "../colors";
import { find } from "../dom";
import { formatMoment } from "../format";
import type { PlotElement } from "../plotly";
import type { Drawing } from "./drawing";

export function tellOfPointed(plot: PlotElement, drawing: Drawing): void {
  plot.on("plotly_beforehover", (event) => {
    if (event.type !== "mousemove") return true;
    Plotly.Fx.unhover(plot);
    const found = drawing.pointAt(event);
    if (found) {
      const label = {
        x: found.x, y: found.y, text: found.say(), textAlign: "left", color: readColor("--card"), borderColor: readColor("--soft"),
        fontColor: readColor("--ink"),
      };
      const layer = find<SVGGElement>(".hoverlayer", plot);
      Plotly.Fx.loneHover(label, { container: layer, outerContainer: layer.ownerSVGElement!, gd: plot });
    }
    return false;
  });
}

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
