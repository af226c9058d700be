/* tcprof, Apache-2.0. Generated from web/src by 'make web': change it there. */
"use strict";
(() => {
  // src/colors.ts
  var KEPT = "tcprof-theme";
  var root = document.documentElement;
  var systemDark = matchMedia("(prefers-color-scheme: dark)");
  var darkStyle = () => document.getElementById("dark-colors");
  function applyKeptTheme() {
    try {
      const kept = localStorage.getItem(KEPT);
      if (!root.dataset.theme && (kept === "dark" || kept === "light")) applyTheme(kept);
    } catch {
    }
  }
  function applyTheme(theme) {
    darkStyle().media = theme === "dark" ? "screen" : "not all";
    root.dataset.theme = theme;
  }

  // src/theme.ts
  document.documentElement.classList.add("scripted");
  applyKeptTheme();
})();
