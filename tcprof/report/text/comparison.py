"""A comparison as tables for the terminal and for Markdown."""

from collections.abc import Callable, Sequence

import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.names import short_name
from tcprof.comparison import Comparison
from tcprof.comparison.kernels.waterfall import TENSOR_ACTIVE, TIME, TOTAL
from tcprof.comparison.statistics.rows import HIGHER, LOWER, of_means
from tcprof.report.comparison_words import (
    Row,
    decisive,
    find_row,
    iteration_name,
    mean_differs,
    side_names,
    time_row,
    told_gpus,
)
from tcprof.report.text.tables import Listing, bare_pct, gpu_title, path_labels
from tcprof.report.wording import format_fitted
from tcprof.untrusted import printable

NOTHING_SHOWN = "~"
MEAN_ALONE = "m"  # marks a change that the mean alone shows
NEAR = 0.1  # ratios so near to 1 need three decimals
Quantity = tuple[str, str, Callable[[float], str], bool]
# Quantities of the iterations: name, title, how a value is shown, and whether its change is a difference in points.
QUANTITIES: tuple[Quantity, ...] = (
    ("gpu_window_ns", "GPU window", units.format_ns, False),
    ("host_ns", "host time", units.format_ns, False),
    ("kernel_ns", "kernel time", units.format_ns, False),
    ("idle_ns", "GPU idle", units.format_ns, False),
    ("kernel_count", "kernels", units.format_count, False),
    ("tensor_active_mean_pct", "Tensor Active", units.format_pct, True),
    ("tensor_active_peak_pct", "  peak", units.format_pct, True),
    ("tensor_active_s", "  active time", units.format_seconds, False),
    ("tensor_cycles", "tensor cycles", units.format_count, False),
    ("tensor_kernel_share_pct", "tensor share", units.format_pct, True),
)


def list_all(comparisons: Sequence[Comparison], rows: Sequence[pd.DataFrame], limit: int) -> list[Listing]:
    """All tables: of one comparison in detail, of several one row a side.

    Args:
        comparisons: The comparisons with one baseline.
        rows: Rows of each to list.
        limit: Kernels to list; 0 for all.
    """
    if len(comparisons) > 1:
        return list_sides(comparisons)
    comparison, listings = comparisons[0], []
    for gpu in sorted(rows[0]["gpu"].unique()):
        of_gpu = rows[0][rows[0]["gpu"] == gpu]
        if gpu in told_gpus(comparison):
            listings.append(list_iterations(comparison, gpu))
        listings.append(list_ranges(comparison, of_gpu))
        listings += [*list_waterfall(comparison, gpu), list_kernels(comparison, gpu, limit)]
    return [listing for listing in listings if listing.rows]


def known_quantities(comparison: Comparison, gpu: int) -> list[tuple[Quantity, Row]]:
    """The quantities of the iterations that one side has at least, with their rows.

    They are of medians; below one the row of means follows where that says something else.
    """
    found: list[tuple[Quantity, Row]] = []
    for quantity in QUANTITIES:
        row = find_row(comparison, gpu, quantity[0])
        if not (pd.isna(row["base"]) and pd.isna(row["new"])):
            found.append((quantity, row))
            if mean_differs(row):
                found.append(((quantity[0], "  mean", *quantity[2:]), of_means(row)))
    return found


def list_iterations(comparison: Comparison, gpu: int) -> Listing:
    """The iterations' quantities: both values, the change with its interval, p and the verdict."""
    rows: list[tuple[str, ...]] = []
    for (_, label, form, in_points), row in known_quantities(comparison, gpu):
        rows.append(
            (label, form(row["base"]), form(row["new"]), *format_change(row, in_points), _p(row), row["verdict"])
        )
    title = f"{gpu_title(comparison.base.first, gpu)}".strip()
    return Listing(
        title, (f"per {iteration_name(comparison)}", "base", "new", "change", "95 % interval", "p", ""), rows
    )


def format_change(row: Row, in_points: bool) -> tuple[str, str]:
    """A ratio or a difference in points, and its interval.

    Args:
        row: A row of ``tcprof.frames.COMPARISON``.
        in_points: Whether the difference is wanted.
    """
    kind, form = ("difference", format_points) if in_points else ("ratio", format_ratio)
    low, high = row[f"{kind}_low"], row[f"{kind}_high"]
    interval = units.UNKNOWN if pd.isna(low) else f"{form(low).removesuffix('x').removesuffix(' pt')} to {form(high)}"
    return form(row[kind]), interval


def format_ratio(value: float) -> str:
    """A ratio: "1.42x"; near 1, where two digits would show no difference, "1.003x"."""
    return f"{value:.3f}x" if abs(value - 1) < NEAR else units.format_ratio(value)


def format_points(value: float) -> str:
    """A difference of percentages: "+8.7 pt"."""
    return units.format_points(value).replace("points", "pt")


def _p(row: Row) -> str:
    value = row["p_value"]
    return units.UNKNOWN if pd.isna(value) else "<0.001" if value < 0.001 else f"{value:.3f}"


def list_ranges(comparison: Comparison, rows: pd.DataFrame) -> Listing:
    """Time and Tensor Active of each range of one GPU; ~ where nothing is shown, m where the mean alone shows it."""
    time, heading = (
        ("host_ns", "host time") if comparison.base.first.window == "host" else ("gpu_window_ns", "GPU window")
    )
    of = dict(iter(rows.groupby("quantity")))
    active = of["tensor_active_mean_pct"]
    columns = (
        ("range", path_labels(rows.drop_duplicates(["domain", "path"]))),
        (f"\n{heading}\nbase", [units.format_ns(value) for value in of[time]["base"]]),
        ("\n\nnew", [units.format_ns(value) for value in of[time]["new"]]),
        ("\n\nratio", _marked(of[time], [format_ratio(value) for value in of[time]["ratio"]])),
        ("Tensor\nActive %\nbase", [bare_pct(value) for value in active["base"]]),
        ("\n\nnew", [bare_pct(value) for value in active["new"]]),
        ("\n\nchange", _marked(active, [format_points(value).removesuffix(" pt") for value in active["difference"]])),
    )
    headers, cells = zip(*columns, strict=True)
    return Listing("", headers, list(zip(*cells, strict=True)))


def _marked(rows: pd.DataFrame, texts: list[str]) -> list[str]:
    """Changes, with a mark behind those of medians that show nothing."""
    marks = map(change_mark, rows.to_dict("records"))
    return [f"{text} {mark or ' '}" for text, mark in zip(texts, marks, strict=True)]


def change_mark(row: Row) -> str:
    """What stands behind a change: nothing where it is shown, or not judged."""
    if row["verdict"] != NOTHING_SHOWN:
        return ""
    return MEAN_ALONE if row["mean_verdict"] in (HIGHER, LOWER) else NOTHING_SHOWN


def list_waterfall(comparison: Comparison, gpu: int) -> list[Listing]:
    """What the changes of the iterations' mean time and Tensor Active consist of."""
    found = comparison.waterfall[comparison.waterfall["gpu"] == gpu]
    listings = []
    time = found[(found["quantity"] == TIME)]
    if len(time):
        rows = [
            (part_label(row), units.format_ns(row["base"]), units.format_ns(row["new"]), signed_ns(row["change"]))
            for row in time.to_dict("records")
            if row["base"] or row["new"]
        ]
        headers = (f"where the mean {iteration_name(comparison)} goes", "base", "new", "change")
        listings.append(Listing("", headers, [*rows[1:], rows[0]]))
    active = found[found["quantity"] == TENSOR_ACTIVE]
    if len(active):
        shares = [(part_label(row), format_points(row["change"])) for row in active.to_dict("records")]
        listings.append(Listing("", ("why the mean Tensor Active changed", "change"), [*shares[1:], shares[0]]))
    return listings


def part_label(row: dict[str, str] | pd.Series) -> str:
    """A part of a waterfall by name: "renamed kernels: FP32 products → FP16 tensor kernels"."""
    classes = [row[name] for name in ("base_class", "new_class") if row[name]]
    text = f"{row['part']}: {' → '.join(dict.fromkeys(classes))}" if classes else str(row["part"])
    return "sum" if row["part"] == TOTAL else text


def signed_ns(value: float) -> str:
    """A difference of times: "+1.20 ms"."""
    return f"{'+' if value > 0 else ''}{units.format_ns(value)}"


def list_kernels(comparison: Comparison, gpu: int, limit: int) -> Listing:
    """The kernels whose time per iteration changed most; all with a limit of 0."""
    changes = comparison.matching.changes[comparison.matching.changes["gpu"] == gpu]
    rows = []
    for row in changes.head(limit or len(changes)).to_dict("records"):
        names = [short_name(printable(row[f"{side}_name"])) for side in ("base", "new") if row[f"{side}_name"]]
        sides = ("base", "new")
        tensor = [format_fitted(row[f"{side}_tensor_active_pct"], row[f"{side}_fit"], bare_pct) for side in sides]
        rows.append(
            (
                " → ".join(dict.fromkeys(names)),
                row["kind"],
                units.format_ns(row["base_ns"] if row["base_name"] else None),
                units.format_ns(row["new_ns"] if row["new_name"] else None),
                *tensor,
            )
        )
    unit = iteration_name(comparison)
    headers = (f"kernels, by change per {unit}", "", "time\nbase", "\nnew", "Tensor\nActive %", "\nnew")
    return Listing("", headers, rows)


def shared_gpus(comparisons: Sequence[Comparison]) -> list[int]:
    """The GPUs on which the iterations of all sides have work."""
    return sorted(set.intersection(*(set(told_gpus(each)) for each in comparisons)))


def list_sides(comparisons: Sequence[Comparison]) -> list[Listing]:
    """Several sides against one baseline: one row each, one listing for each GPU."""
    listings = []
    for gpu in shared_gpus(comparisons):
        first = comparisons[0]
        rows = []
        for each in comparisons:
            if each is first:
                rows.append(_side_row(side_names(each)[0], each, gpu, "base"))
            rows.append(_side_row(side_names(each)[1], each, gpu, "new"))
        headers = (
            f"per {iteration_name(first)}",
            "time",
            "ratio",
            "95 % interval",
            "",
            "Tensor\nActive %",
            "kernels\ntensor %",
        )
        listings.append(Listing(gpu_title(first.base.first, gpu), headers, rows))
    return listings


def _side_row(name: str, comparison: Comparison, gpu: int, side: str) -> tuple[str, ...]:
    time = time_row(comparison, gpu)
    active, share = (find_row(comparison, gpu, q)[side] for q in ("tensor_active_mean_pct", "tensor_kernel_share_pct"))
    change = ("", "", "") if side == "base" else _side_change(time)
    return (printable(name), units.format_ns(time[side]), *change, bare_pct(active), bare_pct(share))


def _side_change(time: Row) -> tuple[str, ...]:
    """The change of a side's time, of the mean where that alone shows one."""
    row = decisive(time)
    return (*format_change(row, False), row["verdict"] if row is time else f"mean {row['verdict']}")
