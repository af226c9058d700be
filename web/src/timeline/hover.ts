/** What is said of the bar or the curve under the pointer, in plotly's labels. Plotly knows none of them: they are painted. */
import { readColor } from "../colors";
import { find } from "../dom";
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
