/** What is the same on all pages: their colours, the parts that open, paper, and keys with the list of them. */
import { chooseTheme, followPaper, isDark, systemDark } from "./colors";
import { find, findAll, onPageKey, onPrint, whenParsed } from "./dom";
import { currentSelection, openLinkedParts, select } from "./selection";

/** Start these once the page is parsed, and then what is its own. */
export function startPage(start: () => void): void {
  followPaper();
  whenParsed(() => {
    startThemeButton();
    openOnPaper();
    openLinkedParts();
    start();
  });
}

/** Say that all is drawn, or that it will be: for tests, and for whoever prints pages. */
export async function markDrawn(drawn: readonly Promise<unknown>[]): Promise<void> {
  document.documentElement.removeAttribute("data-drawn");
  await Promise.all(drawn);
  document.documentElement.setAttribute("data-drawn", "true");
}

function startThemeButton(): void {
  const button = find<HTMLButtonElement>("button.theme");
  const label = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Show the page in ${isDark() ? "light" : "dark"} colours`);
  };
  label();
  systemDark.addEventListener("change", label);
  button.addEventListener("click", () => {
    chooseTheme(isDark() ? "light" : "dark");
    label();
  });
}

/** Below the verdict the bar of links has it in one line. */
export function foldVerdict(): void {
  const [bar, verdict] = [document.querySelector(".sections"), document.querySelector("#figures .verdict")];
  if (!bar || !verdict) return;
  new IntersectionObserver(([{ isIntersecting, boundingClientRect: { bottom } }]) => {
    bar.classList.toggle("folded", !isIntersecting && bottom < innerHeight);
  }).observe(verdict);
}

/** On paper everything is open. */
function openOnPaper(): void {
  let closed: HTMLDetailsElement[] = [];
  onPrint((isPrinted) => {
    if (isPrinted) closed.push(...findAll<HTMLDetailsElement>("details:not([open])"));
    closed.forEach((part) => { part.open = isPrinted; });
    if (!isPrinted) closed = [];
  });
}

export function startKeys(): void {
  const dialog = find<HTMLDialogElement>("dialog.keys");
  find("[data-keys]").addEventListener("click", () => dialog.showModal());
  onPageKey((event) => {
    const selection = currentSelection();
    const search = document.querySelector<HTMLElement>("#find, .explorer input[type=search]");
    if (event.key === "/" && search) search.focus();
    else if (event.key === "?") dialog.showModal();
    else if (event.key === "f" && selection) select(selection, { from: "element" }); // which zooms, and goes there
    else return;
    event.preventDefault();
  });
}
