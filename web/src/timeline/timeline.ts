/** The timeline of a page: reads its data, draws it, and follows what a reader does with it and selects elsewhere. */
import { onColors } from "../colors";
import type { Cells } from "../csv";
import { download, element, find, findAll, onPrint, press, whenParsed } from "../dom";
import { formatSeconds } from "../format";
import { type Span, spanOf } from "../intervals";
import { type Change, keepView, onSelection, select } from "../selection";
import { type Gpu, type Header, readGpu } from "./data";
import { Drawing, type Pointed } from "./drawing";
import { followFingers, followKeys, followMouse, followPointer, followWheel, type Reactions, say } from "./hands";
import { highlightsOf } from "./highlights";
import { type Group, lanesOf, TITLES } from "./layout";
import { busyPart, Shown } from "./shown";
import { type Subject, Subjects } from "./subjects";
import { unpack } from "./unpack";

/** What the rest of the page sees of the timeline. */
export interface Timeline {
  /** What can be selected, and the window. */
  subjects: Subjects;
  shown: Shown;
  drawing: Drawing;
  /** The GPU that is shown. */
  readonly gpu: Gpu;
  /** All that the pointer would find in the lanes of the window that is shown. */
  labels(): string[];
  /** The points of the curves of that window. */
  rows(): Cells[];
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
    /** The search looks for these words; empty for none. */
    "tcprof:hits": CustomEvent<string>;
  }
}

/** Draw the page's timeline; null where the page has none, or it cannot be drawn. */
export async function startTimeline(): Promise<Timeline | null> {
  const plot = document.getElementById("timeline");
  if (!plot) return null;
  const message = find(".timeline .undrawn");
  try {
    const timeline = await start(plot);
    message.remove();
    plot.dataset.drawn = "true";
    return timeline;
  } catch (error) {
    message.textContent = `The timeline cannot be drawn: ${(error as Error).message}.`;
    plot.dataset.drawn = "failed";
    return null;
  }
}

async function start(plot: HTMLElement): Promise<Timeline> {
  const header = await readData();
  const { gpus } = header;
  for (const gpu of gpus) await readGpu(gpu);
  const shown = new Shown(header.range, busyPart(gpus, header.range), ({ low, high, isWhole, isHome }) => {
    drawing.schedule();
    document.dispatchEvent(new CustomEvent("tcprof:window", { detail: { start: low, end: high, whole: isWhole } }));
    keepView([low, high], isHome);
    say(null);
  });
  await new Promise<void>((done) => { whenParsed(done); });
  const drawing = new Drawing(plot, header, gpus[0], shown);
  const subjects = new Subjects(header);
  const timeline = makeTimeline(subjects, shown, drawing);
  drawing.draw();
  performance.mark("timeline drawn");
  const reactions = reactTo(timeline);
  followMouse(plot, drawing, shown, reactions);
  followWheel(plot, drawing, shown);
  followFingers(plot, drawing, shown);
  followKeys(plot, drawing, shown, reactions);
  followPointer(plot, drawing, (pointed, event) => sayOf(timeline, pointed, event));
  listenToTools(drawing, shown);
  listenToLanes(gpus, drawing);
  listenToPage(plot, drawing);
  if (!shown.isWhole) shown.showHome(); // so that all that follows the window knows of it
  onSelection((change) => {
    follow(change, timeline);
    if (change.from === "element" && change.selection) document.getElementById("explore")!.scrollIntoView();
  });
  return timeline;
}

function makeTimeline(subjects: Subjects, shown: Shown, drawing: Drawing): Timeline {
  return {
    subjects, shown, drawing,
    get gpu() { return drawing.gpu; },
    labels: () => drawing.places.map(({ place }) => place.say().join("\n")),
    rows: () => [["series", "time_s", "value", "unit"], ...drawing.curves.flatMap(({ name, unit, line: { x, y } }) =>
      x.flatMap((time, i): Cells[] => (Number.isNaN(y[i]) ? [] : [[name, time, y[i], unit]])))],
  };
}

function reactTo({ subjects, drawing }: Timeline): Reactions {
  const find = (pointed: Pointed) => {
    const [kind, place] = [pointed.lane?.kind, drawing.placeAt(pointed)];
    return !kind || kind === "curve" || !place ? null : { kind: kind === "inner" ? "host" as const : kind, bar: place.bar };
  };
  const selectionAt = (pointed: Pointed) => {
    const found = find(pointed);
    if (found) return subjects.selectionAt(drawing.gpu, found.kind, found.bar);
    return pointed.lane?.kind === "work" ? subjects.gapAt(drawing.gpu, pointed.time) : null;
  };
  return {
    click(pointed) {
      const selection = selectionAt(pointed);
      if (selection) select(selection, { from: "timeline" });
    },
    spanAt(pointed) {
      const found = find(pointed);
      if (found) return spanOf(drawing.gpu.lanes[found.kind], found.bar);
      const selection = selectionAt(pointed);
      return selection && (subjects.find(selection)?.place ?? null);
    },
    measure: (span) => select({ kind: "window", gpu: drawing.gpu.gpu, ...span }, { from: "timeline" }),
  };
}

/** A bar or several, a curve, or a gap. */
function sayOf({ drawing, subjects }: Timeline, pointed: Pointed, { clientY }: MouseEvent): readonly string[] | null {
  const place = drawing.placeAt(pointed);
  if (place) return place.say();
  const gap = pointed.lane?.kind === "work" ? subjects.gapAt(drawing.gpu, pointed.time) : null;
  const subject = gap && subjects.find(gap);
  return subject ? [`Idle for ${formatSeconds(subject.place!.end - subject.place!.start)}`, subjects.header.causes[subject.gpu.details.gaps!.cause[subject.at]] ?? ""] : drawing.curveAt(pointed, clientY);
}

/** Show what is selected, and the window that an address asks for. What is selected here is in view already. */
function follow({ selection, view, from }: Change, { drawing, subjects, shown }: Timeline): void {
  const subject = selection && subjects.find(selection);
  const place = subject?.place ?? null;
  if (subject) drawing.showGpu(subject.gpu);
  drawing.highlights = subject && highlightsOf(subjects, subject);
  shown.mark = place && [place.start, place.end];
  if (from === "address" && view) shown.set(...view);
  else if (subject && place && from !== "timeline") shown.show(place, withLaunch(subject, place), SAMPLES * samplePeriod(subject.gpu));
  else if (from === "address") shown.showHome();
  else shown.set(shown.low, shown.high);
}

/** The time of an instance on the GPU, with that on the CPU or of its launch where it is near enough for both to be seen. */
function withLaunch({ selection, at, host, gap, gpu, instances }: Subject, place: Span): Span {
  const launched = gap ? gap.arrow?.from : selection.kind === "kernel" && at >= 0 ? gpu.details.launched[instances[at]] : undefined;
  const near = launched !== undefined && !Number.isNaN(launched) ? { start: launched, end: launched } : selection.kind === "range" && at >= 0 ? host : null;
  if (!near) return place;
  const both = { start: Math.min(place.start, near.start), end: Math.max(place.end, near.end) };
  return both.end - both.start < MOST_APART * (place.end - place.start) ? both : place;
}

const MOST_APART = 4; // times its time on the GPU
const SAMPLES = 20; // fewer do not show what Tensor Active is around something

/** Seconds from one sample to the next; 0 where there are none. */
function samplePeriod({ curves }: Gpu): number {
  const [curve] = curves.values();
  return curve?.levels[0].period ?? 0;
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

function listenToTools(drawing: Drawing, shown: Shown): void {
  const actions = {
    in: () => shown.zoom(0.5), out: () => shown.zoom(2), left: () => shown.move(-0.4), right: () => shown.move(0.4), whole: shown.showAll,
    picture: () => download(drawing.picture().toDataURL(), "tcprof-timeline.png"),
  };
  for (const button of findAll<HTMLButtonElement>("button[data-action]")) {
    button.addEventListener("click", actions[button.dataset.action as keyof typeof actions]);
  }
}

/** Lanes and curves to choose from, and which lanes stay in view while the others scroll. */
function listenToLanes(gpus: readonly Gpu[], drawing: Drawing): void {
  const { choices } = drawing;
  const groups = new Set(gpus.flatMap((gpu) => lanesOf(gpu).map(({ group }) => group)));
  const button = (group: Group, text: string, name: string, key: "isShown" | "isPinned") => {
    const made = element("button", { type: "button", ariaLabel: name }, text);
    press(made, choices[group][key]);
    made.addEventListener("click", () => {
      choices[group][key] = !choices[group][key];
      press(made, choices[group][key]);
      drawing.scheduleAnew();
    });
    return made;
  };
  const lanes = [...groups].map((group) => element("div", { className: "lane-choice" },
    button(group, TITLES[group], TITLES[group], "isShown"), button(group, "pin", `Keep in view: ${TITLES[group]}`, "isPinned")));
  const curves = new Set(gpus.flatMap(({ strips }) => strips.flatMap((strip) => strip.curves.map(({ name }) => name))));
  const boxes = [...curves].map((name) => {
    const all = gpus.flatMap(({ strips }) => strips.flatMap((strip) => strip.curves.filter((curve) => curve.name === name)));
    const box = element("input", { type: "checkbox", checked: !all[0].isHidden });
    box.addEventListener("change", () => {
      for (const curve of all) curve.isHidden = !box.checked;
      drawing.scheduleAnew();
    });
    const swatch = element("span", { className: "swatch" });
    swatch.style.background = name === TITLES.tensor ? "var(--bar)" : all[0].color;
    return element("label", {}, box, " ", swatch, name);
  });
  find(".lanes-menu div").prepend(...lanes, ...(boxes.length > 1 ? boxes : []));
}

/** What becomes of the page: its size, its colours, and paper. */
function listenToPage(plot: HTMLElement, drawing: Drawing): void {
  let size = "";
  new ResizeObserver(() => {
    const now = `${plot.parentElement!.clientWidth} ${innerHeight}`;
    if (size && now !== size) drawing.scheduleAnew();
    size = now;
  }).observe(plot.parentElement!);
  addEventListener("resize", drawing.scheduleAnew);
  onColors(drawing.scheduleAnew);
  onPrint(drawing.print);
}
