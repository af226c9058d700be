/** Links within the page. */

/** Open the closed parts that a link leads to, or into, now and later. */
export function openLinkedParts(): void {
  document.addEventListener("click", ({ target }) => {
    const link = target instanceof Element ? target.closest<HTMLAnchorElement>("a[href^='#']") : null;
    if (link) openAround(link.hash);
  });
  openAround(location.hash);
}

function openAround(fragment: string): void {
  const target = document.getElementById(fragment.slice(1));
  for (let part = target?.closest("details"); part; part = part.parentElement?.closest("details")) part.open = true;
}
