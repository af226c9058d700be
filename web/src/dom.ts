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
