/** Idle time as a table: by what causes it, then by where; a row selects the longest gap that it stands for. */
import { formatCount, formatPercent, formatSeconds } from "../format";
import type { Gpu } from "../timeline/gpus";
import type { GapSum } from "../timeline/header";
import type { Column, Grouping, Kind } from "./data";

interface Row {
  name: string;
  parent: number;
  sums: readonly GapSum[];
}

/** The table of a GPU's idle time; none where it has none, or it is not known. */
export function gapGrouping({ gpu, details: { gaps } }: Gpu): Grouping[] {
  if (!gaps?.sums.length) return [];
  const rows: Row[] = [];
  for (const cause of new Set(gaps.sums.map((sum) => sum.cause))) {
    const sums = gaps.sums.filter((sum) => sum.cause === cause);
    rows.push({ name: nameOfCause(cause), parent: -1, sums });
    const around = rows.length - 1;
    if (cause !== null) rows.push(...sums.map((sum) => ({ name: placeOf(sum), parent: around, sums: [sum] })));
  }
  const total = (key: "saving_ns" | "share_pct" | "gap_count") => rows.map(({ sums }) => sums.reduce((all, sum) => all + sum[key], 0));
  const columns = [
    column("Idle per step", "Mean idle time per step: the most that filling it saves.", "saving_ns", total("saving_ns"), formatNs, true),
    column("Step share", "Its share of the step time.", "share_pct", total("share_pct"), formatPercent),
    column("Gaps", "Number of gaps in the recording.", "gap_count", total("gap_count"), formatCount),
    column("Longest", "The longest gap; a click selects it.", "longest_ns", rows.map(({ sums }) => Math.max(...sums.map(({ longest_ns: longest }) => longest))), formatNs),
  ];
  const longest = rows.map(({ sums }) => sums.reduce((a, b) => (b.longest_ns > a.longest_ns ? b : a)).longest_gap)
    .map((number) => (gaps.number.includes(number) ? number : 0)); // of many gaps the page has the longest
  return [{
    by: "gap", gpu, name: "gaps", caption: "Idle time by cause and range", first: "Why and where the GPU is idle", more: "", isOrdered: true, notes: [], columns,
    rows: {
      name: rows.map(({ name }) => name), full: rows.map(({ name }) => name), tag: rows.map(() => ""),
      item: longest, parent: rows.map(({ parent }) => parent), kind: longest.map((number): Kind => (number ? "gap" : "row")), alike: {},
    },
    sites: { line: [], isTensor: [], ns: [], phase: [], precision: [], timeClass: [] },
  }];
}

export const nameOfCause = (cause: string | null) => (cause ? cause[0].toUpperCase() + cause.slice(1) : cause === null ? "Others" : "Unknown cause");

const placeOf = ({ path, wait, short }: GapSum) => (short ? "gaps of 10 µs or less" : [path || "outside ranges", wait].filter(Boolean).join(", "));

const formatNs = (ns: number) => formatSeconds(ns * 1e-9);

function column(title: string, meaning: string, name: string, values: readonly number[], format: (value: number) => string, hasBar = false): Column {
  const text = values.map((value) => (value ? format(value) : "–"));
  const most = Math.max(...values, Number.MIN_VALUE);
  return {
    title, meaning, columns: [name], words: false, shown: true, width: Math.max(...text.map(({ length }) => length), title.length / 2) + (hasBar ? 8 : 4),
    text, sort: values.map(String), ...(hasBar ? { bar: values.map((value) => (100 * value) / most) } : {}),
  };
}
