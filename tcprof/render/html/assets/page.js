/* tcprof, Apache-2.0. Generated from web/src by 'make web': change it there. */
"use strict";
(() => {
  // src/colors.ts
  var KEPT = "tcprof-theme";
  var root = document.documentElement;
  var systemDark = matchMedia("(prefers-color-scheme: dark)");
  var keptForScreen = null;
  function followPaper() {
    addEventListener("beforeprint", () => {
      keptForScreen ??= darkStyle().media;
      darkStyle().media = "not all";
    });
    addEventListener("afterprint", () => {
      darkStyle().media = keptForScreen ?? darkStyle().media;
      keptForScreen = null;
    });
  }
  var darkStyle = () => document.getElementById("dark-colors");
  function isDark() {
    if (keptForScreen !== null) return false;
    return root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches;
  }
  function chooseTheme(theme) {
    applyTheme(theme);
    try {
      localStorage.setItem(KEPT, theme);
    } catch {
    }
  }
  function applyTheme(theme) {
    darkStyle().media = theme === "dark" ? "screen" : "not all";
    root.dataset.theme = theme;
  }
  function onColors(call) {
    new MutationObserver(call).observe(root, { attributeFilter: ["data-theme"] });
    systemDark.addEventListener("change", call);
    for (const event of ["beforeprint", "afterprint"]) addEventListener(event, call);
  }
  function readColor(name) {
    return getComputedStyle(root).getPropertyValue(name).trim();
  }

  // src/dom.ts
  function find(selector, type, within = document) {
    const found = within.querySelector(selector);
    if (!(found instanceof type)) throw new Error(`the page has no ${selector}`);
    return found;
  }
  function findAll(selector, within = document) {
    return Array.from(within.querySelectorAll(selector));
  }
  function download(href, name) {
    Object.assign(document.createElement("a"), { href, download: name }).click();
  }
  function whenParsed(call) {
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", call, { once: true });
    else call();
  }
  function keepInPlace(element2, change) {
    const top = element2?.getBoundingClientRect().top;
    change();
    if (!element2 || top === void 0) return;
    const box = element2.closest(".table-box");
    (box?.scrollTop ? box : document.documentElement).scrollBy(0, element2.getBoundingClientRect().top - top);
  }

  // src/timeline/unpack.ts
  async function unpack(text) {
    const bytes = await inflate(fromBase64(text.trim()));
    const size = new DataView(bytes.buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
    const planes = bytes.subarray(4 + size);
    return { header, read: (number, type, scale = 1) => readArray(planes, header.arrays[number], type, scale) };
  }
  function readArray(planes, { at, length, bytes: width, base, ascending }, type, scale) {
    const offsets = joinPlanes(planes.subarray(at, at + width * length), length, width);
    if (!ascending && base === 0 && scale === 1) return new type(offsets);
    const values = new Float64Array(length);
    let sum = base;
    if (ascending) for (let i = 0; i < length; i++) values[i] = scale * (sum += offsets[i]);
    else for (let i = 0; i < length; i++) values[i] = scale * (base + offsets[i]);
    return values instanceof type ? values : new type(values);
  }
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
  function joinPlanes(bytes, length, width) {
    if (width === 1) return new Uint32Array(bytes);
    if (width <= 3) return joinFew(bytes, length, width);
    const numbers = new Float64Array(length);
    for (let plane = 0; plane < width; plane++) {
      const weight = 256 ** plane;
      for (let i = 0, from = plane * length; i < length; i++) numbers[i] += weight * bytes[from + i];
    }
    return numbers;
  }
  function joinFew(bytes, length, width) {
    const numbers = new Uint32Array(length);
    if (width === 2) for (let i = 0; i < length; i++) numbers[i] = bytes[i] | bytes[length + i] << 8;
    else if (width === 3) for (let i = 0; i < length; i++) numbers[i] = bytes[i] | bytes[length + i] << 8 | bytes[2 * length + i] << 16;
    return numbers;
  }

  // src/address.ts
  function readAddress() {
    const fragment = location.hash;
    return fragment && !fragment.includes("=") ? null : fragment.replace(/^#/, "");
  }
  function writeAddress(fragment, how) {
    if (how === "replaceState" && fragment === (readAddress() ?? "")) return;
    try {
      history[how](history.state, "", fragment ? `#${fragment}` : location.pathname + location.search);
    } catch {
    }
  }

  // src/comparison/chosen_fragment.ts
  var NOTHING = { baseline: 1, parts: null };
  function toFragment({ baseline, parts }) {
    const fields = baseline > 1 ? [`baseline=${baseline}`] : [];
    if (parts) fields.push(`parts=${parts.ids.join(",")}`);
    if (parts && parts.side > 1) fields.push(`side=${parts.side}`);
    if (parts?.gpu) fields.push(`gpu=${parts.gpu}`);
    return fields.join("&");
  }
  function fromFragment(fragment) {
    const fields = new URLSearchParams(fragment.replace(/^#/, ""));
    const [side, gpu] = [wholeNumber(fields.get("side") ?? "1"), wholeNumber(fields.get("gpu") ?? "0")];
    const ids = fields.get("parts")?.split(",").map(wholeNumber);
    const isWhole = side !== null && gpu !== null && ids?.every((id) => id !== null);
    return { baseline: wholeNumber(fields.get("baseline") ?? "") || 1, parts: isWhole ? { side, gpu, ids } : null };
  }
  function wholeNumber(text) {
    return /^\d{1,9}$/.test(text) ? Number(text) : null;
  }

  // src/comparison/chosen.ts
  var listeners = [];
  var chosen = NOTHING;
  function onChosen(listener) {
    listeners.push(listener);
  }
  function currentlyChosen() {
    return chosen;
  }
  function choose(next) {
    const { baseline, parts } = { ...chosen, ...next };
    chosen = { baseline, parts: baseline === chosen.baseline ? parts : null };
    writeAddress(toFragment(chosen), "pushState");
    tell();
  }
  function startChosen() {
    chosen = fromFragment(readAddress() ?? "");
    addEventListener("popstate", () => {
      const fragment = readAddress();
      if (fragment === null) return;
      chosen = fromFragment(fragment);
      tell();
    });
  }
  function tell() {
    for (const listener of listeners) listener(chosen);
  }

  // src/table.ts
  function rowsOf(table) {
    return Array.from(table.tBodies[0].rows);
  }
  function nameOf(row) {
    return [".ancestors", ".name"].map((part) => row.cells[0].querySelector(part)?.textContent.trim() ?? "").join(" ").trim();
  }

  // src/comparison/groups.ts
  var EVERYTHING = "";
  var SEVERAL = "several";
  var ID = /^table-kernels-(\d+)-(\d+)$/;
  function startGroups() {
    for (const choice of choices()) {
      choice.addEventListener("change", () => chooseGroups(choice, choice.value === EVERYTHING ? [] : [choice.value]));
    }
    showChosen();
  }
  function chooseBar(table, groups) {
    const choice = document.querySelector(`select[data-groups="${table}"]`);
    const known = choice ? groups.filter((group2) => options(choice).includes(group2)) : [];
    if (!choice || !known.length) return;
    const isAgain = groupsOf(choice).join("\n") === known.join("\n");
    chooseGroups(choice, isAgain ? [] : known);
  }
  function showChosen() {
    for (const choice of choices()) {
      const groups = groupsOf(choice);
      const rows = showGroups(choice, groups);
      for (const plot of findAll("[data-figure]")) showInFigure(plot, choice, groups, rows);
    }
  }
  function revealChosen() {
    const parts = currentlyChosen().parts;
    const told = parts && document.getElementById(`why-${parts.side}-${parts.gpu}`);
    if (!told) return;
    const part = told.closest("details.part");
    if (part) part.open = true;
    told.scrollIntoView();
  }
  var choices = () => findAll("select[data-groups]");
  var options = (choice) => Array.from(choice.options, ({ value }) => value).slice(2);
  function chooseGroups(choice, groups) {
    const [, side, gpu] = ID.exec(choice.dataset.groups).map(Number);
    const ids = groups.map((group2) => options(choice).indexOf(group2));
    choose({ parts: ids.length ? { side, gpu, ids } : null });
  }
  function groupsOf(choice) {
    const { parts } = currentlyChosen();
    if (!parts || choice.dataset.groups !== tableOf(parts)) return [];
    const names = options(choice);
    return parts.ids.filter((id) => id < names.length).map((id) => names[id]);
  }
  var tableOf = ({ side, gpu }) => `table-kernels-${side}-${gpu}`;
  function showGroups(choice, groups) {
    const table = document.getElementById(choice.dataset.groups);
    find(`option[value="${SEVERAL}"]`, HTMLOptionElement, choice).hidden = groups.length < 2;
    choice.value = groups.length > 1 ? SEVERAL : groups[0] ?? EVERYTHING;
    let shown = 0;
    for (const row of rowsOf(table)) {
      const isShown = !groups.length || groups.includes(row.dataset.group ?? "");
      row.classList.toggle("other-group", !isShown);
      shown += isShown ? 1 : 0;
    }
    return shown;
  }
  function showInFigure(plot, choice, groups, rows) {
    const table = choice.dataset.groups;
    const groupsOfBars = (data) => Array.from(data.customdata ?? []);
    const chooses = (data) => data.meta?.chooses === table && groupsOfBars(data).some(({ length }) => length);
    const traces = (plot.data ?? []).flatMap((data, place) => chooses(data) ? [place] : []);
    if (!traces.length) return;
    const said = find(".chosen", HTMLElement, plot.parentElement);
    if (!groups.length && !said.textContent) return;
    const isMarked = (names) => {
      const known = names.filter((name) => options(choice).includes(name));
      return !names.length || known.length > 0 && known.every((name) => groups.includes(name));
    };
    const markedOf = (trace) => groupsOfBars(plot.data[trace]).flatMap((names, bar) => isMarked(names) ? [bar] : []);
    void Plotly.restyle(plot, { selectedpoints: traces.map((trace) => groups.length ? markedOf(trace) : null) }, traces);
    const link = Object.assign(document.createElement("a"), { href: `#caption-${table}` });
    link.textContent = groups.length ? `The table shows ${rows} of its kernels: ${groups.join(", ")}` : "The table shows all kernels";
    said.replaceChildren(link);
  }

  // src/comparison/baselines.ts
  var FIRST = 1;
  async function startBaselines(start2) {
    const contents = /* @__PURE__ */ new Map([[FIRST, currentContent()]]);
    let shown = FIRST;
    const follow2 = async () => {
      const baseline = wanted();
      if (baseline === shown) return false;
      const content = contents.get(baseline) ?? (await unpack(packedOf(baseline).textContent)).header;
      contents.set(baseline, content);
      if (baseline !== wanted()) return false;
      shown = baseline;
      replaceContent(content);
      return true;
    };
    startChosen();
    await follow2();
    const begin = () => {
      start2();
      offerBaselines();
    };
    begin();
    revealChosen();
    onChosen(() => {
      const before = shown;
      void follow2().then((isNew) => {
        if (!isNew) {
          showChosen();
          return;
        }
        begin();
        document.querySelector(`[data-baseline="${before}"]`)?.focus({ preventScroll: true });
      });
    });
  }
  function wanted() {
    const { baseline } = currentlyChosen();
    return packedOf(baseline) ? baseline : FIRST;
  }
  var packedOf = (baseline) => document.getElementById(`baseline-${baseline}`);
  function offerBaselines() {
    if (!("DecompressionStream" in window)) return;
    for (const button of findAll("[data-baseline]")) {
      button.hidden = false;
      button.addEventListener("click", () => choose({ baseline: Number(button.dataset.baseline) }));
    }
  }
  function currentContent() {
    return { title: find("h1", HTMLElement).textContent, head: sideNames().outerHTML, body: find("main", HTMLElement).innerHTML };
  }
  var sideNames = () => find(".side-names", HTMLElement);
  function replaceContent({ title, head, body }) {
    for (const plot of findAll("[data-figure]")) Plotly.purge(plot);
    find("h1 bdi", HTMLElement).textContent = title;
    document.title = `${title} – tcprof`;
    sideNames().outerHTML = head;
    find("main", HTMLElement).innerHTML = body;
  }

  // src/plotly.ts
  var ARRAY_TYPES = {
    f8: Float64Array,
    f4: Float32Array,
    i4: Int32Array,
    u4: Uint32Array,
    i2: Int16Array,
    u2: Uint16Array,
    i1: Int8Array,
    u1: Uint8Array
  };
  function keepLabels(layout) {
    for (const [name, axis] of Object.entries(layout)) {
      if (name.startsWith("yaxis")) axis.ticklabeloverflow = "allow";
    }
  }

  // src/csv.ts
  function csvLine(cells) {
    return cells.map((cell) => {
      const text = String(cell ?? "");
      const isNumber = text !== "" && Number.isFinite(Number(text));
      const safe = !isNumber && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
      return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    }).join(",");
  }
  function saveCsv(name, rows) {
    const page = find("h1", HTMLElement).textContent.replaceAll(/[^\w.-]+/g, "_").slice(0, 60);
    const url = URL.createObjectURL(new Blob([rows.map(csvLine).join("\r\n")], { type: "text/csv" }));
    download(url, `${page}-${name}.csv`);
    setTimeout(() => URL.revokeObjectURL(url), 1e3);
  }
  function figureRows({ data = [], layout }) {
    const table = layout?.meta?.csv;
    if (table) return [table.columns, ...table.rows];
    const isTimeline = data.some(({ meta }) => meta?.unit !== void 0);
    const rows = [isTimeline ? ["series", "time_s", "value", "unit"] : ["series", "x", "y"]];
    for (const trace of data) {
      if (trace.meta?.role === "band" || trace.meta?.role === "lanes") continue;
      const [x, y] = [valuesOf(trace.x), valuesOf(trace.y)];
      const labels = trace.orientation === "h" ? trace.hovertext ?? [] : [];
      for (let i = 0; i < Math.max(x.length, y.length); i++) {
        const name = [trace.name ?? "", labels[i] ?? ""].filter(Boolean).map(plainText).join(": ");
        if (![x[i], y[i]].some((value) => value === null || Number.isNaN(value))) rows.push([name, x[i], y[i], ...isTimeline ? [trace.meta?.unit] : []]);
      }
    }
    return rows;
  }
  function valuesOf(values) {
    if (!values) return [];
    if (!("bdata" in values)) return values;
    const bytes = Uint8Array.from(atob(values.bdata), (letter) => letter.charCodeAt(0));
    return new ARRAY_TYPES[values.dtype](bytes.buffer);
  }
  var MARKS = { "&lt;": "<", "&gt;": ">", "&#36;": "$", "&amp;": "&" };
  function plainText(label) {
    const [line = ""] = label.split("<br>");
    return line.replaceAll(/<[^>]*>/g, "").replaceAll(/&(?:lt|gt|amp|#36);/g, (mark) => MARKS[mark] ?? mark);
  }

  // src/format.ts
  function formatSeconds(seconds) {
    const size = Math.abs(Number(seconds.toPrecision(3)));
    if (!(size > 0)) return size === 0 ? "0 ns" : "–";
    const [scale, unit] = unitOf(size);
    const decimals = 2 - Math.floor(Math.log10(size * scale));
    return `${(seconds * scale).toFixed(Math.min(Math.max(decimals, 0), 3))} ${unit}`;
  }
  function unitOf(seconds) {
    if (seconds >= 1) return [1, "s"];
    if (seconds >= 1e-3) return [1e3, "ms"];
    return seconds >= 1e-6 ? [1e6, "µs"] : [1e9, "ns"];
  }
  function formatPercent(value) {
    if (!Number.isFinite(value)) return "–";
    if (value > 0 && value < 1e-3) return "<0.001 %";
    return `${value.toFixed(value >= 1 || value === 0 ? 1 : value >= 0.1 ? 2 : 3)} %`;
  }
  function formatMoment(seconds) {
    return `${(seconds * 1e3).toFixed(4)} ms`;
  }
  var PREFIXES = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  function formatScaled(value, unit) {
    if (!Number.isFinite(value)) return "–";
    const [scale, prefix] = PREFIXES.find(([size]) => Math.abs(value) >= size) ?? [1, ""];
    const scaled = value / scale;
    return `${Number(scaled.toPrecision(3)).toFixed(scaled >= 99.95 || scaled === 0 ? 0 : scaled >= 9.995 ? 1 : 2)} ${prefix}${unit}`;
  }
  var TICK_STEPS = [1, 2, 5, 10];
  function timeTicks(low, high, most) {
    const least = (high - low) / most;
    const size = 10 ** Math.floor(Math.log10(least));
    const step = size * (TICK_STEPS.find((each) => each * size >= least) ?? 10);
    const first = Math.ceil(low / step);
    const tickvals = Array.from({ length: Math.max(Math.floor(high / step) - first + 1, 0) }, (_, i) => (first + i) * step);
    const [scale, unit] = unitOf(Math.max(Math.abs(low), Math.abs(high)));
    const decimals = Math.max(0, -Math.floor(Math.log10(step * scale) + 1e-9));
    return { tickvals, ticktext: tickvals.map((value) => `${(value * scale).toFixed(decimals)} ${unit}`) };
  }
  function formatBytes(bytes) {
    if (!Number.isFinite(bytes)) return "–";
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    const place = Math.min(Math.max(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), 0), units.length - 1);
    return `${(bytes / 1024 ** place).toFixed(place ? 1 : 0)} ${units[place]}`;
  }
  function formatCount(count) {
    return Number.isFinite(count) ? Math.round(count).toLocaleString("en-US") : "–";
  }

  // src/selection_fragment.ts
  function toFragment2({ selection, view }) {
    const fields = selection ? fieldsOf(selection) : [];
    if (view) fields.push(["view", pairText(view)]);
    return fields.map(([name, value]) => `${name}=${encode(value)}`).join("&");
  }
  function fromFragment2(fragment) {
    const fields = /* @__PURE__ */ new Map();
    for (const field of fragment.replace(/^#/, "").split("&")) {
      const [name, value] = field.split(/=(.*)/s);
      const text = value === void 0 ? null : decode(value);
      if (text !== null) fields.set(name, text);
    }
    return { selection: selectionOf(fields), view: pairOf(fields.get("view")) };
  }
  function parseSelection(text) {
    if (!text.trimStart().startsWith("{")) return fromFragment2(text).selection;
    try {
      const { kind, start: start2, end, number, name, instance, ids, ...rest } = JSON.parse(text);
      const first = kind === "window" ? `${String(start2)},${String(end)}` : kind === "iteration" ? number : Array.isArray(ids) ? ids.join(",") : name;
      const fields = Object.entries({ [String(kind)]: first, instance: typeof instance === "number" ? instance + 1 : instance, ...rest }).filter(([, value]) => value !== void 0);
      return selectionOf(new Map(fields.map(([field, value]) => [field, String(value)])));
    } catch {
      return null;
    }
  }
  function isSame(a, b) {
    return toFragment2({ selection: a, view: null }) === toFragment2({ selection: b, view: null });
  }
  function nameOfSame(selection) {
    const { instance: _, ...any } = { instance: 0, ...selection };
    return toFragment2({ selection: any, view: null });
  }
  function fieldsOf(selection) {
    const fields = [[selection.kind, mainField(selection)]];
    if ("gpu" in selection && selection.gpu) fields.push(["gpu", String(selection.gpu)]);
    if ("instance" in selection && selection.instance !== void 0) fields.push(["instance", String(selection.instance + 1)]);
    return fields;
  }
  function mainField(selection) {
    if (selection.kind === "window") return pairText([selection.start, selection.end]);
    if ("ids" in selection) return selection.ids.join(",");
    return selection.kind === "iteration" ? String(selection.number) : selection.name;
  }
  function selectionOf(fields) {
    const gpu = wholeNumber2(fields.get("gpu") ?? "0");
    if (gpu === null) return null;
    const pair = pairOf(fields.get("window"));
    if (pair) return { kind: "window", gpu, start: pair[0], end: pair[1] };
    const number = wholeNumber2(fields.get("iteration"));
    if (number !== null) return { kind: "iteration", gpu, number };
    for (const kind of ["kernels", "modules"]) {
      const ids = fields.get(kind)?.split(",").map(wholeNumber2);
      if (ids?.every((id) => id !== null)) return { kind, gpu, ids };
    }
    const instance = wholeNumber2(fields.get("instance"));
    if (instance === 0) return null;
    for (const kind of ["range", "kernel"]) {
      const name = fields.get(kind);
      if (name) return { kind, gpu, name, ...instance === null ? {} : { instance: instance - 1 } };
    }
    const [module, finding] = [fields.get("module"), fields.get("finding")];
    if (module) return { kind: "module", gpu, name: module };
    return finding ? { kind: "finding", name: finding } : null;
  }
  function pairText(pair) {
    return pair.map((seconds) => Number(seconds.toFixed(9))).join(",");
  }
  function pairOf(text) {
    const [start2, end, ...more] = text ? text.split(",").map((part) => part.trim() ? Number(part) : NaN) : [];
    return Number.isFinite(start2) && Number.isFinite(end) && start2 < end && !more.length ? [start2, end] : null;
  }
  function wholeNumber2(text) {
    return text !== void 0 && /^\d{1,15}$/.test(text) ? Number(text) : null;
  }
  function encode(text) {
    return encodeURIComponent(text).replaceAll("%2F", "/").replaceAll("%2C", ",").replaceAll("%3A", ":");
  }
  function decode(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return null;
    }
  }

  // src/selection.ts
  var PAUSE = 200;
  var listeners2 = [];
  var state = { selection: null, view: null };
  var isKnown = () => true;
  var waiting = 0;
  function onSelection(listener) {
    listeners2.push(listener);
  }
  function currentSelection() {
    return state.selection;
  }
  function select(selection, { from }) {
    if (selection && !isKnown(selection)) return;
    writeAddress2("replaceState");
    const isNew = !isSame(selection, state.selection);
    state = { selection, view: state.view };
    if (isNew) writeAddress2("pushState");
    tell2(from);
  }
  function keepView(view) {
    state = { selection: state.selection, view };
    clearTimeout(waiting);
    waiting = setTimeout(() => writeAddress2("replaceState"), PAUSE);
  }
  function startSelection(known) {
    isKnown = known;
    addEventListener("popstate", readAddress2);
    document.addEventListener("click", (event) => {
      const element2 = event.target instanceof Element ? event.target.closest("[data-select]") : null;
      const selection = element2 && parseSelection(element2.dataset.select ?? "");
      if (!selection) return;
      event.preventDefault();
      select(selection, { from: element2.closest(".panel") ? "panel" : "element" });
    });
    if (readAddress()) readAddress2();
  }
  function readAddress2() {
    const fragment = readAddress();
    if (fragment === null) return;
    clearTimeout(waiting);
    const { selection, view } = fromFragment2(fragment);
    state = { selection: selection && isKnown(selection) ? selection : null, view };
    tell2("address");
  }
  function tell2(from) {
    const change = { ...state, from };
    for (const listener of listeners2) listener(change);
  }
  function writeAddress2(how) {
    clearTimeout(waiting);
    writeAddress(toFragment2(state), how);
  }

  // src/timeline/search.ts
  function firstAbove(values, limit) {
    let [from, to] = [0, values.length];
    while (from < to) {
      const middle = from + to >> 1;
      if (values[middle] > limit) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  // src/timeline/launching.ts
  var Launches = class {
    launched;
    sorted = null;
    /** @param launched - When each bar of work was launched; NaN where unknown. */
    constructor(launched) {
      this.launched = launched;
    }
    /** The bars of work that were launched from one time on, and before another; by launch. */
    within(start2, end) {
      const { places, times } = this.byTime();
      const [from, to] = [start2, end].map((limit) => firstAtLeast(times, limit));
      return places.subarray(from, Math.max(from, to));
    }
    byTime() {
      if (!this.sorted) {
        const { launched } = this;
        const known = Uint32Array.from(launched.keys()).filter((place) => !Number.isNaN(launched[place]));
        const places = known.sort((a, b) => launched[a] - launched[b] || a - b);
        this.sorted = { places, times: Float64Array.from(places, (place) => launched[place]) };
      }
      return this.sorted;
    }
  };
  function firstAtLeast(values, limit) {
    const place = firstAbove(values, limit);
    let first = place;
    while (first > 0 && values[first - 1] === limit) first--;
    return first;
  }
  function openAt(host, rows, time) {
    const found = [];
    for (const { members, reach } of rows.values()) {
      for (let k = firstAbove(reach, time); k < members.length && host.start[members[k]] <= time; k++) {
        if (host.end[members[k]] > time) found.push(members[k]);
      }
    }
    return found.sort((a, b) => host.end[a] - host.start[a] - (host.end[b] - host.start[b]));
  }
  function sumWork(work, active, bars) {
    const shares = /* @__PURE__ */ new Map();
    for (const bar of bars) {
      const id = work.id[bar];
      const share = shares.get(id) ?? { id, count: 0, seconds: 0, activeSeconds: 0, known: 0 };
      const seconds = work.end[bar] - work.start[bar];
      share.count += work.merged[bar];
      share.seconds += seconds;
      if (!Number.isNaN(active[bar])) {
        share.known += seconds;
        share.activeSeconds += seconds * active[bar] / 100;
      }
      shares.set(id, share);
    }
    const all = [...shares.values()].sort((a, b) => b.seconds - a.seconds);
    return all.map(({ known, activeSeconds, ...share }) => ({ ...share, activeSeconds: known ? activeSeconds : NaN }));
  }
  var WHOLE = 0.99;
  function activeOf(shares) {
    const sum = (some, key) => some.reduce((total, share) => total + share[key], 0);
    const known = shares.filter(({ activeSeconds }) => !Number.isNaN(activeSeconds));
    const percent = known.length ? 100 * sum(known, "activeSeconds") / sum(shares, "seconds") : NaN;
    return { percent, isLeast: known.length > 0 && sum(known, "seconds") < WHOLE * sum(shares, "seconds") };
  }
  function modulesWithin(chosen2, { ids, parents }) {
    const within = new Set(chosen2);
    ids.forEach((each, row) => {
      if (within.has(parents[row])) within.add(each);
    });
    return within;
  }
  function sumModule(chosen2, { own, ...nested }) {
    const within = modulesWithin(chosen2, nested);
    const sums = /* @__PURE__ */ new Map();
    for (const { module, share } of own) {
      if (!within.has(module)) continue;
      const sum = sums.get(share.id) ?? { id: share.id, count: 0, seconds: 0, activeSeconds: 0 };
      sum.count += share.count;
      sum.seconds += share.seconds;
      sum.activeSeconds += share.activeSeconds;
      sums.set(share.id, sum);
    }
    return [...sums.values()].sort((a, b) => b.seconds - a.seconds);
  }
  function busyTime({ start: start2, end }, bars, low, high) {
    let [busy, until] = [0, low];
    for (const bar of bars) {
      const from = Math.max(start2[bar], until);
      const to = Math.min(end[bar], high);
      if (to > from) busy += to - from;
      until = Math.max(until, to);
    }
    return busy;
  }
  function runningIn(work, rows, low, high) {
    const found = [];
    for (const { members, reach } of rows.values()) {
      for (let k = firstAbove(reach, low); k < members.length && work.start[members[k]] < high; k++) {
        if (work.end[members[k]] > low) found.push(members[k]);
      }
    }
    return found.sort((a, b) => work.start[a] - work.start[b]);
  }

  // src/timeline/highlights.ts
  var MOST = 4e3;
  var INSIDE = 0.42;
  function highlightsOf(subjects, subject) {
    if (subject.parts) {
      const { gpu: gpu2, parts } = subject;
      return { gpu: gpu2, bars: parts.flatMap((part) => highlightsOf(subjects, part).bars).slice(0, MOST) };
    }
    const { gpu, selection: { kind }, instances, at } = subject;
    const { host, work } = gpu.lanes;
    const onCpu = kind === "range" ? instances.filter((_, place) => at < 0 || place === at) : [];
    const launched = kind === "kernel" && at >= 0 ? gpu.details.launched[instances[at]] : NaN;
    const around2 = Number.isNaN(launched) ? [] : openAt(host, host.rows, launched).slice(0, 1);
    const onGpu = kind === "window" ? [] : Array.from(subject.work());
    return {
      gpu,
      bars: [
        ...[...onCpu, ...around2].slice(0, MOST).map((bar) => outline(host, bar, 1)),
        ...onCpu.slice(0, MOST).flatMap((bar) => windowOutline(subjects, gpu, bar)),
        ...around2.map((bar) => ({ ...outline(host, bar, 1), left: launched, right: launched })),
        ...onGpu.slice(0, MOST).map((bar) => outline(work, bar, gpu.lanes.streamRows))
      ]
    };
  }
  function windowOutline(subjects, gpu, bar) {
    const window2 = subjects.windowBar(gpu, bar);
    return window2 === void 0 ? [] : [outline(gpu.lanes.windows, window2, 1)];
  }
  function outline({ start: start2, end, row }, bar, rows) {
    return { left: start2[bar], right: end[bar], top: row[bar] - INSIDE, bottom: row[bar] + rows - 1 + INSIDE };
  }

  // src/timeline/samples.ts
  var FACTOR = 8;
  var FEW = 4e3;
  function endsOf(start2, breaks, ends) {
    const end = new Float64Array(start2.length);
    end.set(start2.subarray(1));
    breaks.forEach((place, i) => {
      end[place] = ends[i];
    });
    return end;
  }
  function makeTrack(start2, end, curves, binned) {
    const period = start2.length ? (end[end.length - 1] - start2[0]) / start2.length : 0;
    let coarsest = { start: start2, end, curves, binned, period };
    const levels = [coarsest];
    while (coarsest.start.length > FEW) {
      coarsest = group(coarsest, 0, coarsest.start.length, FACTOR);
      levels.push(coarsest);
    }
    return levels;
  }
  function groupStarts({ start: start2, end, period }, from, to, size) {
    const edges = [];
    const longest = size * period;
    for (let i = from; i < to; i++) {
      if (i === from || i % size === 0 || start2[i] - end[i - 1] > longest) edges.push(i);
    }
    edges.push(to);
    return edges;
  }
  function group(level, from, to, size) {
    const edges = groupStarts(level, from, to, size);
    const count = edges.length - 1;
    const start2 = new Float64Array(count);
    const end = new Float64Array(count);
    for (let g = 0; g < count; g++) {
      start2[g] = level.start[edges[g]];
      end[g] = level.end[edges[g + 1] - 1];
    }
    const curves = level.curves.map((curve) => once(() => groupCurve(level, curve(), edges)));
    return { start: start2, end, curves, binned: true, period: level.period * size };
  }
  function groupCurve(level, curve, edges) {
    const count = edges.length - 1;
    const grouped = { low: new Float32Array(count), mean: new Float32Array(count), high: new Float32Array(count) };
    if (curve.mean instanceof Uint16Array && curve.low === curve.mean && curve.high === curve.mean) groupSamples(level, curve.mean, edges, grouped);
    else groupBins(level, curve, edges, grouped);
    return grouped;
  }
  function groupSamples({ start: start2, end }, values, edges, { low, mean, high }) {
    for (let g = 0; g < mean.length; g++) {
      let [sum, time, smallest, largest] = [0, 0, 65535, 0];
      for (let i = edges[g]; i < edges[g + 1]; i++) {
        const value = values[i];
        if (value === 0) continue;
        const length = end[i] - start2[i];
        sum += length * value;
        time += length;
        if (value < smallest) smallest = value;
        if (value > largest) largest = value;
      }
      if (!time) continue;
      mean[g] = Math.min(Math.max(sum / time, smallest), largest);
      low[g] = smallest;
      high[g] = largest;
    }
  }
  function groupBins({ start: start2, end }, { low, mean, high }, edges, grouped) {
    const count = edges.length - 1;
    for (let g = 0; g < count; g++) {
      let [sum, time, smallest, largest] = [0, 0, Infinity, 0];
      for (let i = edges[g]; i < edges[g + 1]; i++) {
        if (mean[i] === 0) continue;
        const length = end[i] - start2[i];
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
  }
  function windowOf(levels, low, high, most) {
    for (const level of levels) {
      const from = firstAbove(level.end, low);
      const to = Math.max(from, firstAbove(level.start, high));
      const size = Math.ceil((to - from) / most);
      if (size > 4 * FACTOR && level !== levels[levels.length - 1]) continue;
      return size > 1 ? group(level, from - from % size, to, size) : cutLevel(level, from, to);
    }
    throw new Error("a track has no level");
  }
  function cutLevel(level, from, to) {
    const curves = level.curves.map((curve) => once(() => {
      const { low, mean, high } = curve();
      return { low: low.subarray(from, to), mean: mean.subarray(from, to), high: high.subarray(from, to) };
    }));
    return { ...level, start: level.start.subarray(from, to), end: level.end.subarray(from, to), curves };
  }
  function goesOn(level, curve, i) {
    return level.start[i + 1] <= level.end[i] && curve.mean[i + 1] !== 0;
  }
  function stepLine(level, curve, step) {
    const [x, y, places] = [[], [], []];
    const add = (time, value, place) => {
      x.push(time);
      y.push(value);
      places.push(place);
    };
    for (let i = 0; i < level.start.length; i++) {
      if (curve.mean[i] === 0) continue;
      const value = step * (curve.mean[i] - 1);
      add(level.start[i], value, i);
      if (!goesOn(level, curve, i)) {
        add(level.end[i], value, i);
        add(level.end[i], NaN, i);
      }
    }
    return { x, y, places };
  }
  function meanWithin({ start: start2, end }, { mean }, step, low, high) {
    let [sum, time] = [0, 0];
    for (let i = firstAbove(end, low); i < start2.length && start2[i] < high; i++) {
      if (mean[i] === 0) continue;
      const length = Math.min(end[i], high) - Math.max(start2[i], low);
      sum += length * step * (mean[i] - 1);
      time += length;
    }
    return time ? sum / time : NaN;
  }
  function once(make) {
    let made = null;
    return () => (made ??= { value: make() }).value;
  }

  // src/intervals.ts
  function countWithin({ start: start2, end, id, merged }, from, to) {
    const found = [];
    for (let i = 0; i < id.length; i++) {
      if (end[i] <= from || start2[i] >= to) continue;
      const entry = found[id[i]] ??= { count: 0, seconds: 0 };
      entry.count += merged[i];
      entry.seconds += Math.min(end[i], to) - Math.max(start2[i], from);
    }
    return new Map(Object.entries(found).map(([each, share]) => [Number(each), share]));
  }
  function preferred(first, others) {
    const has = new Set(first.id);
    const places = Array.from(others.id.keys()).filter((place) => !has.has(others.id[place]));
    return {
      start: join(Float64Array, first.start, others.start, places),
      end: join(Float64Array, first.end, others.end, places),
      id: join(Uint32Array, first.id, others.id, places),
      merged: join(Uint32Array, first.merged, others.merged, places)
    };
  }
  function join(type, first, others, places) {
    const joined = new type(first.length + places.length);
    joined.set(first);
    places.forEach((place, i) => {
      joined[first.length + i] = others[place];
    });
    return joined;
  }
  function typical({ start: start2, end, id, merged }, wanted2) {
    const all = Array.from(id.keys()).filter((place) => id[place] === wanted2);
    const single = all.filter((place) => merged[place] === 1);
    const mine = single.length ? single : all;
    mine.sort((a, b) => end[a] - start2[a] - (end[b] - start2[b]));
    const middle = mine[mine.length - 1 >> 1];
    return middle === void 0 ? null : { start: start2[middle], end: end[middle] };
  }

  // src/timeline/subjects.ts
  var Subjects = class {
    header;
    gpus;
    /** The findings that can be selected, by name. */
    findings = /* @__PURE__ */ new Map();
    rangeIds;
    kernelIds;
    known = /* @__PURE__ */ new Map();
    constructor(header, gpus) {
      this.header = header;
      this.gpus = gpus;
      this.rangeIds = new Map(header.links.ranges.map((name, id) => [name, id]));
      this.kernelIds = new Map(header.links.kernels.map((name, id) => [`${header.gpuOfKernel[id]} ${name}`, id]));
    }
    /** What a selection stands for; null where the recording does not have it. */
    find(selection) {
      if (selection.kind === "finding") return this.finding(selection);
      const gpu = this.gpus.find((each) => each.gpu === selection.gpu);
      if (!gpu) return null;
      switch (selection.kind) {
        case "window":
          return this.window(gpu, selection);
        case "range":
          return this.range(gpu, selection);
        case "kernel":
          return this.kernel(gpu, selection);
        case "iteration":
          return this.iteration(gpu, selection);
        case "module":
          return this.module(gpu, selection);
        case "kernels":
          return this.several(selection, this.named(gpu, selection.kind, selection.ids));
        case "modules": {
          const subject = this.several(selection, this.named(gpu, selection.kind, selection.ids));
          return subject && { ...subject, place: subject.parts?.find(({ place }) => place)?.place ?? null };
        }
      }
    }
    /** The name by which the path, kernel or module of an id is selected. */
    nameOf(kind, gpu, id) {
      if (kind !== "module") return this.header.links[kind === "range" ? "ranges" : "kernels"][id];
      const modules = this.gpus.find((each) => each.gpu === gpu)?.details.modules;
      return modules?.names[modules.rowOf.get(id) ?? -1];
    }
    /** The selection of one instance: of a range by its bar on the CPU, of a kernel by its bar of work. */
    instanceAt(gpu, kind, bar) {
      const bars = kind === "range" ? gpu.lanes.host : gpu.lanes.work;
      const name = this.header.links[kind === "range" ? "ranges" : "kernels"][bars.id[bar]];
      if (name === void 0) return null;
      return { kind, gpu: gpu.gpu, name, instance: barsOf(bars, bars.id[bar]).indexOf(bar) };
    }
    /** Where the work of a range's bar on the CPU is on the GPU; where it has none, its time on the CPU. */
    windowOf(gpu, bar) {
      const window2 = this.windowBar(gpu, bar);
      return window2 === void 0 ? spanOf(gpu.lanes.host, bar) : spanOf(gpu.lanes.windows, window2);
    }
    /** The bar of its work on the GPU, of a range's bar on the CPU. */
    windowBar(gpu, bar) {
      return this.of(gpu).windowOf.get(bar);
    }
    window(gpu, selection) {
      const { start: start2, end } = selection;
      const work = () => runningIn(gpu.lanes.work, gpu.lanes.work.rows, start2, end);
      return { selection, gpu, id: -1, place: { start: start2, end }, host: [], instances: [], at: -1, work };
    }
    range(gpu, selection) {
      const id = this.rangeIds.get(selection.name);
      if (id === void 0) return null;
      const instances = barsOf(gpu.lanes.host, id);
      const at = selection.instance ?? -1;
      if (at >= instances.length) return null;
      const chosen2 = at < 0 ? instances : [instances[at]];
      const host = chosen2.map((bar) => spanOf(gpu.lanes.host, bar));
      const place = at < 0 ? typical(this.of(gpu).ranges, id) : this.windowOf(gpu, chosen2[0]);
      return { selection, gpu, id, place, host, instances, at, work: () => this.launchedIn(gpu, host) };
    }
    kernel(gpu, selection) {
      const id = this.kernelIds.get(`${gpu.gpu} ${selection.name}`);
      if (id === void 0) return null;
      const instances = barsOf(gpu.lanes.work, id);
      const at = selection.instance ?? -1;
      if (at >= instances.length) return null;
      const place = at < 0 ? typical(gpu.lanes.work, id) : spanOf(gpu.lanes.work, instances[at]);
      return { selection, gpu, id, place, host: [], instances, at, work: () => at < 0 ? instances : [instances[at]] };
    }
    module(gpu, selection) {
      const { modules, moduleOf, iterations } = gpu.details;
      const row = modules.names.indexOf(selection.name);
      if (row < 0) return null;
      const within = modulesWithin([modules.ids[row]], modules);
      const bars = Array.from(moduleOf.keys()).filter((bar) => within.has(moduleOf[bar]));
      const at = iterations.start.length >> 1;
      const typical2 = bars.filter((bar) => gpu.lanes.work.start[bar] >= iterations.start[at] && gpu.lanes.work.end[bar] <= iterations.end[at]);
      const place = around(gpu.lanes.work, typical2.length ? typical2 : bars);
      return { selection, gpu, id: modules.ids[row], place, host: [], instances: [], at: -1, work: () => bars };
    }
    iteration(gpu, selection) {
      const { number, start: start2, end, hostStart, hostEnd } = gpu.details.iterations;
      const at = number.indexOf(selection.number);
      if (at < 0) return null;
      const host = [{ start: hostStart[at], end: hostEnd[at] }];
      const instances = Array.from(number.keys());
      const place = { start: start2[at], end: end[at] };
      return { selection, gpu, id: -1, place, host, instances, at, work: () => this.launchedIn(gpu, host) };
    }
    finding(selection) {
      const finding = this.findings.get(selection.name);
      const subject = this.several(selection, finding?.about ?? []);
      const place = subject?.parts?.find((part) => part.place)?.place ?? null;
      return subject && finding ? { ...subject, place, finding } : null;
    }
    /** Several things of one GPU as one, with the work of all. */
    several(selection, about) {
      const found = about.map((each) => this.find(each)).filter((part) => part !== null);
      if (!found.length) return null;
      const [{ gpu }] = found;
      const parts = found.filter((part) => part.gpu === gpu);
      const { start: start2 } = gpu.lanes.work;
      const work = () => [...new Set(parts.flatMap((part) => Array.from(part.work())))].sort((a, b) => start2[a] - start2[b]);
      return { selection, gpu, id: -1, place: null, host: [], instances: [], at: -1, work, parts };
    }
    named({ gpu }, kind, ids) {
      const single = kind === "kernels" ? "kernel" : "module";
      const names = ids.map((id) => this.nameOf(single, gpu, id)).filter((name) => name !== void 0);
      return names.map((name) => ({ kind: single, gpu, name }));
    }
    /** The bars of work that were launched in some times on the CPU, each once. */
    launchedIn(gpu, host) {
      const { launches } = this.of(gpu);
      const found = [];
      let until = -Infinity;
      for (const { start: start2, end } of host) {
        for (const bar of launches.within(Math.max(start2, until), end)) found.push(bar);
        until = Math.max(until, end);
      }
      return found.sort((a, b) => gpu.lanes.work.start[a] - gpu.lanes.work.start[b]);
    }
    of(gpu) {
      const known = this.known.get(gpu);
      if (known) return known;
      const { lanes: { host, windows }, details } = gpu;
      const windowOf2 = /* @__PURE__ */ new Map();
      details.hostOfWindow.forEach((bar, window2) => {
        if (bar >= 0) windowOf2.set(bar, window2);
      });
      const made = { launches: new Launches(details.launched), ranges: preferred(windows, host), windowOf: windowOf2 };
      this.known.set(gpu, made);
      return made;
    }
  };
  function spanOf({ start: start2, end }, bar) {
    return { start: start2[bar], end: end[bar] };
  }
  function around({ start: start2, end }, bars) {
    return bars.length ? { start: start2[bars[0]], end: bars.reduce((last, bar) => Math.max(last, end[bar]), 0) } : null;
  }
  function barsOf({ id }, wanted2) {
    const found = [];
    for (let bar = id.indexOf(wanted2); bar >= 0; bar = id.indexOf(wanted2, bar + 1)) found.push(bar);
    return found;
  }

  // src/panel/modules.ts
  function phaseFacts({ gpu: { details: { modules } }, id, parts }) {
    const within = modulesWithin(parts ? parts.map((part) => part.id) : [id], modules);
    const mine = modules.own.filter(({ module }) => within.has(module));
    const phases = [...new Set(mine.map(({ phase }) => phase))];
    return phases.length < 2 ? [] : phases.map((phase) => {
      const shares = mine.filter((each) => each.phase === phase).map(({ share }) => share);
      const { percent, isLeast } = activeOf(shares);
      const seconds = shares.reduce((sum, share) => sum + share.seconds, 0);
      const active = Number.isFinite(percent) ? `, Tensor Active ${isLeast ? "≥ " : ""}${formatPercent(percent)}` : "";
      return [`Of it ${phase}`, `${formatSeconds(seconds)}${active}`];
    });
  }
  function launchingModules({ gpu, id }, most) {
    const { modules } = gpu.details;
    const mine = modules.own.filter(({ share }) => share.id === id).sort((a, b) => b.share.seconds - a.share.seconds);
    const whole = mine.reduce((sum, { share }) => sum + share.seconds, 0);
    const lines = mine.slice(0, most).map(({ module, phase, share: { count, seconds } }) => {
      const name = modules.names[modules.rowOf.get(module) ?? -1] ?? "";
      const note = `${phase}: ${formatPercent(100 * seconds / whole)}, ${formatSeconds(seconds)}, ${formatCount(count)} ×`;
      return { name, note, selection: name ? { kind: "module", gpu: gpu.gpu, name } : null };
    });
    return { title: "Modules that launch it", lines, more: mine.length - lines.length };
  }
  function figureOf({ rowOf, figures }, id) {
    const row = rowOf.get(id);
    return (name) => row === void 0 ? NaN : figures[name]?.[row] ?? NaN;
  }
  function sumOf(modules, parts, name) {
    const sum = (weight) => parts.reduce((total, { id }) => total + weight(figureOf(modules, id)), 0);
    if (/_(low|high)_pct$/.test(name)) return NaN;
    if (!name.startsWith("tensor_active")) return sum((of) => of(name));
    return sum((of) => of(name) * of("kernel_ns")) / sum((of) => of("kernel_ns"));
  }

  // src/panel/steps.ts
  var NOWHERE = { previous: null, next: null, longest: null, least: null };
  function stepsOf(subjects, subject) {
    const { selection, instances, at } = subject;
    if (selection.kind === "window") return windowSteps(selection);
    if (!instances.length) return NOWHERE;
    const select2 = (place) => {
      if (place < 0 || place >= instances.length) return null;
      if (selection.kind === "range" || selection.kind === "kernel") return { ...selection, instance: place };
      const { number } = subject.gpu.details.iterations;
      return selection.kind === "iteration" ? { ...selection, number: number[place] } : null;
    };
    return {
      previous: at < 0 ? null : select2(at - 1),
      next: select2(at + 1),
      longest: instances.length > 1 ? select2(longestOf(subjects, subject)) : null,
      least: instances.length > 1 ? select2(leastActiveOf(subject)) : null
    };
  }
  function windowSteps(selection) {
    const length = selection.end - selection.start;
    const moved = (by) => ({ ...selection, start: selection.start + by, end: selection.end + by });
    return { previous: selection.start >= length ? moved(-length) : null, next: moved(length), longest: null, least: null };
  }
  function longestOf(subjects, { selection, gpu, instances }) {
    const { iterations } = gpu.details;
    const lengths = instances.map((bar) => {
      const span = selection.kind === "range" ? subjects.windowOf(gpu, bar) : spanOf(selection.kind === "kernel" ? gpu.lanes.work : iterations, bar);
      return span.end - span.start;
    });
    return lengths.indexOf(lengths.reduce((a, b) => Math.max(a, b), 0));
  }
  function leastActiveOf({ selection, gpu, instances }) {
    const { lanes: { host, work }, details: { iterations }, curves } = gpu;
    const curve = curves.get("Tensor Active");
    const active = instances.map((bar) => {
      if (selection.kind === "range") return host.percents.tensor_active_mean_pct[bar];
      if (selection.kind === "kernel") return work.percents.tensor_active_pct[bar];
      const [level] = curve?.levels ?? [];
      return level ? meanWithin(level, level.curves[curve.place](), curve.step, iterations.start[bar], iterations.end[bar]) : NaN;
    });
    const lowest = active.reduce((least, value) => value < least ? value : least, Infinity);
    return active.indexOf(lowest);
  }

  // src/panel/told.ts
  var MOST_LINES = 8;
  function tell3(subjects, subject) {
    const { selection, gpu, at, instances } = subject;
    const several = subjects.gpus.length > 1 ? ` on GPU ${gpu.gpu}` : "";
    const which = at >= 0 ? ` ${formatCount(at + 1)} of ${formatCount(instances.length)}` : "";
    const nouns = {
      window: "Window",
      range: "Range",
      kernel: "Kernel",
      module: "Module",
      iteration: "Step",
      finding: "Finding",
      kernels: "Kernels",
      modules: "Modules"
    };
    const part = selection.kind === "range" ? ", instance" : selection.kind === "kernel" ? ", launch" : "";
    return {
      title: titleOf(subject),
      kind: `${nouns[selection.kind]}${at >= 0 ? part : ""}${which}${several}`,
      facts: factsOf(subjects, subject).filter(([, value]) => value !== "–"),
      ...classesOf(subjects, subject),
      lists: listsOf(subjects, subject).filter(({ lines }) => lines.length),
      steps: stepsOf(subjects, subject)
    };
  }
  function titleOf({ selection, finding, parts }) {
    if (finding) return finding.title;
    if ("ids" in selection) return `${formatCount(parts?.length ?? 0)} ${selection.kind}`;
    if (selection.kind === "window") return `${formatSeconds(selection.end - selection.start)} from ${formatMoment(selection.start)}`;
    return selection.kind === "iteration" ? `Step ${selection.number}` : selection.name;
  }
  function factsOf(subjects, subject) {
    switch (subject.selection.kind) {
      case "window":
        return windowFacts(subject);
      case "iteration":
        return [["GPU window", lengthOf(subject.place)], ["On the CPU", lengthOf(subject.host[0])], ...meanFacts(subject)];
      case "range":
        return subject.at < 0 ? pathFacts(subject) : instanceFacts(subjects, subject);
      case "kernel":
        return subject.at < 0 ? kernelFacts(subjects, subject) : launchFacts(subjects, subject);
      case "finding":
      case "kernels":
        return severalFacts(subject);
      default:
        return moduleFacts(subject);
    }
  }
  var lengthOf = (span) => span ? formatSeconds(span.end - span.start) : "–";
  function withInterval(value, low, high) {
    const interval2 = Number.isFinite(low + high) ? ` (95 %: ${formatPercent(low)} to ${formatPercent(high)})` : "";
    return formatPercent(value) + interval2;
  }
  function windowFacts(subject) {
    const { gpu: { lanes: { work } }, place } = subject;
    const busy = place && busyTime(work, subject.work(), place.start, place.end);
    return [
      ["Length", lengthOf(place)],
      ["GPU busy", place && busy !== null ? formatPercent(100 * busy / (place.end - place.start)) : "–"],
      ...meanFacts(subject)
    ];
  }
  function meanFacts({ gpu: { curves }, place }) {
    if (!place) return [];
    return [...curves].map(([name, { levels, place: curve, step, unit }]) => {
      const mean = meanWithin(levels[0], levels[0].curves[curve](), step, place.start, place.end);
      return [`${name}, mean`, unit === "%" ? formatPercent(mean) : formatScaled(mean, unit)];
    });
  }
  function pathFacts({ gpu: { details }, id }) {
    const of = figureOf(details.paths, id);
    const count = of("instance_count");
    const seconds = 1e-9 * of("gpu_window_ns");
    return [
      ["Instances", formatCount(count)],
      ["GPU window, mean", formatSeconds(seconds / count)],
      ["GPU window, all together", formatSeconds(seconds)],
      ["Tensor Active, mean", withInterval(...interval(of, "tensor_active_mean_pct", "tensor_active"))],
      ["Tensor FLOP/s", formatScaled(of("tensor_flop") / seconds, "FLOP/s")],
      ["Device memory, each", formatBytes(of("dram_bytes") / count)],
      ["Kernels", formatCount(of("kernel_count"))]
    ];
  }
  function interval(of, value, stem) {
    return [of(value), of(`${stem}_low_pct`), of(`${stem}_high_pct`)];
  }
  function instanceFacts(subjects, { gpu, instances, at, place, host }) {
    const bar = instances[at];
    const { percents, kernels } = gpu.lanes.host;
    const of = (name, figures = gpu.details.instances) => figures[name]?.[bar] ?? NaN;
    const window2 = subjects.windowOf(gpu, bar);
    return [
      ["GPU window", kernels[bar] ? lengthOf(place) : "–"],
      ["On the CPU", lengthOf(host[0])],
      ["Tensor Active, mean", formatPercent(percents.tensor_active_mean_pct[bar])],
      ["Tensor FLOP/s", formatScaled(of("tensor_flop") / (window2.end - window2.start), "FLOP/s")],
      ["Device memory", formatBytes(of("dram_bytes"))],
      ["Kernels", formatCount(kernels[bar])],
      ["Time of the kernels", formatSeconds(1e-9 * of("kernel_ns"))]
    ];
  }
  function kernelFacts(subjects, { gpu, id }) {
    const { low, high, class: classes } = subjects.header.works;
    const of = figureOf(gpu.details.kernels, id);
    const seconds = 1e-9 * of("total_ns");
    return [
      ["Launches", formatCount(of("launch_count"))],
      ["Time, all launches", formatSeconds(seconds)],
      ["Time, mean", formatSeconds(seconds / of("launch_count"))],
      ["Class", subjects.header.classes[classes[id]].name],
      ["Tensor Active", withInterval(of("tensor_active_pct"), low[id] ?? NaN, high[id] ?? NaN)],
      ["Tensor FLOP/s", formatScaled(of("tensor_flop") / seconds, "FLOP/s")],
      ["Device memory, each", formatBytes((of("dram_read_bytes") + of("dram_write_bytes")) / of("launch_count"))]
    ];
  }
  function launchFacts(subjects, { gpu, id, instances, at, place }) {
    const { lanes: { work, labels }, details: { launched } } = gpu;
    const bar = instances[at];
    return [
      ["Duration", lengthOf(place)],
      ["Start", formatMoment(work.start[bar])],
      ["Launched by the CPU", Number.isNaN(launched[bar]) ? "–" : `${formatSeconds(work.start[bar] - launched[bar])} before`],
      ["Where", labels[work.row[bar]] ?? "–"],
      ["Class", subjects.header.classes[subjects.header.works.class[id]].name],
      ["Tensor Active, from the fit", formatPercent(work.percents.tensor_active_pct[bar])]
    ];
  }
  function severalFacts({ finding, gpu: { lanes: { work } }, work: bars, parts }) {
    const shares = sumWork(work, work.percents.tensor_active_pct, bars());
    const sum = (key) => shares.reduce((total, share) => total + share[key], 0);
    const { percent, isLeast } = activeOf(shares);
    const outlined = Math.min(bars().length, MOST);
    const isModules = parts?.every(({ selection }) => selection.kind === "module");
    return [
      ...finding?.gain ? [["Gain", finding.gain]] : [],
      ...isModules ? [] : [
        ["Launches", formatCount(sum("count"))],
        ["Outlined in the timeline", formatCount(outlined)],
        ["Time of all", formatSeconds(sum("seconds"))],
        ["Tensor Active, from the fit", (isLeast ? "≥ " : "") + formatPercent(percent)]
      ]
    ];
  }
  function moduleFacts(subject) {
    const { gpu: { details }, id, parts } = subject;
    const of = parts ? (name) => sumOf(details.modules, parts, name) : figureOf(details.modules, id);
    const seconds = 1e-9 * of("kernel_ns");
    return [
      ["Total time of its kernels", formatSeconds(seconds)],
      ["Share of all kernels' time", formatPercent(of("share_pct"))],
      ...phaseFacts(subject),
      ["Tensor Active while they ran", withInterval(...interval(of, "tensor_active_pct", "tensor_active"))],
      ["Time lost to the peak", formatSeconds(1e-9 * of("lost_ns"))],
      ["Tensor FLOP/s", formatScaled(of("tensor_flop") / seconds, "FLOP/s")],
      ["Device memory", formatBytes(of("dram_bytes"))],
      ["Kernels", formatCount(of("kernel_count"))]
    ];
  }
  function classesOf({ header }, subject) {
    const { selection: { kind }, gpu: { lanes: { work } }, place, at } = subject;
    if (kind === "kernel" || kind === "module" || kind === "modules") return { classes: [], classesTitle: "" };
    const times = /* @__PURE__ */ new Map();
    const clip = kind === "window" && place;
    for (const bar of subject.work()) {
      const place_ = header.works.class[work.id[bar]];
      const from = clip ? Math.max(work.start[bar], clip.start) : work.start[bar];
      const to = clip ? Math.min(work.end[bar], clip.end) : work.end[bar];
      times.set(place_, (times.get(place_) ?? 0) + to - from);
    }
    const classes = [...times].sort((a, b) => a[0] - b[0]).map(([each, seconds]) => ({ ...header.classes[each], seconds }));
    const isOne = place && !subject.parts && (kind !== "range" || at >= 0);
    if (isOne) {
      const bars = runningIn(work, subject.gpu.lanes.work.rows, place.start, place.end);
      const idle = place.end - place.start - busyTime(work, bars, place.start, place.end);
      if (idle > 0) classes.push({ ...header.classes[header.classes.length - 1], seconds: idle });
    }
    const title = kind === "window" ? "Time by class" : kind === "finding" ? "Time of its kernels, by class" : "Time of what it launched, by class";
    return { classes, classesTitle: title };
  }
  function listsOf(subjects, subject) {
    const lists = aboutLists(subject);
    if (subject.selection.kind !== "kernel") {
      const { kind } = subject.selection;
      const hasKernels = ["module", "modules", "kernels", "finding"].includes(kind);
      const title = kind === "window" ? "Kernels in the window" : hasKernels ? "Its kernels" : "Kernels that it launched";
      lists.push(workList(subjects, subject, title));
    }
    return [...lists, ...launcherLists(subjects, subject)];
  }
  function aboutLists({ parts = [] }) {
    const titles = { range: "Ranges", module: "Modules" };
    return ["range", "module"].map((kind) => {
      const mine = parts.filter(({ selection }) => selection.kind === kind);
      const lines = mine.slice(0, MOST_LINES).map(({ selection }) => ({ name: "name" in selection ? selection.name : "", note: "", selection }));
      return { title: titles[kind], lines, more: mine.length - lines.length };
    });
  }
  function workList({ header }, subject, title) {
    const { gpu } = subject;
    const shares = subject.selection.kind === "module" ? sumModule([subject.id], gpu.details.modules) : subject.selection.kind === "modules" ? sumModule(subject.parts.map(({ id }) => id), gpu.details.modules) : sumWork(gpu.lanes.work, gpu.lanes.work.percents.tensor_active_pct, subject.work());
    const lines = shares.slice(0, MOST_LINES).map(({ id, count, seconds, activeSeconds }) => {
      const active = Number.isNaN(activeSeconds) ? "" : `, Tensor Active ${formatPercent(100 * activeSeconds / seconds)}`;
      const name = header.links.kernels[id];
      return {
        name: name ?? header.works.cuts[id].at(-1) ?? "",
        note: `${formatCount(count)} ×, ${formatSeconds(seconds)}${active}`,
        selection: name === void 0 ? null : { kind: "kernel", gpu: gpu.gpu, name }
      };
    });
    return { title, lines, more: shares.length - lines.length };
  }
  function launcherLists(subjects, subject) {
    const { selection: { kind }, gpu, at, instances, host } = subject;
    const ranges = gpu.lanes.host;
    const open = (time) => Number.isNaN(time) ? [] : openAt(ranges, ranges.rows, time);
    if (at >= 0 && (kind === "kernel" || kind === "range")) {
      const time = kind === "kernel" ? gpu.details.launched[instances[at]] : host[0].start;
      const around2 = open(time).filter((bar) => kind === "kernel" || bar !== instances[at]);
      const lines2 = around2.map((bar) => ({
        name: subjects.header.links.ranges[ranges.id[bar]],
        note: `on the CPU for ${lengthOf(spanOf(ranges, bar))}`,
        selection: subjects.instanceAt(gpu, "range", bar)
      }));
      return [{ title: kind === "kernel" ? "Launched in" : "Within", lines: lines2, more: 0 }];
    }
    if (kind !== "kernel") return [];
    const counts = /* @__PURE__ */ new Map();
    for (const bar of instances) {
      const inner = open(gpu.details.launched[bar])[0];
      if (inner !== void 0) counts.set(ranges.id[inner], (counts.get(ranges.id[inner]) ?? 0) + gpu.lanes.work.merged[bar]);
    }
    const all = [...counts].sort((a, b) => b[1] - a[1]);
    const lines = all.slice(0, MOST_LINES).map(([id, count]) => {
      const name = subjects.header.links.ranges[id];
      return { name, note: `${formatCount(count)} launches`, selection: { kind: "range", gpu: gpu.gpu, name } };
    });
    return [launchingModules(subject, MOST_LINES), { title: "Launched in", lines, more: all.length - lines.length }];
  }

  // src/panel/panel.ts
  var KEYS = { p: "previous", n: "next", l: "longest", a: "least" };
  function startPanel(subjects) {
    const panel = find("aside.panel", HTMLElement);
    let steps = NOWHERE;
    const step = (name) => {
      if (steps[name]) select(steps[name], { from: "panel" });
    };
    onSelection(({ selection }) => {
      const subject = selection && subjects.find(selection);
      const told = subject && tell3(subjects, subject);
      steps = told ? told.steps : NOWHERE;
      show(panel, told);
    });
    find(".panel-close", HTMLButtonElement, panel).addEventListener("click", () => select(null, { from: "panel" }));
    for (const name of Object.values(KEYS)) {
      find(`[data-step=${name}]`, HTMLButtonElement, panel).addEventListener("click", () => step(name));
    }
    document.addEventListener("keydown", (event) => {
      const isTyping = event.target instanceof Element && event.target.closest("input, textarea, select, dialog, [role=option]");
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !currentSelection()) return;
      if (event.key === "Escape") select(null, { from: "keyboard" });
      else if (event.key in KEYS) step(KEYS[event.key]);
    });
  }
  function show(panel, told) {
    if (told) fill(panel, told);
    panel.hidden = !told;
    document.documentElement.classList.toggle("with-panel", Boolean(told));
  }
  function fill(panel, told) {
    find(".panel-kind", HTMLElement, panel).textContent = told.kind;
    find(".panel-title bdi", HTMLElement, panel).textContent = withoutMark(told.title);
    find(".panel-steps", HTMLElement, panel).hidden = !Object.values(told.steps).some(Boolean);
    for (const [name, target] of Object.entries(told.steps)) {
      find(`[data-step=${name}]`, HTMLButtonElement, panel).disabled = !target;
    }
    const facts = element(
      "dl",
      { className: "panel-facts" },
      ...told.facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)))
    );
    const lists = told.lists.map(({ title, lines, more }) => element(
      "div",
      {},
      element("h3", {}, title),
      element("ul", { className: "panel-lines" }, ...lines.map(lineItem)),
      ...more > 0 ? [element("p", { className: "note" }, `${more} more`)] : []
    ));
    const body = find(".panel-body", HTMLElement, panel);
    body.replaceChildren(element("div", {}, facts, ...classBar(told.classes, told.classesTitle)), ...lists);
    body.scrollTop = 0;
  }
  function classBar(classes, title) {
    const sum = classes.reduce((total, { seconds }) => total + seconds, 0);
    if (!(sum > 0)) return [];
    const bar = element("div", { className: "class-bar", ariaHidden: "true" });
    for (const { color, seconds } of classes) {
      const part = element("i", {});
      part.style.background = color;
      part.style.width = `${100 * seconds / sum}%`;
      bar.append(part);
    }
    const lines = classes.map(({ name, color, seconds }) => {
      const swatch = element("span", { className: "swatch", ariaHidden: "true" });
      swatch.style.background = color;
      return element("li", {}, swatch, `${name} `, element(
        "span",
        { className: "line-note" },
        `${formatSeconds(seconds)}, ${formatPercent(100 * seconds / sum)}`
      ));
    });
    return [element("h3", {}, title), bar, element("ul", { className: "class-lines" }, ...lines)];
  }
  function lineItem({ name, note, selection }) {
    const said = element("span", { className: "line-note" }, note);
    if (!selection) return element("li", {}, element("bdi", {}, withoutMark(name)), said);
    const button = element("button", { type: "button", className: "line" }, element("bdi", {}, withoutMark(name)));
    button.dataset.select = fragmentOf(selection);
    return element("li", {}, button, said);
  }
  function withoutMark(name) {
    return name.replace(/~[0-9a-f]{8}$/, "");
  }
  function fragmentOf(selection) {
    return toFragment2({ selection, view: null });
  }
  function element(tag, properties, ...content) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...content);
    return made;
  }

  // src/explorer/data.ts
  async function readGroupings(packed) {
    const { header } = await unpack(packed.textContent);
    packed.remove();
    return header.groupings;
  }

  // src/explorer/drawing.ts
  var TAIL = 14;
  var MATCHING = "Time of the kernels that the filters ask for.";
  function shownColumns(model, isShown) {
    const found = model.grouping.columns.flatMap((column, key) => isShown(column.title) ? [{ key, title: column.title, meaning: column.meaning, words: column.words, column }] : []);
    return model.isFiltered ? [{ key: "matching", title: "Filtered", meaning: MATCHING, words: false, column: null }, ...found] : found;
  }
  function makeHead(table, model, columns, sortBy) {
    const { grouping: { first, caption, by, gpu }, order } = model;
    const heading = (key, title, meaning, className) => {
      const button = element("button", { type: "button", title: meaning }, title, element("span", { className: "arrow", ariaHidden: "true" }));
      const cell = element("th", { scope: "col", className }, button);
      cell.setAttribute("aria-sort", order.key !== key ? "none" : order.direction > 0 ? "ascending" : "descending");
      button.addEventListener("click", () => sortBy(key));
      return cell;
    };
    table.caption.textContent = caption;
    const widths3 = columns.map(({ column }) => column ? widthOf(column) : 11);
    const name = element("col", {});
    table.querySelector("colgroup").replaceChildren(name, ...widths3.map((width) => {
      const made = element("col", {});
      made.style.width = `${width}ch`;
      return made;
    }));
    table.style.minWidth = `calc(14.5rem + ${widths3.reduce((sum, width) => sum + width, 0)}ch)`;
    Object.assign(table.dataset, { by, gpu });
    table.tHead.replaceChildren(element(
      "tr",
      {},
      heading("name", first, "", "first"),
      ...columns.map(({ key, title, meaning, words }) => heading(key, title, meaning, words ? "word" : "number"))
    ));
  }
  var widths = /* @__PURE__ */ new WeakMap();
  function widthOf(column) {
    const known = widths.get(column);
    if (known) return known;
    const longest = (texts2) => texts2.reduce((most, text) => Math.max(most, text.length), 0);
    const texts = column.text.map((text, row) => `${text} ${column.note?.[row] ?? ""}`.trim());
    const title = Math.max(longest(column.title.split(" ")) + 2, column.title.length / 2);
    const made = Math.min(Math.ceil(Math.max(0.85 * longest(texts) + (column.bar ? 7 : 0), title) + 2), column.words ? 18 : 28);
    widths.set(column, made);
    return made;
  }
  function makeRow(model, { row, depth, open }, place, columns) {
    const { rows } = model.grouping;
    const made = element("tr", { id: `line-${place}`, className: place % 2 ? "odd" : "" });
    made.dataset.place = String(place);
    made.setAttribute("aria-rowindex", String(place + 2));
    made.setAttribute("aria-level", String(depth + 1));
    if (rows.kind[row] && rows.item[row] >= 0) Object.assign(made.dataset, { kind: rows.kind[row], item: rows.item[row] });
    if (open !== void 0) made.setAttribute("aria-expanded", String(open));
    if (model.isSite(row)) made.classList.add("site");
    const title = [rows.full[row] || rows.name[row], rows.tag[row]].filter(Boolean).join("\n");
    const head = element(
      "div",
      { className: "line" },
      element("span", { className: `fold${open === void 0 ? " none" : ""}`, ariaHidden: "true" }),
      elided(model.isFlat ? rows.full[row] || rows.name[row] : rows.name[row])
    );
    if (rows.tag[row]) head.append(element("span", { className: "tag" }, rows.tag[row]));
    head.style.setProperty("--depth", String(depth));
    made.append(element("th", { scope: "row", title }, head), ...columns.map((shown) => makeCell(model, row, shown)));
    return made;
  }
  function markRow(made, { row, open }, { current, holding, within }) {
    if (current.has(row)) made.setAttribute("aria-current", "true");
    else made.removeAttribute("aria-current");
    made.classList.toggle("holding", !current.has(row) && holding.has(row) && open !== true);
    const told = within?.(row);
    made.classList.toggle("outside", told === "");
    made.querySelector(".within")?.remove();
    if (told) made.querySelector(".line").append(element("span", { className: "within" }, told));
  }
  function elided(name) {
    const letters = Array.from(name);
    const tail = letters.length > 2 * TAIL ? letters.splice(-TAIL).join("") : "";
    return element(
      "bdi",
      { className: "name" },
      element("span", { className: tail ? "start" : "start all" }, letters.join("")),
      ...tail ? [element("span", { className: "tail" }, tail)] : []
    );
  }
  function makeCell(model, row, { column, words }) {
    if (!column) return element("td", {}, model.matching[row] ? formatSeconds(model.matching[row] * 1e-9) : "");
    const cell = element("td", { className: words ? "word" : "" });
    const bar = column.bar?.[row] ?? -1;
    if (bar >= 0) {
      const length = element("i", {});
      length.style.width = `${bar}%`;
      cell.append(element("span", { className: column.columns[0] === "lost_time_ns" ? "bar lost" : "bar", ariaHidden: "true" }, length));
    }
    cell.append(element("span", { className: "value" }, column.text[row]));
    const note = column.note?.[row];
    if (note) cell.append(element("span", { className: "note-in" }, note));
    if (words) cell.title = column.text[row];
    return cell;
  }

  // src/explorer/model.ts
  var EVERYTHING2 = { phases: /* @__PURE__ */ new Set(), noTensor: false, timeClass: "", precision: "", words: "", kernels: null };
  var FEW2 = 60;
  var Model = class {
    grouping;
    /** Time of the launches that are asked for in each row, in ns. */
    matching;
    wanted = EVERYTHING2;
    order = { key: 0, direction: -1 };
    isFlat = false;
    /** Whether all is open but kernels in their places, as on paper. */
    isUnfolded = false;
    children;
    siteOf;
    texts;
    opened;
    toggled = /* @__PURE__ */ new Set();
    kept;
    found;
    keys = /* @__PURE__ */ new Map();
    constructor(grouping) {
      const { rows: { parent, name, full, tag }, sites } = grouping;
      this.grouping = grouping;
      this.siteOf = new Int32Array(name.length).fill(-1);
      sites.line.forEach((row, site) => {
        this.siteOf[row] = site;
      });
      this.children = name.map(() => []);
      parent.forEach((around2, row) => {
        if (around2 >= 0) this.children[around2].push(row);
      });
      this.texts = name.map((text, row) => `${text}
${full[row]}
${tag[row]}`.toLowerCase());
      this.matching = new Float64Array(name.length);
      this.kept = new Uint8Array(name.length);
      this.found = new Uint8Array(name.length);
      this.opened = this.openFew();
      this.want(EVERYTHING2);
    }
    /** Whether launches of kernels are asked for, and not all of them. */
    get isFiltered() {
      const { phases, noTensor, timeClass, precision, kernels } = this.wanted;
      return phases.size > 0 || noTensor || timeClass !== "" || precision !== "" || kernels !== null;
    }
    isSite(row) {
      return this.siteOf[row] >= 0;
    }
    /** Ask for something: rows with nothing of it are left out, and what has it is opened. */
    want(wanted2) {
      this.wanted = wanted2;
      this.toggled.clear();
      this.keys.delete("matching");
      const { rows: { parent }, sites } = this.grouping;
      const words = wanted2.words.toLowerCase().split(/\s+/).filter(Boolean);
      const isNamed = (row) => words.every((word) => this.texts[row].includes(word));
      const named = Uint8Array.from(parent, () => 0);
      this.kept.fill(0);
      this.found.fill(0);
      this.matching.fill(0);
      const keep = (row) => {
        this.found[row] = 1;
        for (let at = row; at >= 0 && !this.kept[at]; at = parent[at]) this.kept[at] = 1;
      };
      parent.forEach((around2, row) => {
        named[row] = Number(around2 >= 0 && named[around2] || isNamed(row));
        const site = this.siteOf[row];
        if (this.isFiltered ? site >= 0 && named[row] && this.asksFor(site) : named[row]) {
          if (!words.length || isNamed(row) || this.isFiltered) keep(row);
          else this.kept[row] = 1;
          for (let at = row; site >= 0 && at >= 0; at = parent[at]) this.matching[at] += sites.ns[site];
        }
      });
    }
    asksFor(site) {
      const { sites, rows } = this.grouping;
      const { phases, noTensor, timeClass, precision, kernels } = this.wanted;
      const row = sites.line[site];
      return (!phases.size || phases.has(sites.phase[site])) && !(noTensor && sites.isTensor[site]) && (!timeClass || sites.timeClass[site] === timeClass) && (!precision || sites.precision[site] === precision) && (!kernels || kernels.has(rows.item[rows.kind[row] === "kernel" ? row : rows.parent[row]]));
    }
    /** How many rows have what is asked for, and of how many. */
    count() {
      const counts = (row) => this.isFiltered || !this.isSite(row);
      let [found, all] = [0, 0];
      for (let row = 0; row < this.found.length; row++) {
        if (this.isFiltered ? this.isSite(row) : counts(row)) {
          all++;
          found += this.found[row];
        }
      }
      return { found, all };
    }
    toggle(row) {
      if (!this.toggled.delete(row)) this.toggled.add(row);
    }
    /** Open all that a row lies in. */
    reveal(row) {
      const { parent } = this.grouping.rows;
      for (let at = parent[row]; at >= 0; at = parent[at]) if (!this.isOpen(at)) this.toggle(at);
    }
    isOpen(row) {
      if (this.isUnfolded) return this.children[row].some((child) => !this.isSite(child));
      const byItself = this.isFiltered || this.wanted.words ? this.children[row].some((child) => this.holdsFound(child)) : Boolean(this.opened[row]);
      return byItself !== this.toggled.has(row);
    }
    holdsFound(row) {
      return this.found[row] > 0 || this.children[row].some((child) => this.kept[child] > 0 && this.holdsFound(child));
    }
    /** The rows that are seen, from the top. */
    seen() {
      const { parent } = this.grouping.rows;
      if (this.isFlat) {
        const flat = parent.map((_, row) => row).filter((row) => this.found[row] && (this.isFiltered || !this.isSite(row)));
        return this.sort(flat).map((row) => ({ row, depth: 0 }));
      }
      const lines = [];
      const add = (rows, depth) => {
        for (const row of this.sort(rows)) {
          const inside = this.children[row].filter((child) => this.kept[child]);
          if (this.isFiltered && depth && this.grouping.rows.kind[row] === "") {
            add(inside, depth);
            continue;
          }
          const open = inside.length ? this.isOpen(row) : void 0;
          lines.push({ row, depth, open });
          if (open) add(inside, depth + 1);
        }
      };
      add(parent.flatMap((around2, row) => around2 < 0 && this.kept[row] ? [row] : []), 0);
      return lines;
    }
    /** All rows that have what is asked for; launches of kernels only where they are asked for. */
    all() {
      const { parent, kind } = this.grouping.rows;
      const isThing = (row) => kind[row] !== "" || parent[row] < 0;
      const isListed = (row) => (this.isFiltered ? this.kept[row] : this.found[row] && !this.isSite(row)) && isThing(row);
      const listed = [];
      const add = (rows) => this.sort(rows).forEach((row) => {
        if (isListed(row)) listed.push(row);
        add(this.children[row]);
      });
      add(parent.flatMap((around2, row) => around2 < 0 ? [row] : []));
      return listed;
    }
    /** Rows beside each other: the largest first, or as is asked for; unknown last, and then as they were. */
    sort(rows) {
      const { key, direction } = this.order;
      const values = this.keysOf(key);
      const time = (row) => this.siteOf[row] < 0 ? 0 : this.grouping.sites.ns[this.siteOf[row]];
      const isUnknown = (value) => value === "" || Number.isNaN(value);
      return [...rows].sort((a, b) => {
        const [first, second] = [values[a], values[b]];
        const unknown = Number(isUnknown(first)) - Number(isUnknown(second));
        const known = first < second ? -1 : Number(first > second);
        return unknown || (isUnknown(first) ? 0 : direction * known) || time(b) - time(a) || a - b;
      });
    }
    keysOf(key) {
      const known = this.keys.get(key);
      if (known) return known;
      const { rows, columns } = this.grouping;
      const column = typeof key === "number" ? columns[key] : null;
      const made = key === "name" ? rows.name.map((name) => name.toLowerCase()) : !column ? this.matching : column.words ? column.sort.map((word) => word.toLowerCase()) : Float64Array.from(column.sort, (text) => text ? Number(text) : NaN);
      this.keys.set(key, made);
      return made;
    }
    /** Open rows level by level, as long as few are seen; kernels in places, and alike modules, are opened by the reader. */
    openFew() {
      const { parent, kind } = this.grouping.rows;
      const opened = new Uint8Array(parent.length);
      let level = parent.flatMap((around2, row) => around2 < 0 ? [row] : []);
      let seen = level.length;
      for (let depth = 0; ; depth++) {
        const opening = level.filter((row) => this.children[row].some((child) => !this.isSite(child)));
        const inside = opening.flatMap((row) => this.children[row]);
        seen += inside.length;
        if (!opening.length || seen > FEW2 && depth > 1) return opened;
        opening.forEach((row) => {
          opened[row] = 1;
        });
        level = inside.filter((row) => kind[row] !== "");
      }
    }
  };

  // src/explorer/virtual.ts
  var ROW = 24;
  var AROUND = 12;
  var VirtualRows = class {
    box;
    body;
    make;
    count = 0;
    rows = /* @__PURE__ */ new Map();
    above = makeSpacer();
    below = makeSpacer();
    isWhole = false;
    waiting = 0;
    /** @param make - Makes the row of a place. */
    constructor(box, body, make) {
      [this.box, this.body, this.make] = [box, body, make];
      box.addEventListener("scroll", () => {
        if (!this.waiting) this.waiting = requestAnimationFrame(this.draw);
      }, { passive: true });
      new ResizeObserver(this.draw).observe(box);
    }
    /** Show so many rows, made anew. */
    show(count) {
      this.count = count;
      this.rows = /* @__PURE__ */ new Map();
      stretch(this.above, 0);
      stretch(this.below, count);
      this.body.replaceChildren(this.above, this.below);
      this.draw();
    }
    /** Show all at once, as on paper. */
    showWhole(isWhole) {
      this.isWhole = isWhole;
      this.draw();
    }
    /** Bring a row into the box's window, below its head. */
    reach(place) {
      const head = this.body.offsetTop;
      const [top, bottom] = [place * ROW, (place + 1) * ROW];
      if (top < this.box.scrollTop) this.box.scrollTop = top;
      else if (bottom > this.box.scrollTop + this.box.clientHeight - head) this.box.scrollTop = bottom - this.box.clientHeight + head;
      this.draw();
    }
    /** The rows that are in the page, with their places. */
    drawn() {
      return this.rows;
    }
    /** The element of a row that is in the page. */
    at(place) {
      return this.rows.get(place);
    }
    draw = () => {
      cancelAnimationFrame(this.waiting);
      this.waiting = 0;
      const first = this.isWhole ? 0 : Math.max(0, Math.floor(this.box.scrollTop / ROW) - AROUND);
      const last = this.isWhole ? this.count : Math.min(this.count, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + AROUND);
      for (const [place, row] of this.rows) {
        if (place >= first && place < last) continue;
        row.remove();
        this.rows.delete(place);
      }
      let next = this.above.nextSibling;
      for (let place = first; place < last; place++) {
        const known = this.rows.get(place);
        const row = known ?? this.make(place);
        if (known) next = row.nextSibling;
        else this.body.insertBefore(row, next);
        this.rows.set(place, row);
      }
      stretch(this.above, first);
      stretch(this.below, this.count - last);
    };
  };
  function makeSpacer() {
    const row = Object.assign(document.createElement("tr"), { className: "spacer" });
    row.setAttribute("aria-hidden", "true");
    return row;
  }
  function stretch(spacer, rows) {
    spacer.hidden = rows <= 0;
    spacer.style.height = `${rows * ROW}px`;
  }

  // src/explorer/explorer.ts
  var PAUSE2 = 150;
  var Explorer = class {
    models;
    timeline;
    table;
    rows;
    told;
    hidden = /* @__PURE__ */ new Map();
    // columns that the reader hides or shows, by grouping
    gpu;
    by;
    seen = [];
    selection = null;
    marks = { current: /* @__PURE__ */ new Set(), holding: /* @__PURE__ */ new Set(), within: null };
    window = null;
    cursor = -1;
    // the row that the keyboard is at
    /** @param told - Is called after each change of what is shown. */
    constructor(box, groupings, timeline2, told) {
      this.models = groupings.map((grouping) => new Model(grouping));
      this.timeline = timeline2;
      this.told = told;
      [{ gpu: this.gpu, by: this.by }] = groupings;
      this.table = find("table", HTMLTableElement, box);
      this.rows = new VirtualRows(find(".table-box", HTMLElement, box), this.table.tBodies[0], (place) => this.makeRow(place));
      this.listen();
      this.show();
    }
    get model() {
      return this.models.find(({ grouping }) => grouping.gpu === this.gpu && grouping.by === this.by) ?? this.models.find(({ grouping }) => grouping.gpu === this.gpu) ?? this.models[0];
    }
    /** What the rows of the GPU that is shown can be grouped by. */
    get ways() {
      return this.models.filter(({ grouping }) => grouping.gpu === this.gpu).map(({ grouping }) => grouping.by);
    }
    groupBy(by) {
      const { wanted: wanted2 } = this.model;
      this.by = by;
      if (this.model.wanted !== wanted2) this.model.want(wanted2);
      this.mark();
      this.show();
      if (this.selection) this.reveal();
    }
    ask(change) {
      this.model.want({ ...this.model.wanted, ...change });
      this.show();
    }
    flatten(isFlat) {
      this.model.isFlat = isFlat;
      this.show();
    }
    isShown(title) {
      const column = this.model.grouping.columns.find((each) => each.title === title);
      return Boolean(column?.shown) !== Boolean(this.hidden.get(this.by)?.has(title));
    }
    showColumn(title) {
      const changed = this.hidden.get(this.by) ?? /* @__PURE__ */ new Set();
      if (!changed.delete(title)) changed.add(title);
      this.hidden.set(this.by, changed);
      this.show();
    }
    /** What is saved: all that is asked for, with the numbers behind the texts. */
    lines() {
      const { grouping: { first, columns, rows } } = this.model;
      const values = (row) => columns.flatMap(({ columns: names, sort, values: several }) => names.map((_, place) => (several ? several[row][place] : place ? "" : sort[row]) ?? ""));
      const name = (row) => rows.full[row] || rows.name[row];
      return [[first, ...columns.flatMap((column) => column.columns)], ...this.model.all().map((row) => [name(row), ...values(row)])];
    }
    show() {
      const { model } = this;
      this.seen = model.seen();
      const columns = shownColumns(model, (title) => this.isShown(title));
      makeHead(this.table, model, columns, (key) => this.sortBy(key));
      this.table.setAttribute("aria-rowcount", String(this.seen.length + 1));
      this.rows.show(this.seen.length);
      this.pointAt(Math.min(this.cursor, this.seen.length - 1));
      this.told();
    }
    sortBy(key) {
      const { order } = this.model;
      const isWord = key === "name" || typeof key === "number" && this.model.grouping.columns[key].words;
      const first = isWord ? 1 : -1;
      this.model.order = { key, direction: order.key === key ? -order.direction : first };
      this.show();
      const again = this.table.tHead.querySelector("[aria-sort]:not([aria-sort=none]) button");
      again?.focus({ preventScroll: true });
    }
    makeRow(place) {
      const columns = shownColumns(this.model, (title) => this.isShown(title));
      const row = makeRow(this.model, this.seen[place], place, columns);
      markRow(row, this.seen[place], this.marks);
      row.classList.toggle("cursor", place === this.cursor);
      return row;
    }
    listen() {
      const body = this.table.tBodies[0];
      body.addEventListener("click", ({ target }) => {
        if (!(target instanceof Element) || !getSelection()?.isCollapsed) return;
        const row = target.closest("tr[data-place]");
        if (!row) return;
        this.pointAt(Number(row.dataset.place));
        const { open } = this.seen[this.cursor];
        if (target.closest(".fold") || open !== void 0 && !this.kindOf(this.cursor)) this.toggle();
        else this.choose(row);
      });
      this.table.addEventListener("keydown", (event) => this.press(event));
      onSelection(({ selection, from }) => {
        this.selection = selection;
        this.mark();
        if (from !== "table" && selection) this.reveal();
        else this.redraw();
      });
      document.addEventListener("tcprof:gpu", ({ detail }) => {
        this.gpu = detail;
        this.mark();
        this.show();
      });
      let waiting2 = 0;
      document.addEventListener("tcprof:window", ({ detail }) => {
        clearTimeout(waiting2);
        waiting2 = setTimeout(() => {
          this.window = detail;
          this.mark();
          this.redraw();
        }, PAUSE2);
      });
      addEventListener("beforeprint", () => this.print(true));
      addEventListener("afterprint", () => this.print(false));
    }
    print(isPrinted) {
      this.model.isUnfolded = isPrinted;
      this.rows.showWhole(isPrinted);
      this.show();
    }
    redraw() {
      for (const [place, row] of this.rows.drawn()) markRow(row, this.seen[place], this.marks);
    }
    choose(row) {
      const selection = this.selectionOf(this.seen[this.cursor]?.row ?? -1);
      if (selection) keepInPlace(row ?? null, () => select(selection, { from: "table" }));
      this.rows.at(this.cursor)?.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    toggle() {
      this.model.toggle(this.seen[this.cursor].row);
      this.show();
    }
    press(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.table) return;
      const { open, depth } = this.seen[this.cursor] ?? { open: void 0, depth: 0 };
      const around2 = () => {
        for (let at = this.cursor; at > 0; at--) if (this.seen[at].depth < depth) return at;
        return 0;
      };
      const moves = {
        ArrowDown: () => this.pointAt(this.cursor + 1),
        ArrowUp: () => this.pointAt(this.cursor - 1),
        Home: () => this.pointAt(0),
        End: () => this.pointAt(this.seen.length - 1),
        PageDown: () => this.pointAt(this.cursor + 20),
        PageUp: () => this.pointAt(this.cursor - 20),
        ArrowRight: () => {
          if (open === false) this.toggle();
          else this.pointAt(this.cursor + 1);
        },
        ArrowLeft: () => {
          if (open) this.toggle();
          else this.pointAt(around2());
        },
        Enter: () => {
          if (this.kindOf(this.cursor)) this.choose(this.rows.at(this.cursor));
          else if (open !== void 0) this.toggle();
        }
      };
      if (!(event.key in moves)) return;
      event.preventDefault();
      event.stopPropagation();
      moves[event.key]();
    }
    /** Move the keyboard's place to a row. */
    pointAt(place) {
      const before = this.rows.at(this.cursor);
      before?.classList.remove("cursor");
      this.cursor = this.seen.length ? Math.max(-1, Math.min(place, this.seen.length - 1)) : -1;
      if (this.cursor < 0) {
        this.table.removeAttribute("aria-activedescendant");
        return;
      }
      this.rows.reach(this.cursor);
      this.rows.at(this.cursor)?.classList.add("cursor");
      this.table.setAttribute("aria-activedescendant", `line-${this.cursor}`);
    }
    kindOf(place) {
      return this.model.grouping.rows.kind[this.seen[place]?.row] ?? "";
    }
    /** What a row stands for. */
    selectionOf(row) {
      const { rows: { kind, item, alike }, gpu } = this.model.grouping;
      const mine = kind[row];
      if (!mine) return null;
      if (mine === "modules") return { kind: "modules", gpu, ids: alike[row] };
      const name = this.timeline?.subjects?.nameOf(mine, gpu, item[row]);
      return name === void 0 ? null : { kind: mine, gpu, name };
    }
    /** Find the rows of what is selected, those that these lie in, and what is in the timeline's window. */
    mark() {
      const { grouping: { rows, gpu } } = this.model;
      const subject = this.selection && this.timeline?.subjects?.find(this.selection);
      const several = subject ? [subject, ...subject.parts ?? []].filter((each) => each.gpu.gpu === gpu) : [];
      const wanted2 = new Set(several.map(({ selection, id }) => `${selection.kind} ${id}`));
      const together = this.selection?.kind === "modules" ? nameOfSame(this.selection) : null;
      const isWanted = (row) => rows.kind[row] === "modules" ? together !== null && nameOfSame(this.selectionOf(row)) === together : wanted2.has(`${rows.kind[row]} ${rows.item[row]}`);
      const current = new Set(wanted2.size ? rows.kind.flatMap((kind, row) => kind && isWanted(row) ? [row] : []) : []);
      const holding = /* @__PURE__ */ new Set();
      for (const row of current) for (let at = rows.parent[row]; at >= 0 && !holding.has(at); at = rows.parent[at]) holding.add(at);
      this.marks = { current, holding, within: this.countWithin() };
    }
    /** Of what the timeline's window holds of each row: how often, and how long; null where it shows all. */
    countWithin() {
      const gpu = this.timeline?.data?.gpus.find((each) => each.gpu === this.gpu);
      if (!gpu || !this.window || this.window.whole) return null;
      const { start: start2, end } = this.window;
      const ranges = preferred(gpu.windows, gpu.ranges);
      const [inRanges, inKernels] = [ranges, gpu.kernels].map((each) => countWithin(each, start2, end));
      const { rows: { kind, item } } = this.model.grouping;
      return (row) => {
        if (this.model.isSite(row) || kind[row] !== "range" && kind[row] !== "kernel") return void 0;
        const share = (kind[row] === "range" ? inRanges : inKernels).get(item[row]);
        return share ? `${share.count} × here, ${formatSeconds(share.seconds)}` : "";
      };
    }
    /** Open what the selection lies in, and bring it into the box's window; the page stays where it is. */
    reveal() {
      const [row] = this.marks.current;
      if (row === void 0 || this.model.isSite(row) && this.marks.current.size > 1) {
        this.redraw();
        return;
      }
      this.model.reveal(row);
      this.show();
      this.pointAt(this.seen.findIndex((each) => each.row === row));
    }
  };
  function columnBox(explorer, title, meaning) {
    const box = element("input", { type: "checkbox", checked: explorer.isShown(title) });
    box.addEventListener("change", () => explorer.showColumn(title));
    return element("label", { title: meaning }, box, ` ${title}`);
  }

  // src/explorer/tools.ts
  var NOUNS = { module: "Modules", range: "Ranges", kernel: "Kernels" };
  async function startExplorer(timeline2) {
    const box = document.querySelector(".explorer");
    const packed = document.getElementById("explorer-data");
    if (!box || !packed) return;
    const groupings = await readGroupings(packed);
    await timeline2?.drawn;
    const tell5 = () => {
      if (explorer) update(box, explorer);
    };
    let explorer = null;
    explorer = new Explorer(box, groupings, timeline2, tell5);
    startTools(box, explorer, groupings);
    update(box, explorer);
    box.hidden = false;
  }
  function startTools(box, explorer, groupings) {
    for (const button of findAll("[data-group-by]", box)) {
      button.addEventListener("click", () => explorer.groupBy(button.dataset.groupBy));
    }
    const search2 = find("input[type=search]", HTMLInputElement, box);
    search2.addEventListener("input", () => explorer.ask({ words: search2.value.trim() }));
    for (const button of findAll("[data-phase]", box)) {
      const phase = button.dataset.phase;
      button.hidden = !groupings.some(({ sites }) => sites.phase.includes(phase));
      button.addEventListener("click", () => {
        const phases = new Set(explorer.model.wanted.phases);
        if (!phases.delete(phase)) phases.add(phase);
        explorer.ask({ phases });
      });
    }
    find("[data-no-tensor]", HTMLButtonElement, box).addEventListener("click", () => explorer.ask({ noTensor: !explorer.model.wanted.noTensor }));
    for (const [key, name] of [["timeClass", "class"], ["precision", "precision"]]) {
      const choice = find(`[data-choose=${name}]`, HTMLSelectElement, box);
      const values = [...new Set(groupings.flatMap(({ sites }) => sites[key]))].filter(Boolean).sort();
      choice.append(...values.map((value) => element("option", { value }, key === "precision" ? value.toUpperCase() : value)));
      choice.parentElement.hidden = values.length < 2;
      choice.addEventListener("change", () => explorer.ask({ [key]: choice.value }));
    }
    find("[data-flat]", HTMLButtonElement, box).addEventListener("click", () => explorer.flatten(!explorer.model.isFlat));
    find("[data-save]", HTMLButtonElement, box).addEventListener("click", () => saveCsv(explorer.model.grouping.name, explorer.lines()));
    find("[data-all]", HTMLButtonElement, box).addEventListener("click", () => {
      explorer.ask({ phases: /* @__PURE__ */ new Set(), noTensor: false, timeClass: "", precision: "", words: "", kernels: null });
    });
    startColumns(find(".columns", HTMLDetailsElement, box));
    onSelection(({ selection }) => {
      if (selection?.kind === "kernels") {
        explorer.groupBy("kernel");
        explorer.ask({ kernels: new Set(selection.ids) });
      } else if (!selection && explorer.model.wanted.kernels) explorer.ask({ kernels: null });
    });
  }
  function update(box, explorer) {
    const { model: { grouping, wanted: wanted2, isFiltered, isFlat }, model, ways } = explorer;
    const press = (button, isPressed) => button.setAttribute("aria-pressed", String(isPressed));
    for (const button of findAll("[data-group-by]", box)) {
      const by = button.dataset.groupBy;
      button.hidden = !ways.includes(by);
      button.textContent = NOUNS[by];
      press(button, by === grouping.by);
    }
    findAll("[data-phase]", box).forEach((button) => press(button, wanted2.phases.has(button.dataset.phase)));
    press(find("[data-no-tensor]", HTMLElement, box), wanted2.noTensor);
    press(find("[data-flat]", HTMLElement, box), isFlat);
    find("[data-choose=class]", HTMLSelectElement, box).value = wanted2.timeClass;
    find("[data-choose=precision]", HTMLSelectElement, box).value = wanted2.precision;
    const search2 = find("input[type=search]", HTMLInputElement, box);
    if (search2.value.trim() !== wanted2.words) search2.value = wanted2.words;
    find("[data-all]", HTMLElement, box).hidden = !isFiltered && !wanted2.words;
    const { found, all } = model.count();
    find("output", HTMLElement, box).textContent = isFiltered ? `${formatCount(found)} of ${formatCount(all)} kernels in places` : wanted2.words ? `${formatCount(found)} of ${formatCount(all)} rows` : grouping.more;
    find(".explorer-notes", HTMLElement, box).replaceChildren(...grouping.notes.map((note) => element("p", { className: "note" }, note)));
    find(".columns summary", HTMLElement, box).textContent = `Columns (${grouping.columns.filter(({ title }) => explorer.isShown(title)).length} of ${grouping.columns.length})`;
    const list = find(".columns div", HTMLElement, box);
    if (list.dataset.of === grouping.name) return;
    list.dataset.of = grouping.name;
    list.replaceChildren(...grouping.columns.map(({ title, meaning }) => columnBox(explorer, title, meaning)));
    find(".meanings", HTMLElement, box).replaceChildren(...grouping.columns.filter(({ meaning }) => meaning).map(({ title, meaning }) => element("div", {}, element("dt", {}, title), element("dd", {}, meaning))));
  }
  function startColumns(chooser) {
    chooser.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !chooser.open) return;
      chooser.open = false;
      find("summary", HTMLElement, chooser).focus();
      event.stopPropagation();
    });
    document.addEventListener("click", ({ target }) => {
      if (target instanceof Node && !chooser.contains(target)) chooser.open = false;
    });
  }

  // src/lasso.ts
  function hasItems({ data }) {
    return data?.some(({ meta }) => meta?.items) ?? false;
  }
  function startLasso(plot) {
    const said = Object.assign(document.createElement("p"), { className: "note chosen" });
    said.setAttribute("role", "status");
    plot.after(said);
    plot.on("plotly_selected", (event) => {
      const ids = event?.points.map(({ data, pointNumber }) => data.meta?.items?.[pointNumber] ?? -1).filter((id) => id >= 0);
      select(ids?.length ? { kind: "kernels", gpu: shownGpu(), ids } : null, { from: "figure" });
    });
    plot.on("plotly_deselect", () => select(null, { from: "figure" }));
  }
  var shownGpu = () => 0;
  function followLasso(subjects, drawn) {
    let chosen2 = null;
    const show2 = (ids, launches) => {
      if (!chosen2 && !ids) return;
      chosen2 = ids;
      void drawn.then(() => {
        if (chosen2 === ids) mark(ids, launches);
      });
    };
    const mark = (ids, launches) => {
      for (const plot of findAll("[data-figure]").filter(hasItems)) {
        tell4(plot, ids && `The table shows ${formatCount(ids.size)} kernel${ids.size === 1 ? "" : "s"} of these`, launches);
        const selectedpoints = plot.data.map(({ meta }) => ids && meta?.items ? Array.from(meta.items.keys()).filter((place) => ids.has(meta.items[place])) : null);
        void Plotly.restyle(plot, { selectedpoints }).then(() => ids ? null : Plotly.relayout(plot, { selections: [] }));
      }
    };
    shownGpu = () => Number(findAll('[data-show-gpu][aria-pressed="true"]')[0]?.dataset.showGpu ?? subjects.gpus[0].gpu);
    onSelection(({ selection, from }) => {
      const subject = selection?.kind === "kernels" ? subjects.find(selection) : null;
      if (subject) {
        const { merged } = subject.gpu.lanes.work;
        const launches = Array.from(subject.work()).reduce((sum, bar) => sum + merged[bar], 0);
        show2(new Set(subject.parts.map(({ id }) => id)), launches);
      } else if (!selection || from === "address") show2(null, 0);
    });
  }
  function tell4(plot, text, launches) {
    const said = find(".chosen", HTMLElement, plot.parentElement);
    if (!text) {
      said.replaceChildren();
      return;
    }
    const link = (href, textContent) => Object.assign(document.createElement("a"), { href, textContent });
    const all = Object.assign(document.createElement("button"), { type: "button", textContent: "All kernels" });
    all.addEventListener("click", () => select(null, { from: "figure" }));
    said.replaceChildren(
      link("#part-table", text),
      "; ",
      link("#explore", `${formatCount(launches)} launch${launches === 1 ? " is" : "es are"} marked in the timeline`),
      " ",
      all
    );
  }

  // src/media.ts
  var narrowScreen = matchMedia("(max-width: 40rem)");
  var coarsePointer = matchMedia("(pointer: coarse)");

  // src/figures.ts
  var CONFIG = {
    responsive: true,
    displaylogo: false,
    scrollZoom: false,
    plotlyServerURL: "",
    topojsonURL: "",
    showSendToCloud: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    toImageButtonOptions: { filename: "tcprof", scale: 2 }
  };
  var SETTLED = 300;
  var PAPER = 690;
  function startFigures(timeline2) {
    const plots = findPlots();
    let last = timeline2;
    const drawn = plots.map((plot) => {
      const mine = last.then(pause).then(() => drawFigure(plot));
      last = mine.catch(() => {
      });
      return mine;
    });
    void Promise.allSettled(drawn).then(unsettle);
    return drawn;
  }
  function restyle() {
    relayout(findPlots(), appearance());
  }
  function fitFigures() {
    systemDark.addEventListener("change", restyle);
    narrowScreen.addEventListener("change", restyle);
    addEventListener("beforeprint", restyle);
    addEventListener("afterprint", restyle);
    afterResize();
    afterOpening();
    onPaper();
  }
  var findPlots = () => findAll("[data-figure]");
  function afterResize() {
    let [width, waiting2] = [innerWidth, 0];
    addEventListener("resize", () => {
      unsettle();
      if (innerWidth === width) return;
      width = innerWidth;
      clearTimeout(waiting2);
      waiting2 = setTimeout(restyle, SETTLED);
    });
  }
  function afterOpening() {
    document.addEventListener("toggle", ({ target }) => {
      if (!(target instanceof HTMLDetailsElement) || !target.matches(".part")) return;
      unsettle();
      if (target.open) findPlots().filter((plot) => target.contains(plot) && isDrawn(plot)).forEach((plot) => Plotly.Plots.resize(plot));
    }, { capture: true });
  }
  function onPaper() {
    const resize = (width, change) => {
      const printed = findAll("[data-figure], #timeline");
      printed.forEach((plot) => {
        plot.style.width = width;
      });
      relayout(printed, change);
    };
    addEventListener("beforeprint", () => resize(`${PAPER}px`, { autosize: false, width: PAPER }));
    addEventListener("afterprint", () => resize("", { autosize: true, width: null }));
  }
  var pause = () => new Promise((done) => {
    setTimeout(done);
  });
  var isDrawn = (plot) => plot._fullLayout !== void 0;
  var settling = 0;
  function unsettle() {
    document.documentElement.classList.remove("settled");
    clearTimeout(settling);
    settling = setTimeout(() => document.documentElement.classList.add("settled"), 2 * SETTLED);
  }
  function relayout(plots, change) {
    unsettle();
    plots.filter(isDrawn).forEach((plot) => void Plotly.relayout(plot, change));
  }
  async function drawFigure(plot) {
    if (!plot.isConnected) return;
    const packed = document.getElementById(plot.dataset.figure ?? "");
    const figure = JSON.parse(packed?.textContent ?? "");
    plot.style.height = `${figure.layout.height}px`;
    keepLabels(figure.layout);
    for (const [path, value] of Object.entries(appearance())) put(figure.layout, path.split("."), value);
    const lasso = hasItems(figure);
    await Plotly.newPlot(plot, figure.data, figure.layout, lasso ? { ...CONFIG, modeBarButtonsToRemove: ["autoScale2d"] } : CONFIG);
    if (lasso) startLasso(plot);
    if (plot.parentElement) find(".undrawn", HTMLElement, plot.parentElement).remove();
    plot.on("plotly_click", ({ points: [{ data, customdata }] }) => {
      if (data.meta?.selects) select(parseSelection(customdata), { from: "figure" });
      if (data.meta?.chooses) chooseBar(data.meta.chooses, customdata);
    });
    if (figure.layout.meta?.seconds) {
      plot.on("plotly_relayout", (change) => {
        const [low, high] = plot._fullLayout.xaxis.range;
        const { tickvals, ticktext } = timeTicks(low, high, 8);
        const zoomed = Object.keys(change).some((key) => key.startsWith("xaxis."));
        if (zoomed && !("xaxis.tickvals" in change)) void Plotly.relayout(plot, { "xaxis.tickvals": tickvals, "xaxis.ticktext": ticktext });
      });
    }
    plot.on("plotly_clickannotation", ({ annotation: { name } }) => {
      const trace = figure.data.find(({ meta }) => meta?.chooses);
      const groups = trace?.customdata?.[Number(name)];
      if (trace?.meta?.chooses && groups) chooseBar(trace.meta.chooses, groups);
    });
    if (figure.data.some(({ meta }) => meta?.chooses)) showChosen();
  }
  function appearance() {
    return {
      "font.color": readColor("--ink"),
      "hoverlabel.bgcolor": readColor("--card"),
      "hoverlabel.bordercolor": readColor("--soft"),
      "hoverlabel.font.color": readColor("--ink"),
      "hoverlabel.align": "left",
      "modebar.bgcolor": "rgba(0,0,0,0)",
      "modebar.color": readColor("--soft"),
      "modebar.activecolor": readColor("--accent"),
      "font.size": narrowScreen.matches ? 11 : 12,
      dragmode: coarsePointer.matches ? false : "zoom"
    };
  }
  function put(target, [name = "", ...rest], value) {
    const values = target;
    if (rest.length) put(values[name] ??= {}, rest, value);
    else values[name] = value;
  }

  // src/heatmap.ts
  var LEFT = 56;
  var BELOW = 22;
  var ROW2 = { least: 1, most: 20, all: 640 };
  var LABEL = { row: 14, column: 48 };
  async function startHeatmap() {
    const element2 = document.querySelector("[data-heatmap]");
    if (!element2) return;
    const { header, read } = await unpack(document.getElementById(element2.dataset.heatmap).textContent);
    const values = header.metrics.map(({ values: number }) => read(number, Float64Array));
    const [canvas, cell] = [find("canvas", HTMLCanvasElement, element2), find("[data-cell]", HTMLElement, element2)];
    const [metricOf, orderOf] = ["[data-metric]", "[data-order]"].map((name) => find(name, HTMLSelectElement, element2));
    const columns = header.steps.length;
    const cursor = { row: 0, column: 0, isSet: false };
    const metric = () => header.metrics[Number(metricOf.value)];
    const rankAt = (row) => orderOf.value === "cost" ? header.order[row] : row;
    const height = () => Math.min(Math.max(ROW2.all / header.ranks.length, ROW2.least), ROW2.most);
    function readValue(number, cell2) {
      const { scale, least } = header.metrics[number];
      const stored = values[number][cell2];
      return stored ? least + (stored - 1) * scale : NaN;
    }
    function valueAt(place, column) {
      return readValue(Number(metricOf.value), place * columns + column);
    }
    function paintCells() {
      const cells = Object.assign(document.createElement("canvas"), { width: columns, height: header.ranks.length });
      const context = cells.getContext("2d");
      const image = context.createImageData(columns, header.ranks.length);
      const [good, bad] = ["--kept", "--loss"].map((name) => readChannels(readColor(name)));
      const { low, high, bad: muchIsBad } = metric();
      for (let row = 0; row < header.ranks.length; row++) {
        for (let column = 0; column < columns; column++) {
          const value = valueAt(rankAt(row), column);
          if (Number.isNaN(value)) continue;
          const part = Math.min(Math.max((value - low) / (high - low || 1), 0), 1);
          const share = muchIsBad ? part : 1 - part;
          const at = 4 * (row * columns + column);
          for (let k = 0; k < 3; k++) image.data[at + k] = good[k] + (bad[k] - good[k]) * share;
          image.data[at + 3] = 255;
        }
      }
      context.putImageData(image, 0, 0);
      return cells;
    }
    function draw() {
      const [width, rows] = [Math.max(canvas.clientWidth - LEFT, 1), height() * header.ranks.length];
      const ratio = devicePixelRatio || 1;
      canvas.style.height = `${rows + BELOW}px`;
      Object.assign(canvas, { width: (width + LEFT) * ratio, height: (rows + BELOW) * ratio });
      const context = canvas.getContext("2d");
      context.scale(ratio, ratio);
      context.imageSmoothingEnabled = height() < 1 || columns > width;
      context.drawImage(paintCells(), LEFT, 0, width, rows);
      context.fillStyle = getComputedStyle(canvas).color;
      context.font = "12px system-ui, sans-serif";
      context.textAlign = "right";
      context.textBaseline = "middle";
      const everyRow = Math.ceil(LABEL.row / height());
      for (let row = 0; row < header.ranks.length; row += everyRow) {
        context.fillText(String(header.ranks[rankAt(row)]), LEFT - 6, Math.max((row + 0.5) * height(), LABEL.row / 2));
      }
      context.textAlign = "center";
      const everyColumn = Math.ceil(LABEL.column * columns / width);
      for (let column = 0; column < columns; column += everyColumn) {
        context.fillText(String(header.steps[column]), LEFT + (column + 0.5) * width / columns, rows + BELOW / 2);
      }
      if (!cursor.isSet) return;
      context.lineWidth = 2;
      context.strokeStyle = context.fillStyle;
      context.strokeRect(LEFT + cursor.column * width / columns, cursor.row * height(), width / columns, height());
    }
    function say() {
      const place = rankAt(cursor.row);
      const texts = header.metrics.map(({ title, unit }, number) => `${title} ${format(readValue(number, place * columns + cursor.column), unit)}`);
      const opens = header.links[place] ? ". Click: its page" : "";
      cell.textContent = `Rank ${header.ranks[place]}, step ${header.steps[cursor.column]}: ${texts.join(", ")}${opens}`;
    }
    function show2() {
      const { low, high, unit } = metric();
      find("[data-low]", HTMLElement, element2).textContent = format(low, unit);
      find("[data-high]", HTMLElement, element2).textContent = format(high, unit);
      const ends = metric().bad ? "var(--kept), var(--loss)" : "var(--loss), var(--kept)";
      find(".swatch", HTMLElement, element2).style.background = `linear-gradient(90deg, ${ends})`;
      draw();
    }
    function moveTo(row, column) {
      cursor.row = Math.min(Math.max(row, 0), header.ranks.length - 1);
      cursor.column = Math.min(Math.max(column, 0), columns - 1);
      cursor.isSet = true;
      draw();
      say();
    }
    function open() {
      const link = header.links[rankAt(cursor.row)];
      if (link) location.href = link;
    }
    canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
      const width = canvas.clientWidth - LEFT;
      if (offsetX < LEFT || offsetY > height() * header.ranks.length) return;
      moveTo(Math.floor(offsetY / height()), Math.floor((offsetX - LEFT) / width * columns));
    });
    canvas.addEventListener("click", open);
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (event.key === "Enter") open();
      if (!step) return;
      event.preventDefault();
      moveTo(cursor.row + step[0], cursor.column + step[1]);
    });
    for (const choice of [metricOf, orderOf]) choice.addEventListener("change", show2);
    new ResizeObserver(draw).observe(find(".table-tools", HTMLElement, element2));
    new MutationObserver(show2).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    systemDark.addEventListener("change", show2);
    show2();
    find(".undrawn", HTMLElement, element2).remove();
  }
  function readChannels(color) {
    return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  }
  function format(value, unit) {
    if (unit === "ns") return formatSeconds(value * 1e-9);
    return unit === "pct" ? formatPercent(value) : formatScaled(value, "Hz");
  }

  // src/icicle_tree.ts
  var KINDS = ["range", "module", "class", "kernel", "idle"];
  function childrenOf(tree, order) {
    const children = tree.parent.map(() => []);
    tree.parent.forEach((parent, node) => {
      if (parent >= 0) children[parent].push(node);
    });
    const key = order === "time" ? (node) => -tree.time[node] : (node) => tree.start[node];
    children.forEach((nodes) => nodes.sort((a, b) => key(a) - key(b) || a - b));
    return children;
  }
  function chainOf(tree, node) {
    const chain = [];
    for (let at = node; at >= 0; at = tree.parent[at]) chain.unshift(at);
    return chain;
  }
  function layOut(tree, focus, order, narrowest) {
    const children = childrenOf(tree, order);
    const chain = chainOf(tree, focus);
    const bars = chain.map((node, row) => ({ node, row, left: 0, width: 1 }));
    const add = (parent) => {
      let left = parent.left;
      for (const node of children[parent.node]) {
        const bar = { node, row: parent.row + 1, left, width: parent.width * tree.time[node] / tree.time[parent.node] };
        left += bar.width;
        if (bar.width < narrowest) continue;
        bars.push(bar);
        add(bar);
      }
    };
    add(bars[bars.length - 1]);
    return bars;
  }
  function turnAround(tree, link, normal2 = (text) => text) {
    const found = {
      kind: [],
      parent: [],
      time: [],
      launches: [],
      start: [],
      active: [],
      name: [],
      link: [],
      texts: tree.texts
    };
    const known = /* @__PURE__ */ new Map();
    const isWanted = (node) => KINDS[tree.kind[node]] === "kernel" && normal2(tree.texts[tree.link[node]]) === link;
    tree.parent.forEach((_, leaf) => {
      if (!isWanted(leaf)) return;
      const chain = chainOf(tree, leaf).reverse().filter((node) => KINDS[tree.kind[node]] !== "class");
      let place = -1;
      for (const node of chain) {
        const key = `${place} ${tree.name[node]}`;
        const next = known.get(key) ?? found.kind.length;
        if (!known.has(key)) {
          known.set(key, next);
          for (const column of ["kind", "name", "link"]) found[column].push(tree[column][node]);
          found.active.push(tree.active[leaf]);
          found.parent.push(place);
          found.time.push(0);
          found.launches.push(0);
          found.start.push(tree.start[leaf]);
        }
        place = next;
        found.time[place] += tree.time[leaf];
        found.launches[place] += tree.launches[leaf];
      }
    });
    return found.kind.length ? found : null;
  }

  // src/icicle.ts
  var ROW3 = 26;
  var NARROWEST = 3;
  var LEAST_LABEL = 28;
  function startIcicles() {
    findAll("[data-icicle]").forEach(startIcicle);
  }
  function startIcicle(element2) {
    const data = JSON.parse(document.getElementById(element2.dataset.icicle).textContent);
    const [bars, places] = [find(".bars", HTMLElement, element2), find(".places", HTMLElement, element2)];
    const title = find("h4", HTMLElement, places);
    const below = find(".bars", HTMLElement, places);
    const [treeOf, orderOf] = ["[data-tree]", "[data-order]"].map((name) => element2.querySelector(name));
    let focus = 0;
    let kernel = "";
    const tree = () => data.trees[Number(treeOf?.value ?? 0)];
    const order = () => orderOf?.value ?? "start";
    function show2() {
      drawBars(bars, tree(), data, focus, order());
      const turned = kernel ? turnAround(tree(), kernel, normal) : null;
      places.hidden = !turned;
      if (!turned) return;
      title.textContent = `Where ${turned.texts[turned.name[0]]} is launched from`;
      drawBars(below, turned, data, 0, "time");
    }
    function choose2(chosen2, node) {
      if (chosen2 === tree()) focus = node;
      const link = chosen2.texts[chosen2.link[node]];
      if (KINDS[chosen2.kind[node]] === "kernel") kernel = normal(link);
      show2();
      const selection = parseSelection(link);
      if (selection) select(selection, { from: "figure" });
    }
    bars.addEventListener("click", ({ target }) => {
      const node = nodeOf(target);
      if (node >= 0) choose2(tree(), node);
    });
    below.addEventListener("click", ({ target }) => {
      const selection = target instanceof HTMLElement ? parseSelection(target.dataset.link ?? "") : null;
      if (selection) select(selection, { from: "figure" });
    });
    for (const each of [bars, below]) each.addEventListener("keydown", (event) => moveFocus(each, event));
    treeOf?.addEventListener("change", () => {
      focus = 0;
      show2();
    });
    orderOf?.addEventListener("change", show2);
    onSelection(({ selection }) => {
      const same = selection?.kind === "kernel" ? nameOfSame(selection) : "";
      if (same && !kernel) return;
      kernel = same;
      show2();
    });
    new ResizeObserver(show2).observe(bars);
    onColors(show2);
    find(".undrawn", HTMLElement, element2).remove();
  }
  function normal(link) {
    const selection = parseSelection(link);
    return selection ? toFragment2({ selection, view: null }) : link;
  }
  var nodeOf = (target) => Number(target instanceof HTMLElement ? target.dataset.node ?? -1 : -1);
  function drawBars(box, tree, data, focus, order) {
    const width = box.clientWidth || 1;
    const drawn = layOut(tree, focus, order, NARROWEST / width);
    const had = box.contains(document.activeElement) ? document.activeElement.dataset.node : void 0;
    const chain = new Set(chainOf(tree, focus));
    box.style.height = `${ROW3 * (1 + Math.max(...drawn.map(({ row }) => row)))}px`;
    box.replaceChildren(...drawn.map((bar) => makeBar(bar, tree, data, width, chain)));
    const again = box.querySelector(`[data-node="${had ?? focus}"]`) ?? box.querySelector("button");
    if (again) again.tabIndex = 0;
    if (had !== void 0) again?.focus({ preventScroll: true });
  }
  function makeBar({ node, row, left, width }, tree, data, pixels, chain) {
    const kind = KINDS[tree.kind[node]];
    const name = tree.texts[tree.name[node]];
    const active = tree.active[node];
    const colors = data.colors[isDark() ? "dark" : "light"];
    const last = colors.length - 1;
    const painted = colors[active === null ? last : Math.min(Math.floor(active / 100 * last), last - 1)];
    const bar = Object.assign(document.createElement("button"), {
      type: "button",
      className: `bar-${kind}`,
      tabIndex: -1,
      title: describe(tree, node, data.unit),
      textContent: width * pixels >= LEAST_LABEL ? name : ""
    });
    bar.classList.toggle("unnamed", !bar.textContent);
    bar.setAttribute("aria-label", bar.title);
    if (chain.has(node)) bar.setAttribute("aria-expanded", "true");
    Object.assign(bar.dataset, { node: String(node), row: String(row), link: tree.texts[tree.link[node]] });
    Object.assign(bar.style, { left: `${100 * left}%`, width: `${100 * width}%`, top: `${ROW3 * row}px` });
    if (kind !== "idle") Object.assign(bar.style, { background: painted.color, color: painted.text });
    return bar;
  }
  function describe(tree, node, unit) {
    const active = tree.active[node];
    const share = formatPercent(100 * tree.time[node] / tree.time[0]);
    const count = tree.launches[node];
    return [
      tree.texts[tree.name[node]],
      `${formatSeconds(tree.time[node] * 1e-9)}, ${share} ${unit}`,
      ...KINDS[tree.kind[node]] === "idle" ? [] : [`Tensor Active ${active === null ? "–" : formatPercent(active)}`],
      ...count ? [`${count} launch${count === 1 ? "" : "es"}`] : []
    ].join("\n");
  }
  function moveFocus(box, event) {
    const at = document.activeElement;
    if (!(at instanceof HTMLElement) || !box.contains(at)) return;
    const all = findAll("button", box);
    const place = (bar) => ({ row: Number(bar.dataset.row), left: parseFloat(bar.style.left) });
    const { row, left } = place(at);
    const near = (wanted2) => all.filter((bar) => place(bar).row === wanted2).sort((a, b) => Math.abs(place(a).left - left) - Math.abs(place(b).left - left))[0];
    const inRow = all.filter((bar) => place(bar).row === row).sort((a, b) => place(a).left - place(b).left);
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const next = step ? inRow[inRow.indexOf(at) + step] : event.key === "ArrowUp" ? near(row - 1) : event.key === "ArrowDown" ? near(row + 1) : void 0;
    if (!next) return;
    event.preventDefault();
    at.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  // src/links.ts
  function openLinkedParts() {
    document.addEventListener("click", (event) => {
      const link = event.target instanceof Element ? event.target.closest("a[href^='#']") : null;
      if (!link) return;
      openAround(link.hash.slice(1));
      if (!readAddress()) return;
      event.preventDefault();
      document.getElementById(link.hash.slice(1))?.scrollIntoView();
    });
    openAround(location.hash.slice(1));
  }
  function openAround(id) {
    const target = document.getElementById(id);
    for (let part = target?.closest("details"); part; part = part.parentElement?.closest("details")) part.open = true;
  }

  // src/panel/findings.ts
  function readFindings() {
    return new Map(findAll("[data-finding]").map(({ dataset: { finding = "", title = "", gain = "", about = "" } }) => {
      const selections = about.split(" ").map(parseSelection).filter((selection) => selection !== null);
      return [finding, { name: finding, title, gain, about: selections }];
    }));
  }

  // src/panel/keys.ts
  var KEYS2 = [
    ["/", "search for a range, a module or a kernel"],
    ["f", "show what is selected in the timeline"],
    ["n, p", "the next instance of it, and the one before"],
    ["l, a", "the longest instance, and the least active one"],
    ["Esc", "select nothing"],
    ["↑ ↓ Home End", "in the table: move between rows"],
    ["← →", "in the table: close and open a row; in the timeline: move"],
    ["Enter", "in the table: select the row"],
    ["+ − 0", "in the timeline: zoom in and out, and show everything"],
    ["?", "this list"]
  ];
  function startKeys() {
    const dialog = element(
      "dialog",
      { className: "keys" },
      element("h2", {}, "Keys"),
      element("dl", {}, ...KEYS2.map(([keys, meaning]) => element("div", {}, element("dt", {}, element("kbd", {}, keys)), element("dd", {}, meaning)))),
      element("form", { method: "dialog" }, element("button", { type: "submit" }, "Close"))
    );
    dialog.setAttribute("aria-label", "Keys");
    find("main", HTMLElement).append(dialog);
    const open = element("button", { type: "button", title: "Keys (?)" }, "Keys");
    open.addEventListener("click", () => dialog.showModal());
    find(".strip-row", HTMLElement).append(open);
    document.addEventListener("keydown", (event) => {
      const isTyping = event.target instanceof Element && event.target.closest("input, textarea, select, dialog");
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      const selection = currentSelection();
      if (event.key === "/") find("#find", HTMLInputElement).focus();
      else if (event.key === "?") dialog.showModal();
      else if (event.key === "f" && selection) select(selection, { from: "element" });
      else return;
      event.preventDefault();
    });
  }

  // src/panel/gpu_choice.ts
  function startGpuChoice(timeline2, subjects) {
    const buttons = findAll("[data-show-gpu]");
    const show2 = (chosen2) => {
      buttons.forEach((button) => button.setAttribute("aria-pressed", String(Number(button.dataset.showGpu) === chosen2)));
    };
    for (const button of buttons) {
      const gpu = subjects.gpus.find((each) => each.gpu === Number(button.dataset.showGpu));
      if (gpu) button.addEventListener("click", () => timeline2.showGpu(gpu));
    }
    document.addEventListener("tcprof:gpu", ({ detail }) => show2(detail));
    if (subjects.gpus.length > 1) show2(subjects.gpus[0].gpu);
  }

  // src/panel/search.ts
  var MOST2 = 12;
  function startSearch(subjects, currentGpu) {
    const input = find("#find", HTMLInputElement);
    const list = find("#found", HTMLElement);
    let found = [];
    let at = -1;
    const close = () => {
      list.hidden = true;
      input.setAttribute("aria-expanded", "false");
      mark(-1);
    };
    const mark = (place) => {
      at = place;
      Array.from(list.children).forEach((option2, i) => option2.setAttribute("aria-selected", String(i === place)));
      if (place < 0) input.removeAttribute("aria-activedescendant");
      else input.setAttribute("aria-activedescendant", `found-${place}`);
      list.children[place]?.scrollIntoView({ block: "nearest" });
    };
    const choose2 = (place) => {
      const chosen2 = found[place];
      close();
      if (chosen2) select(chosen2.selection, { from: "search" });
    };
    input.addEventListener("input", () => {
      found = search(subjects, currentGpu(), input.value.trim().toLowerCase());
      list.replaceChildren(...found.length ? found.map(option) : nothing(input.value));
      list.hidden = !list.children.length;
      input.setAttribute("aria-expanded", String(!list.hidden));
      mark(found.length ? 0 : -1);
    });
    input.addEventListener("keydown", (event) => {
      const steps = { ArrowDown: 1, ArrowUp: -1 };
      if (event.key in steps && found.length) mark((at + steps[event.key] + found.length) % found.length);
      else if (event.key === "Enter") choose2(at);
      else if (event.key === "Escape" && !list.hidden) close();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    list.addEventListener("pointerdown", (event) => event.preventDefault());
    list.addEventListener("click", ({ target }) => {
      if (target instanceof Element) choose2(Array.from(list.children).findIndex((each) => each.contains(target)));
    });
    input.addEventListener("blur", close);
  }
  function search({ header }, gpu, wanted2) {
    const words = wanted2.split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    const { paths, kernels, modules } = gpu.details;
    const all = [
      ...header.links.ranges.filter((_, id) => paths.rowOf.has(id)).map((name) => [name, "range", "range"]),
      ...modules.names.map((name) => [name, "module", "module"]),
      ...header.links.kernels.filter((_, id) => kernels.rowOf.has(id)).map((name) => [name, "kernel", "kernel"])
    ].map((each) => [...each]);
    const hits = all.filter(([name]) => words.every((word) => name.toLowerCase().includes(word)));
    const rank = ([name]) => name.toLowerCase().startsWith(words[0]) ? 0 : 1;
    hits.sort((a, b) => rank(a) - rank(b));
    return hits.slice(0, MOST2).map(([name, kind, noun]) => ({ name, noun, selection: { kind, gpu: gpu.gpu, name } }));
  }
  function option({ name, noun }, place) {
    const line = element("li", { id: `found-${place}`, role: "option" }, element("bdi", {}, withoutMark(name)));
    line.append(element("span", { className: "line-note" }, noun));
    return line;
  }
  function nothing(wanted2) {
    return wanted2.trim() ? [element("li", { className: "note", role: "option", ariaDisabled: "true" }, "Nothing has that name")] : [];
  }

  // src/timeline/curves.ts
  var REACH = 14;
  var ALIKE = 0.1;
  function fillCurves(gpus, traces, low, high, most) {
    const cuts = /* @__PURE__ */ new Map();
    return traces.flatMap((trace) => {
      const { meta } = trace;
      if (!meta || meta.role === "lanes") return [];
      const found = gpus[meta.gpu].curves.get(meta.curve);
      if (!found) throw new Error(`it has no curve ${meta.curve}`);
      const { levels, place, step } = found;
      const level = cuts.get(levels) ?? windowOf(levels, low, high, most);
      cuts.set(levels, level);
      const curve = level.curves[place]();
      return [{ trace, level, curve, step, line: stepLine(level, curve, step) }];
    });
  }
  function paintCurve(pen, filled, across, place) {
    if (filled.trace.meta?.role === "band") paintBand(pen, filled, across, place);
    else paintLine(pen, filled, across, place);
  }
  function paintLine(pen, { trace, line: { x, y } }, across, place) {
    const width = trace.line?.width ?? 1;
    pen.fillStyle = trace.line?.color ?? "";
    for (let i = 0; i + 1 < x.length; i++) {
      if (Number.isNaN(y[i])) continue;
      const [left, height] = [across(x[i]), place(y[i])];
      while (i + 2 < x.length && Math.abs(place(y[i + 1]) - height) < ALIKE) i++;
      const [right, next] = [across(x[i + 1]), place(y[i + 1])];
      pen.fillRect(left - width / 2, height - width / 2, right - left + width, width);
      if (!Number.isNaN(next)) pen.fillRect(right - width / 2, Math.min(height, next), width, Math.abs(next - height));
    }
  }
  function paintBand(pen, { trace, level, curve, step }, across, place) {
    const ratio = pen.getTransform().a;
    const round = (pixels) => Math.round(ratio * pixels) / ratio;
    pen.fillStyle = trace.fillcolor ?? "";
    for (let i = 0; i < level.start.length; i++) {
      if (curve.mean[i] === 0) continue;
      const left = round(across(level.start[i]));
      const top = place(step * (curve.high[i] - 1));
      pen.fillRect(left, top, round(across(level.end[i])) - left, place(level.binned ? step * (curve.low[i] - 1) : 0) - top);
    }
  }
  function nearestPoint({ trace, level, curve, step, line: { x, y, places } }, place, { time, height, pixel }) {
    if (trace.meta?.role !== "curve") return null;
    const { unit } = trace.meta;
    const tell5 = (value) => unit === "%" ? formatPercent(value) : formatScaled(value, unit ?? "").trim();
    let [best, away] = [-1, REACH];
    for (let i = Math.max(firstAbove(x, time - REACH * pixel) - 1, 0); i < x.length && x[i] <= time + REACH * pixel; i++) {
      const until = x[i + 1] ?? x[i];
      const beside = Math.max(x[i] - time, time - until, 0) / pixel;
      const distance = Math.hypot(beside, place(y[i]) - height);
      if (distance < away) [best, away] = [i, distance];
    }
    if (best < 0) return null;
    const at = places[best];
    const extremes = () => [curve.low[at], curve.high[at]].map((steps) => tell5(step * (steps - 1)));
    const say = () => `<b>${trace.name}</b> ${tell5(y[best])}<br>at ${formatMoment(x[best])}` + (level.binned ? `<br>mean of the bin; smallest ${extremes()[0]}, largest ${extremes()[1]}` : "");
    return { time: Math.min(Math.max(time, x[best]), x[best + 1] ?? x[best]), value: y[best], away, say };
  }

  // src/timeline/paint.ts
  var FONT = "10.5px system-ui, sans-serif";
  var BESIDE = 6;
  function paint(canvas, size, frame, lanes, curves) {
    const pen = prepare(canvas, size, frame);
    const across = (seconds) => frame.left + (seconds - frame.low) / (frame.high - frame.low) * frame.width;
    for (const placed of lanes) paintLanes(pen, frame, across, placed);
    for (const placed of curves) {
      pen.save();
      pen.beginPath();
      pen.rect(frame.left, placed.top, frame.width, placed.bottom - placed.top);
      pen.clip();
      paintCurve(pen, placed, across, placed.place);
      pen.restore();
    }
  }
  function paintLanes(pen, frame, across, { bars, names, place, outlines }) {
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
      const text = longestFitting(pen, cuts, to - from - BESIDE);
      pen.fillStyle = color;
      if (text) pen.fillText(text, (from + to) / 2, place(middle) + 0.5);
    }
    pen.strokeStyle = frame.ink;
    pen.lineWidth = 2;
    for (const { left, right, top, bottom } of outlines) {
      if (right < frame.low || left > frame.high) continue;
      const [from, above] = [across(left), place(top)];
      pen.strokeRect(from, above, Math.max(across(right) - from, 1), place(bottom) - above);
    }
  }
  function prepare(canvas, { width, height, ratio }, frame) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = penOf(canvas);
    pen.scale(ratio, ratio);
    pen.beginPath();
    pen.rect(frame.left, frame.top, frame.width, frame.height);
    pen.clip();
    pen.font = FONT;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    return pen;
  }
  function penOf(canvas) {
    const pen = canvas.getContext("2d");
    if (!pen) throw new Error("this browser cannot draw on a canvas");
    return pen;
  }
  var widths2 = /* @__PURE__ */ new Map();
  function longestFitting(pen, cuts, available) {
    for (let i = cuts.length - 1; i >= 0; i--) {
      const text = cuts[i];
      const width = widths2.get(text) ?? pen.measureText(text).width;
      widths2.set(text, width);
      if (width <= available) return text;
    }
    return "";
  }

  // src/panel/strip.ts
  var LEAST_DRAG = 4;
  var TICKS = 4;
  function startStrip(subjects, shown, currentGpu) {
    const strip = find(".strip", HTMLElement);
    const map = find(".strip-map", HTMLElement, strip);
    const canvas = find("canvas", HTMLCanvasElement, map);
    let subject = null;
    let brushed = null;
    let waiting2 = 0;
    let curve = null;
    const draw = () => {
      waiting2 ||= requestAnimationFrame(() => {
        waiting2 = 0;
        curve ??= drawCurve(canvas, currentGpu(), shown);
        drawMap(canvas, curve, shown, spansOf(subjects, subject, currentGpu()), brushed);
        describe2(strip, map, shown);
      });
    };
    const drawAnew = () => {
      curve = null;
      draw();
    };
    strip.hidden = false;
    find("[data-whole]", HTMLButtonElement, strip).addEventListener("click", shown.showAll);
    document.documentElement.classList.add("with-strip");
    onSelection(({ selection }) => {
      subject = selection && subjects.find(selection);
      draw();
    });
    document.addEventListener("tcprof:window", draw);
    document.addEventListener("tcprof:gpu", drawAnew);
    new ResizeObserver(drawAnew).observe(map);
    onColors(drawAnew);
    followPointer(map, shown, currentGpu, (span) => {
      brushed = span;
      draw();
    });
    followKeys(map, shown);
  }
  function describe2(strip, map, { low, high, whole, length, isWhole }) {
    const text = isWhole ? `all that is drawn, ${formatSeconds(length)}` : `${formatSeconds(high - low)} of ${formatSeconds(length)}, from ${formatSeconds(low)} on`;
    find(".strip-text", HTMLElement, strip).textContent = isWhole ? "" : `Shown: ${text}`;
    find("[data-whole]", HTMLButtonElement, strip).hidden = isWhole;
    map.setAttribute("aria-valuenow", String(Math.round(100 * ((low + high) / 2 - whole[0]) / length)));
    map.setAttribute("aria-valuetext", text);
  }
  function followPointer(map, shown, currentGpu, brush) {
    let from = null;
    const perPixel = () => shown.length / Math.max(map.clientWidth, 1);
    const timeAt = (x) => shown.whole[0] + (x - map.getBoundingClientRect().left) * perPixel();
    const spanTo = (x) => {
      const [a, b] = [timeAt(from.x), timeAt(x)].map((time) => Math.min(Math.max(time, shown.whole[0]), shown.whole[1]));
      return { start: Math.min(a, b), end: Math.max(a, b) };
    };
    map.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      const time = timeAt(event.clientX);
      const slack = 3 * perPixel();
      const moves = !shown.isWhole && time > shown.low - slack && time < shown.high + slack;
      from = { x: event.clientX, low: shown.low, moves };
      map.setPointerCapture(event.pointerId);
    });
    map.addEventListener("pointermove", (event) => {
      if (!from) return;
      if (!from.moves) brush(spanTo(event.clientX));
      else {
        const low = from.low + (event.clientX - from.x) * perPixel();
        shown.set(low, low + shown.high - shown.low);
      }
    });
    map.addEventListener("pointerup", (event) => {
      if (!from) return;
      const { moves, x } = from;
      const span = spanTo(event.clientX);
      from = null;
      brush(null);
      if (moves) return;
      if (Math.abs(event.clientX - x) < LEAST_DRAG) centre(shown, timeAt(event.clientX));
      else select({ kind: "window", gpu: currentGpu().gpu, ...span }, { from: "strip" });
    });
    map.addEventListener("pointercancel", () => {
      from = null;
      brush(null);
    });
  }
  function centre(shown, time) {
    const half = (shown.high - shown.low) / 2;
    if (!shown.isWhole) shown.set(time - half, time + half);
  }
  function followKeys(map, shown) {
    const actions = {
      ArrowLeft: () => shown.move(-0.4),
      ArrowRight: () => shown.move(0.4),
      Home: shown.showAll,
      ArrowUp: () => shown.zoom(0.5),
      ArrowDown: () => shown.zoom(2)
    };
    map.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in actions)) return;
      event.preventDefault();
      actions[event.key]();
    });
  }
  function drawMap(canvas, curve, shown, spans, brushed) {
    const { pen, width, height } = prepare2(canvas, canvas);
    if (curve.width && curve.height) pen.drawImage(curve, 0, 0, width, height);
    const across = (time) => (time - shown.whole[0]) / shown.length * width;
    pen.fillStyle = readColor("--focus");
    for (const { start: start2, end } of spans) {
      pen.fillRect(across(start2), height - TICKS, Math.max(across(end) - across(start2), 1.5), TICKS);
    }
    if (!shown.isWhole) drawWindow(pen, across(shown.low), across(shown.high), width, height);
    if (brushed) drawWindow(pen, across(brushed.start), across(brushed.end), width, height);
  }
  function prepare2(canvas, { clientWidth: width, clientHeight: height }) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = penOf(canvas);
    pen.scale(ratio, ratio);
    return { pen, width, height };
  }
  function drawCurve(shownAt, gpu, shown) {
    const canvas = document.createElement("canvas");
    const size = prepare2(canvas, shownAt);
    addCurve(size, gpu.curves.get("GR Active"), shown, "--line", [0, 1]);
    addCurve(size, gpu.curves.get("Tensor Active"), shown, "--bar", [0.35, 1]);
    return canvas;
  }
  function addCurve({ pen, width, height }, curve, { whole: [first, last], length }, color, opacities) {
    if (!curve) return;
    const level = windowOf(curve.levels, first, last, Math.max(width, 100));
    const values = level.curves[curve.place]();
    const across = (time) => (time - first) / length * width;
    const floor = height - TICKS - 2;
    pen.fillStyle = readColor(color);
    for (const [place, of] of [values.high, values.mean].entries()) {
      pen.globalAlpha = opacities[place];
      for (let i = 0; i < level.start.length; i++) {
        if (values.mean[i] === 0) continue;
        const left = across(level.start[i]);
        const rise = floor * curve.step * (of[i] - 1) / 100;
        pen.fillRect(left, floor - rise, Math.max(across(level.end[i]) - left, 0.5), rise);
      }
    }
  }
  function spansOf(subjects, subject, shown) {
    if (subject?.gpu !== shown) return [];
    if (subject.parts) return subject.parts.flatMap((part) => spansOf(subjects, part, shown));
    const { gpu, selection: { kind }, at, place } = subject;
    const instances = kind === "module" ? Array.from(subject.work()) : subject.instances;
    if (at >= 0 || !["range", "kernel", "module"].includes(kind)) return place ? [place] : [];
    const { start: start2, end } = gpu.lanes.work;
    return instances.map((bar) => kind === "range" ? subjects.windowOf(gpu, bar) : { start: start2[bar], end: end[bar] });
  }
  function drawWindow(pen, left, right, width, height) {
    pen.fillStyle = readColor("--page");
    pen.globalAlpha = 0.6;
    pen.fillRect(0, 0, left, height);
    pen.fillRect(right, 0, width - right, height);
    pen.globalAlpha = 1;
    pen.strokeStyle = readColor("--ink");
    pen.lineWidth = 1.5;
    pen.strokeRect(left, 0.75, Math.max(right - left, 2), height - 1.5);
  }

  // src/columns.ts
  function startColumns2(table) {
    const headings = Array.from(table.tHead.rows[0].cells);
    const tools = document.querySelector(`[data-csv="${table.id}"]`)?.parentElement;
    if (!tools || !headings.some((heading) => heading.classList.contains("further"))) return;
    const chooser = Object.assign(document.createElement("details"), { className: "columns" });
    const style = chooser.appendChild(document.createElement("style"));
    const summary = chooser.appendChild(document.createElement("summary"));
    const list = chooser.appendChild(document.createElement("div"));
    const boxes = headings.slice(1).map((heading) => addBox(list, heading));
    function show2() {
      const hidden = boxes.flatMap((box, place) => box.checked ? [] : [`:nth-child(${place + 2})`]);
      style.textContent = hidden.length ? `#${table.id} tr > :is(${hidden.join()}) { display: none; }` : "";
      summary.textContent = `Columns (${boxes.length - hidden.length} of ${boxes.length})`;
    }
    list.addEventListener("change", show2);
    chooser.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !chooser.open) return;
      chooser.open = false;
      summary.focus();
      event.stopPropagation();
    });
    document.addEventListener("click", ({ target }) => {
      if (target instanceof Node && !chooser.contains(target)) chooser.open = false;
    });
    show2();
    tools.insertBefore(chooser, tools.querySelector("button"));
  }
  function addBox(list, heading) {
    const box = Object.assign(document.createElement("input"), { type: "checkbox" });
    box.checked = !heading.classList.contains("further");
    const [button] = findAll("button", heading);
    const label = Object.assign(document.createElement("label"), { title: button?.title ?? "" });
    label.append(box, ` ${heading.textContent.trim()}`);
    list.append(label);
    return box;
  }

  // src/rows.ts
  function compareRows(direction, isText = false) {
    return (a, b) => {
      if (!direction) return a.place - b.place;
      if (a.key === "" || b.key === "") return Number(a.key === "") - Number(b.key === "") || a.place - b.place;
      const order = isText ? a.key.localeCompare(b.key) : Number(a.key) - Number(b.key);
      return direction * order || a.place - b.place;
    };
  }
  function foldedRows(depths, closed) {
    let above = Infinity;
    return depths.map((depth, place) => {
      if (depth > above) return true;
      above = closed[place] ? depth : Infinity;
      return false;
    });
  }

  // src/folding.ts
  var LARGE_TREE = 60;
  function makeFoldable(table) {
    const rows = rowsOf(table);
    const depths = rows.map((row) => Number(row.style.getPropertyValue("--level")));
    const closed = rows.map(() => false);
    function fold(place, isClosed) {
      closed[place] = isClosed;
      find("button.fold", HTMLButtonElement, rows[place]).setAttribute("aria-expanded", String(!isClosed));
    }
    function show2() {
      foldedRows(depths, closed).forEach((folded, place) => rows[place].classList.toggle("folded", folded));
    }
    rows.forEach((row, place) => {
      const depth = depths[place];
      if (depth < 1 || !(depths[place + 1] > depth)) return;
      const button = Object.assign(document.createElement("button"), { type: "button", className: "fold" });
      button.setAttribute("aria-label", `Ranges within ${nameOf(row)}`);
      button.addEventListener("click", () => {
        fold(place, !closed[place]);
        show2();
      });
      row.cells[0].prepend(button);
      table.classList.add("foldable");
      fold(place, rows.length > LARGE_TREE && depth > 1);
    });
    show2();
  }

  // src/tables.ts
  var DIRECTIONS = { none: 0, ascending: 1, descending: -1 };
  function startTables(timeline2) {
    for (const table of findAll("table.paths")) {
      rowsOf(table).forEach((row, place) => {
        row.dataset.place = String(place);
      });
      for (const button of findAll("thead th[aria-sort] button", table)) {
        button.addEventListener("click", () => arrange(table, button.closest("th")));
      }
      if (isTree(table)) makeFoldable(table);
      startColumns2(table);
      startNames(table);
    }
    for (const input of findAll("[data-filter]")) {
      const table = document.getElementById(input.dataset.filter);
      input.addEventListener("input", () => filter(table, input.value.trim().toLowerCase()));
    }
    startGroups();
    startSaving(timeline2);
  }
  var isTree = (table) => /^table-(ranges|modules)-/.test(table.id);
  function startNames(table) {
    table.tBodies[0].addEventListener("click", ({ target }) => {
      const head = target instanceof Element ? target.closest("tr")?.cells[0] : void 0;
      if (!head || head.querySelector(".whole-name")) return;
      keepInPlace(head, () => table.querySelector(".whole-name")?.remove());
      if (!head.title || head.title === nameOf(head.closest("tr"))) return;
      head.append(Object.assign(document.createElement("span"), { className: "whole-name", textContent: head.title }));
    });
  }
  function flatten(table) {
    const sorted = table.dataset.sorted && table.dataset.sorted !== "none";
    table.classList.toggle("flat", Boolean(sorted || table.dataset.filtered));
  }
  function arrange(table, heading) {
    const column = heading.cellIndex;
    const isText = column === 0 || heading.classList.contains("word");
    const steps = isText ? ["none", "ascending", "descending"] : ["none", "descending", "ascending"];
    const state2 = steps[(steps.indexOf(heading.getAttribute("aria-sort")) + 1) % 3];
    findAll("thead th[aria-sort]", table).forEach((other) => other.setAttribute("aria-sort", "none"));
    heading.setAttribute("aria-sort", state2);
    const keyed = rowsOf(table).map((row) => {
      const key = column ? row.cells[column].dataset.sort : nameOf(row);
      return { row, place: Number(row.dataset.place), key };
    });
    keyed.sort(compareRows(DIRECTIONS[state2], isText));
    table.tBodies[0].append(...keyed.map(({ row }) => row));
    table.dataset.sorted = state2;
    flatten(table);
  }
  function filter(table, wanted2) {
    const rows = rowsOf(table);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !(nameOf(row) + row.cells[0].title).toLowerCase().includes(wanted2);
      shown += row.hidden ? 0 : 1;
    }
    table.dataset.filtered = wanted2;
    flatten(table);
    const count = find(`[data-count="${table.id}"]`, HTMLElement);
    count.textContent = wanted2 ? `${shown} of ${rows.length} rows` : "";
  }
  function startSaving(timeline2) {
    for (const button of findAll("[data-csv]")) {
      const id = button.dataset.csv;
      const target = document.getElementById(id);
      const rows = () => {
        if (target instanceof HTMLTableElement) return tableRows(target);
        if (timeline2 && id === "timeline") return figureRows({ data: timeline2.curves() });
        return figureRows(target);
      };
      button.addEventListener("click", () => saveCsv(id, rows()));
    }
  }
  function tableRows(table) {
    const [first, ...headings] = Array.from(table.tHead.rows[0].cells);
    const columns = headings.map((heading) => heading.dataset.columns?.split(" ") ?? [heading.textContent.trim()]);
    const lines = rowsOf(table).filter((row) => !row.hidden && !row.classList.contains("other-group")).map((row) => {
      const [name, ...cells] = Array.from(row.cells);
      const values = cells.map((cell, place) => cellValues(cell, columns[place].length));
      return [name.title || nameOf(row) || name.textContent.trim(), ...values.flat()];
    });
    return [[first.textContent.trim(), ...columns.flat()], ...lines];
  }
  function cellValues(cell, count) {
    const shown = (cell.querySelector(".value") ?? cell).textContent.trim();
    const values = cell.dataset.values?.split(" ") ?? [cell.dataset.sort || (shown === "–" ? "" : shown)];
    return Array.from({ length: count }, (_, place) => values[place] ?? "");
  }

  // src/timeline/bars.ts
  var MOST_ROWS = 256;
  function makeRows({ row: rowOf, end }) {
    const counts = new Uint32Array(MOST_ROWS);
    for (let i = 0; i < rowOf.length; i++) counts[rowOf[i]]++;
    const members = Array.from(counts, (count) => new Uint32Array(count));
    const reach = Array.from(counts, (count) => new Float64Array(count));
    const filled = new Uint32Array(MOST_ROWS);
    const until = new Float64Array(MOST_ROWS).fill(-Infinity);
    for (let i = 0; i < rowOf.length; i++) {
      const row = rowOf[i];
      const place = filled[row]++;
      if (end[i] > until[row]) until[row] = end[i];
      members[row][place] = i;
      reach[row][place] = until[row];
    }
    const used = Array.from(counts.keys()).filter((row) => counts[row]);
    return new Map(used.map((row) => [row, { members: members[row], reach: reach[row] }]));
  }
  function scanRow({ start: starts, end: ends }, { members, reach }, { low, high, narrow }, wide, merge) {
    let [bin, border] = [-1, low];
    for (let k = firstAbove(reach, low); k < members.length; k++) {
      const bar = members[k];
      const start2 = starts[bar];
      if (start2 >= high) break;
      const end = ends[bar];
      if (end <= low) continue;
      if (end - start2 >= narrow) {
        wide(bar);
        continue;
      }
      while (start2 >= border) border = low + (++bin + 1) * narrow;
      if (end <= border) merge(bin, bar, end - start2);
      else {
        merge(bin, bar, border - start2);
        merge(bin + 1, bar, end - border);
      }
    }
  }

  // src/timeline/lanes.ts
  var GAP = 0.08;
  var Filling = class {
    bars = /* @__PURE__ */ new Map();
    fitted = [];
    places = [];
    lanes;
    names;
    view;
    constructor(lanes, names, view) {
      this.lanes = lanes;
      this.names = names;
      this.view = view;
    }
    paint({ color }, left, right, top, bottom) {
      getOrAdd(this.bars, color, () => []).push(left, right, top, bottom);
    }
    point(left, right, { top, bottom }, say) {
      this.places.push({ left, right, top, bottom, say });
    }
  };
  var kept = /* @__PURE__ */ new WeakMap();
  function fillLanes(lanes, names, view, isWhole = false) {
    const key = [view.low, view.high, view.pixel, view.theme, lanes.scaleTop].join();
    const known = kept.get(lanes);
    if (known?.key === key) return known.filled;
    const filling = new Filling(lanes, names, view);
    fillRanges(filling, lanes.host, "on the CPU");
    fillRanges(filling, lanes.windows, "on the GPU, first activity to last,");
    fillWork(filling, lanes.work);
    const filled = { bars: filling.bars, names: filling.fitted, places: filling.places };
    if (isWhole) kept.set(lanes, { key, filled });
    return filled;
  }
  function getOrAdd(map, key, make) {
    const found = map.get(key);
    if (found !== void 0) return found;
    const made = make();
    map.set(key, made);
    return made;
  }
  function spanOf2(row, rows) {
    return { top: row - 0.5 + GAP, bottom: row - 0.5 + rows - GAP, middle: row + (rows - 1) / 2 };
  }
  function addWide(filling, bars, bar, span, look, cuts, describe3) {
    const { view } = filling;
    const left = Math.max(bars.start[bar], view.low - view.pixel);
    const right = Math.min(bars.end[bar], view.high + view.pixel);
    const pixels = (right - left) / view.pixel;
    const apart = pixels > 3 ? 0.4 * view.pixel : 0;
    filling.paint(look, left + apart, right - apart, span.top, span.bottom);
    if (pixels > 24) filling.fitted.push({ left, right, middle: span.middle, cuts, color: look.text });
    filling.point(left, right, span, () => describe3(bar));
  }
  function rangeLook({ lanes, names, view }, percent) {
    const colors = names.rangeColors[view.theme];
    const last = colors.length - 1;
    const step = Math.min(last - 1, Math.floor(last * percent / lanes.scaleTop));
    return colors[Number.isNaN(percent) ? last : step];
  }
  function describeMerged({ merged }, bar) {
    return merged[bar] > 1 ? `, ${merged[bar]} short ones drawn as one` : "";
  }
  function describeRange({ names }, bars, bar, where) {
    const { tensor_active_mean_pct: active, coverage_pct: coverage } = bars.percents;
    return `<b>${names.paths.names[bars.id[bar]]}</b>${describeMerged(bars, bar)}<br>${where} from ${formatMoment(bars.start[bar])}, for ${formatSeconds(bars.end[bar] - bars.start[bar])}<br>Tensor Active mean ${formatPercent(active[bar])}, coverage ${formatPercent(coverage[bar])}, ${bars.kernels[bar]} kernels`;
  }
  var Bins = class {
    size;
    bars;
    count;
    first;
    constructor({ low, high, narrow }) {
      this.size = Math.ceil((high - low) / narrow) + 1;
      [this.bars, this.count, this.first] = [new Uint32Array(this.size), new Uint32Array(this.size), new Uint32Array(this.size)];
    }
    add(bin, bar, merged) {
      if (!this.bars[bin]++) this.first[bin] = bar;
      this.count[bin] += merged;
    }
  };
  function fillRanges(filling, bars, where) {
    const { names, view } = filling;
    const active = bars.percents.tensor_active_mean_pct;
    const { merged } = bars;
    const describe3 = (bar) => describeRange(filling, bars, bar, where);
    for (const [row, members] of bars.rows) {
      const bins = new Bins(view);
      const [time, sum] = [new Float64Array(bins.size), new Float64Array(bins.size)];
      const span = spanOf2(row, 1);
      scanRow(
        bars,
        members,
        view,
        (bar) => addWide(filling, bars, bar, span, rangeLook(filling, active[bar]), names.paths.cuts[bars.id[bar]], describe3),
        (bin, bar, seconds) => {
          if (bin < 0) return;
          bins.add(bin, bar, merged[bar]);
          const value = active[bar];
          if (Number.isNaN(value)) return;
          time[bin] += seconds;
          sum[bin] += seconds * value;
        }
      );
      for (let bin = 0; bin < bins.size; bin++) {
        if (bins.bars[bin]) addRangeBin(filling, bars, span, bin, bins, time[bin] ? sum[bin] / time[bin] : NaN, describe3);
      }
    }
  }
  function addRangeBin(filling, bars, span, bin, bins, mean, describe3) {
    const { view, names } = filling;
    const left = view.low + bin * view.narrow;
    filling.paint(rangeLook(filling, mean), left, left + view.narrow, span.top, span.bottom);
    const first = bins.first[bin];
    const say = () => bins.bars[bin] === 1 ? describe3(first) : `<b>${bins.count[bin]} short ranges</b>, the first ${names.paths.names[bars.id[first]]}<br>Tensor Active mean ${formatPercent(mean)}`;
    filling.point(left, left + view.narrow, span, say);
  }
  function describeWork({ lanes, names: { works, classes } }, bars, bar) {
    const id = bars.id[bar];
    const active = bars.percents.tensor_active_pct[bar];
    const [low, high] = [works.low[id], works.high[id]];
    const interval2 = low === null || high === null ? "" : ` (95 % interval of its kernel ${formatPercent(low)} to ${formatPercent(high)})`;
    return `<b>${works.names[id]}</b>${describeMerged(bars, bar)}<br>${works.geometry[id] ? `grid and block ${works.geometry[id]}<br>` : ""}${lanes.labels[bars.row[bar]]}, from ${formatMoment(bars.start[bar])}, for ${formatSeconds(bars.end[bar] - bars.start[bar])}<br>${classes[works.class[id]].name}` + (Number.isNaN(active) ? "" : `, Tensor Active ${formatPercent(active)}${interval2}`);
  }
  function fillWork(filling, bars) {
    const { view, lanes, names: { works, classes } } = filling;
    const { id, merged } = bars;
    const describe3 = (bar) => describeWork(filling, bars, bar);
    const idle = classes[classes.length - 1];
    for (const [row, members] of bars.rows) {
      const bins = new Bins(view);
      const time = new Float64Array(bins.size * classes.length);
      const span = spanOf2(row, lanes.streamRows);
      filling.paint(idle, view.low, view.high, span.top, span.bottom);
      scanRow(
        bars,
        members,
        view,
        (bar) => addWide(filling, bars, bar, span, classes[works.class[id[bar]]], works.cuts[id[bar]], describe3),
        (bin, bar, seconds) => {
          if (bin < 0) return;
          bins.add(bin, bar, merged[bar]);
          time[bin * classes.length + works.class[id[bar]]] += seconds;
        }
      );
      for (let bin = 0; bin < bins.size; bin++) {
        const mine = time.subarray(bin * classes.length, (bin + 1) * classes.length);
        if (bins.bars[bin]) stackBin(filling, span, bin, bins, mine, describe3);
      }
    }
  }
  function stackBin(filling, span, bin, bins, byClass, describe3) {
    const { view, names: { classes } } = filling;
    const left = view.low + bin * view.narrow;
    const busy = byClass.reduce((sum, time) => sum + time, 0);
    const height = (span.bottom - span.top) / Math.max(busy, view.narrow);
    let { bottom } = span;
    byClass.forEach((time, place) => {
      if (!time) return;
      filling.paint(classes[place], left, left + view.narrow, bottom - height * time, bottom);
      bottom -= height * time;
    });
    const shares = () => Array.from(byClass, (time, place) => [classes[place].name, time]).filter(([, time]) => time).map(([name, time]) => `${name} ${formatPercent(100 * time / view.narrow)}`);
    const say = () => bins.bars[bin] === 1 ? describe3(bins.first[bin]) : `<b>${bins.count[bin]} short kernels and copies</b><br>in ${formatSeconds(view.narrow)} from ${formatMoment(left)}<br>${shares().join(", ")} of the time`;
    filling.point(left, left + view.narrow, span, say);
  }

  // src/timeline/drawing.ts
  var CONFIG2 = {
    responsive: true,
    displaylogo: false,
    doubleClick: false,
    plotlyServerURL: "",
    showSendToCloud: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]
  };
  var BINS = 4e3;
  var LEAST_BINS = 150;
  var NARROW = 2;
  var REACH2 = 3;
  var TICK_PIXELS = 120;
  var EDGE = 20;
  var BESIDE_AXES = 96;
  var PICTURE = 2;
  var PAPER2 = 3;
  var Drawing = class {
    /** What is outlined in the lanes. */
    highlights = null;
    plot;
    box;
    canvas;
    header;
    gpus;
    shown;
    filled = null;
    curves = [];
    place = 0;
    isStale = true;
    onPaper = false;
    marked = null;
    ink = "";
    filledPixels = 0;
    waiting = 0;
    constructor(plot, box, header, gpus, shown) {
      this.plot = plot;
      this.box = box;
      this.canvas = find("canvas", HTMLCanvasElement, box);
      this.header = header;
      this.gpus = gpus;
      this.shown = shown;
    }
    /** The figure of the GPU that is shown. */
    get figure() {
      return this.header.figures[this.place];
    }
    /** The GPU that is shown. */
    get gpu() {
      return this.gpus[this.place];
    }
    /** Show another GPU, from the next frame on. */
    showGpu(gpu) {
      const { dragmode } = this.figure.layout;
      this.place = this.gpus.indexOf(gpu);
      if (dragmode !== void 0) this.figure.layout.dragmode = dragmode;
      this.plot.style.height = `${this.figure.layout.height}px`;
      this.scheduleAnew();
    }
    /** Draw the window before the next frame. */
    schedule = () => {
      this.waiting ||= requestAnimationFrame(() => void this.draw());
    };
    /** Draw axes and legend anew, too: another GPU, size, theme or choice of curves. */
    scheduleAnew = () => {
      this.isStale = true;
      this.schedule();
    };
    /** Draw for paper, or for the window again, at once: print does not wait. */
    print = (onPaper2) => {
      this.onPaper = onPaper2;
      this.isStale = true;
      void this.draw();
    };
    /** Draw the window that is to be shown. */
    draw = async () => {
      this.waiting = 0;
      const { low, high, length, isWhole } = this.shown;
      this.fill([low, high]);
      const ticks = this.ticks(low, high);
      const range = [low, high];
      Object.assign(this.figure.layout.xaxis, { range, autorange: false, tickmode: "array", ...ticks });
      const mark = String(this.shown.mark);
      if (this.isStale || mark !== this.marked) {
        [this.isStale, this.marked] = [false, mark];
        await this.layOut();
      } else {
        Object.assign(this.layout.xaxis, ticks);
        await Plotly.relayout(this.plot, { "xaxis.range": range });
      }
      Plotly.Fx.unhover(this.plot);
      find(".shown", HTMLElement, this.box).textContent = isWhole ? `all that is drawn, ${formatSeconds(high - low)}` : `${formatSeconds(high - low)} of ${formatSeconds(length)}`;
      this.plot.dataset.window = `${low} ${high}`;
    };
    /** Paint where the axes are now: plotly also lays out by itself, some time after a resize. */
    followAxes = () => {
      const { xaxis, _size } = this.layout;
      this.paint(xaxis.range);
      if (_size.w !== this.filledPixels) this.scheduleAnew();
    };
    /** Paint a window to which plotly is about to move its axes. */
    paintWindow(window2) {
      this.fill(window2);
      this.paint(window2);
    }
    paint([low, high], canvas = this.canvas, ratio = this.onPaper ? PAPER2 : devicePixelRatio || 1) {
      const { l, t, w, h } = this.layout._size;
      const [width, height] = [this.plot.clientWidth, this.plot.clientHeight];
      const frame = { left: l, width: w, top: t, height: h, low, high, ink: this.ink };
      const outlines = this.highlights?.gpu === this.gpu ? this.highlights.bars : [];
      const lanes = this.laneTraces().map((trace) => ({ ...this.filled, ...this.stripOf(trace), outlines }));
      const curves = this.curves.map((curve) => ({ ...curve, ...this.stripOf(curve.trace) }));
      paint(canvas, { width, height, ratio }, frame, lanes, curves);
    }
    /** The time under the pointer, and the row of the lanes, NaN where it is not over them. */
    locate({ clientX, clientY }) {
      const box = this.plot.getBoundingClientRect();
      const { _size: { l, w }, xaxis: { range: [low, high] } } = this.layout;
      const [x, y] = [clientX - box.left - l, clientY - box.top];
      const pixel = (high - low) / w;
      for (const trace of this.laneTraces()) {
        const { top, bottom } = this.stripOf(trace);
        const { range } = this.axisOf(trace);
        const row = range[1] + (y - top) / (bottom - top) * (range[0] - range[1]);
        if (y >= top && y <= bottom) return { time: low + x * pixel, row, pixel };
      }
      return { time: low + x * pixel, row: NaN, pixel };
    }
    /** What the pointer can find in the lanes of the window that is shown. */
    get places() {
      return this.filled?.places ?? [];
    }
    /** The bar or the point of a curve at an event, or the nearest one within some pixels. */
    pointAt(event) {
      const { time, row, pixel } = this.locate(event);
      const { _size: { l }, xaxis: { range: [low] } } = this.layout;
      const across = (at) => l + (at - low) / pixel;
      if (Number.isNaN(row)) {
        const found = this.nearestCurve(event, time, pixel);
        return found && { x: across(found.point.time), y: found.strip.place(found.point.value), say: found.point.say };
      }
      const place = nearestPlace(this.places, row, time, REACH2 * pixel);
      if (!place) return null;
      const y = this.stripOf(this.laneTraces()[0]).place((place.top + place.bottom) / 2);
      return { x: across(Math.min(Math.max(time, place.left), place.right)), y, say: place.say };
    }
    nearestCurve({ clientY }, time, pixel) {
      const height = clientY - this.plot.getBoundingClientRect().top;
      let best = null;
      for (const curve of this.curves) {
        const strip = this.stripOf(curve.trace);
        if (height < strip.top || height > strip.bottom) continue;
        const point = nearestPoint(curve, strip.place, { time, height, pixel });
        if (point && (!best || point.away < best.point.away)) best = { point, strip };
      }
      return best;
    }
    /** The curves of the window, with their points. */
    get points() {
      return this.curves.map(({ trace, line: { x, y } }) => ({ ...trace, x, y }));
    }
    /** Pixels of the axes: left, top, width and height. */
    get axes() {
      return this.layout._size;
    }
    laneTraces() {
      return this.figure.data.filter(({ meta }) => meta?.role === "lanes");
    }
    /** Where the strip of a trace is. */
    stripOf(trace) {
      const { t, h } = this.layout._size;
      const { domain, range: [first, last] } = this.axisOf(trace);
      const [bottom, top] = domain.map((share) => t + (1 - share) * h);
      return { top, bottom, place: (value) => top + (value - last) / (first - last) * (bottom - top) };
    }
    /** The vertical axis of a trace. */
    axisOf({ yaxis = "y" }) {
      return this.figure.layout[yaxis.replace("y", "yaxis")];
    }
    /** The axes over the bars over the page's colour, as a PNG. */
    async picture() {
      const [width, height, scale] = [this.plot.clientWidth, this.plot.clientHeight, PICTURE];
      const axes = new Image();
      axes.src = await Plotly.toImage(this.plot, { format: "png", width, height, scale });
      await axes.decode();
      const whole = Object.assign(document.createElement("canvas"), { width: scale * width, height: scale * height });
      const pen = penOf(whole);
      pen.fillStyle = getComputedStyle(document.body).backgroundColor;
      pen.fillRect(0, 0, whole.width, whole.height);
      const below = document.createElement("canvas");
      this.paint(this.layout.xaxis.range, below, scale);
      for (const layer of [below, axes]) pen.drawImage(layer, 0, 0, whole.width, whole.height);
      return whole.toDataURL();
    }
    get layout() {
      if (!this.plot._fullLayout) throw new Error("plotly has not drawn yet");
      return this.plot._fullLayout;
    }
    /** Find the bars and the points of a window. */
    fill([low, high]) {
      const pixels = this.plot._fullLayout ? this.plot._fullLayout._size.w : this.plot.clientWidth - BESIDE_AXES;
      this.filledPixels = pixels;
      const pixel = (high - low) / Math.max(pixels, 100);
      const drawn = this.figure.data.filter(({ visible }) => visible !== "legendonly");
      const curves = drawn.filter(({ meta }) => meta?.role === "curve").length;
      const most = Math.min(pixels / 1.5, Math.max(BINS / curves, LEAST_BINS));
      this.filled = fillLanes(this.gpu.lanes, this.header, { low, high, pixel, narrow: NARROW * pixel, theme: isDark() ? "dark" : "light" }, this.shown.isWhole);
      this.curves = fillCurves(this.gpus, drawn, low, high, most);
    }
    /** Times at the axis, and lines without a time where it would be cut. */
    ticks(low, high) {
      const { tickvals, ticktext } = timeTicks(low, high, Math.max(2, Math.floor(this.filledPixels / TICK_PIXELS)));
      const last = high - EDGE / this.filledPixels * (high - low);
      return { tickvals, ticktext: ticktext.map((text, i) => tickvals[i] > last ? "" : text) };
    }
    /** Let plotly draw all that is its own. */
    async layOut() {
      this.ink = readColor("--focus");
      keepLabels(this.figure.layout);
      this.figure.layout.xaxis.ticklabeloverflow = "allow";
      Object.assign(this.figure.layout, this.appearance(), { shapes: this.markShape() });
      for (const trace of this.figure.data) trace.x ||= trace.y = [null];
      await Plotly.react(this.plot, this.figure.data, this.figure.layout, CONFIG2);
    }
    appearance() {
      return {
        font: { ...this.figure.layout.font, color: readColor("--ink"), size: narrowScreen.matches ? 11 : 12 },
        hoverlabel: {
          bgcolor: readColor("--card"),
          bordercolor: readColor("--soft"),
          font: { color: readColor("--ink") },
          align: "left",
          namelength: -1
        },
        modebar: { bgcolor: "rgba(0,0,0,0)", color: readColor("--soft"), activecolor: readColor("--accent") },
        dragmode: coarsePointer.matches ? false : this.figure.layout.dragmode || "zoom"
      };
    }
    markShape() {
      if (!this.shown.mark) return [];
      const [x0, x1] = this.shown.mark;
      const line = { color: "rgba(128,128,128,0.7)", width: 1, dash: "dot" };
      return [{ type: "rect", xref: "x", yref: "paper", x0, x1, y0: 0, y1: 1, line, layer: "above" }];
    }
  };
  function nearestPlace(places, row, time, reach) {
    let [best, distance] = [null, Infinity];
    for (const place of places) {
      if (row < place.top || row > place.bottom) continue;
      const away = Math.max(place.left - time, time - place.right, 0);
      if (away <= reach && away < distance) [best, distance] = [place, away];
    }
    return best;
  }

  // src/timeline/details.ts
  function readDetails(read, packed) {
    const { paths, kernels, modules } = packed.totals;
    const { first, step, changes } = packed.launches;
    const launched = sumUp(read(changes, Float64Array)).map((value) => value ? 1e-9 * (first + step * (value - 1)) : NaN);
    return {
      iterations: readIterations(read, packed.iterations),
      launched,
      moduleOf: Int32Array.from(read(packed.moduleOfWork, Uint32Array), (id) => id - 1),
      instances: readFigures(read, packed.instances),
      hostOfWindow: new Int32Array(sumUp(read(packed.hostOfWindow.changes, Float64Array))),
      paths: readTotals(read, paths),
      kernels: readTotals(read, kernels),
      modules: readModules(read, modules)
    };
  }
  function readIterations(read, packed) {
    const [start2, hostStart] = [packed.start, packed.hostStart].map((number) => read(number, Float64Array, 1e-9));
    const ends = (starts, number) => read(number, Float64Array, 1e-9).map((length, i) => starts[i] + length);
    return {
      number: read(packed.number, Uint32Array),
      start: start2,
      hostStart,
      end: ends(start2, packed.length),
      hostEnd: ends(hostStart, packed.hostLength)
    };
  }
  function readTotals(read, { ids, figures }) {
    const rowOf = new Map(Array.from(read(ids, Uint32Array), (id, row) => [id, row]));
    return { rowOf, figures: readFigures(read, figures) };
  }
  function readModules(read, packed) {
    const { module, kernel, count, phases, ...figures } = packed.own;
    const [ids, modules, kernels, counts] = [packed.ids, module, kernel, count].map((number) => read(number, Uint32Array));
    const { ns, active_ns: active } = readFigures(read, figures);
    const own = Array.from(modules, (id, i) => ({
      module: id,
      phase: phases[i],
      share: { id: kernels[i], count: counts[i], seconds: 1e-9 * ns[i], activeSeconds: 1e-9 * active[i] }
    }));
    return { ...readTotals(read, packed), names: packed.names, parents: packed.parents, ids, own };
  }
  function readFigures(read, packed) {
    const bits = Object.entries(packed).map(([name, number]) => [name, read(number, Uint32Array)]);
    return Object.fromEntries(bits.map(([name, values]) => [name, new Float32Array(values.buffer)]));
  }
  function sumUp(changes) {
    let sum = 0;
    return changes.map((change) => sum += change);
  }

  // src/timeline/gpus.ts
  function readGpu(read, packed) {
    const { gpu, labels, rows: streamRows, percentStep } = packed;
    const curves = new Map(packed.tracks.flatMap((track) => readTrack(read, track)));
    const host = readRanges(read, packed.host, percentStep);
    const windows = readRanges(read, packed.windows, percentStep);
    const work = readBars(read, packed.work, percentStep);
    const lanes = { host, windows, work, labels, streamRows, scaleTop: 100 };
    let details = null;
    return { gpu, curves, lanes, get details() {
      return details ??= readDetails(read, packed);
    } };
  }
  function readTrack(read, track) {
    const start2 = read(track.start, Float64Array, 1e-9);
    const end = endsOf(start2, read(track.breaks, Uint32Array), read(track.ends, Float64Array, 1e-9));
    const curves = track.curves.map(({ values }) => once(() => {
      const [mean, low = mean, high = mean] = values.map((number) => read(number, Uint16Array));
      return { mean, low, high };
    }));
    const levels = makeTrack(start2, end, curves, track.curves[0].values.length > 1);
    return track.curves.map(({ metric, unit, step }, place) => [metric, { levels, place, step, unit }]);
  }
  function readBars(read, packed, step) {
    const start2 = read(packed.start, Float64Array, 1e-9);
    const end = read(packed.length, Float64Array, 1e-9);
    for (let i = 0; i < end.length; i++) end[i] += start2[i];
    const percents = {};
    for (const [name, number] of Object.entries(packed.percents)) {
      Object.defineProperty(percents, name, { get: once(() => readPercents(read(number, Float32Array), step)), enumerable: true });
    }
    const bars = {
      start: start2,
      end,
      percents,
      row: read(packed.row, Uint8Array),
      id: read(packed.id, Uint32Array),
      merged: read(packed.merged, Uint32Array)
    };
    return { ...bars, rows: makeRows(bars) };
  }
  function readPercents(steps, step) {
    for (let i = 0; i < steps.length; i++) steps[i] = steps[i] ? step * (steps[i] - 1) : NaN;
    return steps;
  }
  function readRanges(read, packed, step) {
    return { ...readBars(read, packed, step), kernels: read(packed.kernels, Uint32Array) };
  }
  function describeData(header, gpus) {
    const part = ({ start: start2, end, id, merged }) => ({ start: start2, end, id, merged });
    return {
      gpus: gpus.map(({ gpu, lanes: { host, windows, work } }) => ({ gpu, kernels: part(work), ranges: part(host), windows: part(windows) })),
      names: { kernels: header.works.names, ranges: header.paths.names },
      kernelCount: header.works.kernels,
      links: header.links
    };
  }

  // src/timeline/crosshair.ts
  function followCrosshair(plot, drawing) {
    const stage = plot.parentElement;
    const line = find(".crosshair", HTMLElement, stage);
    stage.addEventListener("pointermove", (event) => {
      const { l, t, w, h } = drawing.axes;
      const x = event.clientX - stage.getBoundingClientRect().left;
      line.hidden = event.pointerType === "touch" || x < l || x > l + w;
      Object.assign(line.style, { left: `${x}px`, top: `${t}px`, height: `${h}px` });
      line.dataset.time = formatMoment(drawing.locate(event).time);
      line.classList.toggle("late", x > l + 0.8 * w);
    });
    stage.addEventListener("pointerleave", () => {
      line.hidden = true;
    });
  }

  // src/timeline/busy.ts
  var REST = 0.01;
  var SMALL = 1 / 3;
  var MARGIN = 0.04;
  var FEWEST = 3;
  function busyPart(gpus, whole) {
    const iterating = gpus.map(({ details }) => spanOf3(details.iterations)).filter((part) => part !== null);
    const parts = iterating.length ? iterating : gpus.map(({ lanes: { work } }) => coreOf(work)).filter((part) => part !== null);
    if (!parts.length) return whole;
    const start2 = Math.min(...parts.map(([from]) => from));
    const end = Math.max(...parts.map(([, to]) => to));
    const margin = MARGIN * (end - start2);
    const isSmall = end > start2 && end - start2 < SMALL * (whole[1] - whole[0]);
    return isSmall ? [Math.max(start2 - margin, whole[0]), Math.min(end + margin, whole[1])] : whole;
  }
  function spanOf3({ start: start2, end }) {
    const [starts, ends] = [start2, end].map((times) => times.filter(Number.isFinite));
    return starts.length < FEWEST ? null : [starts.reduce((a, b) => Math.min(a, b)), ends.reduce((a, b) => Math.max(a, b))];
  }
  function coreOf({ start: start2, end }) {
    let total = 0;
    for (let i = 0; i < start2.length; i++) total += end[i] - start2[i];
    if (!(total > 0)) return null;
    const half = REST / 2 * total;
    let [first, last, before, behind] = [0, start2.length - 1, 0, 0];
    while ((before += end[first] - start2[first]) < half) first++;
    while ((behind += end[last] - start2[last]) < half) last--;
    return [start2[first], end[last]];
  }

  // src/timeline/hover.ts
  function tellOfPointed(plot, drawing) {
    plot.on("plotly_beforehover", (event) => {
      if (event.type !== "mousemove") return true;
      Plotly.Fx.unhover(plot);
      const found = drawing.pointAt(event);
      if (found) {
        const label = {
          x: found.x,
          y: found.y,
          text: found.say(),
          textAlign: "left",
          color: readColor("--card"),
          borderColor: readColor("--soft"),
          fontColor: readColor("--ink")
        };
        const layer = find(".hoverlayer", SVGGElement, plot);
        Plotly.Fx.loneHover(label, { container: layer, outerContainer: layer.ownerSVGElement, gd: plot });
      }
      return false;
    });
  }

  // src/timeline/pointing.ts
  var REACH3 = 3;
  function barAt(lanes, row, time, pixel) {
    for (const lane of ["host", "windows", "work"]) {
      const rows = lane === "work" ? lanes.streamRows : 1;
      const bar = nearest(lanes[lane], row, rows, time, REACH3 * pixel);
      if (bar >= 0) return { lane, bar };
    }
    return null;
  }
  function nearest({ rows, start: start2, end }, wanted2, height, time, reach) {
    let [best, distance] = [-1, Infinity];
    for (const [row, { members, reach: until }] of rows) {
      if (!(wanted2 >= row - 0.5 && wanted2 < row - 0.5 + height)) continue;
      for (let k = firstAbove(until, time - reach); k < members.length && start2[members[k]] <= time + reach; k++) {
        const bar = members[k];
        const away = Math.max(start2[bar] - time, time - end[bar], 0);
        if (away <= reach && away <= distance) [best, distance] = [bar, away];
      }
    }
    return best;
  }
  function selectionOf2(subjects, gpu, { lane, bar }) {
    if (lane === "work") {
      return subjects.instanceAt(gpu, "kernel", bar) ?? { kind: "window", gpu: gpu.gpu, ...spanOf(gpu.lanes.work, bar) };
    }
    const host = lane === "host" ? bar : gpu.details.hostOfWindow[bar];
    if (host >= 0) return subjects.instanceAt(gpu, "range", host);
    return { kind: "range", gpu: gpu.gpu, name: subjects.header.links.ranges[gpu.lanes.windows.id[bar]] };
  }

  // src/timeline/shown.ts
  var SHORTEST = 1e-7;
  var Shown = class {
    /** What was asked for within the window, and is marked. */
    mark = null;
    low;
    high;
    whole;
    /** The window that the page opens on. */
    home;
    changed;
    /**
     * @param whole - All that was recorded.
     * @param home - The window to begin with.
     * @param changed - Is called after each change.
     */
    constructor(whole, home, changed) {
      this.whole = [...whole];
      this.home = [...home];
      [this.low, this.high] = this.home;
      this.changed = changed;
    }
    get isWhole() {
      return this.low <= this.whole[0] && this.high >= this.whole[1];
    }
    get isHome() {
      return this.low === this.home[0] && this.high === this.home[1];
    }
    /** Seconds of all that was recorded. */
    get length() {
      return this.whole[1] - this.whole[0];
    }
    /** Show this window: not shorter than the shortest, and within the whole. */
    set(low, high) {
      const length = Math.min(Math.max(high - low, SHORTEST), this.length);
      const middle = (low + high) / 2;
      const start2 = Math.min(Math.max(middle - length / 2, this.whole[0]), this.whole[1] - length);
      [this.low, this.high] = length >= this.length ? this.whole : [start2, start2 + length];
      this.changed(this);
    }
    showHome = () => this.set(...this.home);
    showAll = () => this.set(...this.whole);
    /** Zoom at a place from 0, the left edge, to 1, the right one. */
    zoom(factor, place = 0.5) {
      const length = this.high - this.low;
      const fixed = this.low + place * length;
      this.set(fixed - place * length * factor, fixed + (1 - place) * length * factor);
    }
    /** Move by a share of the window; to the right where it is positive. */
    move(share) {
      const by = share * (this.high - this.low);
      this.set(this.low + by, this.high + by);
    }
    /** Mark an interval, and show it, or what lies around it, with a margin and at least so many seconds. */
    show(marked, { start: start2, end } = marked, least = SHORTEST) {
      const margin = Math.max(0.15 * (end - start2), (least - (end - start2)) / 2);
      this.mark = [marked.start, marked.end];
      this.set(start2 - margin, end + margin);
    }
  };

  // src/timeline/timeline.ts
  function startTimeline() {
    const plot = document.getElementById("timeline");
    if (!plot) return null;
    const box = plot.closest(".timeline");
    const message = find(".undrawn", HTMLElement, box);
    const timeline2 = { drawn: Promise.resolve(), data: null, showWindow: () => {
    }, subjects: null, shown: null, gpu: null, showGpu: () => {
    }, labels: () => [], curves: () => [] };
    timeline2.drawn = start(timeline2, plot, box).then(() => {
      message.remove();
      find(".timeline-tools", HTMLElement, box).hidden = false;
      plot.dataset.drawn = "true";
    }).catch((error) => {
      message.textContent = `The timeline cannot be drawn: ${error.message}.`;
      plot.dataset.drawn = "failed";
    });
    return timeline2;
  }
  async function start(timeline2, plot, box) {
    const { header, read } = await readData();
    const gpus = header.gpus.map((gpu) => readGpu(read, gpu));
    const [{ layout }] = header.figures;
    plot.style.height = `${layout.height}px`;
    const shown = new Shown(layout.xaxis.range, busyPart(gpus, layout.xaxis.range), ({ low, high, isWhole, isHome }) => {
      drawing.schedule();
      const detail = { start: low, end: high, whole: isWhole };
      document.dispatchEvent(new CustomEvent("tcprof:window", { detail }));
      keepView(isHome ? null : [low, high]);
    });
    const drawing = new Drawing(plot, box, header, gpus, shown);
    await new Promise((done) => {
      whenParsed(done);
    });
    timeline2.data = describeData(header, gpus);
    const subjects = new Subjects(header, gpus);
    Object.assign(timeline2, { subjects, shown, gpu: gpus[0] });
    timeline2.labels = () => drawing.places.map(({ say }) => say());
    timeline2.curves = () => drawing.points;
    timeline2.showGpu = (gpu) => {
      if (gpu === timeline2.gpu) return;
      timeline2.gpu = gpu;
      drawing.showGpu(gpu);
      document.dispatchEvent(new CustomEvent("tcprof:gpu", { detail: gpu.gpu }));
    };
    timeline2.showWindow = (gpu, begin, end) => {
      timeline2.showGpu(gpus.find((each) => each.gpu === gpu) ?? gpus[0]);
      shown.show({ start: begin, end });
    };
    await drawing.draw();
    performance.mark("timeline drawn");
    listenToPlot(plot, drawing, shown);
    listenToScale(box, gpus, header.highestRange, drawing);
    listenToReader(plot, box, drawing, shown);
    listenToPage(plot, drawing);
    listenToPointer(plot, drawing, subjects);
    if (!shown.isWhole) shown.showHome();
    onSelection((change) => {
      follow(change, shown, drawing, timeline2);
      if (change.from === "element" && change.selection) goTo(box);
    });
    drawing.followAxes();
  }
  function follow({ selection, view, from }, shown, drawing, timeline2) {
    const { subjects } = timeline2;
    const subject = selection && subjects?.find(selection);
    const place = subject?.place ?? null;
    if (subject) timeline2.showGpu(subject.gpu);
    drawing.highlights = subject && subjects ? highlightsOf(subjects, subject) : null;
    shown.mark = place && [place.start, place.end];
    if (from === "address" && view) shown.set(...view);
    else if (subject && place && from !== "timeline") shown.show(place, withLaunch(subject, place), SAMPLES * samplePeriod(subject.gpu));
    else if (from === "address") shown.showHome();
    else shown.set(shown.low, shown.high);
  }
  function withLaunch({ selection, at, host: [host] }, place) {
    if (selection.kind !== "range" || at < 0) return place;
    const both = { start: Math.min(place.start, host.start), end: Math.max(place.end, host.end) };
    return both.end - both.start < MOST_APART * (place.end - place.start) ? both : place;
  }
  var MOST_APART = 4;
  var SAMPLES = 20;
  function samplePeriod({ curves }) {
    const [curve] = curves.values();
    return curve?.levels[0].period ?? 0;
  }
  function goTo(box) {
    const start2 = box.closest("#explore") ?? box;
    start2.scrollIntoView();
    requestAnimationFrame(() => requestAnimationFrame(() => start2.scrollIntoView()));
  }
  async function readData() {
    const packed = find("#timeline-data", HTMLScriptElement);
    if (typeof DecompressionStream === "undefined") {
      throw new Error("this browser is too old: it has no DecompressionStream (Chrome 80, Firefox 113, Safari 16.4)");
    }
    const unpacked = await unpack(packed.textContent);
    packed.remove();
    return unpacked;
  }
  function listenToPlot(plot, drawing, shown) {
    plot.on("plotly_relayout", (change) => {
      const [low, high] = change["xaxis.range"] ?? [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if (change.dragmode !== void 0) drawing.figure.layout.dragmode = change.dragmode;
      if (low === void 0 || high === void 0 || low === shown.low && high === shown.high) return;
      shown.set(Number(low), Number(high));
    });
    plot.on("plotly_relayouting", (change) => {
      const low = Number(change["xaxis.range[0]"]);
      const high = Number(change["xaxis.range[1]"]);
      if (drawing.figure.layout.dragmode === "pan" && low < high) drawing.paintWindow([low, high]);
    });
    plot.on("plotly_afterplot", drawing.followAxes);
    plot.on("plotly_doubleclick", shown.showAll);
    plot.on("plotly_restyle", drawing.schedule);
  }
  function listenToPointer(plot, drawing, subjects) {
    let from = null;
    const isOnAxes = ({ target }) => target instanceof Element && target.closest(".nsewdrag") !== null;
    plot.addEventListener("pointerdown", (event) => {
      from = isOnAxes(event) && !event.button ? event : null;
    }, true);
    addEventListener("pointerup", (event) => {
      const isClick = from && Math.hypot(event.clientX - from.clientX, event.clientY - from.clientY) < LEAST_DRAG2;
      from = null;
      const at = isClick ? drawing.locate(event) : null;
      const found = at && barAt(drawing.gpu.lanes, at.row, at.time, at.pixel);
      if (found) select(selectionOf2(subjects, drawing.gpu, found), { from: "timeline" });
    }, true);
    tellOfPointed(plot, drawing);
    followCrosshair(plot, drawing);
  }
  var LEAST_DRAG2 = 4;
  var KEYS3 = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "whole" };
  function listenToReader(plot, box, drawing, shown) {
    const actions = {
      in: () => shown.zoom(0.5),
      out: () => shown.zoom(2),
      left: () => shown.move(-0.4),
      right: () => shown.move(0.4),
      whole: shown.showAll,
      picture: () => void drawing.picture().then((picture) => download(picture, "tcprof-timeline.png"))
    };
    for (const button of findAll("button[data-action]", box)) {
      button.addEventListener("click", actions[button.dataset.action]);
    }
    box.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS3)) return;
      event.preventDefault();
      actions[KEYS3[event.key]]();
    });
    plot.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { l, r } = drawing.figure.layout.margin;
      const place = (event.clientX - plot.getBoundingClientRect().left - l) / (plot.clientWidth - l - r);
      shown.zoom(Math.exp(Math.min(Math.max(event.deltaY, -100), 100) / 250), Math.min(Math.max(place, 0), 1));
    }, { passive: false });
  }
  function listenToScale(box, gpus, highest, drawing) {
    const button = box.querySelector("button[data-scale]");
    button?.addEventListener("click", () => {
      const isZoomed = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(isZoomed));
      find("[data-scale-top]", HTMLElement, box).textContent = isZoomed ? button.dataset.scale : "100 %";
      for (const { lanes } of gpus) lanes.scaleTop = isZoomed ? highest : 100;
      drawing.scheduleAnew();
    });
  }
  function listenToPage(plot, drawing) {
    let width = plot.clientWidth;
    new ResizeObserver(() => {
      if (plot.clientWidth !== width) drawing.scheduleAnew();
      width = plot.clientWidth;
    }).observe(plot);
    new MutationObserver(drawing.scheduleAnew).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    for (const query of [systemDark, narrowScreen]) query.addEventListener("change", drawing.scheduleAnew);
    addEventListener("beforeprint", () => drawing.print(true));
    addEventListener("afterprint", () => drawing.print(false));
  }

  // src/page.ts
  function startThemeButton() {
    const button = find("button.theme", HTMLButtonElement);
    const label = () => {
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-label", `Show the page in ${isDark() ? "light" : "dark"} colours`);
    };
    label();
    systemDark.addEventListener("change", label);
    button.addEventListener("click", () => {
      chooseTheme(isDark() ? "light" : "dark");
      label();
      restyle();
    });
  }
  function openOnPaper() {
    let closed = [];
    addEventListener("beforeprint", () => {
      const found = findAll("details:not([open])");
      found.forEach((part) => {
        part.open = true;
      });
      closed.push(...found);
    });
    addEventListener("afterprint", () => {
      closed.forEach((part) => {
        part.open = false;
      });
      closed = [];
    });
  }
  function pinPane() {
    const pane = document.querySelector(".pane");
    if (!pane) return;
    new ResizeObserver(() => {
      pane.style.top = `min(0px, calc(var(--pinned, 100vh) - ${pane.offsetHeight}px))`;
    }).observe(pane);
  }
  function startSelecting(timeline2, figures) {
    const { subjects, shown } = timeline2;
    if (!subjects || !shown) return;
    subjects.findings = readFindings();
    followLasso(subjects, figures);
    onSelection(({ selection, from }) => {
      if (selection?.kind === "finding" && from === "address") openAround(`finding-${selection.name}`);
    });
    const currentGpu = () => timeline2.gpu ?? subjects.gpus[0];
    startGpuChoice(timeline2, subjects);
    startPanel(subjects);
    startKeys();
    startStrip(subjects, shown, currentGpu);
    startSearch(subjects, currentGpu);
    startSelection((selection) => subjects.find(selection) !== null);
  }
  followPaper();
  var timeline = startTimeline();
  if (timeline) window.tcprof = timeline;
  whenParsed(() => {
    startThemeButton();
    openOnPaper();
    openLinkedParts();
    pinPane();
    fitFigures();
    if (document.querySelector(".side-names")) void startBaselines(startContent);
    else startContent();
  });
  function startContent() {
    document.documentElement.removeAttribute("data-drawn");
    startTables(timeline);
    startIcicles();
    const drawn = startFigures(timeline?.drawn ?? Promise.resolve());
    const explored = startExplorer(timeline);
    void timeline?.drawn.then(() => explored).then(() => startSelecting(timeline, Promise.all(drawn)));
    void Promise.all([...drawn, timeline?.drawn, explored, startHeatmap()]).then(() => document.documentElement.setAttribute("data-drawn", "true"));
  }
})();
