/** One search over ranges, modules and kernels: their work stands out, with what it takes; a result is selected. */
import { element, find } from "../dom";
import { formatCount, formatPercent, formatSeconds } from "../format";
import { select, type Selection } from "../selection";
import type { Gpu } from "../timeline/data";
import { busyTime } from "../timeline/launching";
import type { Subjects } from "../timeline/subjects";
import type { Timeline } from "../timeline/timeline";
import { withoutMark } from "./panel";

const MOST = 12;

type Found = Selection & { name: string };

export function startSearch(timeline: Timeline): void {
  const input = find<HTMLInputElement>("#find");
  const list = find("#found");
  let [found, at]: [Found[], number] = [[], -1];
  const open = (isOpen: boolean) => { list.hidden = !isOpen; input.setAttribute("aria-expanded", String(isOpen)); };
  const mark = (place: number) => {
    at = place;
    Array.from(list.children).forEach((option, i) => option.setAttribute("aria-selected", String(i === place)));
    if (place < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", `found-${place}`);
    list.children[place]?.scrollIntoView({ block: "nearest" });
  };
  const choose = (place: number) => {
    open(false);
    if (!found[place]) return;
    select(found[place], { from: "search" });
    mark((place + 1) % found.length); // where the next Enter leads
  };
  const show = () => {
    const words = input.value.trim().toLowerCase();
    const all = search(timeline.subjects, timeline.gpu, words);
    found = all.slice(0, MOST);
    showHits(timeline, all, words);
    list.replaceChildren(...(found.length ? found.map(option) : words ? [element("li", { className: "note", role: "option", ariaDisabled: "true" }, "Nothing matches")] : []));
    open(list.children.length > 0);
    mark(found.length ? 0 : -1);
  };
  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps && found.length) mark((at + steps[event.key] + found.length) % found.length);
    else if (event.key === "Enter") choose(at);
    else if (event.key === "Escape" && input.value) { input.value = ""; show(); input.blur(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // the input keeps the focus
  list.addEventListener("click", ({ target }) => choose(Array.from(list.children).findIndex((each) => each.contains(target as Node))));
  input.addEventListener("blur", () => open(false));
}

/** Let the work of what was found stand out everywhere, and say how much it is. */
function showHits(timeline: Timeline, found: readonly Found[], words: string): void {
  const work = found.length ? workOf(timeline.subjects, timeline.gpu, found) : null;
  timeline.drawing.showHits(work);
  document.dispatchEvent(new CustomEvent("tcprof:hits", { detail: words }));
  find(".hits").textContent = work ? describeHits(timeline.gpu, work) : "";
}

/** Names that hold all words, those that begin with the first one before the others. */
function search({ header }: Subjects, gpu: Gpu, wanted: string): Found[] {
  const words = wanted.split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const { links: { ranges, kernels }, gpuOfKernel } = header;
  const known = new Set(gpu.lanes.host.id);
  const all = {
    range: ranges.filter((_, id) => known.has(id)), module: gpu.details.modules.names.filter(Boolean),
    kernel: kernels.filter((_, id) => gpuOfKernel[id] === gpu.gpu),
  };
  const hits = (["range", "module", "kernel"] as const).flatMap((kind) => all[kind].map((name): Found => ({ kind, gpu: gpu.gpu, name })))
    .filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
  const rank = ({ name }: Found) => (name.toLowerCase().startsWith(words[0]) ? 0 : 1);
  return hits.sort((a, b) => rank(a) - rank(b));
}

/** The bars of work that some things have together. */
function workOf(subjects: Subjects, gpu: Gpu, found: readonly Found[]): Uint8Array {
  const { work } = gpu.lanes;
  const isHit = new Uint8Array(work.start.length);
  const kernels = new Set(found.filter(({ kind }) => kind === "kernel").map((each) => subjects.find(each)?.id));
  for (let bar = 0; bar < isHit.length; bar++) isHit[bar] = Number(kernels.has(work.id[bar]));
  for (const each of found.filter(({ kind }) => kind !== "kernel")) subjects.find(each)?.work().forEach((bar) => { isHit[bar] = 1; });
  return isHit;
}

/** How much of the steps, or without steps of all, some work takes, and how many launches it is. */
function describeHits({ lanes: { work }, details: { steps } }: Gpu, isHit: Uint8Array): string {
  const [low, high] = steps.start.length ? [steps.start[0], steps.end[steps.end.length - 1]] : [work.start[0], Infinity];
  const bars = Array.from(isHit.keys()).filter((bar) => isHit[bar] && work.start[bar] >= low && work.start[bar] < high);
  const busy = busyTime(work, bars, low, high);
  const count = bars.reduce((sum, bar) => sum + work.merged[bar], 0);
  return `${steps.start.length ? `${formatPercent((100 * busy) / (high - low))} of the step` : formatSeconds(busy)}, ${formatCount(count)} launch${count === 1 ? "" : "es"}`;
}

function option({ name, kind }: Found, place: number): HTMLElement {
  return element("li", { id: `found-${place}`, role: "option" },
    element("bdi", {}, withoutMark(name)), element("span", { className: "line-note" }, kind));
}
