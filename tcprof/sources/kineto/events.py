"""The events of a trace, checked and kept as columns of numbers: a trace may have millions."""

import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.arrays import Bools, name_codes
from tcprof.identity import MOST_RANKS
from tcprof.nsys.schema import MOST_GPU_NUMBERS, MOST_GPUS
from tcprof.sources.checks import NO_TIME
from tcprof.sources.kineto.counters import find_column

UNNAMED = "(unnamed)"
KINDS = ("kernel", "memcpy", "memset")
# Categories of events; until PyTorch 1.11 the second of each.
_WORK = {
    **dict.fromkeys(("kernel", "Kernel"), 0),
    **dict.fromkeys(("gpu_memcpy", "Memcpy"), 1),
    **dict.fromkeys(("gpu_memset", "Memset"), 2),
}
_CALLS = ("cuda_runtime", "cuda_driver", "Runtime")
_OPS = ("cpu_op", "Operator")
_PYTHON = ("python_function", "Python")
_ANNOTATION = "user_annotation"
_MODULE = "nn.Module: "  # before a module's class and a number, in the names of its calls
_STEP = re.compile(r"(ProfilerStep)#\d+")  # each step's name has its number
_OF_OPTIMIZER = "Optimizer."  # before the names of annotations that PyTorch itself makes, and emit_nvtx calls ops
_MOST = 1 << 53  # of whole numbers
_LATEST_US = 4e15  # microseconds since 1970, in 2096
_MOST_THREADS, _MOST_STREAMS = 1 << 24, 1 << 32
_MOST_SIZES = 64  # arguments of an op, and dimensions of one
_LARGEST_SIZE = 10**12

_Event = Mapping[str, Any]


class TextCodes:
    """Numbers texts in the order in which they come."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._texts: list[str] = []

    def code(self, text: str) -> int:
        """Return a text's number, a new one where it is new."""
        code = self._codes.setdefault(text, len(self._codes))
        if code == len(self._texts):
            self._texts.append(text)
        return code

    def text(self, code: int) -> str:
        """Return the text of a number."""
        return self._texts[code]

    def categorical(self, codes: "npt.NDArray[Any]", change: Callable[[str], str] = str) -> pd.Categorical:
        """Turn numbers into their texts, each changed; two texts may become one."""
        return name_codes(codes, [sound(change(text)) for text in self._texts] or [""])


class NumberColumns:
    """Rows of numbers, kept as one array for each column."""

    def __init__(self, names: str, floats: str = "") -> None:
        self._arrays: dict[str, array[Any]] = {name: array("q") for name in names.split()}
        self._arrays |= {name: array("d") for name in floats.split()}
        self._append = [column.append for column in self._arrays.values()]

    def add(self, *values: float) -> None:
        """Add a row, in the order of the names."""
        for append, value in zip(self._append, values, strict=True):
            append(value)

    def __getitem__(self, name: str) -> "npt.NDArray[Any]":
        return np.asarray(self._arrays[name])

    def __len__(self) -> int:
        return len(next(iter(self._arrays.values())))

    def keep(self, chosen: Bools) -> None:
        """Drop all rows but the chosen ones."""
        for name in self._arrays:
            self.replace(name, self[name][chosen])

    def replace(self, name: str, values: "npt.NDArray[Any]") -> None:
        """Replace a column's values."""
        kind = self._arrays[name].typecode
        self._arrays[name] = array(kind, values.astype("int64" if kind == "q" else "float64").tobytes())


class Events:
    """Events of a trace, by what they are. Times are in ns on the trace's clock, texts are numbers of ``names``."""

    def __init__(self) -> None:
        self.names, self.sizes, self.grids = TextCodes(), TextCodes(), TextCodes()
        self.ranges = NumberColumns("process thread is_op name start end sizes", "sequence")
        self.modules = NumberColumns("process thread name start end")
        self.calls = NumberColumns("process thread name correlation tag at start end")
        self.work = NumberColumns("gpu kind name grid stream context correlation tag at start end", "bytes")
        self.counters = NumberColumns("gpu column start", "value")
        self.wrong: Counter[str] = Counter()  # events that were left out, by what is wrong
        self.odd: Counter[str] = Counter()  # numbers that cannot be, by what they are of
        self.devices: dict[tuple[int, int], int] = {}  # GPUs' numbers, by rank's number and tag
        self.has_too_many_gpus = False
        self._places: dict[str, int] = {}
        self._tags = TextCodes()
        self._tags.code("")
        self._take: dict[str, Callable[[_Event, _Event, str, int, int], None]] = {
            **dict.fromkeys(_OPS, self._take_op),
            **dict.fromkeys(_PYTHON, self._take_python),
            **dict.fromkeys(_CALLS, self._take_call),
            **dict.fromkeys(_WORK, self._take_work),
            _ANNOTATION: self._take_annotation,
        }

    def take(self, event: Any) -> None:
        """Keep an event if it is a range, a module's call, a call of the API or work of a GPU."""
        if not isinstance(event, dict):
            self.wrong["no event"] += 1
            return
        if event.get("ph") == "C":
            self._take_counters(event)
            return
        category: Any = event.get("cat")
        start: Any = event.get("ts")
        length: Any = event.get("dur", 0)
        take = self._take.get(category) if isinstance(category, str) else None
        if take is None or event.get("ph") != "X":
            return
        if not (is_time(start) and is_time(length)) or length < 0 or start == length == 0:
            self.wrong[NO_TIME] += 1
            return
        args, name = event.get("args"), event.get("name")
        start_ns = round(start * 1000)
        end_ns = start_ns + round(length * 1000)
        details, named = args if isinstance(args, dict) else {}, name if isinstance(name, str) and name else UNNAMED
        take(event, details, named, start_ns, end_ns)

    def _place(self, event: _Event) -> tuple[int, int]:
        """Return process and thread; an id that no system gives gets a number of its own."""
        return self._number(event.get("pid")), self._number(event.get("tid"))

    def _number(self, place: Any) -> int:
        number = whole(int(place) if _is_decimal(place) else place, _MOST_THREADS)
        if number >= 0:
            return number
        code = self._places.setdefault(str(place), len(self._places))
        return _MOST_THREADS - 1 - code % _MOST_THREADS

    def number_ranks(self, processes: Iterable[int]) -> dict[int, int]:
        """Number the processes of merged traces: as in what was put before them, [TP01], or else in their order."""
        texts = {_MOST_THREADS - 1 - code % _MOST_THREADS: place for place, code in self._places.items()}
        named = {process: re.findall(r"\d+", texts.get(process, str(process))) for process in processes}
        ordered = sorted(named, key=lambda process: (*map(int, named[process]), process))
        tagged = [int(named[process][0]) for process in ordered if len(named[process]) == 2]  # the last is its own
        is_tagged = len({*tagged}) == len(ordered) and max(tagged) < MOST_RANKS
        return dict(zip(ordered, tagged if is_tagged else range(len(ordered)), strict=True))

    def _tag(self, process: object) -> int:
        """Number what merged traces put before a process's or a GPU's number, such as [TP01]; 0 for nothing."""
        return self._tags.code(process.rstrip("0123456789") if isinstance(process, str) else "")

    def _gpu(self, event: _Event, args: _Event, tag: int) -> int:
        """Return the GPU's number; GPUs of other machines' ranks that have the same number get free ones."""
        process = event.get("pid")
        digits = process[len(self._tags.text(tag)) :] if isinstance(process, str) else ""
        device = whole(args.get("device", int(digits) if _is_decimal(digits) else process), MOST_GPU_NUMBERS)
        if device < 0 or (device, tag) in self.devices:
            return self.devices.get((device, tag), -1)
        taken = set(self.devices.values())
        number = device if device not in taken else next(free for free in range(len(taken) + 1) if free not in taken)
        if len(taken) == MOST_GPUS:
            self.has_too_many_gpus = True
            return -1
        self.devices[device, tag] = number
        return number

    def _take_annotation(self, event: _Event, _: _Event, name: str, start: int, end: int) -> None:
        step = _STEP.fullmatch(name)
        code = self.names.code(step[1] if step else name)
        is_op = name.startswith(_OF_OPTIMIZER)
        self.ranges.add(*self._place(event), is_op, code, start, end, self.sizes.code(""), math.nan)

    def _take_op(self, event: _Event, args: _Event, name: str, start: int, end: int) -> None:
        if _STEP.fullmatch(name):  # as PyTorch 1.8 wrote them
            self._take_annotation(event, args, name, start, end)
            return
        sizes = self.sizes.code(_sizes(args.get("Input Dims", args.get("Input dims"))))
        sequence = whole(args.get("Sequence number"), _MOST)
        number = sequence if sequence >= 0 else math.nan
        self.ranges.add(*self._place(event), True, self.names.code(name), start, end, sizes, number)

    def _take_python(self, event: _Event, _: _Event, name: str, start: int, end: int) -> None:
        """Keep the call of a module, but of no other function."""
        if not name.startswith(_MODULE):
            return
        self.modules.add(*self._place(event), self.names.code(name.removeprefix(_MODULE)), start, end)

    def _take_call(self, event: _Event, args: _Event, name: str, start: int, end: int) -> None:
        correlation, tag = self._read_number(args, "correlation", _MOST_STREAMS), self._tag(event.get("pid"))
        at = len(self.calls) + len(self.work)
        self.calls.add(*self._place(event), self.names.code(name), correlation, tag, at, start, end)

    def _take_work(self, event: _Event, args: _Event, name: str, start: int, end: int) -> None:
        tag = self._tag(event.get("pid"))
        gpu = self._gpu(event, args, tag)
        if gpu < 0:
            self.wrong["no GPU"] += 1
            return
        kind = _WORK[event["cat"]]
        stream = whole(args.get("stream", event.get("tid")), _MOST_STREAMS)
        context, correlation = (self._read_number(args, name, _MOST_STREAMS) for name in ("context", "correlation"))
        moved = self._read_number(args, "bytes", _MOST) if kind else -1
        grid = self.grids.code("" if kind else _geometry(args.get("grid"), args.get("block")))
        code = self.names.code(name)
        at = len(self.calls) + len(self.work)
        size = moved if moved >= 0 else math.nan
        self.work.add(gpu, kind, code, grid, stream, context, correlation, tag, at, start, end, size)

    def _take_counters(self, event: _Event) -> None:
        """Keep the values of counters that are read, each by its own name or by that of the event."""
        args, name, at = event.get("args"), event.get("name"), event.get("ts")
        values = args if isinstance(args, dict) else {}
        of_event = find_column(name) if isinstance(name, str) else -1
        columns = {key: max(find_column(key), of_event) for key in values}
        if not (used := {key: column for key, column in columns.items() if column >= 0}):
            return
        gpu = self._gpu(event, {}, self._tag(event.get("pid")))
        if gpu < 0 or at is None or not is_time(at):
            self.wrong["no GPU" if gpu < 0 else NO_TIME] += 1
            return
        for key, column in used.items():
            value = values[key]
            number = float(value) if type(value) in (int, float, Decimal) else math.nan
            self.counters.add(gpu, column, round(at * 1000), number)

    def _read_number(self, args: _Event, name: str, most: int) -> int:
        """Return a number of an event; -1 where it has none, or an impossible one, which is counted."""
        number = whole(args.get(name), most)
        self.odd[name] += number < 0 and args.get(name) not in (None, -1)
        return number


def _is_decimal(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 16


def whole(value: object, most: int) -> int:
    """Return a value that is a whole number from 0 to below ``most``, else -1."""
    return value if type(value) is int and 0 <= value < most else -1


def sound(text: str) -> str:
    """Replace lone surrogates, which JSON can hold and no file."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def is_time(value: Any) -> bool:
    """Tell whether a value can be a time, in microseconds."""
    return type(value) in (int, float, Decimal) and -_LATEST_US < value < _LATEST_US


def _sizes(given: object) -> str:
    """Write the sizes of an op's arguments as ``tcprof.frames.NVTX_RANGES`` has them; empty where there are none."""
    if not isinstance(given, list) or not 0 < len(given) <= _MOST_SIZES:
        return ""
    sizes = [size if _is_size(size) else [] for size in given]  # of a list of tensors, and of what is none, nothing
    return json.dumps(sizes) if any(sizes) else ""


def _is_size(given: object) -> bool:
    if not isinstance(given, list) or len(given) > _MOST_SIZES:
        return False
    return all(type(length) is int and 0 <= length < _LARGEST_SIZE for length in given)


def _geometry(grid: object, block: object) -> str:
    """Write grid and block as 8x64x1 384x1x1; empty where they are not known."""
    extents = [extent for extent in (grid, block) if isinstance(extent, list) and len(extent) == 3 and _is_size(extent)]
    return " ".join("x".join(map(str, extent)) for extent in extents) if len(extents) == 2 else ""


_OUTERMOST = -1
# Characters of a class, and of a path, which repeats those around it: modules further in count as the one around them.
_LONGEST, _LONGEST_PATH = 128, 1024
_Module = tuple[int, int]  # the module around, and the number of the name


def name_calls(calls: NumberColumns, names: TextCodes) -> "npt.NDArray[Any]":
    """Return for each call the number of its module's path in ``names``."""
    modules: dict[_Module, int] = {}  # in the order of their first calls
    lengths = {_OUTERMOST: 0}  # of the path of each module, in characters
    module_of_call = np.empty(len(calls["start"]), dtype=np.int64)
    order = np.lexsort((-calls["end"], calls["start"], calls["thread"], calls["process"]))
    columns = (calls[name][order].tolist() for name in ("process", "thread", "end", "name"))
    around: list[tuple[int, int, int, int]] = []  # process, thread, end and module of the calls that hold the next one
    for row, (process, thread, end, name) in zip(order.tolist(), zip(*columns, strict=True), strict=True):
        while around and (around[-1][:2] != (process, thread) or around[-1][2] < end):
            around.pop()
        parent = around[-1][3] if around else _OUTERMOST
        module = modules.get((parent, name))
        if module is None:
            length = lengths[parent] + len(_class_of(names.text(name))) + 1
            module = parent
            if length <= _LONGEST_PATH:
                module = modules[parent, name] = len(modules)
                lengths[module] = length
        module_of_call[row] = module
        around.append((process, thread, end, module))
    codes = [names.code(path) for path in _name_paths(list(modules), names)]
    return np.array(codes, dtype=np.int64)[module_of_call]


def _name_paths(modules: list[_Module], names: TextCodes) -> list[str]:
    classes = [_class_of(names.text(name)) for _, name in modules]
    number: list[int] = []
    alike: dict[tuple[int, str], int] = {}  # how many modules of a class are in one
    for (around, _), kind in zip(modules, classes, strict=True):
        number.append(alike.get((around, kind), 0))
        alike[around, kind] = number[-1] + 1
    paths: list[str] = []
    for (around, _), kind, index in zip(modules, classes, number, strict=True):
        name = f"{kind}.{index}" if alike[around, kind] > 1 else kind
        paths.append(name if around == _OUTERMOST else f"{paths[around]}.{name}")
    return paths


def _class_of(name: str) -> str:
    """Cut the number off a module's name: Linear_7 becomes Linear."""
    stem, _, number = name.rpartition("_")
    return (stem if number.isdigit() and stem else name)[:_LONGEST].replace(".", "_") or UNNAMED
