/** The kernels of chosen parts of a change: chosen above their table, or by a click on a bar; the address keeps them. */
import { element, find, findAll } from "../dom";
import { EVERYTHING } from "../explorer/model";
import { explorers } from "../explorer/tools";
import { openAround } from "../address";
import type { Figure, PlotElement, Trace } from "../plotly";
import { currentSelection, onSelection, select, startSelection } from "../selection";

const SEVERAL = "several";
const ID = /^tables-(\d+)-(\d+)$/;

/** A table whose kernels belong to parts of a change: its id, its list of parts, and their names. */
interface Choice {
  id: string;
  list: HTMLSelectElement;
  names: readonly string[];
}

let choices: readonly Choice[] = [];

/** Let the reader choose one part of the change of each table that has some, once the tables are drawn. */
export function startGroups(): void {
  choices = [...explorers].flatMap(([id, explorer]) => {
    const names = [...new Set(explorer.groups)].filter(Boolean);
    const list = find<HTMLSelectElement>("[data-choose=group]", document.getElementById(id)!);
    list.parentElement!.hidden = names.length < 2;
    list.append(...names.map((value) => element("option", { value }, value)));
    list.addEventListener("change", () => chooseGroups(id, names, list.value ? [list.value] : []));
    return names.length ? [{ id, list, names }] : [];
  });
  if (!choices.length) return;
  startSelection(({ kind }) => kind === "parts");
  onSelection(showChosen);
  showChosen();
  const parts = chosenParts();
  const why = parts && document.getElementById(`part-why-${parts.side}-${parts.gpu}`);
  if (!why) return;
  openAround(why.id);
  why.scrollIntoView();
}

/** Choose what is clicked in a figure: a bar, or its label, which is easier to hit than a thin bar. */
export function followBars(plot: PlotElement, figure: Figure): void {
  plot.on("plotly_click", ({ points: [{ data, customdata }] }) => {
    if (data.meta?.chooses) chooseBar(data.meta.chooses, customdata as string[]);
  });
  plot.on("plotly_clickannotation", ({ annotation: { name } }) => {
    const trace = figure.data.find(({ meta }) => meta?.chooses);
    const groups = trace?.customdata?.[Number(name)] as string[] | undefined;
    if (trace?.meta?.chooses && groups) chooseBar(trace.meta.chooses, groups);
  });
}

/** Choose what a bar stands for, or everything where it is chosen already. */
function chooseBar(id: string, groups: readonly string[]): void {
  const choice = choices.find((each) => each.id === id);
  const known = choice ? groups.filter((group) => choice.names.includes(group)) : []; // idle time has no kernels
  if (!choice || !known.length) return;
  const isAgain = groupsOf(choice).join("\n") === known.join("\n");
  chooseGroups(id, choice.names, isAgain ? [] : known);
}

/** Show the kernels of what is chosen alone, say so below its figure, and mark its bars; of the other tables show all. */
export function showChosen(): void {
  for (const choice of choices) {
    const [groups, explorer] = [groupsOf(choice), explorers.get(choice.id)!];
    find<HTMLOptionElement>(`option[value="${SEVERAL}"]`, choice.list).hidden = groups.length < 2;
    choice.list.value = groups.length > 1 ? SEVERAL : groups[0] ?? "";
    if (groups.length || explorer.model.wanted.groups.length) {
      explorer.groupBy("kernel");
      explorer.ask({ ...EVERYTHING, groups });
    }
    for (const plot of findAll<PlotElement>("[data-figure]")) showInFigure(plot, choice, groups, explorer.model.count().found);
  }
}

function chooseGroups(id: string, names: readonly string[], groups: readonly string[]): void {
  const [, side, gpu] = ID.exec(id)!.map(Number);
  const ids = groups.map((group) => names.indexOf(group));
  select(ids.length ? { kind: "parts", side, gpu, ids } : null, { from: "figure" });
}

function chosenParts() {
  const selection = currentSelection();
  return selection?.kind === "parts" ? selection : null;
}

/** What is chosen of a table; nothing where that is all of it. */
function groupsOf({ id, names }: Choice): string[] {
  const parts = chosenParts();
  if (!parts || id !== `tables-${parts.side}-${parts.gpu}`) return [];
  return parts.ids.filter((each) => each < names.length).map((each) => names[each]);
}

/** Say below a figure what its table shows, which may be far away, and let the bars of the other parts recede. */
function showInFigure(plot: PlotElement, { id, names: known }: Choice, groups: readonly string[], rows: number): void {
  const groupsOfBars = (data: Trace) => Array.from((data.customdata ?? []) as ArrayLike<string[]>);
  const chooses = (data: Trace) => data.meta?.chooses === id && groupsOfBars(data).some(({ length }) => length);
  const traces = (plot.data ?? []).flatMap((data, place) => (chooses(data) ? [place] : []));
  if (!traces.length) return;
  const said = find(".chosen", plot.parentElement!);
  if (!groups.length && !said.textContent) return;
  const isMarked = (names: string[]) => {
    const mine = names.filter((name) => known.includes(name));
    return !names.length || (mine.length > 0 && mine.every((name) => groups.includes(name)));
  };
  const markedOf = (trace: number) => groupsOfBars(plot.data![trace]).flatMap((names, bar) => (isMarked(names) ? [bar] : []));
  void Plotly.restyle(plot, { selectedpoints: traces.map((trace) => (groups.length ? markedOf(trace) : null)) }, traces);
  const text = groups.length ? `The table shows ${rows} of its kernels: ${groups.join(", ")}` : "The table shows all kernels";
  said.replaceChildren(element("a", { href: `#${id}` }, text));
}
