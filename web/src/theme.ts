/** Runs in the page's head, so that no page is seen in other colours first. */
import { applyKeptTheme } from "./colors";

document.documentElement.classList.add("scripted");
applyKeptTheme();
