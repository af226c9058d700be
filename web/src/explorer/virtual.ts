/** Rows of one height in a box that scrolls, of which only those near its window are in the page.
 *
 * With one height the place of a row is a product, and this is all there is to it: 1.3 kB minified, where
 * @tanstack/virtual-core 3.19, which measures rows of any height, adds 33, and clusterize.js 1.0, whose rows are texts of
 * HTML, 7. */
import { element } from "../dom";

export const ROW = 24; // pixels
const AROUND = 12; // rows beyond the window, on either side

export class VirtualRows {
  readonly #box: HTMLElement;
  readonly #body: HTMLTableSectionElement;
  readonly #make: (place: number) => HTMLTableRowElement;
  #count = 0;
  #rows = new Map<number, HTMLTableRowElement>();
  readonly #above = element("tr", { className: "spacer", ariaHidden: "true" });
  readonly #below = this.#above.cloneNode() as HTMLElement;
  #isWhole = false;
  #waiting = 0;

  /** @param make - Makes the row of a place. */
  constructor(box: HTMLElement, body: HTMLTableSectionElement, make: (place: number) => HTMLTableRowElement) {
    [this.#box, this.#body, this.#make] = [box, body, make];
    box.addEventListener("scroll", () => { if (!this.#waiting) this.#waiting = requestAnimationFrame(this.#draw); }, { passive: true });
    new ResizeObserver(this.#draw).observe(box);
  }

  /** Show so many rows, made anew. */
  show(count: number): void {
    this.#count = count;
    this.#rows = new Map();
    stretch(this.#above, 0);
    stretch(this.#below, count); // so that the box stays as high, and scrolled
    this.#body.replaceChildren(this.#above, this.#below);
    this.#draw();
  }

  /** Show all at once, as on paper. */
  showWhole(isWhole: boolean): void {
    this.#isWhole = isWhole;
    this.#draw();
  }

  /** Bring a row into the box's window, below its head. */
  reach(place: number): void {
    const head = this.#body.offsetTop;
    const [top, bottom] = [place * ROW, (place + 1) * ROW];
    if (top < this.#box.scrollTop) this.#box.scrollTop = top;
    else if (bottom > this.#box.scrollTop + this.#box.clientHeight - head) this.#box.scrollTop = bottom - this.#box.clientHeight + head;
    this.#draw();
  }

  /** The rows that are in the page, with their places. */
  drawn(): Iterable<[place: number, row: HTMLTableRowElement]> {
    return this.#rows;
  }

  /** The element of a row that is in the page. */
  at(place: number): HTMLTableRowElement | undefined {
    return this.#rows.get(place);
  }

  readonly #draw = (): void => {
    cancelAnimationFrame(this.#waiting);
    this.#waiting = 0;
    const first = this.#isWhole ? 0 : Math.max(0, Math.floor(this.#box.scrollTop / ROW) - AROUND);
    const last = this.#isWhole ? this.#count : Math.min(this.#count, Math.ceil((this.#box.scrollTop + this.#box.clientHeight) / ROW) + AROUND);
    for (const [place, row] of this.#rows) {
      if (place >= first && place < last) continue;
      row.remove();
      this.#rows.delete(place);
    }
    let next = this.#above.nextSibling;
    for (let place = first; place < last; place++) {
      const known = this.#rows.get(place);
      const row = known ?? this.#make(place);
      if (known) next = row.nextSibling;
      else this.#body.insertBefore(row, next);
      this.#rows.set(place, row);
    }
    stretch(this.#above, first);
    stretch(this.#below, this.#count - last);
  };
}

function stretch(spacer: HTMLElement, rows: number): void {
  spacer.hidden = rows <= 0;
  spacer.style.height = `${rows * ROW}px`;
}
