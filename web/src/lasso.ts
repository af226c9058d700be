/** A lasso or a box around circles shows their kernels alone in the tables of kernels. */
import { find, findAll } from "./dom";
import type { Figure, PlotElement } from "./plotly";
import { rowsOf } from "./table";

/** Whether a figure has circles that stand for rows of a table. */
export function hasItems({ data }: Figure): boolean {
  return data.some(({ meta }) => meta?.items);
}

/** Follow the lasso of a figure; a double click in the figure, or the button below it, shows all kernels again. */
export function startLasso(plot: PlotElement): void {
  const said = Object.assign(document.createElement("p"), { className: "note chosen" });
  said.setAttribute("role", "status");
  plot.after(said);
  plot.on("plotly_selected", (event) => {
    const items = event?.points.map(({ data, pointNumber }) => data.meta?.items?.[pointNumber] ?? -1);
    show(plot, items?.length ? new Set(items) : null);
  });
  plot.on("plotly_deselect", () => show(plot, null));
}

/** Show these kernels alone, or all; and say so below the figure, which may be far from the table. */
function show(plot: PlotElement, items: ReadonlySet<number> | null): void {
  let shown = 0;
  for (const table of findAll<HTMLTableElement>('table[data-items="kernels"]')) {
    for (const row of rowsOf(table)) {
      const isShown = !items || items.has(Number(row.dataset.item));
      row.classList.toggle("other-group", !isShown);
      shown += isShown ? 1 : 0;
    }
  }
  const said = find(".chosen", HTMLElement, plot.parentElement!);
  if (!items) { said.replaceChildren(); return; }
  const link = Object.assign(document.createElement("a"), { href: "#part-kernels" });
  link.textContent = `The table shows ${shown} kernel${shown === 1 ? "" : "s"} of these`;
  const all = Object.assign(document.createElement("button"), { type: "button", textContent: "All kernels" });
  all.addEventListener("click", () => {
    show(plot, null);
    void Plotly.restyle(plot, { selectedpoints: [null] }).then(() => Plotly.relayout(plot, { selections: [] }));
  });
  said.replaceChildren(link, " ", all);
}
