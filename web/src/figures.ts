/** The figures of a page: each element with data-figure, drawn from the JSON of that id when it comes near the window. */
import { hasItems } from "./choices";
import { coarsePointer, narrowScreen, onColors, readColor } from "./colors";
import { element, find, findAll, onPrint } from "./dom";
import type { Figure, PlotElement } from "./plotly";
import { unpackText } from "./timeline/unpack";

const CONFIG = {
  responsive: true, displaylogo: false, scrollZoom: false, plotlyServerURL: "", topojsonURL: "", showSendToCloud: false,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"], toImageButtonOptions: { filename: "tcprof", scale: 2 },
};

type Follow = (plot: PlotElement, figure: Figure) => void;

const NEAR = "600px"; // from the window: what is nearer is drawn
const PAPER = 690; // pixels of A4 between its margins

const findPlots = () => findAll<PlotElement>("[data-figure]");
const isDrawn = (plot: PlotElement) => plot.data !== undefined;

/** Draw each figure when it comes near, and all of them for paper.
 *
 * @param follow - Is given each that is drawn, with the figure: what a page does with clicks in it.
 * @returns Resolves when those that are near at first are drawn.
 */
export function startFigures(follow: Follow): Promise<void> {
  const figures = new Map(findPlots().map((plot) => [plot, readFigure(plot)]));
  const drawing = new Map<PlotElement, Promise<void>>();
  const draw = (plot: PlotElement): Promise<void> => {
    const known = drawing.get(plot) ?? loadPlotly().then(() => drawFigure(plot, figures.get(plot)!, follow));
    drawing.set(plot, known);
    return known;
  };
  const restyle = () => relayout(appearance()); // those that are drawn follow the page's colours and width
  onColors(restyle);
  narrowScreen.addEventListener("change", restyle);
  const unpacking = findPlots().length ? unpackPlotly() : null; // print does not wait for it
  onPrint((isPrinted) => {
    if (isPrinted) runPlotly();
    const undrawn = isPrinted && "Plotly" in window ? findPlots().filter((each) => !isDrawn(each)) : [];
    for (const plot of undrawn) drawing.set(plot, drawFigure(plot, figures.get(plot)!, follow));
    const change = { autosize: !isPrinted, width: isPrinted ? PAPER : null };
    findPlots().forEach((plot) => { plot.style.width = isPrinted ? `${PAPER}px` : ""; });
    relayout(change);
  });
  return new Promise((done) => {
    const watcher = new IntersectionObserver((entries) => {
      const near = entries.filter(({ isIntersecting }) => isIntersecting).map(({ target }) => target as PlotElement);
      near.forEach((plot) => watcher.unobserve(plot));
      void Promise.all([unpacking, ...near.map(draw)]).then(() => done());
    }, { rootMargin: NEAR });
    findPlots().forEach((plot) => watcher.observe(plot));
    if (!findPlots().length) done();
  });
}

/** Change those that are drawn; the others take what holds then. Each is done when it returns: print does not wait. */
function relayout(change: object): void {
  findPlots().filter(isDrawn).forEach((plot) => void Plotly.relayout(plot, change));
}

let unpacked = "";
let loading: Promise<void> | null = null;

/** Load the script of plotly, which a page holds packed, or has beside it, when the first figure needs it. */
function loadPlotly(): Promise<void> {
  return (loading ??= (async () => {
    const { src, integrity } = find("#plotly-script").dataset;
    if (!src) { await unpackPlotly(); runPlotly(); return; }
    await new Promise((done, failed) => {
      const script = element("script", { src, ...(integrity ? { integrity, crossOrigin: "anonymous" } : {}) });
      script.addEventListener("load", done);
      script.addEventListener("error", failed);
      document.head.append(script);
    });
  })());
}

async function unpackPlotly(): Promise<void> {
  const kept = find("#plotly-script");
  if (!kept.dataset.src) unpacked ||= await unpackText(kept.textContent);
}

/** Run the script that is unpacked; once. */
function runPlotly(): void {
  if (unpacked && !("Plotly" in window)) document.head.append(element("script", { textContent: unpacked }));
}

/** A figure, whose place has its height before it is drawn; plotly takes it from there when the window is resized. */
function readFigure(plot: PlotElement): Figure {
  const figure = JSON.parse(document.getElementById(plot.dataset.figure ?? "")?.textContent ?? "") as Figure;
  plot.style.height = `${figure.layout.height}px`;
  return figure;
}

async function drawFigure(plot: PlotElement, figure: Figure, follow: Follow): Promise<void> {
  for (const name of Object.keys(figure.layout)) { // plotly would measure each label, to hide those that hang over the edge: none does
    if (name.startsWith("yaxis")) put(figure.layout, [name, "ticklabeloverflow"], "allow");
  }
  for (const [path, value] of Object.entries(appearance())) put(figure.layout, path.split("."), value);
  await Plotly.newPlot(plot, figure.data, figure.layout, hasItems(figure) ? { ...CONFIG, modeBarButtonsToRemove: ["autoScale2d"] } : CONFIG);
  if (plot.parentElement) find(".undrawn", plot.parentElement).remove();
  follow(plot, figure);
}

/** The page lends its figures the colour of its text, and less margin where it is narrow. */
function appearance(): Record<string, unknown> {
  return {
    "font.color": readColor("--ink"), "font.size": narrowScreen.matches ? 11 : 12, dragmode: coarsePointer.matches ? false : "zoom",
    "hoverlabel.bgcolor": readColor("--card"), "hoverlabel.bordercolor": readColor("--soft"), "hoverlabel.font.color": readColor("--ink"),
    "hoverlabel.align": "left",
    "modebar.bgcolor": "rgba(0,0,0,0)", "modebar.color": readColor("--soft"), "modebar.activecolor": readColor("--accent"),
  };
}

/** Set a value in nested objects; those that are missing are made. */
function put(target: object, [name = "", ...rest]: string[], value: unknown): void {
  const values = target as Record<string, unknown>;
  if (rest.length) put((values[name] ??= {}) as object, rest, value);
  else values[name] = value;
}
