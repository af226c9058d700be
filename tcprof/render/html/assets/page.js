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
  const { theme } = window.tcprof;
  const root = document.documentElement;
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
    plot.style.height = `${figure.layout.height}px`; /* plotly takes it from here when the window is resized */
    for (const [name, value] of Object.entries(appearance())) put(figure.layout, name.split("."), value);
    return Plotly.newPlot(plot, figure.data, figure.layout, CONFIG)
      .then(() => {
        plot.parentElement.querySelector(".undrawn").remove();
        plot.on("plotly_click", ({ points: [{ data, customdata }] }) => {
          if (data.meta?.inTimeline) window.tcprof.showWindow?.(...customdata); /* GPU, and seconds */
        });
      });
  });
  Promise.all([...drawn, window.tcprof?.timeline]).then(() => root.setAttribute("data-drawn", "true"));
  const restyle = () => plots.forEach((plot) => Plotly.relayout(plot, appearance()));
  theme.system.addEventListener("change", restyle);
  narrow.addEventListener("change", restyle);
  addEventListener("beforeprint", restyle);
  addEventListener("afterprint", restyle);

  const button = document.querySelector("button.theme");
  const label = () => {
    button.textContent = theme.isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Show the page in ${theme.isDark() ? "light" : "dark"} colours`);
  };
  label();
  theme.system.addEventListener("change", label);
  button.addEventListener("click", () => {
    theme.choose(theme.isDark() ? "light" : "dark");
    label();
    restyle();
  });

  /* On paper everything is open. */
  const closed = [];
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details:not([open])").forEach((part) => { part.open = true; closed.push(part); });
  });
  addEventListener("afterprint", () => closed.splice(0).forEach((part) => { part.open = false; }));
})();
