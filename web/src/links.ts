/** Links within the page. */

/** Open the closed parts that a link leads to, or into, now and later. */
export function openLinkedParts(): void {
  document.addEventListener("click", ({ target }) => {
    const link = target instanceof Element ? target.closest<HTMLAnchorElement>("a[href^='#']") : null;
    if (link) openAround(link.hash.slice(1));
  });
  openAround(location.hash.slice(1));
}

/** Open the closed parts around an element, and itself. */
export function openAround(id: string): void {
  const target = document.getElementById(id);
  for (let part = target?.closest("details"); part; part = part.parentElement?.closest("details")) part.open = true;
}
