/** What is said of the bar under the pointer, as plotly says it of a curve. Plotly knows no bars: they are painted. */
import { readColor } from "../colors";
import { find } from "../dom";
import type { PlotElement } from "../plotly";
import type { Drawing } from "./drawing";

export function tellOfBars(plot: PlotElement, drawing: Drawing): void {
  plot.on("plotly_beforehover", (event) => {
    const found = event.type === "mousemove" ? drawing.placeAt(event) : null;
    if (!found) return true;
    Plotly.Fx.unhover(plot);
    const { place, x, y } = found;
    if (place) {
      const label = {
        x, y, text: place.say(), textAlign: "left", color: readColor("--card"), borderColor: readColor("--soft"),
        fontColor: readColor("--ink"),
      };
      const layer = find(".hoverlayer", SVGGElement, plot);
      Plotly.Fx.loneHover(label, { container: layer, outerContainer: layer.ownerSVGElement!, gd: plot });
    }
    return false;
  });
}
