/** Numbers as in tcprof/units.py: three digits, a dash for unknown. */

export function formatSeconds(seconds: number): string {
  const size = Math.abs(Number(seconds.toPrecision(3)));
  if (!(size > 0)) return size === 0 ? "0 ns" : "–";
  const [scale, unit] = unitOf(size);
  const decimals = 2 - Math.floor(Math.log10(size * scale));
  return `${(seconds * scale).toFixed(Math.min(Math.max(decimals, 0), 3))} ${unit}`;
}

function unitOf(seconds: number): [number, string] {
  if (seconds >= 1) return [1, "s"];
  if (seconds >= 1e-3) return [1e3, "ms"];
  return seconds >= 1e-6 ? [1e6, "µs"] : [1e9, "ns"];
}

/** A percentage, from 0 to 100. */
export function formatPercent(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value > 0 && value < 0.001) return "<0.001 %";
  return `${value.toFixed(value >= 1 || value === 0 ? 1 : value >= 0.1 ? 2 : 3)} %`;
}

/** A time of the recording, in seconds. */
export function formatMoment(seconds: number): string {
  return `${(seconds * 1e3).toFixed(4)} ms`;
}
