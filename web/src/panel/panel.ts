/** The panel at the bottom that tells of what is selected. */
import { element, find, onPageKey } from "../dom";
import { formatPercent, formatSeconds } from "../format";
import { currentSelection, onSelection, select } from "../selection";
import { toFragment } from "../selection_fragment";
import type { Subjects } from "../timeline/subjects";
import { NOWHERE, type Steps } from "./steps";
import { describe, type ClassTime, type Line, type PanelContent } from "./content";

const KEYS: Record<string, keyof Steps> = { p: "previous", n: "next", l: "longest", a: "least" };

/** Show the panel for whatever is selected, and close it with that. */
export function startPanel(subjects: Subjects): void {
  const panel = find("aside.panel");
  let steps = NOWHERE;
  const step = (name: keyof Steps) => { if (steps[name]) select(steps[name], { from: "panel" }); };
  onSelection(({ selection }) => {
    const subject = selection && subjects.find(selection);
    const content = subject && describe(subjects, subject);
    steps = content ? content.steps : NOWHERE;
    show(panel, content);
  });
  find(".panel-close", panel).addEventListener("click", () => select(null, { from: "panel" }));
  for (const name of Object.values(KEYS)) {
    find(`[data-step=${name}]`, panel).addEventListener("click", () => step(name));
  }
  onPageKey(({ key }) => {
    if (key === "Escape" && currentSelection()) select(null, { from: "keyboard" });
    else if (key in KEYS) step(KEYS[key]);
  });
}

function show(panel: HTMLElement, content: PanelContent | null): void {
  if (content) fill(panel, content);
  panel.hidden = !content;
  document.documentElement.classList.toggle("with-panel", Boolean(content));
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
  for (const { color, seconds } of classes) {
    const part = element("i", {});
    part.style.background = color;
    part.style.width = `${(100 * seconds) / sum}%`;
    bar.append(part);
  }
  const lines = classes.map(({ name, color, seconds }) => {
    const swatch = element("span", { className: "swatch", ariaHidden: "true" });
    swatch.style.background = color;
    return element("li", {}, swatch, `${name} `, element("span", { className: "line-note" },
      `${formatSeconds(seconds)}, ${formatPercent((100 * seconds) / sum)}`));
  });
  return [element("h3", {}, title), bar, element("ul", { className: "class-lines" }, ...lines)];
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
