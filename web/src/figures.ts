/** The figures of a page: each element with data-figure, drawn from the JSON of that id. */
import { coarsePointer, narrowScreen, onColors, readColor } from "./colors";
import { find, findAll, onPrint } from "./dom";
import { hasItems, keepLabels, type Figure, type Layout, type PlotElement } from "./plotly";

export const CONFIG = {
  responsive: true,
  displaylogo: false,
  scrollZoom: false,
  plotlyServerURL: "",
  topojsonURL: "",
  showSendToCloud: false,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  toImageButtonOptions: { filename: "tcprof", scale: 2 },
};

type Follow = (plot: PlotElement, figure: Figure) => void;

/** Milliseconds after which plotly has given its figures the window's width. */
const SETTLED = 300;

/** A4 between its margins, in pixels. */
const PAPER = 690;

/** Draw all figures.
 *
 * @param before - Settled once is drawn what stands before them.
 * @param follow - Is given each that is drawn, with the figure: what a page does with clicks in it.
 * @returns A promise for each that it is drawn.
 */
export function startFigures(before: Promise<unknown>, follow: Follow): Promise<void>[] {
  const plots = findPlots();
  let last = before;
  const drawn = plots.map((plot) => {
    const mine = last.then(pause).then(() => drawFigure(plot, follow)); // so that the browser shows what is drawn, and answers
    last = mine.catch(() => {});
    return mine;
  });
  void Promise.allSettled(drawn).then(unsettle);
  return drawn;
}

/** Redraw the figures that are there in the page's colours. */
function restyle(): void {
  relayout(findPlots(), appearance());
}

/** Let all figures follow the system's colours, the window's width, parts that open, and paper. */
export function fitFigures(): void {
  onColors(restyle);
  narrowScreen.addEventListener("change", restyle);
  afterResize();
  afterOpening();
  onPaper();
}

const findPlots = () => findAll<PlotElement>("[data-figure]");

/** Lay figures out once more when they have their new width: a legend that needs fewer lines then, as on a phone that is
 * turned, would keep the place that it had, and lie over the curves. */
function afterResize(): void {
  let [width, waiting] = [innerWidth, 0];
  addEventListener("resize", () => {
    unsettle();
    if (innerWidth === width) return; // a phone's address bar came or went
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(restyle, SETTLED);
  });
}

/** Give figures in parts that open the width that there is: one that was drawn while its part was closed has none yet. */
function afterOpening(): void {
  document.addEventListener("toggle", ({ target }) => {
    if (!(target instanceof HTMLDetailsElement)) return;
    unsettle();
    if (target.open) findPlots().filter((plot) => target.contains(plot) && isDrawn(plot)).forEach((plot) => Plotly.Plots.resize(plot));
  }, { capture: true }); // it does not bubble
}

/** On paper there is less width than in the window. */
function onPaper(): void {
  // With the timeline: what is wider than the paper makes a browser shrink the whole page.
  onPrint((isPrinted) => {
    const printed = findAll<PlotElement>("[data-figure], #timeline");
    printed.forEach((plot) => { plot.style.width = isPrinted ? `${PAPER}px` : ""; });
    relayout(printed, { autosize: !isPrinted, width: isPrinted ? PAPER : null });
  });
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

async function drawFigure(plot: PlotElement, follow: Follow): Promise<void> {
  const packed = document.getElementById(plot.dataset.figure ?? "");
  const figure = JSON.parse(packed?.textContent ?? "") as Figure;
  plot.style.height = `${figure.layout.height}px`; // plotly takes it from here when the window is resized
  dress(figure.layout);
  await Plotly.newPlot(plot, figure.data, figure.layout, hasItems(figure) ? { ...CONFIG, modeBarButtonsToRemove: ["autoScale2d"] } : CONFIG);
  if (plot.parentElement) find(".undrawn", plot.parentElement).remove();
  follow(plot, figure);
}

/** Give a figure that is to be drawn the page's colours. */
export function dress(layout: Layout): void {
  keepLabels(layout);
  for (const [path, value] of Object.entries(appearance())) put(layout, path.split("."), value);
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
