/** The figures of a page: each element with data-figure, drawn from the JSON of that id. */
import { readColor, systemDark } from "./colors";
import { find, findAll } from "./dom";
import { timeTicks } from "./format";
import { chooseGroups } from "./groups";
import { hasItems, startLasso } from "./lasso";
import { coarsePointer, narrowScreen } from "./media";
import type { Figure, PlotElement } from "./plotly";
import { select } from "./selection";
import { parseSelection } from "./selection_fragment";

const CONFIG = {
  responsive: true,
  displaylogo: false,
  scrollZoom: false,
  plotlyServerURL: "",
  topojsonURL: "",
  showSendToCloud: false,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  toImageButtonOptions: { filename: "tcprof", scale: 2 },
};

/** Milliseconds after which plotly has given its figures the window's width. */
const SETTLED = 300;

/** A4 between its margins, in pixels. */
const PAPER = 690;

/** Draw all figures.
 *
 * @param timeline - Settled once the timeline is drawn, which stands before them.
 * @returns What redraws them in the page's colours, and a promise for each that it is drawn.
 */
export function startFigures(timeline: Promise<void>): { restyle: () => void; drawn: Promise<void>[] } {
  const plots = findAll<PlotElement>("[data-figure]");
  let last = timeline;
  const drawn = plots.map((plot) => {
    const mine = last.then(pause).then(() => drawFigure(plot)); // so that the browser shows what is drawn, and answers
    last = mine.catch(() => {});
    return mine;
  });
  const restyle = () => relayout(plots, appearance());
  void Promise.allSettled(drawn).then(unsettle);
  systemDark.addEventListener("change", restyle);
  narrowScreen.addEventListener("change", restyle);
  addEventListener("beforeprint", restyle);
  addEventListener("afterprint", restyle);
  afterResize(restyle);
  return { restyle, drawn };
}

/** Lay figures out once more when they have their new width: a legend that needs fewer lines then, as on a phone that is
 * turned, would keep the place that it had, and lie over the curves. */
function afterResize(restyle: () => void): void {
  let [width, waiting] = [innerWidth, 0];
  addEventListener("resize", () => {
    unsettle();
    if (innerWidth === width) return; // a phone's address bar came or went
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(restyle, SETTLED);
  });
}

/** Give figures in parts that open, and on paper, the width that there is.
 *
 * A figure that was drawn while its part was closed has none yet, and on paper there is less than in the window.
 */
export function fitFigures(): void {
  const plots = findAll<PlotElement>("[data-figure]");
  for (const part of findAll<HTMLDetailsElement>("details.part")) {
    part.addEventListener("toggle", () => {
      unsettle();
      if (part.open) plots.filter((plot) => part.contains(plot) && isDrawn(plot)).forEach((plot) => Plotly.Plots.resize(plot));
    });
  }
  // With the timeline: what is wider than the paper makes a browser shrink the whole page.
  const printed = findAll<PlotElement>("[data-figure], #timeline");
  const resize = (width: string, change: object) => {
    printed.forEach((plot) => { plot.style.width = width; });
    relayout(printed, change);
  };
  addEventListener("beforeprint", () => resize(`${PAPER}px`, { autosize: false, width: PAPER }));
  addEventListener("afterprint", () => resize("", { autosize: true, width: null }));
}

const pause = () => new Promise<void>((done) => { setTimeout(done); });
const isDrawn = (plot: PlotElement) => plot._fullLayout !== undefined;

let settling = 0;

/** Plotly measures what it lays out, so a browser must not leave it out as too far from the window: see page.css. */
function unsettle(): void {
  document.documentElement.classList.remove("settled");
  clearTimeout(settling);
  settling = setTimeout(() => document.documentElement.classList.add("settled"), 2 * SETTLED);
}

/** Change those that are drawn; the others take what holds then. Each is done when it returns: print does not wait. */
function relayout(plots: PlotElement[], change: object): void {
  unsettle();
  plots.filter(isDrawn).forEach((plot) => void Plotly.relayout(plot, change));
}

async function drawFigure(plot: PlotElement): Promise<void> {
  const packed = document.getElementById(plot.dataset.figure ?? "");
  const figure = JSON.parse(packed?.textContent ?? "") as Figure;
  plot.style.height = `${figure.layout.height}px`; // plotly takes it from here when the window is resized
  for (const [path, value] of Object.entries(appearance())) put(figure.layout, path.split("."), value);
  const lasso = hasItems(figure);
  await Plotly.newPlot(plot, figure.data, figure.layout, lasso ? { ...CONFIG, modeBarButtonsToRemove: ["autoScale2d"] } : CONFIG);
  if (lasso) startLasso(plot);
  if (plot.parentElement) find(".undrawn", HTMLElement, plot.parentElement).remove();
  plot.on("plotly_click", ({ points: [{ data, customdata }] }) => {
    if (data.meta?.selects) select(parseSelection(customdata as string), { from: "figure" });
    if (data.meta?.chooses) choose(plot, data.meta.chooses, customdata as string[]);
  });
  if (figure.layout.meta?.seconds) {
    plot.on("plotly_relayout", (change) => {
      const [low, high] = plot._fullLayout!.xaxis.range;
      const { tickvals, ticktext } = timeTicks(low, high, 8);
      const zoomed = Object.keys(change).some((key) => key.startsWith("xaxis."));
      if (zoomed && !("xaxis.tickvals" in change)) void Plotly.relayout(plot, { "xaxis.tickvals": tickvals, "xaxis.ticktext": ticktext });
    });
  }
  plot.on("plotly_clickannotation", ({ annotation: { name } }) => { // a bar's label, which is easier to hit than a thin bar
    const trace = figure.data.find(({ meta }) => meta?.chooses);
    const groups = trace?.customdata?.[Number(name)] as string[] | undefined;
    if (trace?.meta?.chooses && groups) choose(plot, trace.meta.chooses, groups);
  });
}

/** Show the rows of a table that a bar stands for, and say so below the figure, which may be far from the table. */
function choose(plot: PlotElement, table: string, groups: string[]): void {
  if (!groups.length || !document.getElementById(table)) return;
  const { rows, all } = chooseGroups(table, groups);
  const said = find(".chosen", HTMLElement, plot.parentElement!);
  const link = Object.assign(document.createElement("a"), { href: `#caption-${table}` });
  link.textContent = all ? "The table shows all kernels" : `The table shows ${rows} of its kernels: ${groups.join(", ")}`;
  said.replaceChildren(link);
}

/** The page lends its figures the colour of its text, and less margin where it is narrow. */
function appearance(): Record<string, unknown> {
  return {
    "font.color": readColor("--ink"),
    "hoverlabel.bgcolor": readColor("--card"),
    "hoverlabel.bordercolor": readColor("--soft"),
    "hoverlabel.font.color": readColor("--ink"),
    "hoverlabel.align": "left",
    "modebar.bgcolor": "rgba(0,0,0,0)",
    "modebar.color": readColor("--soft"),
    "modebar.activecolor": readColor("--accent"),
    "font.size": narrowScreen.matches ? 11 : 12,
    dragmode: coarsePointer.matches ? false : "zoom",
  };
}

/** Set a value in nested objects; those that are missing are made. */
function put(target: object, [name = "", ...rest]: string[], value: unknown): void {
  const values = target as Record<string, unknown>;
  if (rest.length) put((values[name] ??= {}) as object, rest, value);
  else values[name] = value;
}
