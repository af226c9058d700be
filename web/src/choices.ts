/** What is chosen in figures: a click selects what a point stands for; a lasso or a box around circles shows their kernels
 * alone, and a bar of a change those of its parts: in the table, and marked in the figures. */
import { element, find, findAll } from "./dom";
import { EVERYTHING } from "./explorer/model";
import { explorers } from "./explorer/tools";
import { formatCount } from "./format";
import type { Figure, PlotElement, Trace } from "./plotly";
import { currentSelection, onSelection, openAround, parseSelection, select, startSelection } from "./selection";
import type { Subjects } from "./timeline/subjects";

const SEVERAL = "several";

/** A table whose kernels belong to parts of a change: its id, side and GPU, its list of parts, and their names. */
interface Choice {
  id: string;
  side: number;
  gpu: number;
  list: HTMLSelectElement;
  names: readonly string[];
}

let choices: readonly Choice[] = [];
let circled: { ids: ReadonlySet<number>; launches: number } | null = null;
let shownGpu = () => 0;

/** Whether a figure has circles that stand for kernels. */
export const hasItems = ({ data }: Partial<Figure>): boolean => data?.some(({ meta }) => meta?.items) ?? false;

/** Follow what a reader does in a figure; a double click shows all kernels again. */
export function followFigure(plot: PlotElement, figure: Figure): void {
  plot.on("plotly_click", ({ points: [{ data: { meta }, customdata }] }) => {
    if (meta?.selects) select(parseSelection(customdata as string), { from: "figure" });
    if (meta?.chooses) chooseBar(meta.chooses, customdata as string[]);
  });
  plot.on("plotly_clickannotation", ({ annotation: { name } }) => { // a label, which is easier to hit than a thin bar
    const { meta, customdata } = figure.data.find((trace) => trace.meta?.chooses) ?? {};
    if (meta?.chooses && customdata?.[Number(name)]) chooseBar(meta.chooses, customdata[Number(name)] as string[]);
  });
  if (figure.data.some(({ meta }) => meta?.chooses)) showParts();
  if (!hasItems(figure)) return;
  plot.after(element("p", { className: "note chosen", role: "status" }));
  plot.on("plotly_selected", (event) => {
    const ids = event?.points.map(({ data, pointNumber }) => data.meta?.items?.[pointNumber] ?? -1).filter((id) => id >= 0);
    select(ids?.length ? { kind: "kernels", gpu: shownGpu(), ids } : null, { from: "figure" });
  });
  plot.on("plotly_deselect", () => select(null, { from: "figure" }));
  if (circled) showCircled(plot);
}

/** Mark points of a figure that is drawn, and say below it what is chosen: the table may be far away.
 *
 * @param pointsOf - The points of a trace that stand out; null for all.
 */
function mark(plot: PlotElement, pointsOf: (trace: Trace) => number[] | null, ...said: (Node | string)[]): Promise<void> {
  find(".chosen", plot.parentElement!).replaceChildren(...said);
  return Plotly.restyle(plot, { selectedpoints: plot.data!.map(pointsOf) });
}

/** Show the kernels that are selected together alone, until none is, or Back leads to what was before. */
export function followCircled(subjects: Subjects, currentGpu: () => number): void {
  shownGpu = currentGpu;
  onSelection(({ selection, from }) => {
    const subject = selection?.kind === "kernels" ? subjects.find(selection) : null;
    if (!subject && (!circled || (selection && from !== "address"))) return;
    const { merged } = (subject?.gpu ?? subjects.gpus[0]).lanes.work;
    const launches = Array.from(subject?.work() ?? []).reduce((sum, bar) => sum + merged[bar], 0);
    circled = subject && { ids: new Set(subject.parts!.map(({ id }) => id)), launches };
    findAll<PlotElement & Partial<Figure>>("[data-figure]").filter(hasItems).forEach(showCircled);
  });
}

function showCircled(plot: PlotElement): void {
  if (!circled) { void mark(plot, () => null).then(() => Plotly.relayout(plot, { selections: [] })); return; }
  const { ids, launches } = circled;
  const all = element("button", { type: "button" }, "All kernels");
  all.addEventListener("click", () => select(null, { from: "figure" }));
  void mark(plot, ({ meta }) => meta?.items?.flatMap((id, place) => (ids.has(id) ? [place] : [])) ?? null,
    element("a", { href: "#part-table" }, `The table shows ${formatCount(ids.size)} of these kernels`), "; ",
    element("a", { href: "#explore" }, `${formatCount(launches)} launch${launches === 1 ? " is" : "es are"} marked in the timeline`), " ", all);
}

/** Let the reader choose one part of the change of each table that has some, once the tables are drawn. */
export function startParts(): void {
  choices = [...explorers].flatMap(([id, explorer]) => {
    const names = [...new Set(explorer.groups)].filter(Boolean);
    const list = find<HTMLSelectElement>("[data-choose=group]", document.getElementById(id)!);
    list.parentElement!.hidden = names.length < 2;
    if (!names.length) return [];
    const [side, gpu] = id.split("-").slice(-2).map(Number); // tables-SIDE-GPU
    const choice = { id, side, gpu, list, names };
    list.append(...names.map((value) => element("option", { value }, value)));
    list.addEventListener("change", () => choose(choice, list.value ? [list.value] : []));
    return [choice];
  });
  if (!choices.length) return;
  startSelection(({ kind }) => kind === "parts");
  onSelection(showParts);
  showParts();
  const parts = currentSelection();
  const why = parts?.kind === "parts" && document.getElementById(`part-why-${parts.side}-${parts.gpu}`);
  if (!why) return;
  openAround(why.id);
  why.scrollIntoView();
}

/** Choose what a bar stands for, or everything where it is chosen already. */
function chooseBar(id: string, groups: readonly string[]): void {
  const choice = choices.find((each) => each.id === id);
  const known = groups.filter((group) => choice?.names.includes(group)); // idle time has no kernels
  if (choice && known.length) choose(choice, partsOf(choice).join("\n") === known.join("\n") ? [] : known);
}

function choose({ side, gpu, names }: Choice, groups: readonly string[]): void {
  select(groups.length ? { kind: "parts", side, gpu, ids: groups.map((group) => names.indexOf(group)) } : null, { from: "figure" });
}

/** What is chosen of a table; nothing where that is all of it. */
function partsOf({ side, gpu, names }: Choice): string[] {
  const parts = currentSelection();
  if (parts?.kind !== "parts" || parts.side !== side || parts.gpu !== gpu) return [];
  return parts.ids.filter((id) => id < names.length).map((id) => names[id]);
}

/** Show the kernels of what is chosen alone, and let the bars of the other parts recede; of the other tables show all. */
function showParts(): void {
  for (const choice of choices) {
    const [groups, explorer] = [partsOf(choice), explorers.get(choice.id)!];
    find<HTMLOptionElement>(`option[value="${SEVERAL}"]`, choice.list).hidden = groups.length < 2;
    choice.list.value = groups.length > 1 ? SEVERAL : groups[0] ?? "";
    if (groups.length || explorer.model.wanted.groups.length) {
      explorer.groupBy("kernel");
      explorer.ask({ ...EVERYTHING, groups });
    }
    for (const plot of findAll<PlotElement>("[data-figure]")) showInFigure(plot, choice, groups, explorer.model.count().found);
  }
}

function showInFigure(plot: PlotElement, { id, names: known }: Choice, groups: readonly string[], rows: number): void {
  const partsOfBars = ({ meta, customdata }: Trace) => (meta?.chooses === id ? Array.from((customdata ?? []) as ArrayLike<string[]>) : []);
  if (!plot.data?.some((trace) => partsOfBars(trace).some(({ length }) => length))) return;
  if (!groups.length && !find(".chosen", plot.parentElement!).textContent) return;
  const isMarked = (names: string[]) => {
    const mine = names.filter((name) => known.includes(name));
    return !names.length || (mine.length > 0 && mine.every((name) => groups.includes(name)));
  };
  const text = groups.length ? `The table shows ${rows} of its kernels: ${groups.join(", ")}` : "The table shows all kernels";
  void mark(plot, (trace) => {
    const bars = groups.length ? partsOfBars(trace) : [];
    return bars.length ? bars.flatMap((names, bar) => (isMarked(names) ? [bar] : [])) : null;
  }, element("a", { href: `#${id}` }, text));
}
