"""What is wrong in a file of a chip: a key that nothing reads, one that is absent, or a figure without a source."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from tcprof.chips import Metric
from tcprof.chips.chip import FAMILIES, IN_FP16, PRECISIONS

COMMON = "common.toml"
TABLES = {"chips", "gpus", "sources", "metrics", "fma_per_cycle", "flop_per_cycle", "flop_per_cycle_of", "boards"}
METRIC = {field.name for field in fields(Metric)}
BOARD = {
    *("names", "sm_count", "boost_clock_hz", "bandwidth_bytes_per_s", "l2_bandwidth_bytes_per_s", "peak_tflops"),
    *("nvlink_bytes_per_s", "source"),
    "fp64_clock_hz",  # is read by tests alone: the clock that the peak in FP64 is stated at
}
RATES = {*PRECISIONS, *(precision + IN_FP16 for precision in PRECISIONS)}
_SHAPE = re.compile(r" \d+x\d+x\d+$")  # of an instruction, after its family


def check_file(path: Path) -> None:
    """Raises ValueError, which names the file, where something is wrong in it."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        _check_keys("the file", content, TABLES)
        if (path.name == COMMON) == ("chips" in content):
            raise ValueError(f"only {COMMON} is for all chips; each other file names its own")
        sources = content["sources"]
        if "gpus" in content:
            _check_figure("gpus", content["gpus"], sources, {"names", "source"})
            re.compile(content["gpus"]["names"])
        if "fma_per_cycle" in content:
            _check_figure("fma_per_cycle", content["fma_per_cycle"], sources)
        for column, given in content.get("metrics", {}).items():
            _check_figure(column, given, sources, METRIC)
        _check_rates("flop_per_cycle", content.get("flop_per_cycle", {}), sources)
        for name, given in content.get("flop_per_cycle_of", {}).items():
            re.compile(given.pop("names"))
            if "source" in given:
                _check_figure(name, given, sources, {"source"})
            else:
                _check_rates(name, given, sources)
        for name, given in content.get("boards", {}).items():
            _check_figure(name, given, sources, BOARD)
            _check_keys(f"peak_tflops of {name}", given.get("peak_tflops", {}), RATES)
            if "l2_bandwidth_bytes_per_s" in given:
                _check_figure(name, given["l2_bandwidth_bytes_per_s"], sources)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def _check_rates(what: str, given: dict[str, Any], sources: dict[str, str]) -> None:
    _check_keys(what, {_SHAPE.sub("", family): None for family in given}, set(FAMILIES))
    for family, rates in given.items():
        _check_keys(family, rates, RATES)
        for name, rate in rates.items():
            _check_figure(f"{family} {name}", rate, sources)


def _check_figure(
    what: str, given: Any, sources: dict[str, str], known: frozenset[str] | set[str] = frozenset({"value", "source"})
) -> None:
    _check_keys(what, given, known)
    if given.get("source") not in sources:
        raise ValueError(f"{what} has no source: name one of [sources]")


def _check_keys(what: str, given: Any, known: frozenset[str] | set[str]) -> None:
    if not isinstance(given, dict):
        raise TypeError(f"{what} is not a table")
    unknown = sorted(given.keys() - known)
    if unknown:
        raise ValueError(f"{what} has {', '.join(unknown)}, which nothing reads; known are {', '.join(sorted(known))}")
