/** The findings of a page, as its elements tell of them: see `finding` in the templates. */
import { findAll } from "../dom";
import { parseSelection } from "../selection_fragment";
import type { Finding } from "../timeline/subjects";

export function readFindings(): Map<string, Finding> {
  return new Map(findAll("[data-finding]").map(({ dataset: { finding = "", title = "", gain = "", about = "" } }) => {
    const selections = about.split(" ").map(parseSelection).filter((selection) => selection !== null);
    return [finding, { name: finding, title, gain, about: selections }];
  }));
}
