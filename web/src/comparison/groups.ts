/** The kernels of chosen parts of a change: chosen above their table, or by a click on a bar; the address keeps them. */
import { element, find, findAll } from "../dom";
import type { Figure, PlotElement, Trace } from "../plotly";
import { rowsOf } from "../table";
import { choose, currentlyChosen, startChosen } from "./chosen";
import type { Parts } from "./chosen_fragment";

const EVERYTHING = "";
const SEVERAL = "several";
const ID = /^table-kernels-(\d+)-(\d+)$/;

/** Let the reader choose one part of the change of each table that has some. */
export function startGroups(): void {
  for (const choice of choices()) {
    choice.addEventListener("change", () => chooseGroups(choice, choice.value === EVERYTHING ? [] : [choice.value]));
  }
  startChosen(showChosen);
  showChosen();
  revealChosen();
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
function chooseBar(table: string, groups: readonly string[]): void {
  const choice = document.querySelector<HTMLSelectElement>(`select[data-groups="${table}"]`);
  const known = choice ? groups.filter((group) => options(choice).includes(group)) : []; // idle time has no kernels
  if (!choice || !known.length) return;
  const isAgain = groupsOf(choice).join("\n") === known.join("\n");
  chooseGroups(choice, isAgain ? [] : known);
}

/** Show the kernels of what is chosen alone, say so below its figure, and mark its bars; of the other tables show all. */
export function showChosen(): void {
  for (const choice of choices()) {
    const groups = groupsOf(choice);
    const rows = showGroups(choice, groups);
    for (const plot of findAll<PlotElement>("[data-figure]")) showInFigure(plot, choice, groups, rows);
  }
}

/** Bring what the address asks for into view, which may lie in a closed part of the page. */
function revealChosen(): void {
  const parts = currentlyChosen();
  const told = parts && document.getElementById(`why-${parts.side}-${parts.gpu}`);
  if (!told) return;
  const part = told.closest<HTMLDetailsElement>("details.part");
  if (part) part.open = true;
  told.scrollIntoView();
}

const choices = () => findAll<HTMLSelectElement>("select[data-groups]");

/** The parts that may be chosen, without all of them and several. */
const options = (choice: HTMLSelectElement) => Array.from(choice.options, ({ value }) => value).slice(2);

function chooseGroups(choice: HTMLSelectElement, groups: readonly string[]): void {
  const [, side, gpu] = ID.exec(choice.dataset.groups!)!.map(Number);
  const ids = groups.map((group) => options(choice).indexOf(group));
  choose(ids.length ? { side, gpu, ids } : null);
}

/** What is chosen of a table; nothing where that is all of it. */
function groupsOf(choice: HTMLSelectElement): string[] {
  const parts = currentlyChosen();
  if (!parts || choice.dataset.groups !== tableOf(parts)) return [];
  const names = options(choice);
  return parts.ids.filter((id) => id < names.length).map((id) => names[id]);
}

const tableOf = ({ side, gpu }: Parts) => `table-kernels-${side}-${gpu}`;

/** Show the rows of these groups alone, all of them for none, and tell how many these are. */
function showGroups(choice: HTMLSelectElement, groups: readonly string[]): number {
  const table = document.getElementById(choice.dataset.groups!) as HTMLTableElement;
  find<HTMLOptionElement>(`option[value="${SEVERAL}"]`, choice).hidden = groups.length < 2;
  choice.value = groups.length > 1 ? SEVERAL : groups[0] ?? EVERYTHING;
  let shown = 0;
  for (const row of rowsOf(table)) {
    const isShown = !groups.length || groups.includes(row.dataset.group ?? "");
    row.classList.toggle("other-group", !isShown);
    shown += isShown ? 1 : 0;
  }
  return shown;
}

/** Say below a figure what its table shows, which may be far away, and let the bars of the other parts recede. */
function showInFigure(plot: PlotElement, choice: HTMLSelectElement, groups: readonly string[], rows: number): void {
  const table = choice.dataset.groups!;
  const groupsOfBars = (data: Trace) => Array.from((data.customdata ?? []) as ArrayLike<string[]>);
  const chooses = (data: Trace) => data.meta?.chooses === table && groupsOfBars(data).some(({ length }) => length);
  const traces = (plot.data ?? []).flatMap((data, place) => (chooses(data) ? [place] : []));
  if (!traces.length) return;
  const said = find(".chosen", plot.parentElement!);
  if (!groups.length && !said.textContent) return;
  const isMarked = (names: string[]) => {
    const known = names.filter((name) => options(choice).includes(name));
    return !names.length || (known.length > 0 && known.every((name) => groups.includes(name)));
  };
  const markedOf = (trace: number) => groupsOfBars(plot.data![trace]).flatMap((names, bar) => (isMarked(names) ? [bar] : []));
  void Plotly.restyle(plot, { selectedpoints: traces.map((trace) => (groups.length ? markedOf(trace) : null)) }, traces);
  const text = groups.length ? `The table shows ${rows} of its kernels: ${groups.join(", ")}` : "The table shows all kernels";
  said.replaceChildren(element("a", { href: `#caption-${table}` }, text));
}
