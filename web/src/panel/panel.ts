/** The inspector beside the table, which tells of what is selected. */
import { element, find, findAll, onPageKey } from "../dom";
import { formatPercent, formatSeconds } from "../format";
import { currentSelection, onSelection, select, type Selection, toFragment } from "../selection";
import type { Timeline } from "../timeline/timeline";
import { type ClassTime, describe, type Line, NOWHERE, type PanelContent, type Steps } from "./content";

const KEYS: Record<string, keyof Steps> = { p: "previous", n: "next", l: "longest", m: "least" };
const PAUSE = 200; // milliseconds that the window must stay before it is told of
const MOST = 100_000; // bars of work of which a window is told while nothing is selected

/** Show what is selected, or else the timeline's window. */
export function startPanel({ subjects, shown, drawing }: Timeline): void {
  const panel = find("aside.panel");
  let steps = NOWHERE;
  let waiting = 0;
  const step = (name: keyof Steps) => { if (steps[name]) select(steps[name], { from: "panel" }); };
  const show = (selection: Selection | null) => {
    const few = drawing.gpu.lanes.work.start.length < MOST;
    const subject = subjects.find(selection ?? { kind: "window", gpu: drawing.gpu.gpu, start: shown.low, end: shown.high });
    const content = subject && (selection || few) ? describe(subjects, subject) : null;
    steps = selection && content ? content.steps : NOWHERE;
    panel.classList.toggle("nothing", !selection);
    find(".panel-head", panel).setAttribute("aria-live", selection ? "polite" : "off");
    if (content) fill(panel, selection ? content : { ...content, kind: "Visible window", steps });
  };
  onSelection(({ selection }) => { clearTimeout(waiting); show(selection && subjects.find(selection) ? selection : null); });
  document.addEventListener("tcprof:window", () => {
    clearTimeout(waiting);
    if (!currentSelection()) waiting = setTimeout(() => show(null), PAUSE);
  });
  find(".panel-close", panel).addEventListener("click", () => select(null, { from: "panel" }));
  find(".panel-copy", panel).addEventListener("click", () => void copy(textOf(panel)));
  find("[data-copy-link]").addEventListener("click", () => void copy(location.href));
  for (const name of Object.values(KEYS)) {
    find(`[data-step=${name}]`, panel).addEventListener("click", () => step(name));
  }
  onPageKey(({ key }) => {
    if (key === "Escape" && currentSelection()) select(null, { from: "keyboard" });
    else if (key === "c") void copy(textOf(panel));
    else if (key in KEYS) step(KEYS[key]);
  });
  show(null);
}

/** What is selected, with its figures, a line each. */
export function textOf(panel: HTMLElement): string {
  const facts = findAll(".panel-facts div", panel).map((fact) => Array.from(fact.children, (part) => part.textContent).join(": "));
  return [find(".panel-title bdi", panel).textContent, ...facts].join("\n");
}

/** Copy a text; a page from a file may not reach the clipboard, but by a selection. */
async function copy(text: string): Promise<void> {
  try { await navigator.clipboard.writeText(text); } catch {
    const field = element("textarea", { value: text });
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  find(".strip-text").textContent = "Copied";
}

function fill(panel: HTMLElement, content: PanelContent): void {
  find(".panel-kind", panel).textContent = content.kind;
  find(".panel-title bdi", panel).textContent = withoutMark(content.title);
  find(".panel-steps", panel).hidden = !Object.values(content.steps).some(Boolean);
  for (const [name, target] of Object.entries(content.steps)) {
    find<HTMLButtonElement>(`[data-step=${name}]`, panel).disabled = !target;
  }
  const facts = element("dl", { className: "panel-facts" },
    ...content.facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
  const lists = content.lists.map(({ title, lines, more }) => element("div", {},
    element("h3", {}, title),
    element("ul", { className: "panel-lines" }, ...lines.map(lineItem)),
    ...(more > 0 ? [element("p", { className: "note" }, `${more} more`)] : []),
  ));
  const body = find(".panel-body", panel);
  body.replaceChildren(element("div", {}, facts, ...classBar(content.classes, content.classesTitle)), ...lists);
  body.scrollTop = 0;
}

/** Time by class, as a bar and as words. */
function classBar(classes: readonly ClassTime[], title: string): HTMLElement[] {
  const sum = classes.reduce((total, { seconds }) => total + seconds, 0);
  if (!(sum > 0)) return [];
  const bar = element("div", { className: "class-bar", ariaHidden: "true" });
  for (const { name, color, seconds } of classes) {
    const part = element("i", {});
    paintClass(part, name, color);
    part.style.width = `${(100 * seconds) / sum}%`;
    bar.append(part);
  }
  const lines = classes.map(({ name, color, seconds }) => {
    const swatch = element("span", { className: "swatch", ariaHidden: "true" });
    paintClass(swatch, name, color);
    return element("li", {}, swatch, `${name} `, element("span", { className: "line-note" },
      `${formatSeconds(seconds)}, ${formatPercent((100 * seconds) / sum)}`));
  });
  return [element("h3", {}, title), bar, element("ul", { className: "class-lines" }, ...lines)];
}

/** Idle time is hatched, wherever it is. */
function paintClass(part: HTMLElement, name: string, color: string): void {
  if (name === "Idle") part.classList.add("idle");
  else part.style.background = color;
}

function lineItem({ name, note, selection }: Line): HTMLElement {
  const said = element("span", { className: "line-note" }, note);
  if (!selection) return element("li", {}, element("bdi", {}, withoutMark(name)), said);
  const button = element("button", { type: "button", className: "line" }, element("bdi", {}, withoutMark(name)));
  button.dataset.select = toFragment({ selection });
  return element("li", {}, button, said);
}

/** A name as it is read: without the mark that tells it from others that are read alike. */
export function withoutMark(name: string): string {
  return name.replace(/~[0-9a-f]{8}$/, "");
}

/** A click on idle time in the verdict's bar selects the longest gap of what costs most; where all are short, it leads to their sums. */
export function startIdle(timeline: Timeline): void {
  document.addEventListener("click", ({ target }) => {
    const { gpu, details: { gaps } } = timeline.gpu;
    if (!(target instanceof Element && target.closest(".shares .idle"))) return;
    if (gaps?.costliest) return select({ kind: "gap", gpu, number: gaps.costliest }, { from: "element" });
    document.querySelector<HTMLElement>("[data-group-by=gap]")?.click();
    find("#explore").scrollIntoView();
  });
}
