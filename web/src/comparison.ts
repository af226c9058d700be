/** The script of the page of a comparison, but the colours before the first paint. */
import { startBaselines } from "./comparison/baselines";
import { followBars, showChosen, startGroups } from "./comparison/groups";
import { startComparedIcicles } from "./comparison/icicles";
import { followTheme } from "./comparison/themes";
import { startColumns } from "./columns";
import { startFilters } from "./comparison/filters";
import { findAll } from "./dom";
import { fitFigures, startFigures } from "./figures";
import { makeFoldable } from "./folding";
import { markDrawn, startPage } from "./page";
import { startTables } from "./tables";

startPage(() => {
  fitFigures();
  void startBaselines(startContent);
});

/** Start what is said with one of the baselines. */
function startContent(): void {
  startTables();
  findAll<HTMLTableElement>("table.paths").forEach((table) => {
    if (isTree(table)) makeFoldable(table);
    startColumns(table);
  });
  startFilters();
  startGroups();
  startComparedIcicles();
  void markDrawn(startFigures(Promise.resolve(), (plot, figure) => {
    followBars(plot, figure);
    followTheme(plot, figure);
    if (figure.data.some(({ meta }) => meta?.chooses)) showChosen();
  }));
}

/** Kernels stand beside each other; ranges and modules lie in each other. */
const isTree = (table: HTMLTableElement) => /^table-(ranges|modules)-/.test(table.id);
