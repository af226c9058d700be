"""Ask an nsys what it can do on this machine."""

import random
import re
import time
from dataclasses import dataclass, replace
from typing import Any

import yaml

from tcprof.chips import Chip, Metric, find_chip
from tcprof.errors import NsysError
from tcprof.nsys.locate import ANSWER_S, INSTALL_HINT, METRIC_SETS, Nsys
from tcprof.nsys.run import SAMPLER_HELD, Completed, explain, run_quietly

PATIENCE_S = 6.0  # another one that asks is done within a second
_PAUSE_S = (0.2, 0.8)
_LINK_PREFIXES = ("nvlrx__", "nvltx__", "pcie__", "ctc__")
_SUFFIX = ".sum"
_NEEDED = ("tensor_cycles", "sm_cycles")  # what no set of ours goes without
_OF_CACHES = ("l1_wavefront_count", "l2_request_count", "l2_cycles")  # of units that others may have in another pass

_Mapping = dict[str, Any]  # a node of a YAML document


def read_chips(text: str) -> tuple[str, ...]:
    """Read which chips a metric-set file is for."""
    return tuple(str(chip) for chip in _parse(text)["metricSets"][0].get("chips", ()))


def count_metrics(text: str) -> int:
    """Count the values that a metric set gives for each sample."""
    metrics = _parse(text)["metricSets"][0].get("metrics", [])
    return sum(len(_flatten(metric.get("subMetrics", []))) for metric in metrics)


def build_metric_set(
    text: str,
    chip: str,
    alias: str = "tcprof",
    *,
    keep_links: bool = False,
    with_work: bool = True,
    with_caches: bool = True,
) -> str:
    """Write the text of a small metric set with tensor cycles.

    Args:
        text: nsys's own metric set for the chip.
        alias: Name of the set; its file must be called ``ALIAS.config``.
        with_work: Also add the sums of what else the GPU did, bytes and instructions, that the chip is known to have.
        with_caches: Of these, also what tells how busy its caches were.

    Raises:
        NsysError: The chip has no counter for the tensor pipe alone (Turing counts it together with FP16).
    """
    document = _parse(text)
    source = document["metricSets"][0]
    model = find_chip(chip)
    sums = _choose_sums(model, with_work, with_caches)
    metrics = _keep_metrics(source, model, sums, keep_links)
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


def _choose_sums(chip: Chip, with_work: bool, with_caches: bool) -> dict[str, Metric]:
    left_out = set(chip.sums) if not with_work else {*_OF_CACHES} if not with_caches else set()
    return {column: metric for column, metric in chip.sums.items() if column in _NEEDED or column not in left_out}


def _keep_metrics(source: _Mapping, chip: Chip, sums: dict[str, Metric], keep_links: bool) -> list[_Mapping]:
    """Copy the metrics of nsys's own set whose counters are summed, or fill a column that no sum fills."""
    replaced = chip.sums.keys() | {metric.replaces for metric in sums.values()}
    plain = (metric for column, metrics in chip.metrics.items() if column not in replaced for metric in metrics)
    summed = (metric for metric in sums.values() if not metric.beside)
    kept = {counter for metric in (*plain, *summed) for counter in metric.counters}
    return [
        {**metric, "subMetrics": _flatten(metric.get("subMetrics", []))}
        for metric in source.get("metrics", [])
        if _counter(metric) in kept or (keep_links and _counter(metric).startswith(_LINK_PREFIXES))
    ]


def read_sums(text: str) -> dict[str, str]:
    """Read the sums that a metric set of ours asks for: the name of each in an export -> the metric's own."""
    return {
        f"{metric['name']} [{sub['name']}]": str(metric["name"])
        for metric in _parse(text)["metricSets"][0].get("metrics", [])
        for sub in _flatten(metric.get("subMetrics", []))
        if sub.get("suffix") == _SUFFIX
    }


def _add_sum(metrics: list[_Mapping], ids: list[str], target: Metric, needed: bool) -> bool:
    """Have a counter's exact sum recorded; return whether nsys's set shows that the chip has the counter.

    Args:
        metrics: Those of the new set; one gets a sub-metric, or one is added where nsys has none for the counter.
        ids: The counters of nsys's own set, with their units.
        needed: Add it even where nothing shows that the chip has it.
    """
    sums = {"name": target.sums, "suffix": _SUFFIX}
    if target.beside:
        neighbour = next((name for name in ids if name.rpartition(".")[2] == target.beside), "")
        if not neighbour and not needed:
            return False
        unit = "" if "." in target.counters[0] else neighbour.removesuffix(target.beside)
        added = {
            "name": target.names[0].removesuffix(f" [{target.sums}]"),
            "id": unit + target.counters[0],
            "description": target.description,
            "color": "#8BDDB4",
            "subMetrics": [sums],
        }
        metrics.append(added)
        return True
    entry = next((metric for metric in metrics if _counter(metric) in target.counters), None)
    if entry:
        rest = [sub for sub in entry["subMetrics"] if sub.get("suffix") != _SUFFIX]
        entry["subMetrics"] = [sums] if target.replaces else [*rest, sums]
    return entry is not None


def _display_rows(rows: list[_Mapping], names: set[str]) -> list[_Mapping]:
    kept = [{**row, "metrics": [name for name in row.get("metrics", []) if name in names]} for row in rows]
    instead = {"name": "GPU", "type": "overlay", "metrics": sorted(names)}  # newer formats have views
    return [row for row in kept if row["metrics"]] or [instead]


def _counter(metric: _Mapping) -> str:
    """Return a metric's counter without the unit before it."""
    return str(metric.get("id", "")).rpartition(".")[2]


def _flatten(subs: list[Any]) -> list[_Mapping]:
    """Flatten sub-metrics to one list; newer formats nest lists of them."""
    flat: list[_Mapping] = []
    for sub in subs:
        flat += _flatten(sub) if isinstance(sub, list) else [sub]
    return flat


def _parse(text: str) -> _Mapping:
    """Parse a metric-set file, of which the first set is read."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise NsysError(f"nsys's metric set cannot be read as YAML: {error}") from error
    sets = document.get("metricSets") if isinstance(document, dict) else None
    if not isinstance(sets, list) or not sets or not isinstance(sets[0], dict):
        raise NsysError("tcprof does not know the format of nsys's metric set.")
    return dict(document)


@dataclass(frozen=True)
class GpuSupport:
    """A GPU, as nsys sees it."""

    number: int | None  # nsys's number for it; None where nsys names none
    chip: str  # for instance GH100; empty where this nsys does not say
    name: str  # for instance NVIDIA H200
    supported: bool  # whether its metrics can be sampled
    reason: str  # why not, in nsys's words; empty if supported, or if nsys gives none

    @property
    def is_held(self) -> bool:
        """Tell whether another profiler samples it now."""
        return explain(self.reason) is SAMPLER_HELD


@dataclass(frozen=True)
class Capabilities:
    """What an nsys can do on this machine."""

    gpu_metrics_option: str  # the spelling that it knows: --gpu-metrics-devices, up to 2023 --gpu-metrics-device
    metric_set_files: bool  # whether it takes a metric set from a file
    gpus: tuple[GpuSupport, ...]  # the GPUs, those that cannot be sampled included

    @property
    def supported_gpus(self) -> tuple[GpuSupport, ...]:
        """List the GPUs whose metrics can be sampled."""
        return tuple(gpu for gpu in self.gpus if gpu.supported)


def read_capabilities(nsys: Nsys, wanted: str = "all") -> Capabilities:
    """Ask an nsys what it can do here with the ``wanted`` GPUs alone: others may be held by other ranks."""
    options = _ask(nsys, "--help").output
    plural = re.search(r"--gpu-metrics-devices\b", options) is not None
    option = "--gpu-metrics-devices" if plural else "--gpu-metrics-device"
    devices = _ask_for_gpus(nsys, f"{option}=help", wanted)
    if not re.search(r"Possible --gpu-metrics-device|GPUs are (not )?supported", devices.output):
        raise NsysError(
            f"nsys {nsys.version_text} does not say which GPUs it can sample: {devices.last_lines()}", hint=INSTALL_HINT
        )
    sets = _ask(nsys, "--gpu-metrics-set=help").output
    return Capabilities(option, re.search(r"^\s*file:", sets, re.MULTILINE) is not None, parse_gpus(devices.output))


def _ask_for_gpus(nsys: Nsys, option: str, wanted: str) -> Completed:
    """Ask for the GPUs, again while wanted ones are held: another user's nsys that asks holds each for a moment."""
    until = time.monotonic() + PATIENCE_S
    while True:
        answer = _ask(nsys, option)
        gpus = parse_gpus(answer.output)
        may_change = any(gpu.is_held for gpu in gpus) and time.monotonic() < until
        if are_free(gpus, wanted) or not may_change:
            return answer
        time.sleep(random.uniform(*_PAUSE_S))


def are_free(gpus: tuple[GpuSupport, ...], wanted: str) -> bool:
    """Tell whether nsys can sample each GPU that an option such as ``0,2`` names; False without a number."""
    free = {str(gpu.number) for gpu in gpus if gpu.supported}
    return {number.strip() for number in wanted.split(",")} <= free


def parse_gpus(text: str) -> tuple[GpuSupport, ...]:
    """Parse the GPUs that ``nsys profile --gpu-metrics-devices=help`` lists.

    Those that can be sampled are numbered lines such as ``0: Hopper GH100 | NVIDIA H200 PCI[0000:00:06.0]`` (older:
    without the chip); the others follow under a heading, each with its reason on the same line or the next.
    """
    gpus: list[GpuSupport] = []
    places: list[str] = []  # on the PCI bus
    supported = True
    for line in text.splitlines():
        if re.search(r"GPUs are (not )?supported", line):
            supported = False
        elif match := re.match(r"\s+(?:(\d+)\s*:\s*)?(\S.*?)\s*PCI\[([^\]]*)\][\s\-:,(]*(.*?)\)?\s*$", line):
            number, words, place, reason = match.groups()
            family, bar, name = words.rpartition("|")
            chip = family.split()[-1] if bar and family.split() else ""
            reason = "" if supported else reason
            gpus.append(GpuSupport(int(number) if number else None, chip, name.strip(), supported, reason))
            places.append(place)
        elif gpus and not supported and re.match(r"\s+\S", line) and not gpus[-1].reason:
            gpus.append(replace(gpus.pop(), reason=line.strip(" \t-*")))
    return tuple(_number_as_recorded(gpus, places))


def _number_as_recorded(gpus: list[GpuSupport], places: list[str]) -> list[GpuSupport]:
    """Number GPUs as a recording does: nsys 2025 lists free GPUs only, but counts held ones as it records."""
    if not any(gpu.is_held and gpu.number is None for gpu in gpus):
        return gpus
    counted = sorted(place for gpu, place in zip(gpus, places, strict=True) if gpu.supported or gpu.is_held)
    return [
        replace(gpu, number=counted.index(place)) if place in counted else gpu
        for gpu, place in zip(gpus, places, strict=True)
    ]


def read_general_metric_set(nsys: Nsys, chip: str) -> str:
    """Read the metric set that this nsys would use for a chip: the first one that names it."""
    folder = nsys.folder / METRIC_SETS
    try:
        names = (folder / "index.config").read_text(encoding="utf-8").split()
    except OSError:
        names = sorted(path.stem for path in folder.glob("*.config"))
    for name in names:
        try:
            text = (folder / f"{name}.config").read_text(encoding="utf-8")
        except OSError:
            continue  # named in the index and not there: as good as not named
        if chip in text and chip in read_chips(text):
            return text
    raise NsysError(f"nsys {nsys.version_text} has no metric set for {chip} in {folder}.")


def _ask(nsys: Nsys, option: str) -> Completed:
    return run_quietly([*nsys.prefix, str(nsys.path), "profile", option], timeout_s=ANSWER_S)
