/** What the panel tells of modules: their time in each phase, and which of them launch a kernel. Knows no page. */
import { formatCount, formatPercent, formatSeconds } from "../format";
import type { Totals } from "../timeline/details";
import { activeOf, modulesWithin, sumOver, type WorkShare } from "../timeline/launching";
import type { Subject } from "../timeline/subjects";
import { listOf, type Facts, type List } from "./lines";

/** The time of modules in the forward pass, the backward pass and other phases, with Tensor Active, if there are several. */
export function phaseFacts({ gpu: { details: { modules } }, id, parts }: Subject): Facts {
  const within = modulesWithin(parts ? parts.map((part) => part.id) : [id], modules);
  const mine = modules.own.filter(({ module }) => within.has(module));
  const phases = [...new Set(mine.map(({ phase }) => phase))];
  return phases.length < 2 ? [] : phases.map((phase) => {
    const shares = mine.filter((each) => each.phase === phase).map(({ share }) => share);
    const active = formatActive(shares);
    return [`Of it ${phase}`, formatSeconds(sumOver(shares, "seconds")) + (active === "–" ? "" : `, Tensor Active ${active}`)];
  });
}

/** Tensor Active of some work together, at least. */
export function formatActive(shares: readonly WorkShare[]): string {
  const { percent, isLeast } = activeOf(shares);
  return (isLeast ? "≥ " : "") + formatPercent(percent);
}

/** The modules that launch a kernel, by phase, each with its share of the kernel's time in all of them. */
export function launchingModules({ gpu, id }: Subject): List {
  const { modules } = gpu.details;
  const mine = modules.own.filter(({ share }) => share.id === id).sort((a, b) => b.share.seconds - a.share.seconds);
  const whole = sumOver(mine.map(({ share }) => share), "seconds");
  return listOf("Modules that launch it", mine, ({ module, phase, share: { count, seconds } }) => {
    const name = modules.names[modules.rowOf.get(module) ?? -1] ?? "";
    const note = `${phase}: ${formatPercent((100 * seconds) / whole)}, ${formatSeconds(seconds)}, ${formatCount(count)} ×`;
    return { name, note, selection: name ? { kind: "module", gpu: gpu.gpu, name } : null };
  });
}

/** The figures of one thing, by their names; NaN where unknown. */
export function figureOf({ rowOf, figures }: Totals, id: number): (name: string) => number {
  const row = rowOf.get(id);
  return (name) => (row === undefined ? NaN : figures[name]?.[row] ?? NaN);
}

/** A figure of several modules: their sum, or of a percentage of their time the mean by time; no interval of it. */
export function sumOf(modules: Totals, parts: readonly Subject[], name: string): number {
  const sum = (weight: (of: (name: string) => number) => number) =>
    parts.reduce((total, { id }) => total + weight(figureOf(modules, id)), 0);
  if (/_(low|high)_pct$/.test(name)) return NaN;
  if (!name.startsWith("tensor_active")) return sum((of) => of(name));
  return sum((of) => of(name) * of("kernel_ns")) / sum((of) => of("kernel_ns"));
}
