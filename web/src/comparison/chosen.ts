/** Which parts of a change are chosen on a comparison's page. They stand in the address, for links and Back. */
import { readAddress, writeAddress } from "../address";
import { fromFragment, toFragment, type Parts } from "./chosen_fragment";

let chosen: Parts | null = null;
let tell = () => {};

export function currentlyChosen(): Parts | null {
  return chosen;
}

/** Choose parts, or none, as a step that Back undoes. */
export function choose(parts: Parts | null): void {
  chosen = parts;
  writeAddress(toFragment(parts), "pushState");
  tell();
}

/** Take what the address asks for, now and after Back, and call for each choice. */
export function startChosen(call: () => void): void {
  tell = call;
  chosen = fromFragment(readAddress() ?? "");
  addEventListener("popstate", () => {
    const fragment = readAddress();
    if (fragment === null) return; // a link to a part of the page changes nothing of what is chosen
    chosen = fromFragment(fragment);
    tell();
  });
}
