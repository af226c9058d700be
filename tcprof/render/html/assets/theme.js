"use strict";
/* The colours: those of the system until the page's maker or its reader chooses. It stands in the head, so that no page
   is seen in other colours first. A page from a file may have no storage: then a choice lasts as long as the page. */
(() => {
  const KEPT = "tcprof-theme";
  const root = document.documentElement;
  const style = document.getElementById("dark-colors");
  const system = matchMedia("(prefers-color-scheme: dark)");

  function apply(name) {
    style.media = name === "dark" ? "screen" : "not all";
    root.dataset.theme = name; /* the timeline looks at it */
  }

  function choose(name) {
    apply(name);
    try { localStorage.setItem(KEPT, name); } catch { /* there is none */ }
  }

  root.classList.add("scripted");
  try {
    const kept = localStorage.getItem(KEPT);
    if (!root.dataset.theme && (kept === "dark" || kept === "light")) apply(kept);
  } catch { /* there is none */ }
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  (window.tcprof ||= {}).theme = { system, choose, isDark };
})();
