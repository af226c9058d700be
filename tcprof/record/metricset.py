"""A metric set of our own: few metrics, and the tensor pipe's cycles counted, not rounded.

nsys gives whole percentages, and 1 for any small activity, which makes it unreadable; the sum of the active
cycles is exact. Everything is taken from the installed nsys's own set for the chip, since names and counters
differ by chip; which of them are kept, and which sums are added, is in the files of ``tcprof.chips``.
"""

from typing import Any

import yaml

from tcprof.chips import Metric, find_chip
from tcprof.errors import NsysError

_LINK_PREFIXES = ("nvlrx__", "nvltx__", "pcie__", "ctc__")
_SUFFIX = ".sum"

_Mapping = dict[str, Any]  # a node of a YAML document


def read_chips(text: str) -> tuple[str, ...]:
    """The chips that a metric-set file is for.

    Raises:
        NsysError: If the text is no metric-set file.
    """
    return tuple(str(chip) for chip in _first_set(_parse(text)).get("chips", ()))


def count_metrics(text: str) -> int:
    """How many values a metric set gives for each sample.

    Raises:
        NsysError: If the text is no metric-set file.
    """
    return sum(len(_flatten(metric.get("subMetrics", []))) for metric in _first_set(_parse(text)).get("metrics", []))


def build_metric_set(own: str, chip: str, alias: str = "tcprof", *, keep_links: bool = False) -> str:
    """Makes the text of a small metric set with tensor cycles.

    Args:
        own: Text of the installed nsys's general metric set for the chip.
        chip: The chip, for instance GH100.
        alias: Name of the set; its file must be called ``ALIAS.config``.
        keep_links: Keep the metrics of NVLink and PCIe as well.

    Raises:
        NsysError: If the chip has no counter for the tensor pipe alone (Turing counts it together with FP16),
            so that only nsys's own set is of use.
    """
    document = _parse(own)
    source = _first_set(document)
    columns = find_chip(chip).metrics
    known = [metric for of_column in columns.values() for metric in of_column]
    kept = {counter for metric in known if not metric.beside for counter in metric.counters}
    metrics = [
        {**metric, "subMetrics": _flatten(metric.get("subMetrics", []))}
        for metric in source.get("metrics", [])
        if _counter(metric) in kept or (keep_links and _counter(metric).startswith(_LINK_PREFIXES))
    ]
    summed = [
        column
        for column, of_column in columns.items()
        if any(_add_sum(metrics, metric) for metric in of_column if metric.sums)
    ]
    if "tensor_cycles" not in summed:
        raise NsysError(f"nsys's metric set for {chip} has no counter for the tensor pipe alone.")
    ours = {key: value for key, value in source.items() if not isinstance(value, list | dict)} | {
        "alias": alias,
        "name": f"Tensor cycles for {chip} ({alias})",
        "chips": [chip],
        "displayRows": _display_rows(source.get("displayRows", []), {metric["name"] for metric in metrics}),
        "metrics": metrics,
    }
    new = {"version": document.get("version"), "metricSets": [ours]}
    return yaml.safe_dump(new, sort_keys=False, allow_unicode=True, width=110)


def _add_sum(metrics: list[_Mapping], known: Metric) -> bool:
    """Have a counter's exact sum recorded.

    Args:
        metrics: Those of the new set; one gets a sub-metric, or one is added where nsys has none for the counter.
        known: The sum.

    Returns:
        Whether the chip has the counter, as far as nsys's set shows.
    """
    sums = {"name": known.sums, "suffix": _SUFFIX}
    if known.beside:
        neighbour = next((metric["id"] for metric in metrics if _counter(metric) == known.beside), known.beside)
        added = {
            "name": known.names[0].removesuffix(f" [{known.sums}]"),
            "id": str(neighbour).removesuffix(known.beside) + known.counters[0],
            "description": known.description,
            "color": "#8BDDB4",
            "subMetrics": [sums],
        }
        metrics.append(added)
        return True
    found = next((metric for metric in metrics if _counter(metric) in known.counters), None)
    if found:
        found["subMetrics"] = [sub for sub in found["subMetrics"] if sub.get("suffix") != _SUFFIX] + [sums]
    return found is not None


def _display_rows(rows: list[_Mapping], names: set[str]) -> list[_Mapping]:
    """The rows of nsys's timeline, with the metrics that are left."""
    kept = [{**row, "metrics": [name for name in row.get("metrics", []) if name in names]} for row in rows]
    return [row for row in kept if row["metrics"]] or [
        {
            "name": "GPU",
            "type": "overlay",
            "metrics": sorted(names),
        }  # newer formats have views instead of rows
    ]


def _counter(metric: _Mapping) -> str:
    """A metric's counter without the unit before it."""
    return str(metric.get("id", "")).rpartition(".")[2]


def _flatten(subs: list[Any]) -> list[_Mapping]:
    """Sub-metrics as one list; newer formats nest lists of them."""
    flat: list[_Mapping] = []
    for sub in subs:
        flat += _flatten(sub) if isinstance(sub, list) else [sub]
    return flat


def _parse(text: str) -> _Mapping:
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise NsysError(f"nsys's metric set cannot be read as YAML: {error}") from error
    if not isinstance(document, dict):
        raise NsysError("nsys's metric set is not in the form that tcprof knows.")
    return document


def _first_set(document: _Mapping) -> _Mapping:
    sets = document.get("metricSets")
    if not isinstance(sets, list) or not sets or not isinstance(sets[0], dict):
        raise NsysError("nsys's metric set is not in the form that tcprof knows.")
    return sets[0]
