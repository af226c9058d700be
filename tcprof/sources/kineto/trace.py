"""A trace of ``torch.profiler`` or of JAX as frames: annotations, modules, ops, launches and the work of the GPUs.

It has no samples of GPU metrics: Tensor Active is unknown, and kernels are known by their names.
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tcprof.errors import InputError
from tcprof.files import name_of
from tcprof.frames import (
    ACTIVITIES,
    API_CALLS,
    DEVICE_TO_DEVICE,
    DEVICE_TO_HOST,
    GPUS,
    HOST_TO_DEVICE,
    NVTX_RANGES,
    OPS_DOMAIN,
    PAGEABLE,
    PINNED,
    WAITS,
    Schema,
)
from tcprof.identity import MOST_RANKS, Identity, Rank
from tcprof.sources import InvalidValues, Recording, Source
from tcprof.sources.kineto.events import KINDS, Events, name_calls, sound, whole
from tcprof.sources.kineto.jax import JaxEvents
from tcprof.sources.kineto.stream import AGAIN, EVENTS, JsonStream
from tcprof.sources.xla import DOMAIN as XLA

_DOMAINS = ["", OPS_DOMAIN, XLA]
_OF_XLA = _DOMAINS.index(XLA)
_OF_AMD = re.compile(r"hip[A-Z]|Cijk_|.*\.kd$")  # calls of ROCm, kernels of its BLAS, and as its tracer names them
_WAIT = "Synchronize"
_COPY = re.compile(r"Memcpy (?P<way>[HDP]to[HDP])(?: \((?P<source>\w+) -> (?P<target>\w+)\))?")
_WAYS = {"HtoD": HOST_TO_DEVICE, "DtoH": DEVICE_TO_HOST, "DtoD": DEVICE_TO_DEVICE, "PtoP": "peer to peer"}
_MEMORY = {"Pageable": PAGEABLE, "Pinned": PINNED}
_MEMSET = "Memset"
_MOST_SMS, _MOST_BYTES = 1 << 16, 1 << 53
_LONGEST_NS = 1 << 53  # 104 days


class KinetoTrace(Source):
    """Reads one trace, whole and once.

    It has no marks, which the annotation writes for nsys; and which launches are lost is unknown, since a trace begins
    and ends while work is under way.

    Raises:
        InputError: It cannot be read, or is none of torch.profiler.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        stream, self._events = JsonStream(path), Events()
        self._jax = JaxEvents(self._events.names)
        for event in stream.events():
            if not isinstance(event, dict) or "cat" in event:
                self._events.take(event)
            elif changed := self._jax.change(event):
                self._events.take(changed)
        self._about = stream.about
        if self._events.last_ns - self._events.first_ns > _LONGEST_NS:
            raise InputError(f"{path} is damaged: its events are months apart.", AGAIN)
        if self._events.first_ns > self._events.last_ns and self._jax.is_of_jax:
            raise InputError(f"{path} is a trace of JAX in which no GPU worked.", "Record a program that uses a GPU.")
        if self._events.first_ns > self._events.last_ns:
            raise InputError(
                f"{path} has no events of torch.profiler that tcprof reads.",
                "Record with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]).",
            )

    def recording(self) -> Recording:
        """What the trace says about itself."""
        return Recording(
            file=name_of(self.path),
            nsys_version="",
            schema_version="",
            driver_version="",
            started_utc="",
            duration_ns=float(self._events.last_ns - self._events.first_ns),
            frequency_hz=math.nan,
            metrics_requested=False,
            identity=Identity(ranks=self._ranks()),
        )

    def _ranks(self) -> tuple[Rank, ...]:
        given = self._about.get("distributedInfo")
        facts = given if isinstance(given, dict) else {}
        rank, size = (whole(facts.get(name), MOST_RANKS + 1) for name in ("rank", "world_size"))
        return (Rank(rank, size),) if 0 <= rank < size else ()

    def gpus(self) -> pd.DataFrame:
        """The GPUs that worked, see ``tcprof.frames.GPUS``; a trace does not name their chips."""
        listed = self._about.get("deviceProperties")
        given = [each for each in (listed if isinstance(listed, list) else []) if isinstance(each, dict)]
        known = {whole(each.get("id"), _MOST_SMS): each for each in given}
        names = np.union1d(self._events.calls["name"], self._events.work["name"])
        called = map(self._events.names.text, names.tolist())
        unnamed = "AMD GPU" if any(map(_OF_AMD.match, called)) else ""
        rows = []
        for gpu in np.unique(self._events.work["gpu"]).tolist():
            facts = known.get(gpu, {})
            name = facts.get("name")
            limits = {"sm_count": ("numSms", _MOST_SMS), "memory_bytes": ("totalGlobalMem", _MOST_BYTES)}
            numbers = {ours: whole(facts.get(theirs), most) for ours, (theirs, most) in limits.items()}
            row = {"gpu": gpu, "name": sound(name) if isinstance(name, str) and name else unnamed, "chip": ""}
            rows.append(row | {ours: number if number > 0 else math.nan for ours, number in numbers.items()})
        return GPUS.conform(pd.DataFrame(rows)) if rows else GPUS.empty()

    def ranges(self) -> pd.DataFrame:
        """Annotations, calls of modules, and ops, see ``tcprof.frames.NVTX_RANGES``."""
        found, called, compiled = self._events.ranges, self._events.modules, self._jax.ranges(self._events.calls)
        count = len(called["start"]) + len(compiled)
        names = np.concatenate([found["name"], name_calls(called, self._events.names), compiled["name"]])
        none = np.zeros(len(names), dtype=np.int8)
        domain = np.append(found["is_op"], none[:count])
        domain[len(domain) - len(compiled) :] = _OF_XLA
        process, thread, start, end = (
            np.concatenate([found[name], called[name], compiled[name]])
            for name in ("process", "thread", "start", "end")
        )
        columns = {
            "process": process,
            "thread": thread,
            "domain": pd.Categorical.from_codes(domain, _DOMAINS),
            "name": self._events.names.categorical(names),
            "start_end": none.astype(bool),
            "sequence": np.append(found["sequence"], np.full(count, np.nan)),
            "sizes": self._events.sizes.categorical(
                np.append(found["sizes"], np.full(count, self._events.sizes.code("")))
            ),
            "output_sizes": pd.Categorical.from_codes(none, [""]),
        }
        return self._conform(NVTX_RANGES, columns, start, end_ns=end)

    def api_calls(self) -> pd.DataFrame:
        """The calls that started the recorded activities, see ``tcprof.frames.API_CALLS``."""
        calls = self._events.calls
        columns = {name: calls[name] for name in ("process", "thread", "correlation")}
        frame = self._conform(API_CALLS, columns, calls["start"], returned_ns=calls["end"])
        started = frame[(frame["correlation"] >= 0) & frame["correlation"].isin(self._events.work["correlation"])]
        return API_CALLS.conform(started.drop_duplicates(["process", "correlation"]))

    def waits(self) -> pd.DataFrame:
        """The calls that wait for a GPU, see ``tcprof.frames.WAITS``."""
        calls = self._events.calls
        columns = {name: calls[name] for name in ("process", "thread")}
        columns["name"] = self._events.names.categorical(calls["name"])
        frame = self._conform(WAITS, columns, calls["start"], end_ns=calls["end"])
        return WAITS.conform(
            frame[frame["name"].isin([name for name in frame["name"].cat.categories if _WAIT in name])]
        )

    def activities(self) -> pd.DataFrame:
        """Work on the GPUs, see ``tcprof.frames.ACTIVITIES``, all of the process that made the calls."""
        work, names = self._events.work, self._events.names
        processes = np.unique(self._events.calls["process"])
        columns = {
            "gpu": work["gpu"],
            "kind": pd.Categorical.from_codes(work["kind"], list(KINDS)),
            "name": names.categorical(work["name"], _name_work),
            "launch_geometry": self._events.grids.categorical(work["grid"]),
            "stream": work["stream"],
            "process": np.full(len(work["gpu"]), processes[0] if len(processes) == 1 else -1),
            "correlation": work["correlation"],
            "moved_bytes": work["bytes"],
            "host_memory": names.categorical(work["name"], _host_memory),
        }
        return self._conform(ACTIVITIES, columns, work["start"], end_ns=work["end"])

    def wrong(self) -> tuple[InvalidValues, ...]:
        """Events that were left out."""
        return tuple(InvalidValues(EVENTS, what, count) for what, count in sorted(self._events.wrong.items()))

    def _conform(self, schema: Schema, columns: Mapping[str, Any], start: Any, **ends: Any) -> pd.DataFrame:
        """A frame in order of start, on a clock that begins with the first event."""
        zero = self._events.first_ns
        times = {"start_ns": start - zero} | {name: end - zero for name, end in ends.items()}
        frame = pd.DataFrame({**columns, **times}, copy=False)
        return schema.conform(frame.iloc[np.argsort(start, kind="stable")])


def _name_work(name: str) -> str:
    """A copy's direction, as ``tcprof.frames`` calls it; a kernel's name as it is."""
    copy = _COPY.match(name)
    return _WAYS.get(copy.group("way"), name) if copy else "memset" if name.startswith(_MEMSET) else name


def _host_memory(name: str) -> str:
    copy = _COPY.match(name)
    return next((_MEMORY[side] for side in copy.group("source", "target") if side in _MEMORY), "") if copy else ""
