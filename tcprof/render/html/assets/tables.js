"use strict";
/* Tables of the pages: sorting, filtering, folding, CSV, and their rows in the timeline.

   A table with data-items ("ranges" or "kernels") has rows with data-item: the id that the timeline's data has for what
   they stand for. A click on a row moves the timeline there; the timeline's window dims the rows without work in it. */
const tables = {
  /* The order of rows: by number or by word, unknown last, else as in the tree. */
  compareRows(direction, isText = false) {
    return (a, b) => {
      if (!direction) return a.place - b.place;
      if (a.key === "" || b.key === "") return (a.key === "") - (b.key === "") || a.place - b.place;
      const order = isText ? a.key.localeCompare(b.key) : Number(a.key) - Number(b.key);
      return direction * order || a.place - b.place;
    };
  },

  /* Which rows of a tree are folded away, from the depth of each and whether it is closed. */
  foldedRows(depths, closed) {
    let above = Infinity; /* depth of the closed row that the next ones may lie in */
    return depths.map((depth, place) => {
      if (depth > above) return true;
      above = closed[place] ? depth : Infinity;
      return false;
    });
  },

  /* One line of CSV. A name that a spreadsheet would take for a formula is marked as text. */
  csvLine(cells) {
    return cells.map((cell) => {
      const text = String(cell ?? "");
      const isNumber = text !== "" && Number.isFinite(Number(text));
      const safe = !isNumber && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
      return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    }).join(",");
  },

  /* An array of a figure: plain, typed, or as plotly for Python packs it. */
  numbers(values) {
    if (!values?.bdata) return values ?? [];
    const types = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u4: Uint32Array,
      i2: Int16Array, u2: Uint16Array, i1: Int8Array, u1: Uint8Array };
    return new types[values.dtype](Uint8Array.from(atob(values.bdata), (letter) => letter.charCodeAt(0)).buffer);
  },

  /* A label of a figure as plain text: its first line, without what is markup. */
  plainText(label) {
    const marks = { "&lt;": "<", "&gt;": ">", "&#36;": "$", "&amp;": "&" };
    return label.split("<br>")[0].replaceAll(/<[^>]*>/g, "").replaceAll(/&(?:lt|gt|amp|#36);/g, (mark) => marks[mark]);
  },

  /* A figure as rows: the table that it carries, or else the points of its traces; gaps are left out. */
  figureRows({ data = [], layout = {} }) {
    if (layout.meta?.csv) return [layout.meta.csv.columns, ...layout.meta.csv.rows];
    const rows = [["series", "x", "y"]];
    for (const trace of data) {
      if (["band", "lanes"].includes(trace.meta?.role)) continue; /* of the timeline: outlines, and places of bars */
      const [x, y] = [tables.numbers(trace.x), tables.numbers(trace.y)];
      const labels = trace.orientation === "h" ? trace.hovertext ?? [] : [];
      for (let i = 0; i < Math.max(x.length, y.length); i++) {
        const name = [trace.name ?? "", labels[i] ?? ""].filter(Boolean).map(tables.plainText).join(": ");
        if (![x[i], y[i]].some((value) => value === null || Number.isNaN(value))) rows.push([name, x[i], y[i]]);
      }
    }
    return rows;
  },

  /* How often each id lies in a window, and for how long, in seconds. */
  countWithin({ start, end, id }, from, to) {
    const found = new Map();
    for (let i = 0; i < id.length; i++) {
      if (end[i] <= from || start[i] >= to) continue;
      const entry = found.get(id[i]) ?? { count: 0, seconds: 0 };
      entry.count += 1;
      entry.seconds += Math.min(end[i], to) - Math.max(start[i], from);
      found.set(id[i], entry);
    }
    return found;
  },

  /* The intervals of some, and of others those whose id the first have not. */
  preferred(first, others) {
    const has = new Set(first.id);
    const places = Array.from(others.id.keys()).filter((place) => !has.has(others.id[place]));
    const joined = (name) => {
      const array = new first[name].constructor(first[name].length + places.length);
      array.set(first[name]);
      places.forEach((place, i) => { array[first[name].length + i] = others[name][place]; });
      return array;
    };
    return { start: joined("start"), end: joined("end"), id: joined("id") };
  },

  /* The one of an id's intervals whose length is the median. */
  typical({ start, end, id }, wanted) {
    const mine = [];
    for (let i = 0; i < id.length; i++) if (id[i] === wanted) mine.push(i);
    mine.sort((a, b) => end[a] - start[a] - (end[b] - start[b]));
    const middle = mine[(mine.length - 1) >> 1];
    return middle === undefined ? null : { start: start[middle], end: end[middle] };
  },
};
if (typeof module !== "undefined") module.exports = tables;

if (typeof document !== "undefined") (() => {
  const DIRECTION = { none: 0, ascending: 1, descending: -1 };
  const rowsOf = (table) => Array.from(table.tBodies[0].rows);

  /* Out of the tree's order a name alone says little, so the path is written out. */
  function flatten(table) {
    const sorted = table.dataset.sorted && table.dataset.sorted !== "none";
    table.classList.toggle("flat", Boolean(sorted || table.dataset.filtered));
  }

  const nameOf = (row) => [".ancestors", ".name"]
    .map((part) => row.cells[0].querySelector(part)?.textContent.trim() ?? "").join(" ").trim();

  /* A heading sorts numbers downwards, then upwards, words upwards first, and then back to the tree. */
  function arrange(table, heading) {
    const column = heading.cellIndex;
    const isText = column === 0 || heading.classList.contains("word");
    const steps = isText ? ["none", "ascending", "descending"] : ["none", "descending", "ascending"];
    const state = steps[(steps.indexOf(heading.getAttribute("aria-sort")) + 1) % 3];
    table.querySelectorAll("thead th[aria-sort]").forEach((other) => other.setAttribute("aria-sort", "none"));
    heading.setAttribute("aria-sort", state);
    const keyed = rowsOf(table).map((row) => (
      { row, place: Number(row.dataset.place), key: column ? row.cells[column].dataset.sort : nameOf(row) }));
    keyed.sort(tables.compareRows(DIRECTION[state], isText));
    table.tBodies[0].append(...keyed.map(({ row }) => row));
    table.dataset.sorted = state;
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
    document.querySelector(`[data-count="${table.id}"]`).textContent = wanted ? `${shown} of ${rows.length} rows` : "";
  }

  function save(name, rows) {
    const url = URL.createObjectURL(new Blob([rows.map(tables.csvLine).join("\r\n")], { type: "text/csv" }));
    const link = Object.assign(document.createElement("a"), { href: url, download: `${name}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  /* What a search leaves, with the numbers as they are behind the texts. */
  function tableRows(table) {
    const [first, ...headings] = table.tHead.rows[0].cells;
    const columns = headings.map((heading) => heading.dataset.columns?.split(" ") ?? [heading.textContent.trim()]);
    const lines = rowsOf(table).filter((row) => !row.hidden).map((row) => {
      const [name, ...cells] = row.cells;
      const values = cells.map((cell, place) => {
        const shown = (cell.querySelector(".value") ?? cell).textContent.trim();
        const mine = cell.dataset.values?.split(" ") ?? [cell.dataset.sort || (shown === "–" ? "" : shown)];
        return columns[place].map((_, number) => mine[number] ?? "");
      });
      return [name.title || nameOf(row) || name.textContent.trim(), ...values.flat()];
    });
    return [[first.textContent.trim(), ...columns.flat()], ...lines];
  }

  /* A range that holds others can be folded; a large tree shows its first two levels. */
  const LARGE_TREE = 60;
  function makeFoldable(table) {
    const rows = rowsOf(table);
    const depths = rows.map((row) => Number(row.style.getPropertyValue("--level")));
    const closed = rows.map(() => false);
    function fold(place, isClosed) {
      closed[place] = isClosed;
      rows[place].querySelector("button.fold").setAttribute("aria-expanded", String(!isClosed));
    }
    function show() {
      tables.foldedRows(depths, closed).forEach((folded, place) => rows[place].classList.toggle("folded", folded));
    }
    rows.forEach((row, place) => {
      if (depths[place] < 1 || !(depths[place + 1] > depths[place])) return;
      const button = Object.assign(document.createElement("button"), { type: "button", className: "fold" });
      button.setAttribute("aria-label", `Ranges within ${nameOf(row)}`);
      button.addEventListener("click", () => { fold(place, !closed[place]); show(); });
      row.cells[0].prepend(button);
      table.classList.add("foldable");
      fold(place, rows.length > LARGE_TREE && depths[place] > 1);
    });
    show();
  }

  /* What the timeline has of a table's rows. A range is where its work on the GPU is, if it has any. */
  const known = new Map();
  function itemsOf(table) {
    const { gpu: wanted, items } = table.dataset;
    const gpu = window.tcprof?.data?.gpus.find((each) => each.gpu === Number(wanted));
    if (!gpu || items === "kernels") return gpu?.kernels;
    if (!known.has(gpu)) known.set(gpu, tables.preferred(gpu.windows, gpu.ranges));
    return known.get(gpu);
  }

  function goTo(table, row) {
    const items = itemsOf(table);
    const found = items && tables.typical(items, Number(row.dataset.item));
    if (found) window.tcprof.showWindow(Number(table.dataset.gpu), found.start, found.end);
  }

  /* The rows of what lies in the timeline's window, with how much of it. */
  function showWithin(table, { start, end, whole }) {
    const items = itemsOf(table);
    if (!items) return;
    const found = whole ? null : tables.countWithin(items, start, end);
    for (const row of rowsOf(table)) {
      const note = row.querySelector(".within");
      const entry = found?.get(Number(row.dataset.item));
      row.classList.toggle("outside", Boolean(found && row.dataset.item && !entry));
      if (note) note.textContent = entry ? `${entry.count} × here, ${timelineLanes.formatSeconds(entry.seconds)}` : "";
    }
  }

  const linked = Array.from(document.querySelectorAll("table[data-items]"));
  let waiting = 0;
  document.addEventListener("tcprof:window", ({ detail }) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      linked.forEach((table) => showWithin(table, detail));
      document.querySelectorAll(".window-bar").forEach((bar) => {
        bar.hidden = detail.whole;
        bar.querySelector("span").textContent =
          `The timeline shows ${timelineLanes.formatSeconds(detail.end - detail.start)} from ${timelineLanes.formatSeconds(detail.start)} on; what has no part in it is dimmed.`;
      });
    }, 150);
  });

  document.querySelectorAll("table.paths").forEach((table) => {
    rowsOf(table).forEach((row, place) => { row.dataset.place = place; });
    table.querySelectorAll("thead th[aria-sort] button").forEach((button) => {
      button.addEventListener("click", () => arrange(table, button.closest("th")));
    });
    table.tBodies[0].addEventListener("click", ({ target }) => {
      const row = target.closest("tr[data-item]"); /* its name is a button, for the keyboard */
      if (row && !target.closest("button.fold") && getSelection().isCollapsed) goTo(table, row);
    });
    if (table.dataset.items === "ranges") makeFoldable(table);
  });
  document.querySelectorAll("[data-filter]").forEach((input) => {
    const table = document.getElementById(input.dataset.filter);
    input.addEventListener("input", () => filter(table, input.value.trim().toLowerCase()));
  });
  const fileName = document.querySelector("h1").textContent.replaceAll(/[^\w.-]+/g, "_").slice(0, 60);
  document.querySelectorAll("[data-csv]").forEach((button) => {
    const target = document.getElementById(button.dataset.csv);
    const rows = () => (target.tBodies ? tableRows(target) : tables.figureRows(target));
    button.addEventListener("click", () => save(`${fileName}-${button.dataset.csv}`, rows()));
  });
  document.querySelectorAll("[data-whole]").forEach((button) => {
    button.addEventListener("click", () => document.querySelector("[data-action=whole]")?.click());
  });
})();
