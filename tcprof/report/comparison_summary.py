"""What a comparison's page says in words: what the iterations took before and after."""

import math

import pandas as pd

from tcprof import units
from tcprof.analysis.projection import SEPARATOR
from tcprof.comparison import Comparison
from tcprof.report.lanes import one_line
from tcprof.report.summary import gpu_title

FEWEST_ITERATIONS = 5
NO_STATISTICS = "Figures are medians per instance; no test of significance is shown on this page."


def main_path(comparison: Comparison, gpu: int) -> tuple[str, str]:
    """Domain and path of the iterations: repeated in both, within no other such path, with most time on the GPU.

    Returns:
        Two empty texts, which stand for the whole capture, where no path repeats.
    """
    rows = _quantity(comparison, gpu, "gpu_window_ns")
    counts = rows[["base_instance_count", "new_instance_count"]].min(axis=1, skipna=False)
    repeated = rows[(counts >= FEWEST_ITERATIONS) & (rows["path"] != "") & rows["base"].notna() & rows["new"].notna()]
    paths = set(zip(repeated["domain"], repeated["path"], strict=True))
    outer = [
        not _lies_in(domain, path, paths) for domain, path in zip(repeated["domain"], repeated["path"], strict=True)
    ]
    found = repeated[outer]
    if not len(found):
        return "", ""
    best = found.loc[(found["base"] * found["base_instance_count"]).idxmax()]
    return str(best["domain"]), str(best["path"])


def _lies_in(domain: str, path: str, others: set[tuple[str, str]]) -> bool:
    parts = path.split(SEPARATOR)
    return any((domain, SEPARATOR.join(parts[:count])) in others for count in range(1, len(parts)))


def _quantity(comparison: Comparison, gpu: int, quantity: str) -> pd.DataFrame:
    rows = comparison.rows
    return rows[(rows["gpu"] == gpu) & (rows["quantity"] == quantity)]


def compare_in_words(comparison: Comparison) -> list[tuple[str, tuple[str, ...]]]:
    """For each GPU its title and its sentences."""
    return [
        (gpu_title(comparison.base.first, gpu), _sentences(comparison, gpu))
        for gpu in sorted(comparison.rows["gpu"].unique())
    ]


def _sentences(comparison: Comparison, gpu: int) -> tuple[str, ...]:
    domain, path = main_path(comparison, gpu)

    def row(quantity: str) -> pd.Series:
        rows = _quantity(comparison, gpu, quantity)
        return rows[(rows["domain"] == domain) & (rows["path"] == path)].iloc[0]

    host, window, mean = row("host_ns"), row("gpu_window_ns"), row("tensor_active_mean_pct")
    what = f"“{one_line(path, 90)}” took" if path else "The whole capture took"
    each = " per instance" if path else ""
    sentences = [
        f"{what} {_from_to(host)} on the CPU{each}, and {_from_to(window)} from first to last activity on the GPU."
    ]
    sentences.append(_tensor_sentence(mean))
    if "rounded" in (comparison.base.first.tensor_source, comparison.new.first.tensor_source):
        sentences.append("It comes from rounded samples, which make small means too high.")
    if path:
        counts = (units.format_count(host[f"{side}_instance_count"]) for side in ("base", "new"))
        sentences.append("Medians over {} and {} instances.".format(*counts))
    return tuple(sentences)


def _tensor_sentence(mean: pd.Series) -> str:
    base, new = units.format_pct(mean["base"]), units.format_pct(mean["new"])
    if not math.isnan(mean["difference"]):
        return f"Its Tensor Active went from {base} to {new} ({units.format_points(mean['difference'])})."
    if math.isnan(mean["base"]) and math.isnan(mean["new"]):
        return "Its Tensor Active is unknown in both."
    if math.isnan(mean["new"]):
        return f"Its Tensor Active was {base} in the baseline and is unknown in the new recording."
    return f"Its Tensor Active is {new} in the new recording and unknown in the baseline."


def _from_to(row: pd.Series) -> str:
    """Both times and their ratio: "5.58 ms → 4.07 ms (0.729x)"."""
    ratio = "" if math.isnan(row["ratio"]) else f" ({units.format_ratio(row['ratio'])})"
    return f"{units.format_ns(row['base'])} → {units.format_ns(row['new'])}{ratio}"
