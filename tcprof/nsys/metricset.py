"""A metric set of our own: few metrics, and the tensor pipe's cycles counted, not rounded.

nsys gives whole percentages, and 1 for any small activity; the sum of the active cycles is exact. Everything is taken
from the installed nsys's own set for the chip; which of it is kept, and which sums are added, is in ``tcprof.chips``.
"""

from typing import Any

import yaml

from tcprof.chips import Chip, Metric, find_chip
from tcprof.errors import NsysError

_LINK_PREFIXES = ("nvlrx__", "nvltx__", "pcie__", "ctc__")
_SUFFIX = ".sum"
_NEEDED = ("tensor_cycles", "sm_cycles")  # what no set of ours goes without
_OF_CACHES = ("l1_wavefront_count", "l2_request_count", "l2_cycles")  # of units that others may have in another pass

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


def build_metric_set(
    own: str,
    chip: str,
    alias: str = "tcprof",
    *,
    keep_links: bool = False,
    with_work: bool = True,
    with_caches: bool = True,
) -> str:
    """The text of a small metric set with tensor cycles.

    Args:
        own: Text of the installed nsys's general metric set for the chip.
        alias: Name of the set; its file must be called ``ALIAS.config``.
        keep_links: Keep the metrics of NVLink and PCIe as well.
        with_work: Also add the sums of what else the GPU did, bytes and instructions, that the chip is known to have.
        with_caches: Of these, also what tells how busy its caches were.

    Raises:
        NsysError: The chip has no counter for the tensor pipe alone (Turing counts it together with FP16).
    """
    document = _parse(own)
    source = _first_set(document)
    known = find_chip(chip)
    sums = _choose_sums(known, with_work, with_caches)
    replaced = {metric.replaces for metric in sums.values()}
    kept = {
        counter
        for column, of_column in known.metrics.items()
        for metric in of_column
        for counter in metric.counters
        if column not in replaced and column not in known.sums
    }
    kept |= {counter for metric in sums.values() if not metric.beside for counter in metric.counters}
    metrics = [
        {**metric, "subMetrics": _flatten(metric.get("subMetrics", []))}
        for metric in source.get("metrics", [])
        if _counter(metric) in kept or (keep_links and _counter(metric).startswith(_LINK_PREFIXES))
    ]
    ids = [str(metric["id"]) for metric in source.get("metrics", [])]
    summed = [column for column, metric in sums.items() if _add_sum(metrics, ids, metric, needed=column in _NEEDED)]
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


def _choose_sums(known: Chip, with_work: bool, with_caches: bool) -> dict[str, Metric]:
    left_out = set(known.sums) if not with_work else {*_OF_CACHES} if not with_caches else set()
    return {column: metric for column, metric in known.sums.items() if column in _NEEDED or column not in left_out}


def read_sums(text: str) -> dict[str, str]:
    """The sums that a metric set of ours asks for: by the name that each has in an export, the metric's own.

    Raises:
        NsysError: If the text is no metric-set file.
    """
    return {
        f"{metric['name']} [{sub['name']}]": str(metric["name"])
        for metric in _first_set(_parse(text)).get("metrics", [])
        for sub in _flatten(metric.get("subMetrics", []))
        if sub.get("suffix") == _SUFFIX
    }


def _add_sum(metrics: list[_Mapping], ids: list[str], known: Metric, needed: bool) -> bool:
    """Have a counter's exact sum recorded; returns whether the chip has the counter, as far as nsys's set shows.

    Args:
        metrics: Those of the new set; one gets a sub-metric, or one is added where nsys has none for the counter.
        ids: The counters of nsys's own set, with their units.
        needed: Add it even where nothing shows that the chip has it.
    """
    sums = {"name": known.sums, "suffix": _SUFFIX}
    if known.beside:
        neighbour = next((name for name in ids if name.rpartition(".")[2] == known.beside), "")
        if not neighbour and not needed:
            return False
        unit = "" if "." in known.counters[0] else neighbour.removesuffix(known.beside)
        added = {
            "name": known.names[0].removesuffix(f" [{known.sums}]"),
            "id": unit + known.counters[0],
            "description": known.description,
            "color": "#8BDDB4",
            "subMetrics": [sums],
        }
        metrics.append(added)
        return True
    found = next((metric for metric in metrics if _counter(metric) in known.counters), None)
    if found:
        others = [sub for sub in found["subMetrics"] if sub.get("suffix") != _SUFFIX]
        found["subMetrics"] = [sums] if known.replaces else [*others, sums]
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
