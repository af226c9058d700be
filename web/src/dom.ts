/** Elements of the page, with their types. */

/** The first element that a selector finds; its absence is a defect of the template. */
export function find<T extends Element>(selector: string, type: new () => T, within: ParentNode = document): T {
  const found = within.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`the page has no ${selector}`);
  return found;
}

/** All elements that a selector finds, in the page's order. */
export function findAll<T extends HTMLElement>(selector: string, within: ParentNode = document): T[] {
  return Array.from(within.querySelectorAll<T>(selector));
}

/** Save a file as if the reader had followed a link to it. */
export function download(href: string, name: string): void {
  Object.assign(document.createElement("a"), { href, download: name }).click();
}

/** Call when the whole page has been read, and the scripts in it have run. */
export function whenParsed(call: () => void): void {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", call, { once: true });
  else call();
}

/** Make a change that may alter heights above an element, and leave the element where it is on the screen. */
export function keepInPlace(element: Element | null, change: () => void): void {
  const top = element?.getBoundingClientRect().top;
  change();
  if (!element || top === undefined) return;
  const box = element.closest(".table-box");
  (box?.scrollTop ? box : document.documentElement).scrollBy(0, element.getBoundingClientRect().top - top);
}
