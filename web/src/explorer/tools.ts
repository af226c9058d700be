/** The tools above the table: what it is grouped by, what is asked for, its columns, and saving it. */
import { saveCsv } from "../csv";
import { element, find, findAll, press } from "../dom";
import { formatCount } from "../format";
import { onSelection } from "../selection";
import type { Timeline } from "../timeline/timeline";
import { Explorer } from "./explorer";
import { EVERYTHING, type Grouping, readGroupings } from "./model";

/** The tables of a page by the ids of their boxes, once they are drawn. */
export const explorers = new Map<string, Explorer>();

/** Start the tables of a page; resolves when they are drawn. */
export async function startExplorers(drawing: Promise<Timeline | null>): Promise<void> {
  await Promise.all(findAll(".explorer").map((box) => startExplorer(box, drawing)));
}

async function startExplorer(box: HTMLElement, drawing: Promise<Timeline | null>): Promise<void> {
  const groupings = await readGroupings(document.getElementById(box.dataset.explorer!)!);
  const timeline = await drawing; // its names are what the rows select
  const tell = () => { if (explorer) update(box, explorer); };
  let explorer: Explorer | null = null;
  box.hidden = false; // so that it has a height
  explorer = new Explorer(box, groupings, timeline, tell);
  explorers.set(box.id, explorer);
  startTools(box, explorer, groupings);
  update(box, explorer);
}

function startTools(box: HTMLElement, explorer: Explorer, groupings: readonly Grouping[]): void {
  for (const button of findAll<HTMLButtonElement>("[data-group-by]", box)) {
    button.addEventListener("click", () => explorer.groupBy(button.dataset.groupBy as Grouping["by"]));
  }
  find(".choice", box).hidden = new Set(groupings.map(({ by }) => by)).size < 2;
  const search = find<HTMLInputElement>("input[type=search]", box);
  search.addEventListener("input", () => explorer.ask({ words: search.value.trim() }));
  for (const button of findAll<HTMLButtonElement>("[data-phase]", box)) {
    const phase = button.dataset.phase!;
    button.hidden = !groupings.some(({ sites }) => sites.phase.includes(phase));
    button.addEventListener("click", () => {
      const phases = new Set(explorer.model.wanted.phases);
      if (!phases.delete(phase)) phases.add(phase);
      explorer.ask({ phases });
    });
  }
  find("[data-no-tensor]", box).addEventListener("click", () => explorer.ask({ noTensor: !explorer.model.wanted.noTensor }));
  for (const [key, name] of [["timeClass", "class"], ["precision", "precision"]] as const) {
    const choice = find<HTMLSelectElement>(`[data-choose=${name}]`, box);
    const values = [...new Set(groupings.flatMap(({ sites }) => sites[key]))].filter(Boolean).sort();
    choice.append(...values.map((value) => element("option", { value }, key === "precision" ? value.toUpperCase() : value)));
    if (values.length < 2) choice.parentElement!.dataset.filter = "alone";
    choice.addEventListener("change", () => explorer.ask({ [key]: choice.value }));
  }
  find("[data-flat]", box).hidden = !groupings.some(({ rows }) => rows.parent.some((around) => around >= 0));
  find("[data-flat]", box).addEventListener("click", () => explorer.flatten(!explorer.model.isFlat));
  find("[data-save]", box).addEventListener("click", () => saveCsv(explorer.model.grouping.name, explorer.lines()));
  find("[data-all]", box).addEventListener("click", () => explorer.ask(EVERYTHING));
  closeFromOutside(find(".columns", box));
  onSelection(({ selection, from }) => {
    if (selection?.kind === "gap" && explorer.ways.includes("gap") && from !== "timeline") explorer.groupBy("gap");
    if (selection?.kind === "kernels") {
      explorer.groupBy("kernel");
      explorer.ask({ kernels: new Set(selection.ids) });
    } else if (!selection && explorer.model.wanted.kernels) explorer.ask({ kernels: null });
  });
}

/** Let the tools show what the table shows. */
function update(box: HTMLElement, explorer: Explorer): void {
  const { model: { grouping, wanted, isFiltered, isFlat }, model, ways } = explorer;
  for (const button of findAll("[data-group-by]", box)) {
    const by = button.dataset.groupBy as Grouping["by"];
    button.hidden = !ways.includes(by);
    press(button, by === grouping.by);
  }
  findAll("[data-filter]", box).forEach((filter) => { filter.hidden = !grouping.sites.line.length || filter.dataset.filter === "alone"; });
  findAll("[data-phase]", box).forEach((button) => press(button, wanted.phases.has(button.dataset.phase!)));
  press(find("[data-no-tensor]", box), wanted.noTensor);
  press(find("[data-flat]", box), isFlat);
  find<HTMLSelectElement>("[data-choose=class]", box).value = wanted.timeClass;
  find<HTMLSelectElement>("[data-choose=precision]", box).value = wanted.precision;
  const search = find<HTMLInputElement>("input[type=search]", box);
  if (search.value.trim() !== wanted.words) search.value = wanted.words;
  find("[data-all]", box).hidden = !isFiltered && !wanted.words && !wanted.groups.length;
  const { found, all } = model.count();
  find("output", box).textContent = isFiltered ? `${formatCount(found)} of ${formatCount(all)} kernel uses`
    : wanted.words || wanted.groups.length ? `${formatCount(found)} of ${formatCount(all)} rows` : grouping.more;
  find(".explorer-notes", box).replaceChildren(...grouping.notes.map((note) => element("p", { className: "note" }, note)));
  find(".columns summary", box).textContent =
    `Columns (${explorer.columnCount} of ${grouping.columns.length})`;
  const list = find(".columns div", box);
  if (list.dataset.of === grouping.name) return;
  list.dataset.of = grouping.name;
  list.replaceChildren(...grouping.columns.map(({ title, meaning }) => {
    const box = element("input", { type: "checkbox", checked: explorer.isShown(title) });
    box.addEventListener("change", () => explorer.showColumn(title));
    return element("label", { title: meaning }, box, ` ${title}`);
  }));
  find(".meanings", box).replaceChildren(...grouping.columns.filter(({ meaning }) => meaning).map(({ title, meaning }) =>
    element("div", {}, element("dt", {}, title), element("dd", {}, meaning))));
}

/** Close a list of columns by Escape, and by a click beside it. */
function closeFromOutside(chooser: HTMLDetailsElement): void {
  chooser.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !chooser.open) return;
    chooser.open = false;
    find("summary", chooser).focus();
    event.stopPropagation();
  });
  document.addEventListener("click", ({ target }) => {
    if (target instanceof Node && !chooser.contains(target)) chooser.open = false;
  });
}
