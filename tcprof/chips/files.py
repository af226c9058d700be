"""Reads the files of chips, and checks them: a key that is not known, or a figure without a source, is a defect."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from tcprof.chips.chip import FAMILIES, IN_FP16, PRECISIONS, UNKNOWN, Board, Chip, Metric, Rate

DATA = Path(__file__).parent / "data"
COMMON = "common.toml"

_Metrics = Mapping[str, Metric]
_Rates = Mapping[str, Mapping[str, Rate]]
_WITH_ACCUMULATOR = {*PRECISIONS, *(precision + IN_FP16 for precision in PRECISIONS)}
_TABLES = ("chips", "gpus", "sources", "metrics", "fma_per_cycle", "flop_per_cycle", "flop_per_cycle_of", "boards")
_SHAPE = re.compile(r" \d+x\d+x\d+$")  # of an instruction, after its family
_NUMBERS = {"sm_count", "boost_clock_hz", "bandwidth_bytes_per_s"}
_L2 = "l2_bandwidth_bytes_per_s"
_FMA = "fma_per_cycle"


@dataclass(frozen=True)
class ChipFile:
    """What one file says."""

    chips: tuple[str, ...]  # the chips that it is for; none where it is for all
    metrics: _Metrics  # by column
    rates: _Rates  # by instruction family and precision: those of all boards
    # Those of some boards: a regular expression that finds the boards' names, and the rates; None where those of all
    # boards do not hold for them, and others are in no source.
    rates_of_boards: tuple[tuple[str, _Rates | None], ...]
    boards: Mapping[str, Board]  # by name
    fma_per_cycle: float = UNKNOWN  # see ``Chip``
    # A regular expression that finds the names of GPUs with these chips, for exports that name no chip; empty where
    # nothing needs it.
    gpus: str = ""


def lacks(precision: str, chip: str, gpu: str) -> bool:
    """Whether it is known that a GPU has no matrix instruction in a precision: no board with its chip has one.

    Args:
        gpu: The GPU's name: it tells the chip in exports that name none.
    """
    files = _read_folder(DATA)
    named = next((file for file in files if chip in file.chips), None)
    own = named or next((file for file in files if file.gpus and re.search(file.gpus, gpu)), None)
    if own is None:
        return False
    of_all = (own.rates, *(rates for _, rates in own.rates_of_boards if rates))
    return not any(precision in rates for families in of_all for rates in families.values())


def find_chip(name: str, gpu: str = "") -> Chip:
    """What is known about a chip.

    Args:
        name: As exports have it, such as GH100. Of a name that no file has, only what all chips share is known.
        gpu: The GPU's name, such as NVIDIA H200; empty where it does not matter: then only what all boards with the
            chip have in common is known.
    """
    files = _read_folder(DATA)
    own = next((file for file in files if name in file.chips), ChipFile((), {}, {}, (), {}))
    common = [file for file in files if not file.chips]
    others = [file for file in files if file.chips and file is not own]
    found: dict[str, tuple[Metric, ...]] = {}
    for file in (own, *common, *others):
        for column, metric in file.metrics.items():
            found[column] = (*found.get(column, ()), metric)
    board = next((board for board in own.boards.values() if gpu and re.search(board.names, gpu)), Board())
    sums = {
        column: metric for file in (*common, own) for column, metric in file.metrics.items() if metric.sums
    }  # the chip's own instead of the common one
    return Chip(name, found, sums, _rates_of(own, gpu), own.boards, board, own.fma_per_cycle)


def _rates_of(file: ChipFile, gpu: str) -> _Rates:
    """The rates of a board, those of all boards among them."""
    found = {family: dict(rates) for family, rates in file.rates.items()}
    for names, of_boards in file.rates_of_boards:
        if gpu and re.search(names, gpu):
            if of_boards is None:
                return {}
            for family, rates in of_boards.items():
                found.setdefault(family, {}).update(rates)
    return found


def metric_names(column: str) -> frozenset[str]:
    """All names that a column of the samples has in exports, of whatever chip."""
    return frozenset(name for metric in find_chip("").metrics.get(column, ()) for name in metric.names)


@cache
def _read_folder(folder: Path) -> tuple[ChipFile, ...]:
    return tuple(read_file(path) for path in sorted(folder.glob("*.toml")))


def read_file(path: Path) -> ChipFile:
    """Read one file.

    Raises:
        ValueError: It has a key that is not known, or lacks one that is needed, or a figure has no source.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        return _chip_file(content, shared=path.name == COMMON)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def _chip_file(content: dict[str, Any], shared: bool) -> ChipFile:
    _check_keys("the file", content, {*_TABLES})
    if shared == ("chips" in content):
        raise ValueError(f"only {COMMON} is for all chips; each other file names its own")
    sources = content["sources"]
    return ChipFile(
        chips=tuple(content.get("chips", ())),
        metrics={column: _metric(column, given, sources) for column, given in content.get("metrics", {}).items()},
        rates=_families("flop_per_cycle", content.get("flop_per_cycle", {}), sources),
        rates_of_boards=tuple(
            (given["names"], _of_boards(f"flop_per_cycle_of {name}", given, sources))
            for name, given in content.get("flop_per_cycle_of", {}).items()
        ),
        boards={name: _board(name, given, sources) for name, given in content.get("boards", {}).items()},
        fma_per_cycle=_figure(_FMA, content[_FMA], sources)[0] if _FMA in content else UNKNOWN,
        gpus=_gpus(content.get("gpus"), sources),
    )


def _metric(column: str, given: dict[str, Any], sources: dict[str, str]) -> Metric:
    _check_keys(column, given, {field.name for field in fields(Metric)})
    lists = {"names": tuple(given["names"]), "counters": tuple(given["counters"])}
    return Metric(**given | lists | {"scale": float(given.get("scale", 1)), "source": _source(column, given, sources)})


def _figure(what: str, given: dict[str, Any], sources: dict[str, str]) -> tuple[float, str]:
    """A figure and the text of its source."""
    _check_keys(what, given, {"value", "source"})
    return float(given["value"]), _source(what, given, sources)


def _gpus(given: dict[str, Any] | None, sources: dict[str, str]) -> str:
    if given is None:
        return ""
    _check_keys("gpus", given, {"names", "source"})
    _source("gpus", given, sources)
    return str(re.compile(given["names"]).pattern)


def _of_boards(what: str, given: dict[str, Any], sources: dict[str, str]) -> _Rates | None:
    """The rates of some boards; None where there is only a word on why none is known, as their source."""
    given = {name: value for name, value in given.items() if name != "names"}
    if "source" not in given:
        return _families(what, given, sources)
    _check_keys(what, given, {"source"})
    _source(what, given, sources)
    return None


def _families(what: str, given: dict[str, Any], sources: dict[str, str]) -> _Rates:
    _check_keys(what, {_SHAPE.sub("", family): None for family in given}, set(FAMILIES))
    return {family: _rates(family, of_family, sources) for family, of_family in given.items()}


def _rates(family: str, given: dict[str, Any], sources: dict[str, str]) -> dict[str, Rate]:
    _check_keys(family, given, _WITH_ACCUMULATOR)
    return {name: Rate(*_figure(f"{family} {name}", rate, sources)) for name, rate in given.items()}


def _board(name: str, given: dict[str, Any], sources: dict[str, str]) -> Board:
    _check_keys(name, given, _NUMBERS | {"names", "peak_tflops", "source", _L2})
    peaks = given.get("peak_tflops", {})
    _check_keys(f"peak_tflops of {name}", peaks, _WITH_ACCUMULATOR)
    l2_bandwidth, l2_source = _figure(_L2, given[_L2], sources) if _L2 in given else (UNKNOWN, "")
    return Board(
        given.get("names", re.escape(name)),
        **{key: float(given.get(key, UNKNOWN)) for key in _NUMBERS},
        l2_bandwidth_bytes_per_s=l2_bandwidth,
        peak_tflops=peaks,
        source=_source(name, given, sources),
        l2_source=l2_source,
    )


def _source(what: str, given: dict[str, Any], sources: dict[str, str]) -> str:
    """The text of the source that is named."""
    if given.get("source") not in sources:
        raise ValueError(f"{what} has no source: name one of [sources]")
    return sources[given["source"]]


def _check_keys(what: str, given: Any, known: set[str]) -> None:
    if not isinstance(given, dict):
        raise TypeError(f"{what} is not a table")
    unknown = sorted(given.keys() - known)
    if unknown:
        raise ValueError(f"{what} has {', '.join(unknown)}, which nothing reads; known are {', '.join(sorted(known))}")
