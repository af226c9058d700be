/** The script of all pages, but the colours before the first paint: it starts what it finds. */
import { startCard } from "./card";
import { followCircled, followFigure, startParts } from "./choices";
import { chooseTheme, followPaper, isDark, systemDark } from "./colors";
import { startSaving } from "./csv";
import { find, findAll, onPageKey, onPrint, press, whenParsed } from "./dom";
import { startExplorers } from "./explorer/tools";
import { startFigures } from "./figures";
import { startHeatmap } from "./heatmap";
import { startIcicles } from "./icicle";
import { startIdle, startPanel } from "./panel/panel";
import { startSearch } from "./panel/search";
import { startStrip } from "./panel/strip";
import { currentSelection, onSelection, openAround, openLinkedParts, parseSelection, select, startSelection } from "./selection";
import type { Finding } from "./timeline/subjects";
import { startTimeline, type Timeline } from "./timeline/timeline";

declare global {
  interface Window {
    /** For whoever looks at a page from outside: the browser's console, tests. */
    tcprof?: Timeline;
  }
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
    if (gpu) button.addEventListener("click", () => timeline.drawing.showGpu(gpu));
  }
  document.addEventListener("tcprof:gpu", ({ detail }) => {
    buttons.forEach((button) => press(button, Number(button.dataset.showGpu) === detail));
  });
}

/** What is selected is told in the inspector, marked in the strip, and found by the search, once the recording is read. */
function startSelecting(timeline: Timeline): void {
  const { subjects } = timeline;
  window.tcprof = timeline;
  subjects.findings = readFindings();
  followCircled(subjects, () => timeline.gpu.gpu);
  onSelection(({ selection, from }) => {
    if (selection?.kind === "finding" && from === "address") openAround(`finding-${selection.name}`);
  });
  startGpuChoice(timeline);
  startPanel(timeline);
  startStrip(timeline);
  startSearch(timeline);
  startIdle(timeline);
  startSelection((selection) => subjects.find(selection) !== null);
  if (currentSelection()) document.getElementById("explore")!.scrollIntoView();
  setTimeout(() => void subjects.prepare());
}

function startThemeButton(): void {
  const button = find<HTMLButtonElement>("button.theme");
  const label = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Show the page in ${isDark() ? "light" : "dark"} colours`);
  };
  label();
  systemDark.addEventListener("change", label);
  button.addEventListener("click", () => {
    chooseTheme(isDark() ? "light" : "dark");
    label();
  });
}

/** Below the verdict the bar of links has it in one line. */
function foldVerdict(): void {
  const [bar, verdict] = [document.querySelector(".sections"), document.querySelector("#figures .verdict")];
  if (!bar || !verdict) return;
  new IntersectionObserver(([{ isIntersecting, boundingClientRect: { bottom } }]) => {
    bar.classList.toggle("folded", !isIntersecting && bottom < innerHeight);
  }).observe(verdict);
}

/** On paper everything is open. */
function openOnPaper(): void {
  let closed: HTMLDetailsElement[] = [];
  onPrint((isPrinted) => {
    if (isPrinted) closed.push(...findAll<HTMLDetailsElement>("details:not([open])"));
    closed.forEach((part) => { part.open = isPrinted; });
    if (!isPrinted) closed = [];
  });
}

function startKeys(): void {
  const dialog = find<HTMLDialogElement>("dialog.keys");
  find("[data-keys]").addEventListener("click", () => dialog.showModal());
  onPageKey((event) => {
    const selection = currentSelection();
    const search = document.querySelector<HTMLElement>("#find, .explorer input[type=search]");
    if (event.key === "/" && search) search.focus();
    else if (event.key === "?") dialog.showModal();
    else if (event.key === "f" && selection) select(selection, { from: "element" }); // which zooms, and goes there
    else return;
    event.preventDefault();
  });
}

let timeline: Timeline | null = null;
const drawing = startTimeline();
followPaper();
whenParsed(() => {
  startThemeButton();
  openOnPaper();
  openLinkedParts();
  foldVerdict();
  startKeys();
  startSaving(() => timeline?.rows() ?? []);
  startIcicles();
  startCard(() => timeline);
  const explored = startExplorers(drawing).then(startParts);
  const drawn = startFigures(followFigure);
  const selecting = Promise.all([drawing, explored]).then(([found]) => {
    timeline = found;
    if (found) startSelecting(found);
  });
  // For tests, and for whoever prints pages.
  void Promise.all([drawn, selecting, startHeatmap()]).then(() => document.documentElement.setAttribute("data-drawn", "true"));
});
