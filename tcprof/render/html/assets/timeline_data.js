"use strict";
/* The timeline's data: unpacking, levels of detail, and the points of one window. Knows neither page nor plotly. */
const timelineData = (() => {
  /* Unpacking: see tcprof/render/html/timeline/packing.py. */

  function fromBase64(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
  }

  async function inflate(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  /* Whole numbers from their bytes: all first ones, then all second ones. */
  function joinPlanes(bytes, length, width) {
    const numbers = width > 4 ? new Float64Array(length) : new Uint32Array(length);
    for (let plane = 0; plane < width; plane++) {
      const octets = bytes.subarray(plane * length, (plane + 1) * length);
      const weight = 256 ** plane;
      if (plane === 0) numbers.set(octets);
      else for (let i = 0; i < length; i++) numbers[i] += weight * octets[i];
    }
    return numbers;
  }

  /* The header, and a function that reads the array of a number into a typed array, times a scale. */
  async function unpack(text) {
    const bytes = await inflate(fromBase64(text.trim()));
    const size = new DataView(bytes.buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
    const begin = 4 + size;
    const read = (number, Type, scale = 1) => {
      const { at, length, bytes: width, base, ascending } = header.arrays[number];
      const offsets = joinPlanes(bytes.subarray(begin + at, begin + at + width * length), length, width);
      if (!ascending && base === 0 && scale === 1) return new Type(offsets);
      const values = new Float64Array(length);
      let sum = base;
      if (ascending) for (let i = 0; i < length; i++) values[i] = scale * (sum += offsets[i]);
      else for (let i = 0; i < length; i++) values[i] = scale * (base + offsets[i]);
      return Type === Float64Array ? values : new Type(values);
    };
    return { header, read };
  }

  /* The first place in an ascending array whose value is above the limit. */
  function firstAbove(values, limit, from = 0, to = values.length) {
    while (from < to) {
      const middle = (from + to) >> 1;
      if (values[middle] > limit) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  /* Samples. A level has start and end of each interval in seconds, and for each curve low, mean and high in steps,
     from 1 on; 0 is unknown. Level 0 is what was stored; each coarser one has an eighth of the intervals. */
  const FACTOR = 8;
  const FEW = 4000;

  function endsOf(start, breaks, ends) {
    const end = new Float64Array(start.length);
    end.set(start.subarray(1));
    breaks.forEach((place, i) => { end[place] = ends[i]; });
    return end;
  }

  function makeTrack(start, end, curves, binned) {
    const period = start.length ? (end[end.length - 1] - start[0]) / start.length : 0;
    const levels = [{ start, end, curves, binned, period }];
    while (levels[levels.length - 1].start.length > FEW) {
      const finest = levels[levels.length - 1];
      levels.push(group(finest, 0, finest.start.length, FACTOR));
    }
    return levels;
  }

  /* Where groups of so many intervals begin; a group does not reach over a gap that is longer than a group. */
  function groupStarts(level, from, to, size) {
    const edges = [];
    const longest = size * level.period;
    for (let i = from; i < to; i++) {
      if (i === from || i % size === 0 || level.start[i] - level.end[i - 1] > longest) edges.push(i);
    }
    edges.push(to);
    return edges;
  }

  /* Neighbouring intervals as one: their smallest, mean (by time) and largest value. */
  function group(level, from, to, size) {
    const edges = groupStarts(level, from, to, size);
    const count = edges.length - 1;
    const start = new Float64Array(count);
    const end = new Float64Array(count);
    for (let g = 0; g < count; g++) {
      start[g] = level.start[edges[g]];
      end[g] = level.end[edges[g + 1] - 1];
    }
    const curves = level.curves.map((curve) => groupCurve(level, curve, edges));
    return { start, end, curves, binned: true, period: level.period * size };
  }

  function groupCurve(level, { low, mean, high }, edges) {
    const count = edges.length - 1;
    const grouped = { low: new Float32Array(count), mean: new Float32Array(count), high: new Float32Array(count) };
    for (let g = 0; g < count; g++) {
      let [sum, time, smallest, largest] = [0, 0, Infinity, 0];
      for (let i = edges[g]; i < edges[g + 1]; i++) {
        if (mean[i] === 0) continue;
        const length = level.end[i] - level.start[i];
        sum += length * mean[i];
        time += length;
        if (low[i] < smallest) smallest = low[i];
        if (high[i] > largest) largest = high[i];
      }
      if (!time) continue;
      grouped.mean[g] = Math.min(Math.max(sum / time, smallest), largest);
      grouped.low[g] = smallest;
      grouped.high[g] = largest;
    }
    return grouped;
  }

  /* The intervals of a window in at most about so many bins: samples where they are few enough. */
  function windowOf(levels, low, high, most) {
    for (const level of levels) {
      const from = firstAbove(level.end, low);
      const to = Math.max(from, firstAbove(level.start, high));
      const size = Math.ceil((to - from) / most);
      if (size > 4 * FACTOR && level !== levels[levels.length - 1]) continue;
      if (size > 1) return group(level, from - (from % size), to, size);
      const cut = (values) => values.subarray(from, to);
      const curves = level.curves.map(({ low: l, mean: m, high: h }) => ({ low: cut(l), mean: cut(m), high: cut(h) }));
      return { start: cut(level.start), end: cut(level.end), curves, binned: level.binned, period: level.period };
    }
    return null;
  }

  /* Points of a line that steps at the starts, broken where values are unknown. */
  function stepLine(level, curve, step) {
    const [x, y, extremes] = [[], [], []];
    const add = (time, value, pair) => { x.push(time); y.push(value); extremes.push(pair); };
    for (let i = 0; i < level.start.length; i++) {
      if (curve.mean[i] === 0) continue;
      const value = step * (curve.mean[i] - 1);
      const pair = level.binned ? [step * (curve.low[i] - 1), step * (curve.high[i] - 1)] : null;
      add(level.start[i], value, pair);
      const goesOn = level.start[i + 1] <= level.end[i] && curve.mean[i + 1] !== 0;
      if (!goesOn) {
        add(level.end[i], value, pair);
        add(level.end[i], NaN, null);
      }
    }
    return { x, y, customdata: level.binned ? extremes.map((pair) => pair || [NaN, NaN]) : null };
  }

  /* Outline of the area between smallest and largest value, or under the samples themselves: a polygon for each run. */
  function areaOutline(level, curve, step) {
    const [x, y] = [[], []];
    let [backX, backY] = [[], []];
    for (let i = 0; i < level.start.length; i++) {
      if (curve.mean[i] === 0) continue;
      const top = step * (curve.high[i] - 1);
      const bottom = level.binned ? step * (curve.low[i] - 1) : 0;
      x.push(level.start[i], level.end[i]);
      y.push(top, top);
      backX.push(level.start[i], level.end[i]);
      backY.push(bottom, bottom);
      const goesOn = level.start[i + 1] <= level.end[i] && curve.mean[i + 1] !== 0;
      if (!goesOn) {
        for (let j = backX.length - 1; j >= 0; j--) { x.push(backX[j]); y.push(backY[j]); }
        x.push(NaN);
        y.push(NaN);
        [backX, backY] = [[], []];
      }
    }
    return { x, y };
  }

  /* Bars, in rows. Each row has its bars by start, and the latest end so far, by which a window's first one is found. */
  function makeRows(bars) {
    const counts = new Map();
    for (const row of bars.row) counts.set(row, (counts.get(row) || 0) + 1);
    const rows = new Map([...counts].sort((a, b) => a[0] - b[0]).map(([row, count]) =>
      [row, { members: new Uint32Array(count), reach: new Float64Array(count), filled: 0 }]));
    for (let i = 0; i < bars.row.length; i++) {
      const row = rows.get(bars.row[i]);
      row.members[row.filled] = i;
      row.reach[row.filled] = Math.max(row.filled ? row.reach[row.filled - 1] : -Infinity, bars.end[i]);
      row.filled++;
    }
    return rows;
  }

  /* The bars of one row in a window. Those wider than `narrow` seconds are given to `wide(bar)`, the time of the others
     to `merge(bin, bar, seconds)`, for each bin of that width that they reach into. */
  function scanRow(bars, row, low, high, narrow, wide, merge) {
    const { members, reach } = row;
    for (let k = firstAbove(reach, low); k < members.length; k++) {
      const bar = members[k];
      const start = bars.start[bar];
      if (start >= high) break;
      const end = bars.end[bar];
      if (end <= low) continue;
      if (end - start >= narrow) { wide(bar); continue; }
      const bin = Math.floor((start - low) / narrow);
      const border = low + (bin + 1) * narrow;
      if (end <= border) merge(bin, bar, end - start);
      else {
        merge(bin, bar, border - start);
        merge(bin + 1, bar, end - border);
      }
    }
  }

  return {
    unpack, firstAbove, endsOf, makeTrack, group, windowOf, stepLine, areaOutline, makeRows, scanRow,
  };
})();
if (typeof module === "object") module.exports = timelineData;
