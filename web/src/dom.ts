/** Elements of the page, with their types. */

/** The first element that a selector finds; its absence is a defect of the template. */
export function find<T extends Element = HTMLElement>(selector: string, within: ParentNode = document): T {
  const found = within.querySelector<T>(selector);
  if (!found) throw new Error(`the page has no ${selector}`);
  return found;
}

/** All elements that a selector finds, in the page's order. */
export function findAll<T extends HTMLElement>(selector: string, within: ParentNode = document): T[] {
  return Array.from(within.querySelectorAll<T>(selector));
}

/** An element with properties and content; names are text. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag, properties: Partial<HTMLElementTagNameMap[Tag]> = {}, ...content: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...content);
  return made;
}

/** Show whether a button is pressed. */
export function press(button: HTMLElement, isPressed: boolean): void {
  button.setAttribute("aria-pressed", String(isPressed));
}

/** Whether a key alone was pressed, as those of the page are. */
export function isPlain({ ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return !ctrlKey && !metaKey && !altKey;
}

/** Call for each key that is pressed alone, but where the reader writes or chooses. */
export function onPageKey(call: (event: KeyboardEvent) => void): void {
  document.addEventListener("keydown", (event) => {
    const isTaken = event.target instanceof Element && event.target.closest("input, textarea, select, dialog, [role=option]");
    if (!isTaken && isPlain(event)) call(event);
  });
}

/** Call what a key stands for, of those that are pressed within an element. */
export function onKeys(within: HTMLElement, actions: Record<string, () => void>): void {
  within.addEventListener("keydown", (event) => {
    if (!isPlain(event) || !(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  });
}

const LEAST_DRAG = 4; // pixels that are no click

/** Follow what is done with the main button held: told of where it was pressed, and of each move that makes it a drag.
 *
 * @param end - Is told of where it was let go, null for nowhere, and whether it was a drag.
 */
export function onDrag<From>(within: HTMLElement, begin: (event: PointerEvent) => From | null, move: (from: From, event: PointerEvent) => void, end: (from: From, event: PointerEvent | null, isDrag: boolean) => void): void {
  let held: { from: From; x: number; isDrag: boolean } | null = null;
  within.addEventListener("pointerdown", (event) => {
    const from = event.button ? null : begin(event);
    if (from === null) return;
    held = { from, x: event.clientX, isDrag: false };
    within.setPointerCapture(event.pointerId);
  });
  within.addEventListener("pointermove", (event) => {
    if (!held) return;
    held.isDrag ||= Math.abs(event.clientX - held.x) >= LEAST_DRAG;
    if (held.isDrag) move(held.from, event);
  });
  for (const name of ["pointerup", "pointercancel"] as const) {
    within.addEventListener(name, (event) => {
      if (held) end(held.from, name === "pointerup" ? event : null, held.isDrag);
      held = null;
    });
  }
}

/** The box beside another one in its row, by an arrow key, or the nearest one of the row above or below; none at the end. */
export function besideOf<Box>(boxes: readonly Box[], from: Box, key: string, placeOf: (box: Box) => { row: number; left: number }): Box | undefined {
  const { row, left } = placeOf(from);
  const across = { ArrowLeft: -1, ArrowRight: 1 }[key];
  const rows = [...new Set(boxes.map((box) => placeOf(box).row))].sort((a, b) => a - b);
  const wanted = across ? row : rows[rows.indexOf(row) + (key === "ArrowUp" ? -1 : 1)];
  const inRow = boxes.filter((box) => placeOf(box).row === wanted).sort((a, b) => placeOf(a).left - placeOf(b).left);
  if (across) return inRow[inRow.indexOf(from) + across];
  return inRow.reduce<Box | undefined>((best, box) => (best && Math.abs(placeOf(best).left - left) <= Math.abs(placeOf(box).left - left) ? best : box), undefined);
}

/** Call before the page is drawn for paper, and when it is for the screen again. */
export function onPrint(call: (isPrinted: boolean) => void): void {
  addEventListener("beforeprint", () => call(true));
  addEventListener("afterprint", () => call(false));
}

/** Let the browser paint and answer before what comes next. */
export function rest(): Promise<void> {
  return new Promise((done) => {
    const { port1, port2 } = new MessageChannel(); // a timer would wait for 4 ms
    port1.onmessage = () => { port1.close(); done(); };
    port2.postMessage(null);
  });
}

/** Save a file as if the reader had followed a link to it. */
export function download(href: string, name: string): void {
  element("a", { href, download: name }).click();
}

/** Call when the whole page has been read, and the scripts in it have run. */
export function whenParsed(call: () => void): void {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", call, { once: true });
  else call();
}
