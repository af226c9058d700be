"use strict";
/* Bars on a canvas below the axes. Plotly draws the axes and shows what the pointer finds. */
const timelinePaint = (() => {
  const FONT = "10.5px system-ui, sans-serif";
  const ROOM = 6; /* pixels beside a name */

  /* frame: where the axes are, in pixels: left, width, top, height; low and high in seconds.
     lanes: for each GPU its bars and names, and the pixels of its rows: `place(row)`. */
  function paint(canvas, width, height, frame, lanes) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.beginPath();
    pen.rect(frame.left, frame.top, frame.width, frame.height);
    pen.clip();
    pen.font = FONT;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const across = (seconds) => frame.left + ((seconds - frame.low) / (frame.high - frame.low)) * frame.width;
    for (const { bars, names, place } of lanes) {
      for (const [color, edges] of bars) {
        pen.fillStyle = color;
        for (let i = 0; i < edges.length; i += 4) {
          const left = across(edges[i]);
          const top = place(edges[i + 2]);
          pen.fillRect(left, top, Math.max(across(edges[i + 1]) - left, 1), place(edges[i + 3]) - top);
        }
      }
      for (const { left, right, middle, cuts, color } of names) {
        const [from, to] = [Math.max(across(left), frame.left), Math.min(across(right), frame.left + frame.width)];
        const text = longestFitting(pen, cuts, to - from - ROOM);
        pen.fillStyle = color;
        if (text) pen.fillText(text, (from + to) / 2, place(middle) + 0.5);
      }
    }
  }

  const widths = new Map();

  function longestFitting(pen, cuts, room) {
    for (let i = cuts.length - 1; i >= 0; i--) {
      if (!widths.has(cuts[i])) widths.set(cuts[i], pen.measureText(cuts[i]).width);
      if (widths.get(cuts[i]) <= room) return cuts[i];
    }
    return "";
  }

  return { paint };
})();
if (typeof module === "object") module.exports = timelinePaint;
