/** The script of the page of a trend. */
import { startColumns } from "./columns";
import { findAll } from "./dom";
import { fitFigures, startFigures } from "./figures";
import { markDrawn, startPage } from "./page";
import { startTables } from "./tables";

startPage(() => {
  fitFigures();
  startTables();
  findAll<HTMLTableElement>("table.paths").forEach(startColumns);
  void markDrawn(startFigures(Promise.resolve(), () => {}));
});
