"use strict";
/* A figure that was drawn while its part was closed has no width yet, and on paper there is less room than in the window. */
(() => {
  const PAPER = 690; /* pixels of A4 between its margins */
  const plots = Array.from(document.querySelectorAll("[data-figure]"));
  const relayout = (change) => plots.forEach((plot) => Plotly.relayout(plot, change)); /* done when it returns: print does not wait */
  document.querySelectorAll("details.part").forEach((part) => {
    part.addEventListener("toggle", () => {
      if (part.open) plots.filter((plot) => part.contains(plot)).forEach((plot) => Plotly.Plots.resize(plot));
    });
  });
  addEventListener("beforeprint", () => relayout({ autosize: false, width: PAPER }));
  addEventListener("afterprint", () => relayout({ autosize: true, width: null }));
})();
