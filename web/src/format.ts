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

const PREFIXES: [number, string][] = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** A number with a unit and its SI prefix, such as "742 TFLOP/s". */
export function formatScaled(value: number, unit: string): string {
  if (!Number.isFinite(value)) return "–";
  const [scale, prefix] = PREFIXES.find(([size]) => Math.abs(value) >= size) ?? [1, ""];
  const scaled = value / scale;
  return `${Number(scaled.toPrecision(3)).toFixed(scaled >= 99.95 || scaled === 0 ? 0 : scaled >= 9.995 ? 1 : 2)} ${prefix}${unit}`;
}

/** Round times from one to another, in seconds, with their texts. */
export function timeTicks(low: number, high: number, most: number): { tickvals: number[]; ticktext: string[] } {
  const least = (high - low) / most;
  const size = 10 ** Math.floor(Math.log10(least));
  const step = size * ([1, 2, 5].find((each) => each * size >= least) ?? 10);
  const first = Math.ceil(low / step);
  const tickvals = Array.from({ length: Math.max(Math.floor(high / step) - first + 1, 0) }, (_, i) => (first + i) * step);
  const [scale, unit] = unitOf(Math.max(Math.abs(low), Math.abs(high)));
  const decimals = Math.max(0, -Math.floor(Math.log10(step * scale) + 1e-9));
  return { tickvals, ticktext: tickvals.map((value) => `${(value * scale).toFixed(decimals)} ${unit}`) };
}

/** A size in binary units. */
export function formatBytes(bytes: number): string {
  if (!Number.isFinite(bytes)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const place = Math.min(Math.max(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), 0), units.length - 1);
  return `${(bytes / 1024 ** place).toFixed(place ? 1 : 0)} ${units[place]}`;
}

export function formatCount(count: number): string {
  return Number.isFinite(count) ? String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",") : "–"; // Intl takes 15 ms to start
}
