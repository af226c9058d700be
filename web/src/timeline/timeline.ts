/** The timeline of a page: reads its data, draws it, and follows buttons, keys, the wheel, and plotly's own dragging. */
import { narrowScreen, systemDark } from "../colors";
import { download, find, findAll, onKeys, onPrint, press, whenParsed } from "../dom";
import type { PlotElement, Trace } from "../plotly";
import { keepView, onSelection, select, type Change } from "../selection";
import { Drawing } from "./drawing";
import { readGpu, type Gpu } from "./gpus";
import type { Header } from "./header";
import { followCrosshair, tellOfPointed } from "./hover";
import { busyPart } from "./busy";
import { highlightsOf } from "./highlights";
import { barAt, selectionOf } from "./pointing";
import { Shown } from "./shown";
import { Subjects, type Span, type Subject } from "./subjects";
import { unpack } from "./unpack";

/** What the rest of the page sees of the timeline. */
export interface Timeline {
  /** Moves it to these seconds of a GPU, with a margin. */
  showWindow(gpu: number, start: number, end: number): void;
  /** What can be selected, and the window. */
  subjects: Subjects;
  shown: Shown;
  /** The GPU that is shown. */
  gpu: Gpu;
  /** Show another one. */
  showGpu(gpu: Gpu): void;
  /** All that the pointer would find in the lanes of the window that is shown. */
  labels(): string[];
  /** The curves of that window, with their points. */
  curves(): Trace[];
}

/** The window that is shown, in seconds, and whether that is all. */
export interface WindowChange {
  start: number;
  end: number;
  whole: boolean;
}

declare global {
  interface DocumentEventMap {
    /** The timeline shows another window. */
    "tcprof:window": CustomEvent<WindowChange>;
    /** It shows another GPU, of this number. */
    "tcprof:gpu": CustomEvent<number>;
  }
}

/** Draw the page's timeline; null where the page has none, or it cannot be drawn. */
export async function startTimeline(): Promise<Timeline | null> {
  const plot = document.getElementById("timeline") as PlotElement | null;
  if (!plot) return null;
  const box = plot.closest<HTMLElement>(".timeline")!;
  const message = find(".undrawn", box);
  try {
    const timeline = await start(plot, box);
    message.remove();
    find(".timeline-tools", box).hidden = false;
    plot.dataset.drawn = "true";
    return timeline;
  } catch (error) {
    message.textContent = `The timeline cannot be drawn: ${(error as Error).message}.`;
    plot.dataset.drawn = "failed";
    return null;
  }
}

async function start(plot: PlotElement, box: HTMLElement): Promise<Timeline> {
  const { header, read } = await readData();
  const gpus = header.gpus.map((gpu) => readGpu(read, gpu));
  const [{ layout }] = header.figures;
  plot.style.height = `${layout.height}px`; // plotly takes it from here when the window is resized
  const shown = new Shown(layout.xaxis.range, busyPart(gpus, layout.xaxis.range), ({ low, high, isWhole, isHome }) => {
    drawing.schedule();
    const detail = { start: low, end: high, whole: isWhole };
    document.dispatchEvent(new CustomEvent("tcprof:window", { detail }));
    keepView(isHome ? null : [low, high]);
  });
  const drawing = new Drawing(plot, box, header, gpus, shown);
  await new Promise<void>((done) => { whenParsed(done); });
  const timeline: Timeline = {
    subjects: new Subjects(header, gpus),
    shown,
    gpu: gpus[0],
    labels: () => drawing.places.map(({ say }) => say()),
    curves: () => drawing.points,
    showGpu(gpu) {
      if (gpu === timeline.gpu) return;
      timeline.gpu = gpu;
      drawing.showGpu(gpu);
      document.dispatchEvent(new CustomEvent("tcprof:gpu", { detail: gpu.gpu }));
    },
    showWindow(gpu, start, end) {
      timeline.showGpu(gpus.find((each) => each.gpu === gpu) ?? gpus[0]);
      shown.show({ start, end });
    },
  };
  await drawing.draw();
  performance.mark("timeline drawn");
  listenToPlot(plot, drawing, shown);
  listenToScale(box, gpus, header.highestRange, drawing);
  listenToReader(plot, box, drawing, shown);
  listenToPage(plot, drawing);
  listenToPointer(plot, drawing, timeline.subjects);
  if (!shown.isWhole) shown.showHome(); // so that all that follows the window knows of it
  onSelection((change) => {
    follow(change, drawing, timeline);
    if (change.from === "element" && change.selection) goTo(box);
  });
  drawing.followAxes();
  return timeline;
}

/** Show what is selected, and the window that an address asks for. What is selected here is in view already. */
function follow({ selection, view, from }: Change, drawing: Drawing, timeline: Timeline): void {
  const { subjects, shown } = timeline;
  const subject = selection && subjects.find(selection);
  const place = subject?.place ?? null;
  if (subject) timeline.showGpu(subject.gpu);
  drawing.highlights = subject && highlightsOf(subjects, subject);
  shown.mark = place && [place.start, place.end];
  if (from === "address" && view) shown.set(...view);
  else if (subject && place && from !== "timeline") shown.show(place, withLaunch(subject, place), SAMPLES * samplePeriod(subject.gpu));
  else if (from === "address") shown.showHome();
  else shown.set(shown.low, shown.high);
}

/** The time of a range's instance on the GPU, with that on the CPU where it is near enough for both to be seen. */
function withLaunch({ selection, at, host }: Subject, place: Span): Span {
  if (selection.kind !== "range" || at < 0 || !host) return place;
  const both = { start: Math.min(place.start, host.start), end: Math.max(place.end, host.end) };
  return both.end - both.start < MOST_APART * (place.end - place.start) ? both : place;
}

const MOST_APART = 4; // times its time on the GPU
const SAMPLES = 20; // fewer do not show what Tensor Active is around something

/** Seconds from one sample to the next; 0 where there are none. */
function samplePeriod({ curves }: Gpu): number {
  const [curve] = curves.values();
  return curve?.levels[0].period ?? 0;
}

/** Bring the timeline into view, again when what lies above it has been laid out on the way. */
function goTo(box: HTMLElement): void {
  const start = box.closest("#explore") ?? box; // the timeline itself may be in view in part, wherever the page is
  start.scrollIntoView();
  requestAnimationFrame(() => requestAnimationFrame(() => start.scrollIntoView()));
}

async function readData() {
  const packed = find<HTMLScriptElement>("#timeline-data");
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser is too old: it has no DecompressionStream (Chrome 80, Firefox 113, Safari 16.4)");
  }
  const unpacked = await unpack<Header>(packed.textContent);
  packed.remove(); // its letters take memory, and are needed no more
  return unpacked;
}

/** What the reader does with plotly's own tools. */
function listenToPlot(plot: PlotElement, drawing: Drawing, shown: Shown): void {
  plot.on("plotly_relayout", (change) => {
    const [low, high] = change["xaxis.range"] ?? [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    if (change.dragmode !== undefined) drawing.figure.layout.dragmode = change.dragmode;
    if (low === undefined || high === undefined || (low === shown.low && high === shown.high)) return;
    shown.set(Number(low), Number(high));
  });
  plot.on("plotly_relayouting", (change) => {
    const low = Number(change["xaxis.range[0]"]);
    const high = Number(change["xaxis.range[1]"]);
    if (drawing.figure.layout.dragmode === "pan" && low < high) drawing.paintWindow([low, high]);
  });
  plot.on("plotly_afterplot", drawing.followAxes);
  plot.on("plotly_doubleclick", shown.showAll);
  plot.on("plotly_restyle", drawing.schedule); // curves are shown or hidden by a click in the legend
}

/** A click on a bar selects what it stands for. */
function listenToPointer(plot: PlotElement, drawing: Drawing, subjects: Subjects): void {
  let from: PointerEvent | null = null;
  const isOnAxes = ({ target }: Event) => target instanceof Element && target.closest(".nsewdrag") !== null;
  plot.addEventListener("pointerdown", (event) => { from = isOnAxes(event) && !event.button ? event : null; }, true);
  addEventListener("pointerup", (event) => {
    const isClick = from && Math.hypot(event.clientX - from.clientX, event.clientY - from.clientY) < LEAST_DRAG;
    from = null;
    const at = isClick ? drawing.locate(event) : null;
    const found = at && barAt(drawing.gpu.lanes, at.row, at.time, at.pixel);
    if (found) select(selectionOf(subjects, drawing.gpu, found), { from: "timeline" });
  }, true);
  tellOfPointed(plot, drawing);
  followCrosshair(plot, drawing);
}

const LEAST_DRAG = 4; // pixels that are no click

/** The timeline's buttons and keys, and the wheel. */
function listenToReader(plot: HTMLElement, box: HTMLElement, drawing: Drawing, shown: Shown): void {
  const actions = {
    in: () => shown.zoom(0.5),
    out: () => shown.zoom(2),
    left: () => shown.move(-0.4),
    right: () => shown.move(0.4),
    whole: shown.showAll,
    picture: () => void drawing.picture().then((picture) => download(picture, "tcprof-timeline.png")),
  };
  for (const button of findAll<HTMLButtonElement>("button[data-action]", box)) {
    button.addEventListener("click", actions[button.dataset.action as keyof typeof actions]);
  }
  onKeys(box, {
    "+": actions.in, "=": actions.in, "-": actions.out, ArrowLeft: actions.left, ArrowRight: actions.right, 0: actions.whole,
  });
  plot.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const { l, r } = drawing.figure.layout.margin;
    const place = (event.clientX - plot.getBoundingClientRect().left - l) / (plot.clientWidth - l - r);
    shown.zoom(Math.exp(Math.min(Math.max(event.deltaY, -100), 100) / 250), Math.min(Math.max(place, 0), 1));
  }, { passive: false });
}

/** The colours of ranges reach to 100 %, so that they are the same on every page, or to the highest of this one. */
function listenToScale(box: HTMLElement, gpus: Gpu[], highest: number, drawing: Drawing): void {
  const button = box.querySelector<HTMLButtonElement>("button[data-scale]");
  button?.addEventListener("click", () => {
    const isZoomed = button.getAttribute("aria-pressed") !== "true";
    press(button, isZoomed);
    find("[data-scale-top]", box).textContent = isZoomed ? button.dataset.scale! : "100 %";
    for (const { lanes } of gpus) lanes.scaleTop = isZoomed ? highest : 100;
    drawing.scheduleAnew();
  });
}

/** What becomes of the page: its width, its colours, and paper. */
function listenToPage(plot: HTMLElement, drawing: Drawing): void {
  let width = plot.clientWidth;
  new ResizeObserver(() => {
    if (plot.clientWidth !== width) drawing.scheduleAnew();
    width = plot.clientWidth;
  }).observe(plot);
  new MutationObserver(drawing.scheduleAnew).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  for (const query of [systemDark, narrowScreen]) query.addEventListener("change", drawing.scheduleAnew);
  onPrint(drawing.print);
}
