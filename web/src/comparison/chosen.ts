/** The one state of a comparison's page: the baseline, and parts of a change. It stands in the address, for links and Back. */
import { readAddress, writeAddress } from "../address";
import { fromFragment, NOTHING, toFragment, type Chosen } from "./chosen_fragment";

const listeners: ((chosen: Chosen) => void)[] = [];
let chosen = NOTHING;

/** Be told of each choice, and of what the address asks for after Back and Forward. */
export function onChosen(listener: (chosen: Chosen) => void): void {
  listeners.push(listener);
}

export function currentlyChosen(): Chosen {
  return chosen;
}

/** Choose something, as a step that Back undoes. What is chosen of one baseline means nothing with another one. */
export function choose(next: Partial<Chosen>): void {
  const { baseline, parts } = { ...chosen, ...next };
  chosen = { baseline, parts: baseline === chosen.baseline ? parts : null };
  writeAddress(toFragment(chosen), "pushState");
  tell();
}

/** Take what the address asks for, now and after Back. */
export function startChosen(): void {
  chosen = fromFragment(readAddress() ?? "");
  addEventListener("popstate", () => {
    const fragment = readAddress();
    if (fragment === null) return; // a link to a part of the page changes nothing of what is chosen
    chosen = fromFragment(fragment);
    tell();
  });
}

function tell(): void {
  for (const listener of listeners) listener(chosen);
}
