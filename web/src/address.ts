/** The state of a page in the fragment of its address. A fragment without "=" leads to a part of the page instead. */

/** The fragment that holds the page's state, empty for none; null where the address leads to a part of the page. */
export function readAddress(): string | null {
  const fragment = location.hash;
  return fragment && !fragment.includes("=") ? null : fragment.replace(/^#/, "");
}

/** Put a state into the address, as a step that Back undoes, or in place of the one that is there. */
export function writeAddress(fragment: string, how: "pushState" | "replaceState"): void {
  if (how === "replaceState" && fragment === (readAddress() ?? "")) return;
  try {
    history[how](history.state, "", fragment ? `#${fragment}` : location.pathname + location.search);
  } catch { /* a page within another one may have no history of its own */ }
}
