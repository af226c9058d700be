/** All of a page's script but the colours before the first paint; it starts what the page has. */
import { chooseTheme, followPaper, isDark, systemDark } from "./colors";
import { startBaselines } from "./comparison/baselines";
import { find, findAll, whenParsed } from "./dom";
import { startExplorer } from "./explorer/tools";
import { fitFigures, restyle, startFigures } from "./figures";
import { startHeatmap } from "./heatmap";
import { startIcicles } from "./icicle";
import { followLasso } from "./lasso";
import { openAround, openLinkedParts } from "./links";
import { readFindings } from "./panel/findings";
import { startKeys } from "./panel/keys";
import { startGpuChoice } from "./panel/gpu_choice";
import { startPanel } from "./panel/panel";
import { startSearch } from "./panel/search";
import { startStrip } from "./panel/strip";
import { onSelection, startSelection } from "./selection";
import { startTables } from "./tables";
import { startTimeline, type Timeline } from "./timeline/timeline";

declare global {
  interface Window {
    /** For whoever looks at a page from outside: the browser's console, tests. */
    tcprof?: Timeline;
  }
}

function startThemeButton(): void {
  const button = find("button.theme", HTMLButtonElement);
  const label = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Show the page in ${isDark() ? "light" : "dark"} colours`);
  };
  label();
  systemDark.addEventListener("change", label);
  button.addEventListener("click", () => {
    chooseTheme(isDark() ? "light" : "dark");
    label();
    restyle();
  });
}

/** On paper everything is open. */
function openOnPaper(): void {
  let closed: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    const found = findAll<HTMLDetailsElement>("details:not([open])");
    found.forEach((part) => { part.open = true; });
    closed.push(...found);
  });
  addEventListener("afterprint", () => {
    closed.forEach((part) => { part.open = false; });
    closed = [];
  });
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
  if (!subjects || !shown) return;
  subjects.findings = readFindings();
  followLasso(subjects, figures);
  onSelection(({ selection, from }) => {
    if (selection?.kind === "finding" && from === "address") openAround(`finding-${selection.name}`);
  });
  const currentGpu = () => timeline.gpu ?? subjects.gpus[0];
  startGpuChoice(timeline, subjects);
  startPanel(subjects);
  startKeys();
  startStrip(subjects, shown, currentGpu);
  startSearch(subjects, currentGpu);
  startSelection((selection) => subjects.find(selection) !== null);
}

followPaper();
const timeline = startTimeline(); // unpacks its data while the browser reads plotly's script
if (timeline) window.tcprof = timeline;
whenParsed(() => {
  startThemeButton();
  openOnPaper();
  openLinkedParts();
  pinPane();
  fitFigures();
  if (document.querySelector(".side-names")) void startBaselines(startContent);
  else startContent();
});

/** Start what the page shows: all of it, or of a comparison what is said with one of its baselines. */
function startContent(): void {
  document.documentElement.removeAttribute("data-drawn");
  startTables(timeline);
  startIcicles();
  const drawn = startFigures(timeline?.drawn ?? Promise.resolve());
  const explored = startExplorer(timeline);
  void timeline?.drawn.then(() => explored).then(() => startSelecting(timeline, Promise.all(drawn)));
  void Promise.all([...drawn, timeline?.drawn, explored, startHeatmap()]).then(() => document.documentElement.setAttribute("data-drawn", "true"));
}
