/** Bars whose colours are of the page's theme. */
import { isDark, onColors } from "../colors";
import type { Figure, PlotElement } from "../plotly";

/** Give a figure's bars the colours of the theme, now and whenever it changes. */
export function followTheme(plot: PlotElement, { data }: Figure): void {
  if (!data.some(({ meta }) => meta?.themes)) return;
  if (isDark()) recolor(plot);
  onColors(() => { if (plot.isConnected) recolor(plot); });
}

function recolor(plot: PlotElement): void {
  plot.data?.forEach(({ meta }, place) => {
    const painted = meta?.themes?.[isDark() ? "dark" : "light"];
    if (!painted) return;
    const [colors, texts] = [painted.map(({ color }) => color), painted.map(({ text }) => text)];
    void Plotly.restyle(plot, { "marker.color": [colors], "insidetextfont.color": [texts] }, [place]);
  });
}
