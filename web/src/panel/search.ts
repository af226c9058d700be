/** One search over ranges, modules and kernels: what is chosen of its results is selected. */
import { element, find } from "../dom";
import { select, type Selection } from "../selection";
import type { Totals } from "../timeline/details";
import type { Gpu } from "../timeline/gpus";
import type { Subjects } from "../timeline/subjects";
import { withoutMark } from "./panel";

const MOST = 12;

type Found = Selection & { name: string };

export function startSearch(subjects: Subjects, currentGpu: () => Gpu): void {
  const input = find<HTMLInputElement>("#find");
  const list = find("#found");
  let found: Found[] = [];
  let at = -1;
  const close = () => { list.hidden = true; input.setAttribute("aria-expanded", "false"); mark(-1); };
  const mark = (place: number) => {
    at = place;
    Array.from(list.children).forEach((option, i) => option.setAttribute("aria-selected", String(i === place)));
    if (place < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", `found-${place}`);
    list.children[place]?.scrollIntoView({ block: "nearest" });
  };
  const choose = (place: number) => {
    const chosen = found[place];
    close();
    if (chosen) select(chosen, { from: "search" });
  };
  input.addEventListener("input", () => {
    found = search(subjects, currentGpu(), input.value.trim().toLowerCase());
    list.replaceChildren(...(found.length ? found.map(option) : nothing(input.value)));
    list.hidden = !list.children.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    mark(found.length ? 0 : -1);
  });
  input.addEventListener("keydown", (event) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps && found.length) mark((at + steps[event.key] + found.length) % found.length);
    else if (event.key === "Enter") choose(at);
    else if (event.key === "Escape" && !list.hidden) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // the input keeps the focus
  list.addEventListener("click", ({ target }) => {
    if (target instanceof Element) choose(Array.from(list.children).findIndex((each) => each.contains(target)));
  });
  input.addEventListener("blur", close);
}

/** Names that hold all words, those that begin with the first one before the others. */
function search({ header }: Subjects, gpu: Gpu, wanted: string): Found[] {
  const words = wanted.split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const { paths, kernels, modules } = gpu.details;
  const known = (names: readonly string[], { rowOf }: Totals) => names.filter((_, id) => rowOf.has(id));
  const all = { range: known(header.links.ranges, paths), module: modules.names, kernel: known(header.links.kernels, kernels) };
  const hits = (["range", "module", "kernel"] as const).flatMap((kind) => all[kind].map((name): Found => ({ kind, gpu: gpu.gpu, name })))
    .filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
  const rank = ({ name }: Found) => (name.toLowerCase().startsWith(words[0]) ? 0 : 1);
  return hits.sort((a, b) => rank(a) - rank(b)).slice(0, MOST);
}

function option({ name, kind }: Found, place: number): HTMLElement {
  return element("li", { id: `found-${place}`, role: "option" },
    element("bdi", {}, withoutMark(name)), element("span", { className: "line-note" }, kind));
}

function nothing(wanted: string): HTMLElement[] {
  return wanted.trim() ? [element("li", { className: "note", role: "option", ariaDisabled: "true" }, "Nothing has that name")] : [];
}
