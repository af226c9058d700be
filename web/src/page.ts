/** The script of all pages, but the colours before the first paint: it starts what it finds. */
import { followBars, showChosen, startGroups } from "./comparison/groups";
import { figureRows, startSaving } from "./csv";
import { findAll, press } from "./dom";
import { startExplorers } from "./explorer/tools";
import { fitFigures, startFigures } from "./figures";
import { startHeatmap } from "./heatmap";
import { startIcicles } from "./icicle";
import { followLasso, startLasso } from "./lasso";
import { openAround } from "./address";
import { markDrawn, startKeys, startPage } from "./shell";
import { startPanel } from "./panel/panel";
import { startSearch } from "./panel/search";
import { startStrip } from "./panel/strip";
import { onSelection, startSelection } from "./selection";
import { parseSelection } from "./selection_fragment";
import type { Finding } from "./timeline/subjects";
import { startTimeline, type Timeline } from "./timeline/timeline";

declare global {
  interface Window {
    /** For whoever looks at a page from outside: the browser's console, tests. */
    tcprof?: Timeline;
  }
}

/** What stays in view above the tables is the end of a pane, so that its height has to be known. */
function pinPane(): void {
  const pane = document.querySelector<HTMLElement>(".pane");
  if (!pane) return;
  new ResizeObserver(() => { pane.style.top = `min(0px, calc(var(--pinned, 100vh) - ${pane.offsetHeight}px))`; }).observe(pane);
}

/** The findings of a page, as its elements tell of them: see `finding` in the templates. */
function readFindings(): Map<string, Finding> {
  return new Map(findAll("[data-finding]").map(({ dataset: { finding = "", title = "", gain = "", about = "" } }) => {
    const selections = about.split(" ").map(parseSelection).filter((selection) => selection !== null);
    return [finding, { name: finding, title, gain, about: selections }];
  }));
}

/** One GPU at a time: the timeline and the table show that which is chosen. */
function startGpuChoice(timeline: Timeline): void {
  const buttons = findAll<HTMLButtonElement>("[data-show-gpu]");
  for (const button of buttons) {
    const gpu = timeline.subjects.gpus.find((each) => each.gpu === Number(button.dataset.showGpu));
    if (gpu) button.addEventListener("click", () => timeline.showGpu(gpu));
  }
  document.addEventListener("tcprof:gpu", ({ detail }) => {
    buttons.forEach((button) => press(button, Number(button.dataset.showGpu) === detail));
  });
}

/** What is selected is told in the panel, marked in the strip, and found by the search, once the recording is read. */
function startSelecting(timeline: Timeline, figures: Promise<unknown>): void {
  const { subjects, shown } = timeline;
  window.tcprof = timeline;
  subjects.findings = readFindings();
  followLasso(subjects, figures);
  onSelection(({ selection, from }) => {
    if (selection?.kind === "finding" && from === "address") openAround(`finding-${selection.name}`);
  });
  const currentGpu = () => timeline.gpu;
  startGpuChoice(timeline);
  startPanel(subjects);
  startStrip(subjects, shown, currentGpu);
  startSearch(subjects, currentGpu);
  startSelection((selection) => subjects.find(selection) !== null);
  setTimeout(() => subjects.prepare());
}

let timeline: Timeline | null = null;
const drawing = startTimeline(); // unpacks its data while the browser reads plotly's script
startPage(() => {
  pinPane();
  fitFigures();
  startKeys();
  startSaving((id) => (timeline && id === "timeline" ? figureRows({ data: timeline.curves() }) : null));
  startIcicles();
  const explored = startExplorers(drawing).then(startGroups);
  const drawn = startFigures(drawing, (plot, figure) => {
    startLasso(plot, figure);
    followBars(plot, figure);
    if (figure.data.some(({ meta }) => meta?.chooses)) showChosen();
  });
  const selecting = Promise.all([drawing, explored]).then(([found]) => {
    timeline = found;
    if (found) startSelecting(found, Promise.all(drawn));
  });
  void markDrawn([...drawn, selecting, startHeatmap()]);
});
