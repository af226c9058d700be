/** Where what is selected lies in the timeline. */
import { preferred, typical, type Intervals } from "../intervals";
import type { Selection } from "../selection_fragment";
import type { GpuIntervals, TimelineData } from "./gpus";

/** A part of the recording, in seconds, and its GPU. */
export interface Place {
  gpu: number;
  start: number;
  end: number;
}

/** Finds what is selected; null where the recording does not have it. Without an instance it is a typical one. */
export function makeFinder(data: TimelineData): (selection: Selection) => Place | null {
  const rangeIds = new Map(data.links.ranges.map((name, id) => [name, id]));
  const kernelIds = new Map(data.links.kernels.map((name, id) => [`${data.gpuOfKernel[id]} ${name}`, id]));
  const ranges = new Map(data.gpus.map((gpu) => [gpu, preferred(gpu.windows, gpu.ranges)]));
  return (selection) => {
    const gpu = "gpu" in selection && data.gpus.find((each) => each.gpu === selection.gpu);
    if (!gpu) return null;
    const placed = (found: { start: number; end: number } | null) => found && { ...found, gpu: gpu.gpu };
    switch (selection.kind) {
      case "window": return { gpu: gpu.gpu, start: selection.start, end: selection.end };
      case "range": return placed(instanceOf(ranges.get(gpu)!, rangeIds.get(selection.name), selection.instance));
      case "kernel":
        return placed(instanceOf(gpu.kernels, kernelIds.get(`${gpu.gpu} ${selection.name}`), selection.instance));
      case "iteration": return placed(iterationOf(gpu, selection.number));
      default: return null;
    }
  };
}

function iterationOf({ iterations: { number, start, end } }: GpuIntervals, wanted: number) {
  const place = number.indexOf(wanted);
  return place < 0 ? null : { start: start[place], end: end[place] };
}

function instanceOf(all: Intervals, id: number | undefined, instance: number | undefined) {
  if (id === undefined) return null;
  if (instance === undefined) return typical(all, id);
  const place = placesOf(all, id)[instance];
  return place === undefined ? null : { start: all.start[place], end: all.end[place] };
}

/** Where the intervals of an id are, by start. */
function placesOf({ id, start }: Intervals, wanted: number): number[] {
  return Array.from(id.keys()).filter((place) => id[place] === wanted).sort((a, b) => start[a] - start[b]);
}
