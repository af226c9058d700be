/* tcprof, Apache-2.0. Generated from web/src by 'make web': change it there. */
"use strict";
(() => {
  // src/colors.ts
  var KEPT = "tcprof-theme";
  var root = document.documentElement;
  var systemDark = matchMedia("(prefers-color-scheme: dark)");
  function isDark() {
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
    const style = document.getElementById("dark-colors");
    style.media = theme === "dark" ? "screen" : "not all";
    root.dataset.theme = theme;
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

  // src/table.ts
  function rowsOf(table) {
    return Array.from(table.tBodies[0].rows);
  }
  function nameOf(row) {
    return [".ancestors", ".name"].map((part) => row.cells[0].querySelector(part)?.textContent.trim() ?? "").join(" ").trim();
  }

  // src/groups.ts
  var EVERYTHING = "";
  var SEVERAL = "several";
  function startGroups() {
    for (const choice of findAll("select[data-groups]")) {
      choice.addEventListener("change", () => showGroups(choice, choice.value === EVERYTHING ? [] : [choice.value]));
    }
  }
  function chooseGroups(table, groups) {
    const choice = find(`select[data-groups="${table}"]`, HTMLSelectElement);
    const again = choice.dataset.chosen === JSON.stringify(groups);
    const rows = showGroups(choice, again ? [] : groups);
    return { rows, all: again };
  }
  function showGroups(choice, groups) {
    const table = document.getElementById(choice.dataset.groups);
    const several = find(`option[value="${SEVERAL}"]`, HTMLOptionElement, choice);
    several.hidden = groups.length < 2;
    choice.value = groups.length > 1 ? SEVERAL : groups[0] ?? EVERYTHING;
    choice.dataset.chosen = JSON.stringify(groups);
    let shown = 0;
    for (const row of rowsOf(table)) {
      const isShown = !groups.length || groups.includes(row.dataset.group ?? "");
      row.classList.toggle("other-group", !isShown);
      shown += isShown ? 1 : 0;
    }
    return shown;
  }

  // src/media.ts
  var narrowScreen = matchMedia("(max-width: 40rem)");
  var coarsePointer = matchMedia("(pointer: coarse)");
  var reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

  // src/selection_fragment.ts
  function toFragment({ selection, view }) {
    const fields = selection ? fieldsOf(selection) : [];
    if (view) fields.push(["view", pairText(view)]);
    return fields.map(([name, value]) => `${name}=${encode(value)}`).join("&");
  }
  function fromFragment(fragment) {
    const fields = /* @__PURE__ */ new Map();
    for (const field of fragment.replace(/^#/, "").split("&")) {
      const [name, value] = field.split(/=(.*)/s);
      const text = value === void 0 ? null : decode(value);
      if (text !== null) fields.set(name, text);
    }
    return { selection: selectionOf(fields), view: pairOf(fields.get("view")) };
  }
  function parseSelection(text) {
    if (!text.trimStart().startsWith("{")) return fromFragment(text).selection;
    try {
      const { kind, start: start2, end, number, name, ...rest } = JSON.parse(text);
      const first = kind === "window" ? `${String(start2)},${String(end)}` : kind === "iteration" ? number : name;
      const fields = Object.entries({ [String(kind)]: first, ...rest }).filter(([, value]) => value !== void 0);
      return selectionOf(new Map(fields.map(([field, value]) => [field, String(value)])));
    } catch {
      return null;
    }
  }
  function isSame(a, b) {
    return toFragment({ selection: a, view: null }) === toFragment({ selection: b, view: null });
  }
  function isOfSame(a, b) {
    const named = (each) => "name" in each ? [each.kind, "gpu" in each ? each.gpu : -1, each.name] : [each];
    return JSON.stringify(named(a)) === JSON.stringify(b && named(b));
  }
  function fieldsOf(selection) {
    const fields = [[selection.kind, mainField(selection)]];
    if ("gpu" in selection && selection.gpu) fields.push(["gpu", String(selection.gpu)]);
    if ("instance" in selection && selection.instance !== void 0) fields.push(["instance", String(selection.instance)]);
    return fields;
  }
  function mainField(selection) {
    if (selection.kind === "window") return pairText([selection.start, selection.end]);
    return selection.kind === "iteration" ? String(selection.number) : selection.name;
  }
  function selectionOf(fields) {
    const gpu = wholeNumber(fields.get("gpu") ?? "0");
    if (gpu === null) return null;
    const pair = pairOf(fields.get("window"));
    if (pair) return { kind: "window", gpu, start: pair[0], end: pair[1] };
    const number = wholeNumber(fields.get("iteration"));
    if (number !== null) return { kind: "iteration", gpu, number };
    const instance = wholeNumber(fields.get("instance"));
    for (const kind of ["range", "kernel"]) {
      const name = fields.get(kind);
      if (name) return { kind, gpu, name, ...instance === null ? {} : { instance } };
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
  function wholeNumber(text) {
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
  var listeners = [];
  var state = { selection: null, view: null };
  var isKnown = () => true;
  var waiting = 0;
  function onSelection(listener) {
    listeners.push(listener);
  }
  function select(selection, { from }) {
    if (selection && !isKnown(selection)) return;
    writeAddress("replaceState");
    const isNew = !isSame(selection, state.selection);
    state = { selection, view: state.view };
    if (isNew) writeAddress("pushState");
    tell(from);
  }
  function keepView(view) {
    state = { selection: state.selection, view };
    clearTimeout(waiting);
    waiting = setTimeout(() => writeAddress("replaceState"), PAUSE);
  }
  function startSelection(known) {
    isKnown = known;
    addEventListener("popstate", readAddress);
    document.addEventListener("click", (event) => {
      const element = event.target instanceof Element ? event.target.closest("[data-select]") : null;
      const selection = element && parseSelection(element.dataset.select ?? "");
      if (!selection) return;
      event.preventDefault();
      select(selection, { from: "element" });
    });
    if (location.hash.includes("=")) readAddress();
  }
  function readAddress() {
    const fragment = location.hash;
    if (fragment && !fragment.includes("=")) return;
    clearTimeout(waiting);
    const { selection, view } = fromFragment(fragment);
    state = { selection: selection && isKnown(selection) ? selection : null, view };
    tell("address");
  }
  function tell(from) {
    const change = { ...state, from };
    for (const listener of listeners) listener(change);
  }
  function writeAddress(how) {
    clearTimeout(waiting);
    const fragment = toFragment(state);
    const here = location.hash.includes("=") ? location.hash : "";
    if (how === "replaceState" && (fragment ? `#${fragment}` : "") === here) return;
    try {
      history[how](history.state, "", fragment ? `#${fragment}` : location.pathname + location.search);
    } catch {
    }
  }

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
  var PAPER = 690;
  function startFigures(timeline2) {
    const plots = findAll("[data-figure]");
    const shown = timeline2.then(() => new Promise((done) => setTimeout(done)));
    const drawn = plots.map((plot) => shown.then(() => drawFigure(plot)));
    const restyle = () => relayout(plots, appearance());
    systemDark.addEventListener("change", restyle);
    narrowScreen.addEventListener("change", restyle);
    addEventListener("beforeprint", restyle);
    addEventListener("afterprint", restyle);
    return { restyle, drawn };
  }
  function fitFigures() {
    const plots = findAll("[data-figure]");
    for (const part of findAll("details.part")) {
      part.addEventListener("toggle", () => {
        if (part.open) plots.filter((plot) => part.contains(plot) && isDrawn(plot)).forEach((plot) => Plotly.Plots.resize(plot));
      });
    }
    addEventListener("beforeprint", () => relayout(plots, { autosize: false, width: PAPER }));
    addEventListener("afterprint", () => relayout(plots, { autosize: true, width: null }));
  }
  var isDrawn = (plot) => plot._fullLayout !== void 0;
  function relayout(plots, change) {
    plots.filter(isDrawn).forEach((plot) => void Plotly.relayout(plot, change));
  }
  async function drawFigure(plot) {
    const packed = document.getElementById(plot.dataset.figure ?? "");
    const figure = JSON.parse(packed?.textContent ?? "");
    plot.style.height = `${figure.layout.height}px`;
    for (const [path, value] of Object.entries(appearance())) put(figure.layout, path.split("."), value);
    await Plotly.newPlot(plot, figure.data, figure.layout, CONFIG);
    if (plot.parentElement) find(".undrawn", HTMLElement, plot.parentElement).remove();
    plot.on("plotly_click", ({ points: [{ data, customdata }] }) => {
      if (data.meta?.selects) select(parseSelection(customdata), { from: "figure" });
      if (data.meta?.chooses) choose(plot, data.meta.chooses, customdata);
    });
    plot.on("plotly_clickannotation", ({ annotation: { name } }) => {
      const trace = figure.data.find(({ meta }) => meta?.chooses);
      const groups = trace?.customdata?.[Number(name)];
      if (trace?.meta?.chooses && groups) choose(plot, trace.meta.chooses, groups);
    });
  }
  function choose(plot, table, groups) {
    if (!groups.length || !document.getElementById(table)) return;
    const { rows, all } = chooseGroups(table, groups);
    const said = find(".chosen", HTMLElement, plot.parentElement);
    const link = Object.assign(document.createElement("a"), { href: `#caption-${table}` });
    link.textContent = all ? "The table shows all kernels" : `The table shows ${rows} of its kernels: ${groups.join(", ")}`;
    said.replaceChildren(link);
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

  // src/columns.ts
  function startColumns(table) {
    const headings = Array.from(table.tHead.rows[0].cells);
    const tools = document.querySelector(`[data-csv="${table.id}"]`)?.parentElement;
    if (!tools || !headings.some((heading) => heading.classList.contains("further"))) return;
    const style = document.head.appendChild(document.createElement("style"));
    const chooser = Object.assign(document.createElement("details"), { className: "columns" });
    const summary = chooser.appendChild(document.createElement("summary"));
    const list = chooser.appendChild(document.createElement("div"));
    const boxes = headings.slice(1).map((heading) => addBox(list, heading));
    function show() {
      const hidden = boxes.flatMap((box, place) => box.checked ? [] : [`:nth-child(${place + 2})`]);
      style.textContent = hidden.length ? `#${table.id} tr > :is(${hidden.join()}) { display: none; }` : "";
      summary.textContent = `Columns (${boxes.length - hidden.length} of ${boxes.length})`;
    }
    list.addEventListener("change", show);
    chooser.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !chooser.open) return;
      chooser.open = false;
      summary.focus();
      event.stopPropagation();
    });
    document.addEventListener("click", ({ target }) => {
      if (target instanceof Node && !chooser.contains(target)) chooser.open = false;
    });
    show();
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

  // src/csv.ts
  function csvLine(cells) {
    return cells.map((cell) => {
      const text = String(cell ?? "");
      const isNumber = text !== "" && Number.isFinite(Number(text));
      const safe = !isNumber && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
      return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    }).join(",");
  }
  function figureRows({ data = [], layout }) {
    const table = layout?.meta?.csv;
    if (table) return [table.columns, ...table.rows];
    const rows = [["series", "x", "y"]];
    for (const trace of data) {
      if (trace.meta?.role === "band" || trace.meta?.role === "lanes") continue;
      const [x, y] = [valuesOf(trace.x), valuesOf(trace.y)];
      const labels = trace.orientation === "h" ? trace.hovertext ?? [] : [];
      for (let i = 0; i < Math.max(x.length, y.length); i++) {
        const name = [trace.name ?? "", labels[i] ?? ""].filter(Boolean).map(plainText).join(": ");
        if (![x[i], y[i]].some((value) => value === null || Number.isNaN(value))) rows.push([name, x[i], y[i]]);
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
    function show() {
      foldedRows(depths, closed).forEach((folded, place) => rows[place].classList.toggle("folded", folded));
    }
    rows.forEach((row, place) => {
      const depth = depths[place];
      if (depth < 1 || !(depths[place + 1] > depth)) return;
      const button = Object.assign(document.createElement("button"), { type: "button", className: "fold" });
      button.setAttribute("aria-label", `Ranges within ${nameOf(row)}`);
      button.addEventListener("click", () => {
        fold(place, !closed[place]);
        show();
      });
      row.cells[0].prepend(button);
      table.classList.add("foldable");
      fold(place, rows.length > LARGE_TREE && depth > 1);
    });
    show();
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

  // src/intervals.ts
  function countWithin({ start: start2, end, id, merged }, from, to) {
    const found = /* @__PURE__ */ new Map();
    for (let i = 0; i < id.length; i++) {
      if (end[i] <= from || start2[i] >= to) continue;
      const entry = found.get(id[i]) ?? { count: 0, seconds: 0 };
      entry.count += merged[i];
      entry.seconds += Math.min(end[i], to) - Math.max(start2[i], from);
      found.set(id[i], entry);
    }
    return found;
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
  function typical({ start: start2, end, id, merged }, wanted) {
    const all = Array.from(id.keys()).filter((place) => id[place] === wanted);
    const single = all.filter((place) => merged[place] === 1);
    const mine = single.length ? single : all;
    mine.sort((a, b) => end[a] - start2[a] - (end[b] - start2[b]));
    const middle = mine[mine.length - 1 >> 1];
    return middle === void 0 ? null : { start: start2[middle], end: end[middle] };
  }

  // src/table_links.ts
  var PAUSE2 = 150;
  function linkTables(timeline2) {
    findAll("[data-whole]").forEach((button) => {
      button.addEventListener("click", () => document.querySelector("[data-action=whole]")?.click());
    });
    if (!timeline2) return;
    const itemsOf = makeItems(timeline2);
    const linked = findAll("table[data-items]");
    for (const table of linked) {
      table.tBodies[0].addEventListener("click", ({ target }) => {
        if (!(target instanceof Element) || target.closest("button.fold") || !getSelection()?.isCollapsed) return;
        const row = target.closest("tr[data-item]");
        if (row) select(selectionOf2(timeline2, table, row), { from: "table" });
      });
    }
    onSelection(({ selection }) => linked.forEach((table) => markSelected(timeline2, table, selection)));
    let waiting2 = 0;
    document.addEventListener("tcprof:window", ({ detail }) => {
      clearTimeout(waiting2);
      waiting2 = setTimeout(() => {
        linked.forEach((table) => showWithin(table, itemsOf(table), detail));
        showBars(detail);
      }, PAUSE2);
    });
  }
  function selectionOf2(timeline2, { dataset: { gpu, items } }, row) {
    const isKernel = items === "kernels";
    const names = isKernel ? timeline2.data?.links.kernels : timeline2.data?.links.ranges;
    const name = names?.[Number(row.dataset.item)];
    return name === void 0 ? null : { kind: isKernel ? "kernel" : "range", gpu: Number(gpu), name };
  }
  function markSelected(timeline2, table, selection) {
    for (const row of rowsOf(table)) {
      const mine = selection && row.dataset.item ? selectionOf2(timeline2, table, row) : null;
      if (mine && isOfSame(mine, selection)) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  }
  function makeItems(timeline2) {
    const known = /* @__PURE__ */ new Map();
    return ({ dataset: { gpu: wanted, items } }) => {
      const gpu = timeline2.data?.gpus.find((each) => each.gpu === Number(wanted));
      if (!gpu || items === "kernels") return gpu?.kernels;
      if (!known.has(gpu)) known.set(gpu, preferred(gpu.windows, gpu.ranges));
      return known.get(gpu);
    };
  }
  function showWithin(table, items, { start: start2, end, whole }) {
    if (!items) return;
    const found = whole ? null : countWithin(items, start2, end);
    for (const row of rowsOf(table)) {
      const note = row.querySelector(".within");
      const entry = found?.get(Number(row.dataset.item));
      row.classList.toggle("outside", Boolean(found && row.dataset.item && !entry));
      if (note) note.textContent = entry ? `${entry.count} × here, ${formatSeconds(entry.seconds)}` : "";
    }
  }
  function showBars({ start: start2, end, whole }) {
    for (const bar of findAll(".window-bar")) {
      bar.hidden = whole;
      find("span", HTMLElement, bar).textContent = `The timeline shows ${formatSeconds(end - start2)} from ${formatSeconds(start2)} on; what has no part in it is dimmed.`;
    }
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
      startColumns(table);
      startNames(table);
    }
    for (const input of findAll("[data-filter]")) {
      const table = document.getElementById(input.dataset.filter);
      input.addEventListener("input", () => filter(table, input.value.trim().toLowerCase()));
    }
    startGroups();
    startSaving();
    linkTables(timeline2);
  }
  var isTree = (table) => /^table-(ranges|modules)-/.test(table.id);
  function startNames(table) {
    table.tBodies[0].addEventListener("click", ({ target }) => {
      const head = target instanceof Element ? target.closest("tr")?.cells[0] : void 0;
      if (!head || head.querySelector(".whole-name")) return;
      table.querySelector(".whole-name")?.remove();
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
  function filter(table, wanted) {
    const rows = rowsOf(table);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !(nameOf(row) + row.cells[0].title).toLowerCase().includes(wanted);
      shown += row.hidden ? 0 : 1;
    }
    table.dataset.filtered = wanted;
    flatten(table);
    const count = find(`[data-count="${table.id}"]`, HTMLElement);
    count.textContent = wanted ? `${shown} of ${rows.length} rows` : "";
  }
  function startSaving() {
    const fileName = find("h1", HTMLElement).textContent.replaceAll(/[^\w.-]+/g, "_").slice(0, 60);
    for (const button of findAll("[data-csv]")) {
      const id = button.dataset.csv;
      const target = document.getElementById(id);
      const rows = () => target instanceof HTMLTableElement ? tableRows(target) : figureRows(target);
      button.addEventListener("click", () => save(`${fileName}-${id}`, rows()));
    }
  }
  function save(name, rows) {
    const url = URL.createObjectURL(new Blob([rows.map(csvLine).join("\r\n")], { type: "text/csv" }));
    download(url, `${name}.csv`);
    setTimeout(() => URL.revokeObjectURL(url), 1e3);
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

  // src/timeline/bars.ts
  function makeRows({ row: rowOf, end }) {
    const counts = /* @__PURE__ */ new Map();
    for (const row of rowOf) counts.set(row, (counts.get(row) ?? 0) + 1);
    const rows = new Map([...counts].sort((a, b) => a[0] - b[0]).map(([row, count]) => [row, { members: new Uint32Array(count), reach: new Float64Array(count), filled: 0 }]));
    for (let i = 0; i < rowOf.length; i++) {
      const row = rows.get(rowOf[i]);
      row.members[row.filled] = i;
      row.reach[row.filled] = Math.max(row.filled ? row.reach[row.filled - 1] : -Infinity, end[i]);
      row.filled++;
    }
    return rows;
  }
  function scanRow(bars, { members, reach }, { low, high, narrow }, wide, merge) {
    for (let k = firstAbove(reach, low); k < members.length; k++) {
      const bar = members[k];
      const start2 = bars.start[bar];
      if (start2 >= high) break;
      const end = bars.end[bar];
      if (end <= low) continue;
      if (end - start2 >= narrow) {
        wide(bar);
        continue;
      }
      const bin = Math.floor((start2 - low) / narrow);
      const border = low + (bin + 1) * narrow;
      if (end <= border) merge(bin, bar, end - start2);
      else {
        merge(bin, bar, border - start2);
        merge(bin + 1, bar, end - border);
      }
    }
  }

  // src/timeline/lanes.ts
  var GAP = 0.08;
  var APART = 14;
  var Filling = class {
    bars = /* @__PURE__ */ new Map();
    fitted = [];
    places = { x: [], y: [], text: [] };
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
    point(time, row, text) {
      this.places.x.push(time);
      this.places.y.push(row);
      this.places.text.push(text);
    }
  };
  function fillLanes(lanes, names, view) {
    const filling = new Filling(lanes, names, view);
    fillRanges(filling, lanes.host, "on the CPU");
    fillRanges(filling, lanes.windows, "on the GPU, first activity to last,");
    fillWork(filling, lanes.work);
    return { bars: filling.bars, names: filling.fitted, places: filling.places };
  }
  function getOrAdd(map, key, make) {
    const found = map.get(key);
    if (found !== void 0) return found;
    const made = make();
    map.set(key, made);
    return made;
  }
  function spanOf(row, rows) {
    return { top: row - 0.5 + GAP, bottom: row - 0.5 + rows - GAP, middle: row + (rows - 1) / 2 };
  }
  function addWide(filling, bars, bar, { top, bottom, middle }, look, cuts, describe) {
    const { view } = filling;
    const left = Math.max(bars.start[bar], view.low - view.pixel);
    const right = Math.min(bars.end[bar], view.high + view.pixel);
    const pixels = (right - left) / view.pixel;
    const apart = pixels > 3 ? 0.4 * view.pixel : 0;
    filling.paint(look, left + apart, right - apart, top, bottom);
    if (pixels > 24) filling.fitted.push({ left, right, middle, cuts, color: look.text });
    const shown = describe(bar);
    const count = Math.max(1, Math.round(pixels / APART));
    for (let i = 0; i < count; i++) filling.point(left + (i + 0.5) * (right - left) / count, middle, shown);
  }
  function rangeLook({ lanes, names }, percent) {
    const last = names.rangeColors.length - 1;
    const step = Math.min(last - 1, Math.floor(last * percent / (lanes.highestRange || 1)));
    return names.rangeColors[Number.isNaN(percent) ? last : step];
  }
  function describeMerged({ merged }, bar) {
    return merged[bar] > 1 ? `, ${merged[bar]} short ones drawn as one` : "";
  }
  function describeRange({ names }, bars, bar, where) {
    const { tensor_active_mean_pct: active, coverage_pct: coverage } = bars.percents;
    return `<b>${names.paths.names[bars.id[bar]]}</b>${describeMerged(bars, bar)}<br>${where} from ${formatMoment(bars.start[bar])}, for ${formatSeconds(bars.end[bar] - bars.start[bar])}<br>Tensor Active mean ${formatPercent(active[bar])}, coverage ${formatPercent(coverage[bar])}, ${bars.kernels[bar]} kernels`;
  }
  function fillRanges(filling, bars, where) {
    const { names } = filling;
    const active = bars.percents.tensor_active_mean_pct;
    const describe = (bar) => describeRange(filling, bars, bar, where);
    for (const [row, members] of bars.rows) {
      const bins = /* @__PURE__ */ new Map();
      const span = spanOf(row, 1);
      scanRow(
        bars,
        members,
        filling.view,
        (bar) => addWide(filling, bars, bar, span, rangeLook(filling, active[bar]), names.paths.cuts[bars.id[bar]], describe),
        (number, bar, seconds) => {
          const bin = getOrAdd(bins, number, () => ({ bars: 0, count: 0, time: 0, sum: 0, first: bar }));
          bin.count += bars.merged[bar];
          bin.bars++;
          if (Number.isNaN(active[bar])) return;
          bin.time += seconds;
          bin.sum += seconds * active[bar];
        }
      );
      for (const [number, bin] of bins) addRangeBin(filling, bars, span, number, bin, describe);
    }
  }
  function addRangeBin(filling, bars, { top, bottom, middle }, number, bin, describe) {
    const { view, names } = filling;
    const mean = bin.time ? bin.sum / bin.time : NaN;
    const left = view.low + number * view.narrow;
    filling.paint(rangeLook(filling, mean), left, left + view.narrow, top, bottom);
    const text = bin.bars === 1 ? describe(bin.first) : `<b>${bin.count} short ranges</b>, the first ${names.paths.names[bars.id[bin.first]]}<br>Tensor Active mean ${formatPercent(mean)}`;
    filling.point(left + view.narrow / 2, middle, text);
  }
  function describeWork({ lanes, names: { works, classes } }, bars, bar) {
    const id = bars.id[bar];
    const active = bars.percents.tensor_active_pct[bar];
    const [low, high] = [works.low[id], works.high[id]];
    const interval = low === null || high === null ? "" : ` (95 % interval of its kernel ${formatPercent(low)} to ${formatPercent(high)})`;
    return `<b>${works.names[id]}</b>${describeMerged(bars, bar)}<br>${works.geometry[id] ? `grid and block ${works.geometry[id]}<br>` : ""}${lanes.labels[bars.row[bar]]}, from ${formatMoment(bars.start[bar])}, for ${formatSeconds(bars.end[bar] - bars.start[bar])}<br>${classes[works.class[id]].name}` + (Number.isNaN(active) ? "" : `, Tensor Active ${formatPercent(active)}${interval}`);
  }
  function fillWork(filling, bars) {
    const { view, lanes, names: { works, classes } } = filling;
    const classOf = (bar) => works.class[bars.id[bar]];
    const describe = (bar) => describeWork(filling, bars, bar);
    const idle = classes[classes.length - 1];
    for (const [row, members] of bars.rows) {
      const bins = /* @__PURE__ */ new Map();
      const span = spanOf(row, lanes.streamRows);
      filling.paint(idle, view.low, view.high, span.top, span.bottom);
      scanRow(
        bars,
        members,
        view,
        (bar) => addWide(filling, bars, bar, span, classes[classOf(bar)], works.cuts[bars.id[bar]], describe),
        (number, bar, seconds) => {
          const bin = getOrAdd(bins, number, () => ({ bars: 0, count: 0, first: bar, time: /* @__PURE__ */ new Map() }));
          bin.count += bars.merged[bar];
          bin.bars++;
          bin.time.set(classOf(bar), (bin.time.get(classOf(bar)) ?? 0) + seconds);
        }
      );
      for (const [number, bin] of bins) stackBin(filling, span, number, bin, describe);
    }
  }
  function stackBin(filling, span, number, bin, describe) {
    const { view, names: { classes } } = filling;
    const left = view.low + number * view.narrow;
    const times = [...bin.time].sort((a, b) => a[0] - b[0]);
    const busy = times.reduce((sum, [, time]) => sum + time, 0);
    const height = (span.bottom - span.top) / Math.max(busy, view.narrow);
    let { bottom } = span;
    const shares = [];
    for (const [place, time] of times) {
      filling.paint(classes[place], left, left + view.narrow, bottom - height * time, bottom);
      bottom -= height * time;
      shares.push(`${classes[place].name} ${formatPercent(100 * time / view.narrow)}`);
    }
    const text = bin.bars === 1 ? describe(bin.first) : `<b>${bin.count} short kernels and copies</b><br>in ${formatSeconds(view.narrow)} from ${formatMoment(left)}<br>${shares.join(", ")} of the time`;
    filling.point(left + view.narrow / 2, span.middle, text);
  }

  // src/timeline/paint.ts
  var FONT = "10.5px system-ui, sans-serif";
  var BESIDE = 6;
  function paint(canvas, width, height, frame, lanes) {
    const pen = prepare(canvas, width, height, frame);
    const across = (seconds) => frame.left + (seconds - frame.low) / (frame.high - frame.low) * frame.width;
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
        const text = longestFitting(pen, cuts, to - from - BESIDE);
        pen.fillStyle = color;
        if (text) pen.fillText(text, (from + to) / 2, place(middle) + 0.5);
      }
    }
  }
  function prepare(canvas, width, height, frame) {
    const ratio = window.devicePixelRatio || 1;
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
  var widths = /* @__PURE__ */ new Map();
  function longestFitting(pen, cuts, available) {
    for (let i = cuts.length - 1; i >= 0; i--) {
      const text = cuts[i];
      const width = widths.get(text) ?? pen.measureText(text).width;
      widths.set(text, width);
      if (width <= available) return text;
    }
    return "";
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
  function groupStarts(level, from, to, size) {
    const edges = [];
    const longest = size * level.period;
    for (let i = from; i < to; i++) {
      if (i === from || i % size === 0 || level.start[i] - level.end[i - 1] > longest) edges.push(i);
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
    const curves = level.curves.map((curve) => groupCurve(level, curve, edges));
    return { start: start2, end, curves, binned: true, period: level.period * size };
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
    const curves = level.curves.map(({ low, mean, high }) => ({ low: low.subarray(from, to), mean: mean.subarray(from, to), high: high.subarray(from, to) }));
    return { ...level, start: level.start.subarray(from, to), end: level.end.subarray(from, to), curves };
  }
  function goesOn(level, curve, i) {
    return level.start[i + 1] <= level.end[i] && curve.mean[i + 1] !== 0;
  }
  function stepLine(level, curve, step) {
    const [x, y] = [[], []];
    const extremes = [];
    const add = (time, value, pair) => {
      x.push(time);
      y.push(value);
      extremes.push(pair);
    };
    for (let i = 0; i < level.start.length; i++) {
      if (curve.mean[i] === 0) continue;
      const value = step * (curve.mean[i] - 1);
      const pair = [step * (curve.low[i] - 1), step * (curve.high[i] - 1)];
      add(level.start[i], value, pair);
      if (!goesOn(level, curve, i)) {
        add(level.end[i], value, pair);
        add(level.end[i], NaN, [NaN, NaN]);
      }
    }
    return { x, y, customdata: level.binned ? extremes : null };
  }
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
      if (!goesOn(level, curve, i)) {
        for (let j = backX.length - 1; j >= 0; j--) {
          x.push(backX[j]);
          y.push(backY[j]);
        }
        x.push(NaN);
        y.push(NaN);
        [backX, backY] = [[], []];
      }
    }
    return { x, y };
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
  var NARROW = 2;
  var BESIDE_AXES = 76;
  var Drawing = class {
    figure;
    plot;
    box;
    canvas;
    header;
    gpus;
    shown;
    filled = [];
    filledPixels = 0;
    waiting = 0;
    constructor(plot, box, header, gpus, shown) {
      this.figure = header.figure;
      this.plot = plot;
      this.box = box;
      this.canvas = find("canvas", HTMLCanvasElement, box);
      this.header = header;
      this.gpus = gpus;
      this.shown = shown;
    }
    /** Draw before the next frame. */
    schedule = () => {
      this.waiting ||= requestAnimationFrame(() => void this.draw());
    };
    /** Draw the window that is to be shown. */
    draw = async () => {
      this.waiting = 0;
      this.fillTraces();
      Object.assign(this.figure.layout, this.appearance(), { shapes: this.markShape() });
      Object.assign(this.figure.layout.xaxis, { range: [this.shown.low, this.shown.high], autorange: false });
      await Plotly.react(this.plot, this.figure.data, this.figure.layout, CONFIG2);
      const { low, high, length, isWhole } = this.shown;
      find(".shown", HTMLElement, this.box).textContent = isWhole ? `all that was recorded, ${formatSeconds(high - low)}` : `${formatSeconds(high - low)} of ${formatSeconds(length)}`;
      this.plot.dataset.window = `${low} ${high}`;
    };
    /** Paint the bars where the axes are now: plotly also lays out by itself, some time after a resize. */
    followAxes = () => {
      const { xaxis, _size } = this.layout;
      this.paintLanes(xaxis.range);
      if (_size.w !== this.filledPixels) this.schedule();
    };
    /** Paint the bars below the axes; in a window that is only moved, before its traces are filled. */
    paintLanes([low, high]) {
      const { l, t, w, h } = this.layout._size;
      const frame = { left: l, width: w, top: t, height: h, low, high };
      const lanes = this.figure.data.filter(({ meta }) => meta?.role === "lanes").map((trace) => {
        const { domain, range } = this.axisOf(trace);
        const [bottom, top] = domain.map((share) => t + (1 - share) * h);
        const place = (row) => top + (row - range[1]) / (range[0] - range[1]) * (bottom - top);
        return { ...this.filled[trace.meta?.gpu ?? 0], place };
      });
      paint(this.canvas, this.plot.clientWidth, this.plot.clientHeight, frame, lanes);
    }
    /** The vertical axis of a trace. */
    axisOf({ yaxis = "y" }) {
      return this.figure.layout[yaxis.replace("y", "yaxis")];
    }
    /** The axes over the bars over the page's colour, as a PNG. */
    async picture() {
      const [width, height, scale] = [this.plot.clientWidth, this.plot.clientHeight, 2];
      const axes = new Image();
      axes.src = await Plotly.toImage(this.plot, { format: "png", width, height, scale });
      await axes.decode();
      const whole = Object.assign(document.createElement("canvas"), { width: scale * width, height: scale * height });
      const pen = penOf(whole);
      pen.fillStyle = getComputedStyle(document.body).backgroundColor;
      pen.fillRect(0, 0, whole.width, whole.height);
      for (const layer of [this.canvas, axes]) pen.drawImage(layer, 0, 0, whole.width, whole.height);
      return whole.toDataURL();
    }
    get layout() {
      if (!this.plot._fullLayout) throw new Error("plotly has not drawn yet");
      return this.plot._fullLayout;
    }
    fillTraces() {
      const { low, high } = this.shown;
      const pixels = this.plot._fullLayout ? this.plot._fullLayout._size.w : this.plot.clientWidth - BESIDE_AXES;
      this.filledPixels = pixels;
      const pixel = (high - low) / Math.max(pixels, 100);
      const view = { low, high, pixel, narrow: NARROW * pixel };
      const drawn = this.figure.data.filter(({ meta, visible }) => meta && visible !== "legendonly");
      const curves = drawn.filter(({ meta }) => meta?.role === "curve").length;
      const most = Math.min(pixels / 1.5, Math.max(BINS / curves, 150));
      this.filled = this.gpus.map(({ lanes }) => fillLanes(lanes, this.header, view));
      const cut = makeCut(this.gpus, low, high, most);
      for (const trace of drawn) if (trace.meta) Object.assign(trace, this.fillTrace(trace.meta, cut));
      for (const trace of this.figure.data) trace.x ||= trace.y = [null];
    }
    fillTrace(meta, cut) {
      if (meta.role === "lanes") return this.filled[meta.gpu].places;
      const curve = this.gpus[meta.gpu].curves.get(meta.curve);
      if (!curve) throw new Error(`it has no curve ${meta.curve}`);
      const level = cut(meta.gpu, curve.levels);
      if (meta.role === "band") return areaOutline(level, level.curves[curve.place], curve.step);
      const hovertemplate = meta.templates[level.binned ? 1 : 0];
      return { ...stepLine(level, level.curves[curve.place], curve.step), hovertemplate };
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
  function makeCut(gpus, low, high, most) {
    const made = gpus.map(() => /* @__PURE__ */ new Map());
    return (gpu, levels) => {
      const level = made[gpu].get(levels) ?? windowOf(levels, low, high, most);
      made[gpu].set(levels, level);
      return level;
    };
  }

  // src/timeline/gpus.ts
  function readGpu(read, packed, highestRange) {
    const { gpu, labels, rows: streamRows, percentStep } = packed;
    const curves = new Map(packed.tracks.flatMap((track) => readTrack(read, track)));
    const host = readRanges(read, packed.host, percentStep);
    const windows = readRanges(read, packed.windows, percentStep);
    const work = readBars(read, packed.work, percentStep);
    const iterations = readIterations(read, packed.iterations);
    return { gpu, curves, iterations, lanes: { host, windows, work, labels, streamRows, highestRange } };
  }
  function readTrack(read, track) {
    const start2 = read(track.start, Float64Array, 1e-9);
    const end = endsOf(start2, read(track.breaks, Uint32Array), read(track.ends, Float64Array, 1e-9));
    const curves = track.curves.map(({ values }) => {
      const [mean, low = mean, high = mean] = values.map((number) => read(number, Uint16Array));
      return { mean, low, high };
    });
    const levels = makeTrack(start2, end, curves, track.curves[0].values.length > 1);
    return track.curves.map(({ metric, step }, place) => [metric, { levels, place, step }]);
  }
  function readBars(read, packed, step) {
    const start2 = read(packed.start, Float64Array, 1e-9);
    const length = read(packed.length, Float64Array, 1e-9);
    const percents = {};
    for (const [name, number] of Object.entries(packed.percents)) {
      percents[name] = read(number, Float32Array).map((value) => value ? step * (value - 1) : NaN);
    }
    const bars = {
      start: start2,
      end: length.map((value, i) => start2[i] + value),
      percents,
      row: read(packed.row, Uint8Array),
      id: read(packed.id, Uint32Array),
      merged: read(packed.merged, Uint32Array)
    };
    return { ...bars, rows: makeRows(bars) };
  }
  function readRanges(read, packed, step) {
    return { ...readBars(read, packed, step), kernels: read(packed.kernels, Uint32Array) };
  }
  function readIterations(read, packed) {
    const start2 = read(packed.start, Float64Array, 1e-9);
    const end = read(packed.length, Float64Array, 1e-9).map((length, i) => start2[i] + length);
    return { number: read(packed.number, Uint32Array), start: start2, end };
  }
  function describeData(header, gpus) {
    const part = ({ start: start2, end, id, merged }) => ({ start: start2, end, id, merged });
    return {
      gpus: gpus.map(({ gpu, iterations, lanes: { host, windows, work } }) => ({ gpu, iterations, kernels: part(work), ranges: part(host), windows: part(windows) })),
      names: { kernels: header.works.names, ranges: header.paths.names },
      kernelCount: header.works.kernels,
      links: header.links,
      gpuOfKernel: header.gpuOfKernel
    };
  }

  // src/timeline/places.ts
  function makeFinder(data) {
    const rangeIds = new Map(data.links.ranges.map((name, id) => [name, id]));
    const kernelIds = new Map(data.links.kernels.map((name, id) => [`${data.gpuOfKernel[id]} ${name}`, id]));
    const ranges = new Map(data.gpus.map((gpu) => [gpu, preferred(gpu.windows, gpu.ranges)]));
    return (selection) => {
      const gpu = "gpu" in selection && data.gpus.find((each) => each.gpu === selection.gpu);
      if (!gpu) return null;
      const placed = (found) => found && { ...found, gpu: gpu.gpu };
      switch (selection.kind) {
        case "window":
          return { gpu: gpu.gpu, start: selection.start, end: selection.end };
        case "range":
          return placed(instanceOf(ranges.get(gpu), rangeIds.get(selection.name), selection.instance));
        case "kernel":
          return placed(instanceOf(gpu.kernels, kernelIds.get(`${gpu.gpu} ${selection.name}`), selection.instance));
        case "iteration":
          return placed(iterationOf(gpu, selection.number));
        default:
          return null;
      }
    };
  }
  function iterationOf({ iterations: { number, start: start2, end } }, wanted) {
    const place = number.indexOf(wanted);
    return place < 0 ? null : { start: start2[place], end: end[place] };
  }
  function instanceOf(all, id, instance) {
    if (id === void 0) return null;
    if (instance === void 0) return typical(all, id);
    const place = placesOf(all, id)[instance];
    return place === void 0 ? null : { start: all.start[place], end: all.end[place] };
  }
  function placesOf({ id, start: start2 }, wanted) {
    return Array.from(id.keys()).filter((place) => id[place] === wanted).sort((a, b) => start2[a] - start2[b]);
  }

  // src/timeline/shown.ts
  var SHORTEST = 1e-7;
  var Shown = class {
    /** What was asked for within the window, and is marked. */
    mark = null;
    low;
    high;
    whole;
    changed;
    /**
     * @param whole - All that was recorded.
     * @param changed - Is called after each change.
     */
    constructor(whole, changed) {
      this.whole = [...whole];
      [this.low, this.high] = this.whole;
      this.changed = changed;
    }
    get isWhole() {
      return this.low <= this.whole[0] && this.high >= this.whole[1];
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
    /** Show an interval with a margin, and mark it. */
    show(start2, end) {
      const margin = Math.max(0.15 * (end - start2), SHORTEST / 2);
      this.mark = [start2, end];
      this.set(start2 - margin, end + margin);
    }
  };

  // src/timeline/unpack.ts
  async function unpack(text) {
    const bytes = await inflate(fromBase64(text.trim()));
    const size = new DataView(bytes.buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
    const planes = bytes.subarray(4 + size);
    return { header, read: (number, type, scale = 1) => readArray(planes, header.arrays[number], type, scale) };
  }
  function readArray(planes, packed, type, scale) {
    const { at, length, bytes: width, base, ascending } = packed;
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
    const numbers = width > 4 ? new Float64Array(length) : new Uint32Array(length);
    for (let plane = 0; plane < width; plane++) {
      const octets = bytes.subarray(plane * length, (plane + 1) * length);
      const weight = 256 ** plane;
      if (plane === 0) numbers.set(octets);
      else for (let i = 0; i < length; i++) numbers[i] += weight * octets[i];
    }
    return numbers;
  }

  // src/timeline/timeline.ts
  function startTimeline() {
    const plot = document.getElementById("timeline");
    if (!plot) return null;
    const box = plot.closest(".timeline");
    const message = find(".undrawn", HTMLElement, box);
    const timeline2 = { drawn: Promise.resolve(), data: null, showWindow: () => {
    }, place: () => null };
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
    const gpus = header.gpus.map((gpu) => readGpu(read, gpu, header.highestRange));
    const { layout } = header.figure;
    plot.style.height = `${layout.height}px`;
    const shown = new Shown(layout.xaxis.range, ({ low, high, isWhole }) => {
      drawing.schedule();
      const detail = { start: low, end: high, whole: isWhole };
      document.dispatchEvent(new CustomEvent("tcprof:window", { detail }));
      keepView(isWhole ? null : [low, high]);
    });
    const drawing = new Drawing(plot, box, header, gpus, shown);
    await new Promise((done) => {
      whenParsed(done);
    });
    timeline2.data = describeData(header, gpus);
    timeline2.place = makeFinder(timeline2.data);
    timeline2.showWindow = (gpu, begin, end) => {
      shown.show(begin, end);
      scrollToGpu(plot, box, drawing, gpus.findIndex((each) => each.gpu === gpu));
    };
    await drawing.draw();
    performance.mark("timeline drawn");
    listenToPlot(plot, drawing, shown);
    listenToReader(plot, box, drawing, shown);
    listenToPage(plot, drawing);
    onSelection((change) => follow(change, shown, timeline2));
    drawing.followAxes();
  }
  function follow({ selection, view, from }, shown, { place }) {
    const found = selection && place(selection);
    shown.mark = found && [found.start, found.end];
    if (from === "address" && view) shown.set(...view);
    else if (found && from !== "timeline") shown.show(found.start, found.end);
    else if (from === "address") shown.showAll();
    else shown.set(shown.low, shown.high);
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
  function scrollToGpu(plot, box, drawing, place) {
    const { data, layout } = drawing.figure;
    const first = data.find(({ meta }) => meta?.gpu === place);
    const axis = first ? drawing.axisOf(first) : layout.yaxis;
    const { t, b } = layout.margin;
    const above = place > 0 ? t + (1 - axis.domain[1]) * (layout.height - t - b) - 30 : 0;
    const top = (place > 0 ? plot : box).getBoundingClientRect().top + scrollY + above;
    scrollTo({ top: top - 8, behavior: reducedMotion.matches ? "auto" : "smooth" });
  }
  function listenToPlot(plot, drawing, shown) {
    const { layout } = drawing.figure;
    plot.on("plotly_relayout", (change) => {
      const [low, high] = change["xaxis.range"] ?? [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if (change.dragmode !== void 0) layout.dragmode = change.dragmode;
      if (low !== void 0 && high !== void 0) shown.set(Number(low), Number(high));
    });
    plot.on("plotly_relayouting", (change) => {
      const low = Number(change["xaxis.range[0]"]);
      const high = Number(change["xaxis.range[1]"]);
      if (layout.dragmode === "pan" && low < high) drawing.paintLanes([low, high]);
    });
    plot.on("plotly_afterplot", drawing.followAxes);
    plot.on("plotly_doubleclick", shown.showAll);
    plot.on("plotly_restyle", drawing.schedule);
  }
  var KEYS = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "whole" };
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
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
      event.preventDefault();
      actions[KEYS[event.key]]();
    });
    plot.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { l, r } = drawing.figure.layout.margin;
      const place = (event.clientX - plot.getBoundingClientRect().left - l) / (plot.clientWidth - l - r);
      shown.zoom(Math.exp(Math.min(Math.max(event.deltaY, -100), 100) / 250), Math.min(Math.max(place, 0), 1));
    }, { passive: false });
  }
  function listenToPage(plot, drawing) {
    let width = plot.clientWidth;
    new ResizeObserver(() => {
      if (plot.clientWidth !== width) drawing.schedule();
      width = plot.clientWidth;
    }).observe(plot);
    const attributeFilter = ["data-theme", "class", "style"];
    new MutationObserver(drawing.schedule).observe(document.documentElement, { attributeFilter });
    for (const query of [systemDark, narrowScreen]) query.addEventListener("change", drawing.schedule);
    addEventListener("beforeprint", drawing.draw);
    addEventListener("afterprint", drawing.draw);
  }

  // src/page.ts
  function startThemeButton(restyle) {
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
  var isComparison = document.currentScript?.dataset.page === "comparison";
  var timeline = startTimeline();
  if (timeline) window.tcprof = timeline;
  whenParsed(() => {
    startTables(timeline);
    const { drawn, restyle } = startFigures(timeline?.drawn ?? Promise.resolve());
    void timeline?.drawn.then(() => startSelection((selection) => Boolean(timeline.place(selection))));
    void Promise.all([...drawn, timeline?.drawn]).then(() => document.documentElement.setAttribute("data-drawn", "true"));
    startThemeButton(restyle);
    openOnPaper();
    if (isComparison) fitFigures();
  });
})();
