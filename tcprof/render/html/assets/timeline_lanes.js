"use strict";
/* The lanes of one GPU in a window: bars to be painted, and what the pointer shows over them. */
const timelineLanes = (() => {
  const { scanRow } = typeof module === "object" ? require("./timeline_data.js") : timelineData;
  const GAP = 0.08; /* above and below a bar, in rows */
  const APART = 14; /* pixels from one place to the next at which the pointer finds a long bar */

  /* Numbers as in tcprof/units.py: three digits, a dash for unknown. */
  function formatSeconds(seconds) {
    const size = Math.abs(Number(seconds.toPrecision(3)));
    if (!(size > 0)) return size === 0 ? "0 ns" : "–";
    const [scale, unit] = size >= 1 ? [1, "s"] : size >= 1e-3 ? [1e3, "ms"] : size >= 1e-6 ? [1e6, "µs"] : [1e9, "ns"];
    const decimals = 2 - Math.floor(Math.log10(size * scale));
    return `${(seconds * scale).toFixed(Math.min(Math.max(decimals, 0), 3))} ${unit}`;
  }
  function formatPercent(value) {
    if (!Number.isFinite(value)) return "–";
    if (value > 0 && value < 0.001) return "<0.001 %";
    return `${value.toFixed(value >= 1 || value === 0 ? 1 : value >= 0.1 ? 2 : 3)} %`;
  }
  const formatMoment = (seconds) => `${(seconds * 1e3).toFixed(4)} ms`;

  /* Top and bottom of a bar that begins in a row and is so many rows high. */
  const span = (row, rows) => ({ top: row - 0.5 + GAP, bottom: row - 0.5 + rows - GAP, middle: row + (rows - 1) / 2 });

  /* Bars by colour, each as left, right (seconds), top, bottom (rows); the names of wide ones; and, where the pointer
     finds something, points that are not drawn.
     view: low and high in seconds; pixel: seconds of one; narrow: seconds below which bars are drawn together. */
  function fillLanes(lanes, names, view) {
    const bars = new Map();
    const filling = {
      view, lanes, names, bars,
      fitted: [],
      places: { x: [], y: [], text: [] },
      paint({ color }, ...edges) { (bars.get(color) || bars.set(color, []).get(color)).push(...edges); },
      point(time, row, text) {
        this.places.x.push(time);
        this.places.y.push(row);
        this.places.text.push(text);
      },
    };
    fillRanges(filling, lanes.host, "on the CPU");
    fillRanges(filling, lanes.windows, "on the GPU, first activity to last,");
    fillWork(filling, lanes.work);
    return { bars, names: filling.fitted, places: filling.places };
  }

  function addWide(filling, bars, bar, { top, bottom, middle }, look, cuts, describe) {
    const { view } = filling;
    const left = Math.max(bars.start[bar], view.low - view.pixel);
    const right = Math.min(bars.end[bar], view.high + view.pixel);
    const pixels = (right - left) / view.pixel;
    const apart = pixels > 3 ? 0.4 * view.pixel : 0; /* so that neighbours can be told apart */
    filling.paint(look, left + apart, right - apart, top, bottom);
    if (pixels > 24) filling.fitted.push({ left, right, middle, cuts, color: look.text });
    const shown = describe(bar);
    const count = Math.max(1, Math.round(pixels / APART));
    for (let i = 0; i < count; i++) filling.point(left + ((i + 0.5) * (right - left)) / count, middle, shown);
  }

  /* The colour of a range: the last one is for unknown. */
  function rangeLook({ lanes, names }, percent) {
    const last = names.rangeColors.length - 1;
    const step = Math.min(last - 1, Math.floor((last * percent) / (lanes.highestRange || 1)));
    return names.rangeColors[Number.isNaN(percent) ? last : step];
  }

  function fillRanges(filling, bars, where) {
    const { view, names } = filling;
    const { tensor_active_mean_pct: active, coverage_pct: coverage } = bars.percents;
    const describe = (bar) => `<b>${names.paths.names[bars.id[bar]]}</b><br>${where} from ` +
      `${formatMoment(bars.start[bar])}, for ${formatSeconds(bars.end[bar] - bars.start[bar])}<br>` +
      `Tensor Active mean ${formatPercent(active[bar])}, coverage ${formatPercent(coverage[bar])}, ` +
      `${bars.kernels[bar]} kernels`;
    for (const [row, members] of bars.rows) {
      const bins = new Map();
      const place = span(row, 1);
      scanRow(bars, members, view.low, view.high, view.narrow,
        (bar) => addWide(filling, bars, bar, place, rangeLook(filling, active[bar]), names.paths.cuts[bars.id[bar]], describe),
        (number, bar, seconds) => {
          const bin = bins.get(number) || bins.set(number, { count: 0, time: 0, sum: 0, first: bar }).get(number);
          bin.count++;
          if (Number.isNaN(active[bar])) return;
          bin.time += seconds;
          bin.sum += seconds * active[bar];
        });
      for (const [number, bin] of bins) {
        const mean = bin.time ? bin.sum / bin.time : NaN;
        const left = view.low + number * view.narrow;
        filling.paint(rangeLook(filling, mean), left, left + view.narrow, place.top, place.bottom);
        const text = bin.count === 1 ? describe(bin.first) : `<b>${bin.count} short ranges</b>, the first ` +
          `${names.paths.names[bars.id[bin.first]]}<br>Tensor Active mean ${formatPercent(mean)}`;
        filling.point(left + view.narrow / 2, row, text);
      }
    }
  }

  function describeWork({ lanes, names: { works, classes } }, bars, bar) {
    const id = bars.id[bar];
    const active = bars.percents.tensor_active_pct[bar];
    const interval = works.low[id] === null ? "" : ` (95 % interval of its kernel ` +
      `${formatPercent(works.low[id])} to ${formatPercent(works.high[id])})`;
    return `<b>${works.names[id]}</b><br>${works.geometry[id] ? `grid and block ${works.geometry[id]}<br>` : ""}` +
      `${lanes.labels[bars.row[bar]]}, from ${formatMoment(bars.start[bar])}, for ` +
      `${formatSeconds(bars.end[bar] - bars.start[bar])}<br>${classes[works.class[id]].name}` +
      (Number.isNaN(active) ? "" : `, Tensor Active ${formatPercent(active)}${interval}`);
  }

  function fillWork(filling, bars) {
    const { view, lanes, names: { works, classes } } = filling;
    const kind = (bar) => works.class[bars.id[bar]];
    const describe = (bar) => describeWork(filling, bars, bar);
    for (const [row, members] of bars.rows) {
      const bins = new Map();
      const place = span(row, lanes.streamRows);
      filling.paint(classes[classes.length - 1], view.low, view.high, place.top, place.bottom); /* idle */
      scanRow(bars, members, view.low, view.high, view.narrow,
        (bar) => addWide(filling, bars, bar, place, classes[kind(bar)], works.cuts[bars.id[bar]], describe),
        (number, bar, seconds) => {
          const bin = bins.get(number) || bins.set(number, { count: 0, first: bar, time: new Map() }).get(number);
          bin.count++;
          bin.time.set(kind(bar), (bin.time.get(kind(bar)) || 0) + seconds);
        });
      for (const [number, bin] of bins) stackBin(filling, place, number, bin, describe);
    }
  }

  /* Short work of one bin: the height of each colour is its share of the time. */
  function stackBin(filling, place, number, bin, describe) {
    const { view, names: { classes } } = filling;
    const left = view.low + number * view.narrow;
    const kinds = [...bin.time].sort((a, b) => a[0] - b[0]);
    const busy = kinds.reduce((sum, [, time]) => sum + time, 0);
    const height = (place.bottom - place.top) / Math.max(busy, view.narrow);
    let { bottom } = place;
    const shares = [];
    for (const [kind, time] of kinds) {
      filling.paint(classes[kind], left, left + view.narrow, bottom - height * time, bottom);
      bottom -= height * time;
      shares.push(`${classes[kind].name} ${formatPercent((100 * time) / view.narrow)}`);
    }
    const text = bin.count === 1 ? describe(bin.first) : `<b>${bin.count} short kernels and copies</b><br>in ` +
      `${formatSeconds(view.narrow)} from ${formatMoment(left)}<br>${shares.join(", ")} of the time`;
    filling.point(left + view.narrow / 2, place.middle, text);
  }

  return { fillLanes, formatSeconds, formatPercent, formatMoment };
})();
if (typeof module === "object") module.exports = timelineLanes;
