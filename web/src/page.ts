/** All of a page's script but the colours before the first paint; it starts what the page has. */
import { chooseTheme, isDark, systemDark } from "./colors";
import { find, findAll, whenParsed } from "./dom";
import { fitFigures, startFigures } from "./figures";
import { startSelection } from "./selection";
import { startTables } from "./tables";
import { startTimeline, type Timeline } from "./timeline/timeline";

declare global {
  interface Window {
    /** For whoever looks at a page from outside: the browser's console, tests. */
    tcprof?: Timeline;
  }
}

function startThemeButton(restyle: () => void): void {
  const button = find("button.theme", HTMLButtonElement);
  const label = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Show the page in ${isDark() ? "light" : "dark"} colours`);
  };
  label();
  systemDark.addEventListener("change", label);
  button.addEventListener("click", () => {
    chooseTheme(isDark() ? "light" : "dark");
    label();
    restyle();
  });
}

/** On paper everything is open. */
function openOnPaper(): void {
  let closed: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    const found = findAll<HTMLDetailsElement>("details:not([open])");
    found.forEach((part) => { part.open = true; });
    closed.push(...found);
  });
  addEventListener("afterprint", () => {
    closed.forEach((part) => { part.open = false; });
    closed = [];
  });
}

const isComparison = document.currentScript?.dataset.page === "comparison";
const timeline = startTimeline(); // unpacks its data while the browser reads plotly's script
if (timeline) window.tcprof = timeline;
whenParsed(() => {
  startTables(timeline);
  const { drawn, restyle } = startFigures(timeline?.drawn ?? Promise.resolve());
  void timeline?.drawn.then(() => startSelection((selection) => Boolean(timeline.place(selection))));
  void Promise.all([...drawn, timeline?.drawn]).then(() => document.documentElement.setAttribute("data-drawn", "true"));
  startThemeButton(restyle);
  openOnPaper();
  if (isComparison) fitFigures();
});
