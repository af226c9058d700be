/** What is chosen on the page of a comparison, as the fragment of its address. */

/** Parts of a change, by their numbers in the list of parts: of one side against the baseline, on one GPU. */
export interface Parts {
  side: number;
  gpu: number;
  ids: readonly number[];
}

export interface Chosen {
  /** Number of the side that is the baseline, from 1 on, in the order in which the sides were given. */
  baseline: number;
  parts: Parts | null;
}

export const NOTHING: Chosen = { baseline: 1, parts: null };

export function toFragment({ baseline, parts }: Chosen): string {
  const fields = baseline > 1 ? [`baseline=${baseline}`] : [];
  if (parts) fields.push(`parts=${parts.ids.join(",")}`);
  if (parts && parts.side > 1) fields.push(`side=${parts.side}`);
  if (parts?.gpu) fields.push(`gpu=${parts.gpu}`);
  return fields.join("&");
}

/** What a fragment holds; what it holds of anything else is left out. */
export function fromFragment(fragment: string): Chosen {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  const [side, gpu] = [wholeNumber(fields.get("side") ?? "1"), wholeNumber(fields.get("gpu") ?? "0")];
  const ids = fields.get("parts")?.split(",").map(wholeNumber);
  const isWhole = side !== null && gpu !== null && ids?.every((id) => id !== null);
  return { baseline: wholeNumber(fields.get("baseline") ?? "") || 1, parts: isWhole ? { side, gpu, ids } : null };
}

function wholeNumber(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}
