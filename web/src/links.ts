/** Links within the page. */

import { readAddress } from "./address";

/** Open the closed parts that a link leads to, or into, now and later. An address that holds a selection keeps it. */
export function openLinkedParts(): void {
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a[href^='#']") : null;
    if (!link) return;
    openAround(link.hash.slice(1));
    if (!readAddress()) return;
    event.preventDefault();
    document.getElementById(link.hash.slice(1))?.scrollIntoView();
  });
  openAround(location.hash.slice(1));
}

/** Open the closed parts around an element, and itself. */
export function openAround(id: string): void {
  const target = document.getElementById(id);
  for (let part = target?.closest("details"); part; part = part.parentElement?.closest("details")) part.open = true;
}
