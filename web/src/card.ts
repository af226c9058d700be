/** The share card: the verdict, its bar and what is selected in the timeline, or before and after, as one picture. */
import { readColor } from "./colors";
import { download, element, find, findAll } from "./dom";
import { textOf } from "./panel/panel";
import { currentSelection } from "./selection";
import { hatch, penOn } from "./timeline/paint";
import type { Timeline } from "./timeline/timeline";

const [WIDTH, HEIGHT, EDGE, BAR] = [1200, 630, 40, 52]; // pixels, as sites show a picture beside a link

/** Save the card; where nothing is selected, with the gap that costs most. */
export function startCard(timelineOf: () => Timeline | null): void {
  document.querySelector("[data-card]")?.addEventListener("click", () => {
    if (!currentSelection()) document.querySelector<HTMLElement>(".shares .idle")?.click();
    const drawing = timelineOf()?.drawing;
    drawing?.print(true); // as wide on each screen
    const card = drawCard(drawing?.picture() ?? null);
    drawing?.print(false);
    download(card.toDataURL(), "tcprof-card.png");
  });
}

function drawCard(lanes: HTMLCanvasElement | null): HTMLCanvasElement {
  const card = element("canvas");
  const pen = penOn(card, { width: WIDTH, height: HEIGHT, ratio: 1 });
  const width = WIDTH - 2 * EDGE;
  let y = 0;
  const fill = (color: string | CanvasPattern, x: number, wide: number, high: number) => { pen.fillStyle = color; pen.fillRect(x, y, wide, high); };
  const write = (text: string, size: number, isStrong = false) => {
    pen.font = `${isStrong ? 600 : 400} ${size}px system-ui, sans-serif`;
    pen.fillStyle = readColor(isStrong ? "--ink" : "--soft");
    const lines = [""];
    for (const word of text.split(/[ \n]+/)) {
      const longer = `${lines.at(-1)} ${word}`.trim();
      if (pen.measureText(longer).width <= width) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    for (const line of lines.filter(Boolean)) pen.fillText(line, EDGE, y += 1.3 * size);
  };
  fill(readColor("--page"), 0, WIDTH, HEIGHT);
  y = 20;
  write(`tcprof · ${find("h1").textContent}`, 20);
  findAll(".verdict:first-of-type > :is(strong, bdi)").slice(0, lanes ? 2 : 4).forEach(({ textContent }, i) => write(textContent, i ? 24 : 36, !i));
  y += 18;
  const shares = findAll(".shares:first-of-type > *");
  let x = EDGE;
  for (const { style: { width: share, background } } of shares) {
    const wide = Math.min((parseFloat(share) * width) / 100, WIDTH - EDGE - x);
    fill(background || hatch(pen, { line: readColor("--line"), card: readColor("--card") }), x, wide, BAR);
    x += wide;
  }
  if (shares.length) y += BAR;
  write(findAll(".share-names:first-of-type li").map(({ textContent }) => textContent.trim().replaceAll(" ", "\xa0")).join(" · "), 18);
  const rows = document.querySelector<HTMLTableElement>("table[id^=sides-]")?.tBodies[0].rows ?? [];
  const sides = Array.from(rows, ({ cells: [name, time] }) => ({ name, time, value: Number(time.dataset.sort ?? 0) }));
  sides.forEach(({ name, time, value }, i) => {
    write(`${name.textContent}: ${time.textContent}`, 26, true);
    y += 10;
    fill(findAll(".side-names .side-swatch")[i].style.background, EDGE, (width * value) / Math.max(...sides.map((side) => side.value)), BAR);
    y += BAR + 8;
  });
  if (!lanes) return card;
  textOf(find(".panel")).split("\n").slice(0, 3).forEach((line, i) => write(line, i ? 20 : 28, !i));
  pen.drawImage(lanes, EDGE, y + 12, width, (width * lanes.height) / lanes.width);
  return card;
}
