/** The state of a page in the fragment of its address, and links within it: a fragment without "=" leads to a part. */

/** The fragment that holds the page's state, empty for none; null where the address leads to a part of the page. */
export function readAddress(): string | null {
  const fragment = location.hash;
  return fragment && !fragment.includes("=") ? null : fragment.replace(/^#/, "");
}

/** Put a state into the address, as a step that Back undoes, or in place of the one that is there. */
export function writeAddress(fragment: string, how: "pushState" | "replaceState"): void {
  if (fragment === (readAddress() ?? "")) return;
  try {
    history[how](history.state, "", fragment ? `#${fragment}` : location.pathname + location.search);
  } catch { /* a page within another one may have no history of its own */ }
}

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
