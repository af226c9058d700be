"use strict";
/* The timeline: fills the figure's traces for the window that is shown, and moves that window.

   For the rest of the page:
     window.tcprof.showWindow(gpu, start, end)   moves the timeline to these seconds, with a margin, and scrolls to it
     window.tcprof.data                          after the event "tcprof:ready": { gpus: [{ gpu, kernels, ranges,
                                                 windows }], names: { kernels, ranges }, kernelCount }; each of kernels
                                                 (with copies, whose id is kernelCount or more), ranges (on the CPU) and
                                                 windows (on the GPU) has start, end (seconds) and id
     window.tcprof.timeline                      a promise: the timeline is drawn, or cannot be
     event "tcprof:window" on document           after each change; detail: { start, end, whole }, in seconds */
(() => {
  const plot = document.getElementById("timeline");
  const tcprof = (window.tcprof ||= {});
  if (!plot) return;
  const { unpack, endsOf, makeTrack, windowOf, stepLine, areaOutline, makeRows } = timelineData;
  const { fillLanes, formatSeconds } = timelineLanes;
  const { paint } = timelinePaint;
  const box = plot.closest(".timeline");
  const message = box.querySelector(".undrawn");
  const CONFIG = {
    responsive: true,
    displaylogo: false,
    doubleClick: false,
    plotlyServerURL: "",
    showSendToCloud: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"],
  };
  const SHORTEST = 100e-9; /* seconds of a window */
  const BINS = 4000; /* of all curves together */
  const NARROW = 2; /* pixels below which bars are drawn together */
  const coarse = matchMedia("(pointer: coarse)"); /* a finger that drags over a figure wants to scroll the page */
  const narrowScreen = matchMedia("(max-width: 40rem)");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const canvas = box.querySelector("canvas");
  let header, gpus, figure, filled, filledPixels, whole, shown, mark, waiting, laidOut;

  /* Reading. */

  function readBars(read, packed, step) {
    const start = read(packed.start, Float64Array, 1e-9);
    const length = read(packed.length, Float64Array, 1e-9);
    const percents = {};
    for (const [name, number] of Object.entries(packed.percents)) {
      percents[name] = read(number, Float32Array).map((value) => (value ? step * (value - 1) : NaN));
    }
    const bars = {
      start, end: length.map((value, i) => start[i] + value), percents,
      row: read(packed.row, Uint8Array), id: read(packed.id, Uint32Array),
    };
    return { ...bars, rows: makeRows(bars) };
  }

  function readGpu(read, packed) {
    const curves = new Map();
    for (const track of packed.tracks) {
      const start = read(track.start, Float64Array, 1e-9);
      const end = endsOf(start, read(track.breaks, Uint32Array), read(track.ends, Float64Array, 1e-9));
      const levels = track.curves.map(({ values }) => {
        const [mean, low, high] = values.map((number) => read(number, Uint16Array));
        return { mean, low: low || mean, high: high || mean };
      });
      const made = makeTrack(start, end, levels, track.curves[0].values.length > 1);
      track.curves.forEach(({ metric, step }, place) => curves.set(metric, { levels: made, place, step }));
    }
    const lanes = { labels: packed.labels, streamRows: packed.rows, highestRange: header.highestRange };
    for (const kind of ["host", "windows", "work"]) lanes[kind] = readBars(read, packed[kind], packed.percentStep);
    for (const kind of ["host", "windows"]) lanes[kind].kernels = read(packed[kind].kernels, Uint32Array);
    return { gpu: packed.gpu, curves, lanes };
  }

  function publish() {
    const part = ({ start, end, id }) => ({ start, end, id });
    tcprof.data = {
      gpus: gpus.map(({ gpu, lanes }) =>
        ({ gpu, kernels: part(lanes.work), ranges: part(lanes.host), windows: part(lanes.windows) })),
      names: { kernels: header.works.names, ranges: header.paths.names },
      kernelCount: header.works.kernels,
    };
    document.dispatchEvent(new CustomEvent("tcprof:ready"));
  }

  /* Drawing. */

  function fillTraces() {
    const [low, high] = shown;
    const pixels = plot._fullLayout ? plot._fullLayout._size.w : plot.clientWidth - 76;
    filledPixels = pixels;
    const pixel = (high - low) / Math.max(pixels, 100);
    const narrow = NARROW * pixel;
    const drawn = figure.data.filter(({ meta, visible }) => meta && visible !== "legendonly");
    const curves = drawn.filter(({ meta }) => meta.role === "curve").length;
    const most = Math.min(pixels / 1.5, Math.max(BINS / curves, 150));
    filled = gpus.map(({ lanes }) => fillLanes(lanes, header, { low, high, pixel, narrow }));
    const windows = gpus.map(() => new Map());
    const cut = (place, levels) => {
      if (!windows[place].has(levels)) windows[place].set(levels, windowOf(levels, low, high, most));
      return windows[place].get(levels);
    };
    for (const trace of drawn) Object.assign(trace, fillTrace(trace.meta, cut));
    for (const trace of figure.data) trace.x ||= trace.y = [null]; /* without a point it has no place in the legend */
  }

  function fillTrace(meta, cut) {
    if (meta.role === "lanes") return filled[meta.gpu].places;
    const { levels, place, step } = gpus[meta.gpu].curves.get(meta.curve);
    const level = cut(meta.gpu, levels);
    if (meta.role === "band") return areaOutline(level, level.curves[place], step);
    return { ...stepLine(level, level.curves[place], step), hovertemplate: meta.templates[level.binned ? 1 : 0] };
  }

  /* The bars of the lanes, below the axes; in a window that is only moved, before its traces are filled. */
  function paintLanes([low, high]) {
    const { l, t, w, h } = plot._fullLayout._size;
    const frame = { left: l, width: w, top: t, height: h, low, high };
    const lanes = figure.data.filter(({ meta }) => meta && meta.role === "lanes").map(({ meta, yaxis }) => {
      const { domain, range } = figure.layout[yaxis.replace("y", "yaxis")];
      const [bottom, top] = domain.map((share) => t + (1 - share) * h);
      const place = (row) => top + ((row - range[1]) / (range[0] - range[1])) * (bottom - top);
      return { ...filled[meta.gpu], place };
    });
    paint(canvas, plot.clientWidth, plot.clientHeight, frame, lanes);
  }

  function appearance() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    return {
      font: { ...figure.layout.font, color: read("--ink"), size: narrowScreen.matches ? 11 : 12 },
      hoverlabel: {
        bgcolor: read("--card"), bordercolor: read("--soft"), font: { color: read("--ink") }, align: "left", namelength: -1,
      },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: read("--soft"), activecolor: read("--accent") },
      dragmode: coarse.matches ? false : figure.layout.dragmode || "zoom",
    };
  }

  function markShape() {
    if (!mark) return [];
    const line = { color: "rgba(128,128,128,0.7)", width: 1, dash: "dot" };
    return [{ type: "rect", xref: "x", yref: "paper", x0: mark[0], x1: mark[1], y0: 0, y1: 1, line, layer: "above" }];
  }

  async function draw() {
    waiting = 0;
    fillTraces();
    Object.assign(figure.layout, appearance(), { shapes: markShape() });
    Object.assign(figure.layout.xaxis, { range: [...shown], autorange: false });
    await Plotly.react(plot, figure.data, figure.layout, CONFIG);
    const [low, high] = shown;
    box.querySelector(".shown").textContent = isWhole()
      ? `all that was recorded, ${formatSeconds(high - low)}`
      : `${formatSeconds(high - low)} of ${formatSeconds(whole[1] - whole[0])}`;
    plot.dataset.window = `${low} ${high}`;
  }

  /* Plotly also lays out by itself, some time after a resize: the bars are painted where its axes are now. */
  function followAxes() {
    const { xaxis, _size } = plot._fullLayout;
    paintLanes(xaxis.range);
    if (_size.w !== filledPixels) schedule();
  }

  function schedule() {
    waiting ||= requestAnimationFrame(draw);
  }

  /* The window. */

  const isWhole = () => shown[0] <= whole[0] && shown[1] >= whole[1];

  function setWindow(low, high) {
    const length = Math.min(Math.max(high - low, SHORTEST), whole[1] - whole[0]);
    const middle = (low + high) / 2;
    const start = Math.min(Math.max(middle - length / 2, whole[0]), whole[1] - length);
    shown = length >= whole[1] - whole[0] ? [...whole] : [start, start + length];
    if (isWhole()) mark = null;
    schedule();
    const detail = { start: shown[0], end: shown[1], whole: isWhole() };
    document.dispatchEvent(new CustomEvent("tcprof:window", { detail }));
  }

  /* At a place from 0, the left edge, to 1, the right one. */
  function zoom(factor, place = 0.5) {
    const length = shown[1] - shown[0];
    const fixed = shown[0] + place * length;
    setWindow(fixed - place * length * factor, fixed + (1 - place) * length * factor);
  }

  function move(share) {
    const by = share * (shown[1] - shown[0]);
    setWindow(shown[0] + by, shown[1] + by);
  }

  const ACTIONS = {
    in: () => zoom(0.5),
    out: () => zoom(2),
    left: () => move(-0.4),
    right: () => move(0.4),
    whole: () => setWindow(...whole),
    picture: savePicture,
  };
  const KEYS = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "whole" };

  function showWindow(gpu, start, end) {
    if (!header) return;
    const margin = Math.max(0.15 * (end - start), SHORTEST / 2);
    mark = [start, end];
    setWindow(start - margin, end + margin);
    const place = gpus.findIndex((each) => each.gpu === gpu);
    const first = figure.data.find((trace) => trace.meta && trace.meta.gpu === place);
    const axis = figure.layout[first ? first.yaxis.replace("y", "yaxis") : "yaxis"];
    const { t, b } = figure.layout.margin;
    const above = place > 0 ? t + (1 - axis.domain[1]) * (figure.layout.height - t - b) - 30 : 0;
    const top = (place > 0 ? plot : box).getBoundingClientRect().top + scrollY + above;
    scrollTo({ top: top - 8, behavior: still.matches ? "auto" : "smooth" });
  }

  /* The axes over the bars over the page's colour. */
  async function savePicture() {
    const [width, height, scale] = [plot.clientWidth, plot.clientHeight, 2];
    const axes = new Image();
    axes.src = await Plotly.toImage(plot, { format: "png", width, height, scale });
    await axes.decode();
    const whole = Object.assign(document.createElement("canvas"), { width: scale * width, height: scale * height });
    const pen = whole.getContext("2d");
    pen.fillStyle = getComputedStyle(document.body).backgroundColor;
    pen.fillRect(0, 0, whole.width, whole.height);
    for (const layer of [canvas, axes]) pen.drawImage(layer, 0, 0, whole.width, whole.height);
    const link = Object.assign(document.createElement("a"), { href: whole.toDataURL(), download: "tcprof-timeline.png" });
    link.click();
  }

  function listen() {
    plot.on("plotly_relayout", (change) => {
      const [low, high] = change["xaxis.range"] || [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if (change.dragmode !== undefined) figure.layout.dragmode = change.dragmode;
      if (low !== undefined && high !== undefined) setWindow(Number(low), Number(high));
    });
    plot.on("plotly_relayouting", (change) => {
      const low = Number(change["xaxis.range[0]"]);
      const high = Number(change["xaxis.range[1]"]);
      if (figure.layout.dragmode === "pan" && low < high) paintLanes([low, high]);
    });
    plot.on("plotly_afterplot", followAxes);
    plot.on("plotly_doubleclick", ACTIONS.whole);
    plot.on("plotly_restyle", schedule); /* a curve that was hidden has no points yet */
    plot.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { l, r } = figure.layout.margin;
      const place = (event.clientX - plot.getBoundingClientRect().left - l) / (plot.clientWidth - l - r);
      zoom(Math.exp(Math.min(Math.max(event.deltaY, -100), 100) / 250), Math.min(Math.max(place, 0), 1));
    }, { passive: false });
    box.querySelectorAll("button[data-action]").forEach((button) => {
      button.addEventListener("click", ACTIONS[button.dataset.action]);
    });
    box.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
      event.preventDefault();
      ACTIONS[KEYS[event.key]]();
    });
    new ResizeObserver(() => {
      if (plot.clientWidth !== laidOut) schedule();
      laidOut = plot.clientWidth;
    }).observe(plot);
    new MutationObserver(schedule).observe(document.documentElement, { attributeFilter: ["data-theme", "class", "style"] });
    for (const query of [matchMedia("(prefers-color-scheme: dark)"), narrowScreen]) query.addEventListener("change", schedule);
    addEventListener("beforeprint", draw);
    addEventListener("afterprint", draw);
  }

  async function start() {
    const packed = document.getElementById("timeline-data");
    if (typeof DecompressionStream === "undefined") {
      throw new Error("this browser is too old: it has no DecompressionStream (Chrome 80, Firefox 113, Safari 16.4)");
    }
    const { header: found, read } = await unpack(packed.textContent);
    packed.remove(); /* its letters take memory, and are needed no more */
    header = found;
    ({ figure } = header);
    gpus = header.gpus.map((gpu) => readGpu(read, gpu));
    plot.style.height = `${figure.layout.height}px`; /* plotly takes it from here when the window is resized */
    whole = [...figure.layout.xaxis.range];
    shown = [...whole];
    if (document.readyState === "loading") {
      await new Promise((done) => { document.addEventListener("DOMContentLoaded", done, { once: true }); });
    }
    tcprof.showWindow = showWindow;
    publish();
    await draw();
    performance.mark("timeline drawn");
    laidOut = plot.clientWidth;
    listen();
    followAxes();
    message.remove();
    box.querySelector(".timeline-tools").hidden = false;
    plot.dataset.drawn = "true";
  }

  tcprof.timeline = start().catch((error) => {
    message.textContent = `The timeline cannot be drawn: ${error.message}.`;
    plot.dataset.drawn = "failed";
  });
})();
