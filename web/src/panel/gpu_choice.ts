/** One GPU at a time: the timeline and the table show that which is chosen. */
import { findAll, press } from "../dom";
import type { Timeline } from "../timeline/timeline";

export function startGpuChoice(timeline: Timeline): void {
  const buttons = findAll<HTMLButtonElement>("[data-show-gpu]");
  for (const button of buttons) {
    const gpu = timeline.subjects.gpus.find((each) => each.gpu === Number(button.dataset.showGpu));
    if (gpu) button.addEventListener("click", () => timeline.showGpu(gpu));
  }
  document.addEventListener("tcprof:gpu", ({ detail }) => {
    buttons.forEach((button) => press(button, Number(button.dataset.showGpu) === detail));
  });
}
