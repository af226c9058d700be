/** Clicks in figures select what is clicked; a lasso or a box around circles their kernels: alone in the table, marked in
 * the timeline and in all figures. */
import { element, find, findAll } from "./dom";
import { formatCount } from "./format";
import { hasItems, type Figure, type PlotElement } from "./plotly";
import { onSelection, select } from "./selection";
import { parseSelection } from "./selection_fragment";
import type { Subjects } from "./timeline/subjects";

/** Follow clicks and the lasso in a figure; a double click in the figure shows all kernels again. */
export function startLasso(plot: PlotElement, figure: Figure): void {
  plot.on("plotly_click", ({ points: [{ data, customdata }] }) => {
    if (data.meta?.selects) select(parseSelection(customdata as string), { from: "figure" });
  });
  if (!hasItems(figure)) return;
  const said = element("p", { className: "note chosen", role: "status" });
  plot.after(said);
  plot.on("plotly_selected", (event) => {
    const ids = event?.points.map(({ data, pointNumber }) => data.meta?.items?.[pointNumber] ?? -1).filter((id) => id >= 0);
    select(ids?.length ? { kind: "kernels", gpu: shownGpu(), ids } : null, { from: "figure" });
  });
  plot.on("plotly_deselect", () => select(null, { from: "figure" }));
  if (chosen) mark(plot);
}

let shownGpu = () => 0;
let chosen: { ids: ReadonlySet<number>; launches: number } | null = null;

/** Show the kernels that are selected together alone, until none is, or Back leads to what was before. */
export function followLasso(subjects: Subjects, currentGpu: () => number): void {
  shownGpu = currentGpu;
  onSelection(({ selection, from }) => {
    const subject = selection?.kind === "kernels" ? subjects.find(selection) : null;
    if (!subject && (!chosen || (selection && from !== "address"))) return;
    const { merged } = (subject?.gpu ?? subjects.gpus[0]).lanes.work;
    const launches = Array.from(subject?.work() ?? []).reduce((sum, bar) => sum + merged[bar], 0);
    chosen = subject && { ids: new Set(subject.parts!.map(({ id }) => id)), launches };
    findAll<PlotElement & Partial<Figure>>("[data-figure]").filter(hasItems).forEach(mark);
  });
}

/** Mark in a figure that is drawn what is chosen. */
function mark(plot: PlotElement): void {
  const ids = chosen?.ids;
  tell(plot, ids ? `The table shows ${formatCount(ids.size)} of these kernels` : null, chosen?.launches ?? 0);
  const selectedpoints = plot.data!.map(({ meta }) =>
    (ids && meta?.items ? Array.from(meta.items.keys()).filter((place) => ids.has(meta.items![place])) : null));
  void Plotly.restyle(plot, { selectedpoints }).then(() => (ids ? null : Plotly.relayout(plot, { selections: [] })));
}

/** Say below a figure, which may be far from both, what the table and the timeline show. */
function tell(plot: PlotElement, text: string | null, launches: number): void {
  const said = find(".chosen", plot.parentElement!);
  if (!text) { said.replaceChildren(); return; }
  const all = element("button", { type: "button" }, "All kernels");
  all.addEventListener("click", () => select(null, { from: "figure" }));
  said.replaceChildren(
    element("a", { href: "#part-table" }, text), "; ",
    element("a", { href: "#explore" }, `${formatCount(launches)} launch${launches === 1 ? " is" : "es are"} marked in the timeline`), " ", all);
}
