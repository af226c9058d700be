/** The script of the page of a job, but the colours before the first paint. */
import { startColumns } from "./columns";
import { findAll } from "./dom";
import { startHeatmap } from "./heatmap";
import { markDrawn, startPage } from "./page";
import { startTables } from "./tables";

startPage(() => {
  startTables();
  findAll<HTMLTableElement>("table.paths").forEach(startColumns);
  void markDrawn([startHeatmap()]);
});
