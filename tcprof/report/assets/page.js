"use strict";
(() => {
  const CONFIG = {
    responsive: true,
    displaylogo: false,
    scrollZoom: false,
    plotlyServerURL: "",
    topojsonURL: "",
    showSendToCloud: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    toImageButtonOptions: { filename: "tcprof", scale: 2 },
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 40rem)");
  const coarse = matchMedia("(pointer: coarse)"); /* a finger that drags over a figure wants to scroll the page */

  /* Figures: the page lends them the colour of its text, and less margin where it is narrow. */
  function appearance() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    return {
      "font.color": read("--ink"),
      "hoverlabel.bgcolor": read("--card"),
      "hoverlabel.bordercolor": read("--soft"),
      "hoverlabel.font.color": read("--ink"),
      "hoverlabel.align": "left",
      "modebar.bgcolor": "rgba(0,0,0,0)",
      "modebar.color": read("--soft"),
      "modebar.activecolor": read("--accent"),
      "font.size": narrow.matches ? 11 : 12,
      dragmode: coarse.matches ? false : "zoom",
    };
  }
  function put(target, [name, ...rest], value) {
    if (rest.length) put((target[name] ||= {}), rest, value);
    else target[name] = value;
  }
  const plots = Array.from(document.querySelectorAll("[data-figure]"));
  const drawn = plots.map((plot) => {
    const figure = JSON.parse(document.getElementById(plot.dataset.figure).textContent);
    for (const [name, value] of Object.entries(appearance())) put(figure.layout, name.split("."), value);
    return Plotly.newPlot(plot, figure.data, figure.layout, CONFIG)
      .then(() => plot.parentElement.querySelector(".undrawn").remove());
  });
  Promise.all(drawn).then(() => document.documentElement.setAttribute("data-drawn", "true"));
  const restyle = () => plots.forEach((plot) => Plotly.relayout(plot, appearance()));
  dark.addEventListener("change", restyle);
  narrow.addEventListener("change", restyle);
  addEventListener("beforeprint", restyle);
  addEventListener("afterprint", restyle);

  /* Tables: a heading sorts downwards, then upwards, then back to the tree; unknown values stay last. */
  const NEXT = { none: "descending", descending: "ascending", ascending: "none" };

  function arrange(table, heading) {
    const state = NEXT[heading.getAttribute("aria-sort")];
    table.querySelectorAll("thead th[aria-sort]").forEach((other) => other.setAttribute("aria-sort", "none"));
    heading.setAttribute("aria-sort", state);
    const column = heading.cellIndex;
    const direction = state === "ascending" ? 1 : -1;
    const rows = Array.from(table.tBodies[0].rows);
    const place = (row) => Number(row.dataset.place);
    const value = (row) => row.cells[column].dataset.sort;
    rows.sort((a, b) => {
      if (state === "none") return place(a) - place(b);
      const [left, right] = [value(a), value(b)];
      if (left === "" || right === "") return (left === "") - (right === "") || place(a) - place(b);
      return direction * (Number(left) - Number(right)) || place(a) - place(b);
    });
    table.tBodies[0].append(...rows);
    table.dataset.sorted = state;
    flatten(table);
  }

  /* Out of the tree's order a name alone says little, so the path is written out. */
  function flatten(table) {
    const sorted = table.dataset.sorted && table.dataset.sorted !== "none";
    table.classList.toggle("flat", Boolean(sorted || table.dataset.filtered));
  }

  function filter(table, wanted) {
    const rows = Array.from(table.tBodies[0].rows);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
      shown += row.hidden ? 0 : 1;
    }
    table.dataset.filtered = wanted;
    flatten(table);
    document.querySelector(`[data-count="${table.id}"]`).textContent = wanted ? `${shown} of ${rows.length} rows` : "";
  }

  document.querySelectorAll("table.paths").forEach((table) => {
    Array.from(table.tBodies[0].rows).forEach((row, place) => { row.dataset.place = place; });
    table.querySelectorAll("thead th[aria-sort] button").forEach((button) => {
      button.addEventListener("click", () => arrange(table, button.closest("th")));
    });
  });
  document.querySelectorAll("[data-filter]").forEach((input) => {
    const table = document.getElementById(input.dataset.filter);
    input.addEventListener("input", () => filter(table, input.value.trim().toLowerCase()));
  });
})();
