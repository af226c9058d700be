/** The baseline of a comparison, chosen among its sides: the page holds what is said with each of them. */
import { find, findAll } from "../dom";
import { unpack } from "../timeline/unpack";
import { choose, currentlyChosen, onChosen, startChosen } from "./chosen";
import { revealChosen, showChosen } from "./groups";

/** All of the page that depends on the baseline, as HTML; see tcprof/render/html/comparison.py. */
interface Content {
  title: string;
  head: string;
  body: string;
}

const FIRST = 1;

/** Show the page with the baseline that the address asks for, and follow the reader's choices.
 *
 * @param start - Starts the tables and the figures of what is shown.
 */
export async function startBaselines(start: () => void): Promise<void> {
  const contents = new Map([[FIRST, currentContent()]]);
  let shown = FIRST;
  const follow = async () => {
    const baseline = wanted();
    if (baseline === shown) return false;
    const content = contents.get(baseline) ?? (await unpack<Content>(packedOf(baseline)!.textContent)).header;
    contents.set(baseline, content);
    if (baseline !== wanted()) return false; // another one was chosen meanwhile
    shown = baseline;
    replaceContent(content);
    return true;
  };
  startChosen();
  await follow();
  const begin = () => { start(); offerBaselines(); };
  begin();
  revealChosen();
  onChosen(() => {
    const before = shown;
    void follow().then((isNew) => {
      if (!isNew) { showChosen(); return; }
      begin();
      document.querySelector<HTMLElement>(`[data-baseline="${before}"]`)?.focus({ preventScroll: true });
    });
  });
}

/** The baseline that is chosen, if the page has it. */
function wanted(): number {
  const { baseline } = currentlyChosen();
  return packedOf(baseline) ? baseline : FIRST;
}

const packedOf = (baseline: number) => document.getElementById(`baseline-${baseline}`);

/** Without this script the buttons could do nothing, so it is what shows them. */
function offerBaselines(): void {
  if (!("DecompressionStream" in window)) return; // nor could an old browser
  for (const button of findAll<HTMLButtonElement>("[data-baseline]")) {
    button.hidden = false;
    button.addEventListener("click", () => choose({ baseline: Number(button.dataset.baseline) }));
  }
}

function currentContent(): Content {
  return { title: find("h1").textContent, head: sideNames().outerHTML, body: find("main").innerHTML };
}

const sideNames = () => find(".side-names");

function replaceContent({ title, head, body }: Content): void {
  for (const plot of findAll("[data-figure]")) Plotly.purge(plot);
  find("h1 bdi").textContent = title;
  document.title = `${title} – tcprof`;
  sideNames().outerHTML = head;
  find("main").innerHTML = body;
}
