"use strict";
/* Tables of the pages: sorting, filtering, folding, CSV, and their rows in the timeline.

   A table with data-items ("ranges" or "kernels") has rows with data-item: the id that the timeline's data has for what
   they stand for. A click on a name moves the timeline there; the timeline's window dims the rows without work in it. */
const tables = {
  /* The order of rows: by number, unknown last, else as in the tree. */
  compareRows(direction) {
    return (a, b) => {
      if (!direction) return a.place - b.place;
      if (a.key === "" || b.key === "") return (a.key === "") - (b.key === "") || a.place - b.place;
      return direction * (Number(a.key) - Number(b.key)) || a.place - b.place;
    };
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

  /* The points of a figure's traces as rows; gaps are left out. */
  figureRows(traces) {
    const rows = [["series", "x", "y"]];
    for (const trace of traces) {
      const [x, y] = [trace.x ?? [], trace.y ?? []];
      const labels = trace.orientation === "h" ? trace.hovertext ?? [] : [];
      for (let i = 0; i < Math.max(x.length, y.length); i++) {
        const name = [trace.name ?? "", labels[i] ?? ""].filter(Boolean).join(": ").replaceAll(/<[^>]*>/g, " ");
        if (!Number.isNaN(y[i])) rows.push([name, x[i], y[i]]);
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
  const NEXT = { none: "descending", descending: "ascending", ascending: "none" };
  const DIRECTION = { none: 0, ascending: 1, descending: -1 };
  const rowsOf = (table) => Array.from(table.tBodies[0].rows);

  /* Out of the tree's order a name alone says little, so the path is written out. */
  function flatten(table) {
    const sorted = table.dataset.sorted && table.dataset.sorted !== "none";
    table.classList.toggle("flat", Boolean(sorted || table.dataset.filtered));
  }

  /* A heading sorts downwards, then upwards, then back to the tree. */
  function arrange(table, heading) {
    const state = NEXT[heading.getAttribute("aria-sort")];
    table.querySelectorAll("thead th[aria-sort]").forEach((other) => other.setAttribute("aria-sort", "none"));
    heading.setAttribute("aria-sort", state);
    const keyed = rowsOf(table).map((row) => (
      { row, place: Number(row.dataset.place), key: row.cells[heading.cellIndex].dataset.sort }));
    keyed.sort(tables.compareRows(DIRECTION[state]));
    table.tBodies[0].append(...keyed.map(({ row }) => row));
    table.dataset.sorted = state;
    flatten(table);
  }

  function filter(table, wanted) {
    const rows = rowsOf(table);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
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

  function tableRows(table) {
    const head = Array.from(table.tHead.rows[0].cells, (cell) => cell.textContent.trim());
    const text = (element) => element?.textContent.trim() ?? "";
    const lines = rowsOf(table).filter((row) => !row.hidden).map((row) => {
      const [name, ...cells] = row.cells;
      const path = name.title || [text(name.querySelector(".ancestors")), text(name.querySelector(".name"))].join(" ").trim();
      return [path, ...cells.map((cell) => cell.dataset.sort || text(cell.querySelector(".value")))];
    });
    return [head, ...lines];
  }

  /* A range that holds others can be folded. */
  function makeFoldable(table) {
    const depth = (row) => Number(row.style.getPropertyValue("--level"));
    const rows = rowsOf(table);
    rows.forEach((row, place) => {
      if (!(depth(rows[place + 1] ?? row) > depth(row)) || depth(row) < 1) return;
      const button = Object.assign(document.createElement("button"), { type: "button", className: "fold" });
      button.setAttribute("aria-expanded", "true");
      button.setAttribute("aria-label", "Ranges within");
      button.addEventListener("click", () => {
        const open = button.getAttribute("aria-expanded") !== "true";
        button.setAttribute("aria-expanded", String(open));
        for (let next = place + 1; next < rows.length && depth(rows[next]) > depth(row); next++) {
          rows[next].classList.toggle("folded", !open);
        }
      });
      row.cells[0].prepend(button);
    });
  }

  const itemsOf = (table) => {
    const gpu = window.tcprof?.data?.gpus.find((each) => each.gpu === Number(table.dataset.gpu));
    return gpu?.[table.dataset.items];
  };

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
    table.querySelectorAll("button.goto").forEach((button) => {
      button.addEventListener("click", () => goTo(table, button.closest("tr")));
    });
    if (table.dataset.items === "ranges") makeFoldable(table);
  });
  document.querySelectorAll("[data-filter]").forEach((input) => {
    const table = document.getElementById(input.dataset.filter);
    input.addEventListener("input", () => filter(table, input.value.trim().toLowerCase()));
  });
  document.querySelectorAll("[data-csv]").forEach((button) => {
    const target = document.getElementById(button.dataset.csv);
    const rows = () => (target.tBodies ? tableRows(target) : tables.figureRows(target.data ?? []));
    button.addEventListener("click", () => save(button.dataset.csv, rows()));
  });
  document.querySelectorAll("[data-whole]").forEach((button) => {
    button.addEventListener("click", () => document.querySelector("[data-action=whole]")?.click());
  });
})();
