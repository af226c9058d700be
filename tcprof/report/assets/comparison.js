"use strict";
/* A figure that was drawn while its part was closed has no width yet. */
(() => {
  function fit(part) {
    part.querySelectorAll(".js-plotly-plot").forEach((plot) => Plotly.Plots.resize(plot));
  }
  document.querySelectorAll("details.part").forEach((part) => {
    part.addEventListener("toggle", () => part.open && fit(part));
  });
})();
