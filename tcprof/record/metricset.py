"""A metric set of our own: few metrics, and the tensor pipe's cycles counted, not rounded.

nsys gives whole percentages, and 1 for any small activity, which makes it unreadable; the sum of the active
cycles is exact. Everything is taken from the installed nsys's own set for the chip, since names and counters
differ by chip.
"""

from typing import Any

import yaml

from tcprof.errors import NsysError

TENSOR_CYCLES = "Tensor Active [Sum]"  # the metric's name in an export
TENSOR_COUNTER = "sm__pipe_tensor_cycles_active_realtime"
_COUNTERS = (
    "gr__cycles_active",
    "sm__cycles_active",
    "sm__inst_executed_realtime",
    TENSOR_COUNTER,
    "dram__read_throughput",
    "dram__write_throughput",
    "gpc__cycles_elapsed",
)
_LINK_PREFIXES = ("nvlrx__", "nvltx__", "pcie__", "ctc__")
_SUM = {"name": "Sum", "suffix": ".sum"}

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
    metrics = [
        {**metric, "subMetrics": _flatten(metric.get("subMetrics", []))}
        for metric in source.get("metrics", [])
        if _counter(metric) in _COUNTERS or (keep_links and _counter(metric).startswith(_LINK_PREFIXES))
    ]
    tensor = next((metric for metric in metrics if _counter(metric) == TENSOR_COUNTER), None)
    if tensor is None:
        raise NsysError(f"nsys's metric set for {chip} has no counter for the tensor pipe alone.")
    tensor["subMetrics"] = [sub for sub in tensor["subMetrics"] if sub.get("suffix") != ".sum"] + [dict(_SUM)]
    metrics.append(_sm_cycles(metrics))
    ours = {key: value for key, value in source.items() if not isinstance(value, list | dict)} | {
        "alias": alias,
        "name": f"Tensor cycles for {chip} ({alias})",
        "chips": [chip],
        "displayRows": _display_rows(source.get("displayRows", []), {metric["name"] for metric in metrics}),
        "metrics": metrics,
    }
    new = {"version": document.get("version"), "metricSets": [ours]}
    return yaml.safe_dump(new, sort_keys=False, allow_unicode=True, width=110)


def _sm_cycles(metrics: list[_Mapping]) -> _Mapping:
    """Elapsed cycles summed over the SMs: what the tensor cycles are a fraction of."""
    active = next((metric["id"] for metric in metrics if _counter(metric) == "sm__cycles_active"), "")
    return {
        "name": "SM Cycles",
        "id": active.removesuffix("sm__cycles_active") + "sm__cycles_elapsed",
        "description": "Cycles elapsed, summed over all SMs",
        "color": "#8BDDB4",
        "subMetrics": [dict(_SUM)],
    }


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
    """A metric's counter without the unit before it, and with Turing's name for the DRAM undone."""
    return str(metric.get("id", "")).rpartition(".")[2].replace("dramc__", "dram__")


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
