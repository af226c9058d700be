/** The script of all pages, but the colours before the first paint: it starts what it finds. */
import { followBars, showChosen, startGroups } from "./comparison/groups";
import { startComparedIcicles } from "./comparison/icicles";
import { figureRows } from "./csv";
import { startExplorers } from "./explorer/tools";
import { fitFigures, startFigures } from "./figures";
import { startHeatmap } from "./heatmap";
import { startIcicles } from "./icicle";
import { followLasso, startLasso } from "./lasso";
import { openAround } from "./links";
import { readFindings } from "./panel/findings";
import { startGpuChoice } from "./panel/gpu_choice";
import { startKeys } from "./panel/keys";
import { startPanel } from "./panel/panel";
import { startSearch } from "./panel/search";
import { startStrip } from "./panel/strip";
import { onSelection, startSelection } from "./selection";
import { markDrawn, startPage } from "./shell";
import { startSaving } from "./tables";
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
  startComparedIcicles();
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
