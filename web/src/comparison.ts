/** The script of the page of a comparison, but the colours before the first paint. */
import { followBars, showChosen, startGroups } from "./comparison/groups";
import { startComparedIcicles } from "./comparison/icicles";
import { startColumns } from "./columns";
import { startFilters } from "./comparison/filters";
import { findAll } from "./dom";
import { fitFigures, startFigures } from "./figures";
import { makeFoldable } from "./folding";
import { markDrawn, startPage } from "./page";
import { startTables } from "./tables";

startPage(() => {
  fitFigures();
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
    if (figure.data.some(({ meta }) => meta?.chooses)) showChosen();
  }));
});

/** Kernels stand beside each other; ranges and modules lie in each other. */
const isTree = (table: HTMLTableElement) => /^table-(ranges|modules)-/.test(table.id);
