/** What is chosen on the page of a comparison, as the fragment of its address. */

/** Parts of a change, by their numbers in the list of parts: of one side against the baseline, on one GPU. */
export interface Parts {
  side: number;
  gpu: number;
  ids: readonly number[];
}

export function toFragment(parts: Parts | null): string {
  if (!parts) return "";
  return `parts=${parts.ids.join(",")}${parts.side > 1 ? `&side=${parts.side}` : ""}${parts.gpu ? `&gpu=${parts.gpu}` : ""}`;
}

/** The parts that a fragment holds; null for anything else. */
export function fromFragment(fragment: string): Parts | null {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  const [side, gpu] = [wholeNumber(fields.get("side") ?? "1"), wholeNumber(fields.get("gpu") ?? "0")];
  const ids = fields.get("parts")?.split(",").map(wholeNumber);
  return side !== null && gpu !== null && ids?.every((id) => id !== null) ? { side, gpu, ids } : null;
}

function wholeNumber(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}
