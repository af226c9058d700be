/** What pages need to know of the screen. Light or dark: as the system has it until the page's maker or its reader chooses. */
import { onPrint } from "./dom";

const KEPT = "tcprof-theme";
const root = document.documentElement;

export type Theme = "dark" | "light";

/** A colour, and the one in which text is read on it. */
export interface Painted {
  color: string;
  text: string;
}

/** The system's choice; its "change" event says when it changes. */
export const systemDark = matchMedia("(prefers-color-scheme: dark)");

/** What dark colours are for, while the page is drawn for paper. */
let keptForScreen: string | null = null;

/** Paper is light: figures are drawn for it before the page's style is that of print. To be called before all else. */
export function followPaper(): void {
  onPrint((isPrinted) => {
    if (isPrinted) keptForScreen ??= darkStyle().media;
    darkStyle().media = isPrinted ? "not all" : keptForScreen ?? darkStyle().media;
    if (!isPrinted) keptForScreen = null;
  });
}

const darkStyle = () => document.getElementById("dark-colors") as HTMLStyleElement;

/** Whether the page is shown in dark colours; on paper it never is. */
export function isDark(): boolean {
  if (keptForScreen !== null) return false;
  return root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches;
}

/** Show the page in these colours, and other pages too from now on. */
export function chooseTheme(theme: Theme): void {
  applyTheme(theme);
  // A page from a file may have no storage: then a choice lasts as long as the page.
  try { localStorage.setItem(KEPT, theme); } catch { /* there is none */ }
}

/** Apply what the reader chose before, unless the page's maker chose. */
export function applyKeptTheme(): void {
  try {
    const kept = localStorage.getItem(KEPT);
    if (!root.dataset.theme && (kept === "dark" || kept === "light")) applyTheme(kept);
  } catch { /* there is none */ }
}

function applyTheme(theme: Theme): void {
  darkStyle().media = theme === "dark" ? "screen" : "not all";
  root.dataset.theme = theme; // the timeline looks at it
}

/** Call when the page's colours have changed: by its reader, by the system, or for paper and back. */
export function onColors(call: () => void): void {
  new MutationObserver(call).observe(root, { attributeFilter: ["data-theme"] });
  systemDark.addEventListener("change", call);
  onPrint(call);
}

/** A colour of the page's style sheet, such as "--ink". */
export function readColor(name: string): string {
  return getComputedStyle(root).getPropertyValue(name).trim();
}

export const narrowScreen = matchMedia("(max-width: 40rem)");

/** A finger that drags over a figure wants to scroll the page. */
export const coarsePointer = matchMedia("(pointer: coarse)");
