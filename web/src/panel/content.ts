/** What the inspector tells of a selection: figures, time by class, kernels, what launched it, and where one can go from it. Knows no page. */
import { formatBytes, formatCount, formatMoment, formatPercent, formatScaled, formatSeconds } from "../format";
import { countWithin, firstAbove, innermost, type Span, spanOf } from "../intervals";
import type { Selection } from "../selection";
import type { Gaps, Gpu } from "../timeline/data";
import { activeOf, busyTime, openAt, ownKernels, runningIn, sumModules, sumOver, sumWork, type WorkShare } from "../timeline/launching";
import { meanWithin } from "../timeline/samples";
import type { Subject, Subjects } from "../timeline/subjects";

const MOST = 8; // lines of a list

/** Names with their values, as texts. */
type Facts = [string, string][];

export interface List {
  title: string;
  lines: Line[];
  /** How many more there are. */
  more: number;
}

/** A class of work and its time. */
export interface ClassTime {
  name: string;
  color: string;
  seconds: number;
}

export interface PanelContent {
  title: string;
  kind: string;
  facts: Facts;
  /** Time of its work by class, idle time last, and what their sum is compared with. */
  classes: ClassTime[];
  classesTitle: string;
  lists: List[];
  steps: Steps;
}

export function describe(subjects: Subjects, subject: Subject): PanelContent {
  const { selection, gpu, at, instances } = subject;
  const several = subjects.gpus.length > 1 ? ` on GPU ${gpu.gpu}` : "";
  const which = at >= 0 ? ` ${formatCount(at + 1)} of ${formatCount(instances.length)}` : "";
  const noun = capitalize(selection.kind);
  const part = selection.kind === "range" ? ", instance" : selection.kind === "kernel" ? ", launch" : "";
  return {
    title: titleOf(subjects, subject),
    kind: `${noun}${at >= 0 ? part : ""}${which}${several}`,
    facts: factsOf(subjects, subject).filter(([, value]) => value !== "–"),
    ...classesOf(subjects, subject),
    lists: listsOf(subjects, subject).filter(({ lines }) => lines.length),
    steps: stepsOf(subjects, subject),
  };
}

function titleOf(subjects: Subjects, subject: Subject): string {
  const { selection, finding, parts } = subject;
  if (finding) return finding.title;
  if (selection.kind === "gap") return titleOfGap(subjects, subject);
  if (selection.kind === "kernel") return subjects.header.works.names[subject.id];
  if ("ids" in selection) return `${formatCount(parts?.length ?? 0)} ${selection.kind}`;
  if (selection.kind === "window") return `${formatSeconds(selection.end - selection.start)} from ${formatMoment(selection.start)}`;
  return "number" in selection ? `Step ${selection.number}` : selection.name;
}

function factsOf(subjects: Subjects, subject: Subject): Facts {
  switch (subject.selection.kind) {
    case "window": return windowFacts(subject);
    case "gap": return factsOfGap(subjects, subject);
    case "step": return [["GPU window", lengthOf(subject.place)], ["On the CPU", lengthOf(subject.host)], ...meanFacts(subject)];
    case "range": return subject.at < 0 ? factsOfId(subject.gpu.details.paths, subject.id) : instanceFacts(subjects, subject);
    case "kernel": return subject.at < 0 ? kernelFacts(subjects, subject) : launchFacts(subjects, subject);
    case "finding": case "kernels": return severalFacts(subject);
    default: return moduleFacts(subject);
  }
}

const lengthOf = (span: Span | null | undefined) => (span ? formatSeconds(span.end - span.start) : "–");

const factsOfId = (facts: Record<string, readonly string[]>, id: number): Facts => Object.entries(facts).map(([title, texts]) => [title, texts[id] ?? "–"]);

function windowFacts(subject: Subject): Facts {
  const { gpu: { lanes: { work } }, place } = subject;
  const busy = place && busyTime(work, subject.work(), place.start, place.end);
  return [
    ["Length", lengthOf(place)],
    ["GPU busy", place && busy !== null ? formatPercent((100 * busy) / (place.end - place.start)) : "–"],
    ...meanFacts(subject),
  ];
}

/** The means of all curves over its time on the GPU. */
function meanFacts({ gpu: { curves }, place }: Subject): Facts {
  if (!place) return [];
  return [...curves].map(([name, { levels, place: curve, step, unit }]) => {
    const mean = meanWithin(levels[0], levels[0].curves[curve](), step, place.start, place.end);
    return [`${name}, mean`, unit === "%" ? formatPercent(mean) : formatScaled(mean, unit)];
  });
}

function instanceFacts(subjects: Subjects, { gpu, instances, at, place, host }: Subject): Facts {
  const bar = instances[at];
  const { percents, kernels } = gpu.lanes.host;
  const of = (name: string) => gpu.details.instances[name]?.[bar] ?? NaN;
  const window = subjects.windowOf(gpu, bar);
  return [
    ["GPU window", kernels[bar] ? lengthOf(place) : "–"],
    ["On the CPU", lengthOf(host)],
    ["Tensor Active, mean", formatPercent(percents.tensor_active_mean_pct[bar])],
    ["Tensor FLOP/s", formatScaled(of("tensor_flop") / (window.end - window.start), "FLOP/s")],
    ["Device memory traffic", formatBytes(of("dram_bytes"))],
    ["Kernels", formatCount(kernels[bar])],
    ["Kernel time", formatSeconds(1e-9 * of("kernel_ns"))],
  ];
}

const kernelFacts = (subjects: Subjects, { gpu, id }: Subject): Facts => [...factsOfId(gpu.details.kernels.all, id), ...kindFacts(subjects, gpu, id)];

/** What holds for all launches of a kernel. */
function kindFacts({ header: { works, classes } }: Subjects, { details }: Gpu, id: number): Facts {
  const [grid, block] = works.geometry[id].split(" ");
  return [["Grid", grid || "–"], ["Block", block || "–"], ["Class", classes[works.class[id]].name], ...factsOfId(details.kernels.each, id)];
}

function launchFacts(subjects: Subjects, { gpu, id, instances, at, place }: Subject): Facts {
  const { lanes: { work, streams, calls }, details: { launched, kernels } } = gpu;
  const bar = instances[at];
  const call = firstAbove(calls.start, launched[bar] + 1e-9) - 1;
  const isKnown = call >= 0 && Math.abs(calls.start[call] - launched[bar]) < 1e-7;
  return [
    ["Duration", lengthOf(place)],
    ["Share of the step", shareOfStep(gpu, work.end[bar] - work.start[bar])],
    ...kindFacts(subjects, gpu, id),
    ["Tensor Active, this launch", formatPercent(work.percents.tensor_active_pct[bar])],
    ["Tensor FLOP/s, this launch", formatScaled(kernels.flop[id] / (work.end[bar] - work.start[bar]), "FLOP/s")],
    ["Launched", Number.isNaN(launched[bar]) ? "–" : `${formatSeconds(work.start[bar] - launched[bar])} before it began`],
    ["Launch call", isKnown ? `${formatSeconds(calls.end[call] - calls.start[call])}${calls.rows.size > 1 ? `, thread ${calls.row[call] + 1}` : ""}` : "–"],
    ["Stream", streams[work.row[bar]] ?? "–"],
    ["Start", formatMoment(work.start[bar])],
  ];
}

/** Of a finding, or of several kernels: all their launches. */
function severalFacts({ finding, gpu: { lanes: { work } }, work: bars, parts }: Subject): Facts {
  const shares = sumWork(work, work.percents.tensor_active_pct, bars());
  const isModules = parts?.every(({ selection }) => selection.kind === "module");
  return [
    ...(finding?.gain ? [["Gain", finding.gain] as [string, string]] : []),
    ...(isModules ? [] : [
      ["Launches", formatCount(sumOver(shares, "count"))],
      ["Total time", formatSeconds(sumOver(shares, "seconds"))],
      ["Tensor Active, from the fit", formatActive(shares)],
    ] as Facts),
  ];
}

/** Of a module, or of several that the table folds. */
function moduleFacts({ gpu: { details: { modules } }, selection, id }: Subject): Facts {
  const folded = "ids" in selection ? modules.folded.findIndex((ids) => ids.join() === selection.ids.join()) : -1;
  return factsOfId(modules.facts, folded < 0 ? id : modules.names.length + folded);
}

/** Time by class; of one time on the GPU its idle time too. */
function classesOf({ header }: Subjects, subject: Subject): Pick<PanelContent, "classes" | "classesTitle"> {
  const { selection: { kind }, gpu: { lanes: { work } }, place, at } = subject;
  if (kind === "kernel" || kind === "module" || kind === "modules" || kind === "gap") return { classes: [], classesTitle: "" };
  const times = new Float64Array(header.classes.length);
  const bars = subject.work();
  const clip = kind === "window" && place;
  for (let i = 0; i < bars.length; i++) {
    const bar = bars[i];
    const from = clip ? Math.max(work.start[bar], clip.start) : work.start[bar];
    const to = clip ? Math.min(work.end[bar], clip.end) : work.end[bar];
    times[header.works.class[work.id[bar]]] += to - from;
  }
  const classes = header.classes.map((each, place) => ({ ...each, seconds: times[place] })).filter(({ seconds }) => seconds);
  const isOne = place && !subject.parts && (kind !== "range" || at >= 0);
  if (isOne) {
    const running = runningIn(work, subject.gpu.lanes.work.rows, place.start, place.end);
    const idle = place.end - place.start - busyTime(work, running, place.start, place.end);
    if (idle > 0) classes.push({ ...header.classes[header.classes.length - 1], seconds: idle });
  }
  const title = kind === "window" ? "Time by class" : kind === "finding" ? "Time of its kernels, by class" : "Time of launched work, by class";
  return { classes, classesTitle: title };
}

function listsOf(subjects: Subjects, subject: Subject): List[] {
  if (subject.selection.kind === "gap") return listsOfGap(subjects, subject).map(({ title, lines }) => listOf(title, lines, (line) => line));
  const lists = aboutLists(subject);
  if (subject.selection.kind !== "kernel") lists.push(...workLists(subjects, subject));
  return [...lists, ...launcherLists(subjects, subject)];
}

/** What a finding is about, or modules that are folded, by kind. */
function aboutLists({ parts = [] }: Subject): List[] {
  const titles = { range: "Ranges", module: "Modules" };
  return (["range", "module"] as const).map((kind) => {
    const mine = parts.filter(({ selection }) => selection.kind === kind);
    return listOf(titles[kind], mine, ({ selection }) => ({ name: "name" in selection ? selection.name : "", note: "", selection }));
  });
}

/** Its work by kernel: of modules by phase, for a step. */
function workLists(subjects: Subjects, { selection: { kind }, gpu, id, parts, work }: Subject): List[] {
  if (kind === "module" || kind === "modules") {
    const phases = sumModules(parts?.map((part) => part.id) ?? [id], gpu.details.modules);
    return phases.map(([phase, shares]) => workList(subjects, gpu, phases.length > 1 ? `${capitalize(phase)} kernels` : "Its kernels", shares, gpu.details.modules.steps));
  }
  const title = kind === "window" ? "Kernels in the window" : kind === "kernels" || kind === "finding" ? "Its kernels" : "Kernels that it launched";
  return [workList(subjects, gpu, title, sumWork(gpu.lanes.work, gpu.lanes.work.percents.tensor_active_pct, work()), 1)];
}

function workList({ header }: Subjects, gpu: Gpu, title: string, all: readonly WorkShare[], steps: number): List {
  return listOf(title, all, ({ id, count, seconds, activeSeconds }) => {
    const active = gpu.details.kernels.each["Tensor Cores"]?.[id] === "no" ? ", no Tensor Cores"
      : Number.isNaN(activeSeconds) ? "" : `, Tensor Active ${formatPercent((100 * activeSeconds) / seconds)}`;
    const name = header.links.kernels[id];
    return {
      name: name ?? header.works.cuts[id].at(-1) ?? "",
      note: `${formatCount(count / steps)} ×, ${formatSeconds(seconds / steps)}${active}`,
      selection: name === undefined ? null : { kind: "kernel", gpu: gpu.gpu, name },
    };
  });
}

/** The ranges that launched it: those around one launch, the innermost first; of several launches the innermost of each. */
function launcherLists(subjects: Subjects, subject: Subject): List[] {
  const { selection: { kind }, gpu, at, instances, host } = subject;
  const ranges = gpu.lanes.host;
  const open = (time: number) => (Number.isNaN(time) ? [] : openAt(ranges, ranges.rows, time));
  if (at >= 0 && (kind === "kernel" || kind === "range")) {
    const time = kind === "kernel" ? gpu.details.launched[instances[at]] : host!.start;
    const around = open(time).filter((bar) => kind === "kernel" || bar !== instances[at]);
    const lines = around.map((bar) => ({
      name: subjects.header.links.ranges[ranges.id[bar]],
      note: `on the CPU for ${lengthOf(spanOf(ranges, bar))}`,
      selection: subjects.instanceAt(gpu, "range", bar),
    }));
    return [...(kind === "kernel" ? [moduleList(subject)] : []), { title: kind === "kernel" ? "Launched in" : "Within", lines, more: 0 }];
  }
  if (kind !== "kernel") return [];
  const counts = new Map<number, number>();
  for (const bar of instances) {
    const inner = open(gpu.details.launched[bar])[0];
    if (inner !== undefined) counts.set(ranges.id[inner], (counts.get(ranges.id[inner]) ?? 0) + gpu.lanes.work.merged[bar]);
  }
  const all = [...counts].sort((a, b) => b[1] - a[1]);
  return [launchingModules(subject), listOf("Launched in", all, ([id, count]) => {
    const name = subjects.header.links.ranges[id];
    return { name, note: `${formatCount(count)} launch${count === 1 ? "" : "es"}`, selection: { kind: "range", gpu: gpu.gpu, name } };
  })];
}

/** The module of one launch. */
function moduleList({ gpu, instances, at }: Subject): List {
  const { modules, moduleOf } = gpu.details;
  const name = modules.names[moduleOf[instances[at]]];
  return { title: "Module", lines: name ? [{ name, note: "", selection: { kind: "module", gpu: gpu.gpu, name } }] : [], more: 0 };
}

/** The first of some things, as lines. */
function listOf<Thing>(title: string, things: readonly Thing[], line: (thing: Thing) => Line): List {
  const lines = things.slice(0, MOST).map(line);
  return { title, lines, more: things.length - lines.length };
}

/** Tensor Active of some work together, at least. */
function formatActive(shares: readonly WorkShare[]): string {
  const { percent, isLeast } = activeOf(shares);
  return (isLeast ? "≥ " : "") + formatPercent(percent);
}

/** The modules that launch a kernel, by phase, each with its share of the kernel's time in all of them. */
function launchingModules({ gpu, id }: Subject): List {
  const { modules } = gpu.details;
  const mine = ownKernels(modules).filter((each) => each.id === id).sort((a, b) => b.seconds - a.seconds);
  const whole = sumOver(mine, "seconds");
  return listOf("Modules that launch it", mine, ({ module, phase, count, seconds }) => {
    const name = modules.names[module] ?? "";
    const note = `${phase}: ${formatPercent((100 * seconds) / whole)}, ${formatSeconds(seconds)}, ${formatCount(count)} ×`;
    return { name, note, selection: name ? { kind: "module", gpu: gpu.gpu, name } : null };
  });
}

export interface Steps {
  previous: Selection | null;
  next: Selection | null;
  /** The instance that took longest on the GPU; null where there is only one. */
  longest: Selection | null;
  /** The one with the lowest Tensor Active; null where that is known of none. */
  least: Selection | null;
}

export const NOWHERE: Steps = { previous: null, next: null, longest: null, least: null };

export function stepsOf(subjects: Subjects, subject: Subject): Steps {
  const { selection, instances, at } = subject;
  if (selection.kind === "window") {
    const { start, end } = selection;
    const moved = (by: number) => ({ ...selection, start: start + by, end: end + by });
    return { ...NOWHERE, previous: start >= end - start ? moved(start - end) : null, next: moved(end - start) };
  }
  if (!instances.length) return NOWHERE;
  const select = (place: number): Selection | null => {
    if (place < 0 || place >= instances.length) return null;
    if (selection.kind === "range" || selection.kind === "kernel") return { ...selection, instance: place };
    const numbers = selection.kind === "step" ? subject.gpu.details.steps : selection.kind === "gap" ? subject.gpu.details.gaps : null;
    return numbers && "number" in selection ? { ...selection, number: numbers.number[place] } : null;
  };
  return {
    previous: at < 0 ? null : select(at - 1),
    next: select(at + 1),
    longest: instances.length > 1 ? select(longestOf(subjects, subject)) : null,
    least: instances.length > 1 && selection.kind !== "gap" ? select(leastActiveOf(subject)) : null,
  };
}

function longestOf(subjects: Subjects, { selection, gpu, instances }: Subject): number {
  const { steps, gaps } = gpu.details;
  const bars = selection.kind === "kernel" ? gpu.lanes.work : selection.kind === "gap" ? gaps! : steps;
  return placeOfLeast(instances, (bar) => {
    const span = selection.kind === "range" ? subjects.windowOf(gpu, bar) : spanOf(bars, bar);
    return span.start - span.end;
  });
}

/** The place of the instance with the lowest Tensor Active, of those of which it is known; -1 where it is of none. */
function leastActiveOf({ selection, gpu, instances }: Subject): number {
  const { lanes: { host, work }, details: { steps }, curves } = gpu;
  const curve = curves.get("Tensor Active");
  return placeOfLeast(instances, (bar) => {
    if (selection.kind === "range") return host.percents.tensor_active_mean_pct[bar];
    if (selection.kind === "kernel") return work.percents.tensor_active_pct[bar];
    const [level] = curve?.levels ?? [];
    return level ? meanWithin(level, level.curves[curve!.place](), curve!.step, steps.start[bar], steps.end[bar]) : NaN;
  });
}

/** The place of the first bar of which something is least; -1 where it is known of none. */
function placeOfLeast(bars: Uint32Array, valueOf: (bar: number) => number): number {
  let [best, least] = [-1, Infinity];
  for (let place = 0; place < bars.length; place++) {
    const value = valueOf(bars[place]);
    if (value < least) [best, least] = [place, value]; // NaN is below nothing
  }
  return best;
}

export interface Line {
  name: string;
  note: string;
  selection: Selection | null;
}

const capitalize = (words: string) => words.slice(0, 1).toUpperCase() + words.slice(1);

const HINTS: Record<string, string> = {
  "launch-bound": "The CPU launches kernels more slowly than the GPU runs them",
  synchronization: "The CPU waited for the GPU, and launched nothing meanwhile",
  "copy wait": "The CPU waited for a copy, and launched nothing meanwhile",
  "data loading": "The CPU was loading data",
  "CPU work": "The CPU was busy with other work, and launched nothing",
  "launched before": "The next work was already launched; the GPU took time to start it",
};

export const shareOfStep = ({ details: { meanStep } }: Gpu, seconds: number) => formatPercent((100 * seconds) / (meanStep ?? NaN));

const whereOf = ({ header }: Subjects, gaps: Gaps, at: number) => {
  const path = header.links.ranges[gaps.path[at]] ?? "";
  return gaps.between[at] ? `between steps ${gaps.step[at]} and ${gaps.step[at] + 1}${path ? `, in ${path}` : ""}` : path;
};

export function titleOfGap({ header: { causes } }: Subjects, { gpu, at, place }: Subject): string {
  const gaps = gpu.details.gaps!;
  return `${capitalize(causes[gaps.cause[at]] || "unknown cause")}: idle for ${formatSeconds(place!.end - place!.start)}${gaps.between[at] ? " between steps" : ""}`;
}

/** The figures of a gap, and what closes it. */
export function factsOfGap(subjects: Subjects, { gpu, at, place, gap }: Subject): [string, string][] {
  const { header: { causes, gapWaits, works } } = subjects;
  const gaps = gpu.details.gaps!;
  const length = place!.end - place!.start;
  return [
    ["Why", HINTS[causes[gaps.cause[at]]] ?? "–"],
    ["Where", whereOf(subjects, gaps, at) || "outside ranges"],
    ["Length", formatSeconds(length)],
    ["Share of the step", shareOfStep(gpu, length)],
    ["Removing all such gaps saves up to", gaps.saves[at] > 0 ? `${formatSeconds(gaps.saves[at])} per step` : "–"],
    ["CPU waited", gaps.waited[at] ? `${formatSeconds(gaps.waited[at])} for ${gapWaits[gaps.wait[at]] || "the GPU"}` : "–"],
    ["Launches during the gap", formatCount(gaps.launches[at])],
    ["Ended by", works.cuts[gpu.lanes.work.id[gap!.ending]]?.at(-1) ?? "–"],
    ["Launched", gap!.arrow ? `${formatSeconds(place!.end - gap!.arrow.from)} before it began` : "–"],
    ["Step", gaps.step[at] >= 0 ? String(gaps.step[at]) : "–"],
    ["Start", formatMoment(place!.start)],
  ];
}

/** The calls of the CUDA API in a gap, and the ranges that were innermost, each with its time in it. */
export function listsOfGap({ header: { links: { ranges } } }: Subjects, { gpu, place }: Subject): { title: string; lines: Line[] }[] {
  const { calls, callNames, host } = gpu.lanes;
  const { start, end } = place!;
  const called = [...countWithin(calls, start, end)].sort((a, b) => b[1].seconds - a[1].seconds);
  const times = new Map<string, number>();
  for (const piece of innermost(host, runningIn(host, host.rows, start, end))) {
    const name = ranges[host.id[piece.bar]];
    const seconds = Math.min(piece.end, end) - Math.max(piece.start, start);
    if (seconds > 0) times.set(name, (times.get(name) ?? 0) + seconds);
  }
  const inside = [...times].sort((a, b) => b[1] - a[1]);
  return [
    { title: "CUDA calls during the gap", lines: called.map(([id, { count, seconds }]) => ({ name: callNames[id], note: `${formatCount(count)} ×, ${formatSeconds(seconds)}`, selection: null })) },
    { title: "CPU ranges during the gap", lines: inside.map(([name, seconds]) => ({ name, note: formatSeconds(seconds), selection: { kind: "range", gpu: gpu.gpu, name } })) },
  ];
}
