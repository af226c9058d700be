/** Rows of a table by what they are one of, such as a part of a waterfall: chosen above it, or by a click in a figure. */
import { find, findAll } from "./dom";
import { rowsOf } from "./table";

const EVERYTHING = "";
const SEVERAL = "several";

/** Let the reader choose one group of each table that has some. */
export function startGroups(): void {
  for (const choice of findAll<HTMLSelectElement>("select[data-groups]")) {
    choice.addEventListener("change", () => showGroups(choice, choice.value === EVERYTHING ? [] : [choice.value]));
  }
}

/** Show these groups of a table alone, or all of it where it shows them alone already.
 *
 * @returns How many rows are shown, and whether that is all.
 */
export function chooseGroups(table: string, groups: readonly string[]): { rows: number; all: boolean } {
  const choice = find(`select[data-groups="${table}"]`, HTMLSelectElement);
  const again = choice.dataset.chosen === JSON.stringify(groups);
  const rows = showGroups(choice, again ? [] : groups);
  return { rows, all: again };
}

function showGroups(choice: HTMLSelectElement, groups: readonly string[]): number {
  const table = document.getElementById(choice.dataset.groups!) as HTMLTableElement;
  const several = find(`option[value="${SEVERAL}"]`, HTMLOptionElement, choice);
  several.hidden = groups.length < 2;
  choice.value = groups.length > 1 ? SEVERAL : groups[0] ?? EVERYTHING;
  choice.dataset.chosen = JSON.stringify(groups);
  let shown = 0;
  for (const row of rowsOf(table)) {
    const isShown = !groups.length || groups.includes(row.dataset.group ?? "");
    row.classList.toggle("other-group", !isShown);
    shown += isShown ? 1 : 0;
  }
  return shown;
}
