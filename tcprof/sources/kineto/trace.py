"""A trace of ``torch.profiler`` or of JAX as frames: annotations, modules, ops, launches and the work of the GPUs.

It has samples of GPU metrics only where counters were sampled beside it.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tcprof.arrays import Bools, Ints
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
from tcprof.nsys.schema import MOST_GPUS
from tcprof.sources import InvalidValues, Recording, Samples, Source
from tcprof.sources.checks import AFTER_END, FAR, LATER_WORK, cut_overruns, end_before_waits, find_stretch
from tcprof.sources.kineto import RANK_MEMBER
from tcprof.sources.kineto.counters import make_samples
from tcprof.sources.kineto.events import KINDS, Events, is_time, name_calls, sound, whole
from tcprof.sources.kineto.jax import JaxEvents
from tcprof.sources.kineto.launches import count_lost_launches, link_work
from tcprof.sources.kineto.stream import EVENTS, JsonStream
from tcprof.sources.remedies import COPY_TRACE_AGAIN
from tcprof.sources.xla import DOMAIN as XLA

_DOMAINS = ["", OPS_DOMAIN, XLA]
_OF_XLA = _DOMAINS.index(XLA)
_OF_AMD = re.compile(r"hip[A-Z]|Cijk_|.*\.kd$")  # calls of ROCm, kernels of its BLAS, and as its tracer names them
_WINDOW_END = "Record Window End"
_COPY = re.compile(r"Memcpy (?P<way>[HDP]to[HDP])(?: \((?P<source>\w+) -> (?P<target>\w+)\))?")
_WAYS = {"HtoD": HOST_TO_DEVICE, "DtoH": DEVICE_TO_HOST, "DtoD": DEVICE_TO_DEVICE, "PtoP": "peer to peer"}
_MEMORY = {"Pageable": PAGEABLE, "Pinned": PINNED}
_MEMSET = "Memset"
_WAIT = "DeviceSynchronize|CtxSynchronize"
_MOST_SMS, _MOST_BYTES = 1 << 16, 1 << 53
_LONGEST_NS = 1 << 53  # 104 days


class KinetoTrace(Source):
    """Reads one trace, whole and once.

    It has no marks, which the annotation writes for nsys.

    Raises:
        InputError: It cannot be read, or is none of torch.profiler.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        stream, self._events = JsonStream(path), Events()
        self._jax = JaxEvents(self._events.names)
        window_ends = []
        for event in stream.events():
            if not isinstance(event, dict) or "cat" in event:
                self._events.take(event)
            elif event.get("name") == _WINDOW_END and is_time(event.get("ts")):
                window_ends.append(round(event["ts"] * 1000))
            elif changed := self._jax.change(event):
                self._events.take(changed)
        self._window_end = max(window_ends, default=0)
        self._about, self._repaired = stream.about, stream.repaired
        self._devices = {gpu: device for (device, _), gpu in self._events.devices.items()}  # what ranks call each GPU
        self._drop_far_times()
        self._call, restarts = link_work(self._events.calls, self._events.work)
        self._process = self._find_processes()
        self._repaired.update(restarts)
        self._split_gpus()
        self._drop_early_work()
        self._first_ns, self._last_ns = self._cut_overruns()

    def _drop_far_times(self) -> None:
        """Drop the events whose times are far from all others; work that only ends there may be cut."""
        events = self._events
        tables = (events.ranges, events.modules, events.calls, events.work)
        starts = np.concatenate([table["start"] for table in tables])
        if not len(starts) and self._jax.is_of_jax:
            raise InputError(f"{self.path} is a JAX trace without GPU work.", "Record a program that uses a GPU.")
        if not len(starts):
            raise InputError(
                f"{self.path} has no torch.profiler events that tcprof reads.",
                "Record with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]).",
            )
        self._stretch = find_stretch(starts)
        for table in tables:
            is_near = self._stretch.holds(table["start"])
            is_near &= self._stretch.holds(table["end"]) | (table is events.work)
            events.wrong[FAR] += int((~is_near).sum())
            table.keep(is_near)
        is_near = self._stretch.holds(events.counters["start"])
        events.wrong[FAR] += int((~is_near).sum())
        events.counters.keep(is_near)

    def _find_processes(self) -> Ints:
        """Find the process of each piece of work: that of its call, or else the only one that uses its GPU."""
        calls, gpu = self._events.calls["process"], self._events.work["gpu"]
        process = np.append(calls, -1)[self._call]
        users = pd.Series(process[process >= 0]).groupby(gpu[process >= 0]).agg(["min", "max"])
        users = users[users["min"] == users["max"]]["min"]
        processes = np.unique(calls)
        only = processes[0] if len(processes) == 1 else -1
        return np.where(process >= 0, process, pd.Series(gpu).map(users).fillna(only).to_numpy("int64"))

    def _split_gpus(self) -> None:
        """Give each rank GPUs of its own: all may call theirs 0, on different hosts or in containers."""
        gpu = self._events.work["gpu"].copy()
        used = pd.DataFrame({"gpu": gpu, "process": self._process})
        pairs = used[used["process"] >= 0].drop_duplicates()
        again = pairs[pairs.duplicated("gpu")]
        if self._events.has_too_many_gpus or len(self._devices) + len(again) > MOST_GPUS:
            raise InputError(
                f"{self.path} merges more than {MOST_GPUS} GPUs, the most that tcprof reads from one trace.",
                "Keep one trace per rank in a folder, and run 'tcprof ranks FOLDER'.",
            )
        for row in again.itertuples():
            free = next(number for number in range(MOST_GPUS) if number not in self._devices)
            chosen = (used["gpu"] == row.gpu) & (used["process"] == row.process)
            self._devices[free] = self._devices[row.gpu]
            self._repaired["GPU numbers that several processes use"] += int(chosen.sum())
            gpu[chosen] = free
            unclear = self._events.counters["gpu"] == row.gpu  # of which of them a counter is
            self._events.wrong["counter values of a GPU number that several processes use"] += int(unclear.sum())
            self._events.counters.keep(~unclear)
        self._events.work.replace("gpu", gpu)

    def _drop_early_work(self) -> None:
        """Drop work that begins before its call, and before work that its thread launched into its stream earlier."""
        work, calls = self._events.work, self._events.calls
        launched = pd.DataFrame({name: work[name] for name in ("gpu", "context", "stream", "start")})
        launched = launched.assign(call=self._call, process=self._process)[self._call >= 0]
        launched["called"], launched["thread"] = (calls[name][launched["call"]] for name in ("start", "thread"))
        order = launched.sort_values(["called", "start"], kind="stable")
        lanes = order.groupby(["gpu", "process", "context", "stream", "thread"], sort=False)
        early = order[(order["start"] < lanes["start"].cummax()) & (order["start"] < order["called"])].index
        self._events.wrong["that begin before their launch"] += len(early)
        self._keep_work(~np.isin(np.arange(len(work)), early))

    def _cut_after_end(self) -> None:
        """Cut work that runs on when the profiler has stopped.

        Kineto writes no work beyond its window. Other writers omit the window; torch.profiler waits for the GPU before
        it stops, so work that began before the CPU's last event does not outlast it.
        """
        events, work = self._events, self._events.work
        tables = (events.ranges, events.modules, events.calls)
        process, ends = (np.concatenate([table[name] for table in tables]) for name in ("process", "end"))
        if self._jax.is_of_jax or not len(ends):
            return
        # Merged ranks stop one by one.
        lasts = pd.Series(ends).groupby(process).max()
        last = pd.Series(self._process).map(lasts).fillna(ends.max()).to_numpy("int64")
        end = np.maximum(self._window_end, last)
        late = (work["start"] < end) & (work["end"] > end) & self._stretch.holds(work["end"])
        self._repaired[AFTER_END] += int(late.sum())
        work.replace("end", np.where(late, end, work["end"]))

    def _cut_unsynchronized(self) -> None:
        """Cut work that outlasts what its process launched after it had waited for the whole GPU."""
        calls, work = self._events.calls, self._events.work
        names = pd.Series(self._events.names.categorical(calls["name"])).astype(str)
        process, call = self._process, self._call
        gpus = pd.Series(work["gpu"]).groupby(process).transform("nunique")
        waits = pd.DataFrame({name: calls[name] for name in ("process", "start", "end")})[names.str.contains(_WAIT)]
        rows = np.flatnonzero((call >= 0) & (gpus == 1).to_numpy())  # a call does not say which GPU it waits for
        launched = pd.DataFrame({name: calls[name][call[rows]] for name in ("start", "end")})
        launched = launched.assign(process=process[rows], began=work["start"][rows], ended=work["end"][rows])
        limit, count = end_before_waits(launched, waits)
        ends = work["end"].copy()
        ends[rows] = np.minimum(ends[rows], limit)
        self._repaired[LATER_WORK] += count
        work.replace("end", ends)

    def _keep_work(self, chosen: Bools) -> None:
        self._events.work.keep(chosen)
        self._call, self._process = self._call[chosen], self._process[chosen]

    def _cut_overruns(self) -> tuple[int, int]:
        """Cut work that overruns the next work of its stream; return the first and the last time that are left."""
        events, work = self._events, self._events.work
        order = np.argsort(work["start"], kind="stable")
        columns = {name: work[name][order] for name in ("gpu", "context", "stream")} | {"process": self._process[order]}
        stream = pd.DataFrame(columns).groupby([*columns], sort=False).ngroup().to_numpy()
        stream = np.where(columns["stream"] < 0, -1, stream)
        start, end, call = work["start"][order], work["end"][order], self._call[order]
        ends = work["end"].copy()
        ends[order], self._repaired[LATER_WORK] = cut_overruns(stream, call, start, end)
        work.replace("end", ends)
        self._cut_unsynchronized()
        self._cut_after_end()
        is_near = self._stretch.holds(work["end"])
        events.wrong[FAR] += int((~is_near).sum())
        self._keep_work(is_near)
        tables = [table for table in (events.ranges, events.modules, events.calls, work) if len(table)]
        first, last = (
            min(int(table["start"].min()) for table in tables),
            max(int(table["end"].max()) for table in tables),
        )
        if last - first > _LONGEST_NS:
            raise InputError(f"{self.path} is damaged: its events are months apart.", COPY_TRACE_AGAIN)
        return first, last

    def recording(self) -> Recording:
        """Return what the trace says about itself."""
        return Recording(
            file=name_of(self.path),
            nsys_version="",
            schema_version="",
            driver_version="",
            started_utc="",
            duration_ns=float(self._last_ns - self._first_ns),
            frequency_hz=math.nan,
            metrics_requested=len(self._events.counters) > 0,
            identity=Identity(ranks=self._ranks()),
            recorder="jax" if self._jax.is_of_jax else "torch",
        )

    def samples(self, metrics: Iterable[str]) -> Samples:
        """Read the counters that were sampled beside the trace, see ``tcprof.frames.SAMPLES``."""
        counters = self._events.counters
        rows = pd.DataFrame({name: counters[name] for name in ("gpu", "column", "start", "value")})
        rows["start"] -= self._first_ns
        return make_samples(rows, self.gpus(), self._events.wrong, frozenset(metrics))

    def _ranks(self) -> tuple[Rank, ...]:
        given = self._about.get(RANK_MEMBER)
        facts = given if isinstance(given, dict) else {}
        rank, size = (whole(facts.get(name), MOST_RANKS + 1) for name in ("rank", "world_size"))
        processes = np.unique(self._process[self._process >= 0]).tolist()
        if len(processes) > 1:  # merged traces, which keep what the first one says of itself
            numbers = self._events.number_ranks(processes)
            size = max(size, max(numbers.values()) + 1)
            return tuple(
                Rank(numbers[process], size, process=process)
                for process in sorted(numbers, key=lambda process: numbers[process])
            )
        return (Rank(rank, max(size, 0)),) if rank >= 0 and (size > rank or "world_size" not in facts) else ()

    def gpus(self) -> pd.DataFrame:
        """List the GPUs that worked, see ``tcprof.frames.GPUS``; a trace does not name their chips."""
        listed = self._about.get("deviceProperties")
        given = [device for device in (listed if isinstance(listed, list) else []) if isinstance(device, dict)]
        properties = {whole(device.get("id"), _MOST_SMS): device for device in given}
        names = np.union1d(self._events.calls["name"], self._events.work["name"])
        called = map(self._events.names.text, names.tolist())
        unnamed = "AMD GPU" if any(map(_OF_AMD.match, called)) else ""
        rows = []
        for gpu in np.unique(self._events.work["gpu"]).tolist():
            facts = properties.get(self._devices[gpu], {})
            name = facts.get("name")
            limits = {"sm_count": ("numSms", _MOST_SMS), "memory_bytes": ("totalGlobalMem", _MOST_BYTES)}
            numbers = {ours: whole(facts.get(theirs), most) for ours, (theirs, most) in limits.items()}
            row = {"gpu": gpu, "name": sound(name) if isinstance(name, str) and name else unnamed, "chip": ""}
            rows.append(row | {ours: number if number > 0 else math.nan for ours, number in numbers.items()})
        return GPUS.conform(pd.DataFrame(rows)) if rows else GPUS.empty()

    def ranges(self) -> pd.DataFrame:
        """List annotations, calls of modules, and ops, see ``tcprof.frames.NVTX_RANGES``."""
        ranges, called, compiled = self._events.ranges, self._events.modules, self._jax.ranges(self._events.calls)
        count = len(called["start"]) + len(compiled)
        names = np.concatenate([ranges["name"], name_calls(called, self._events.names), compiled["name"]])
        none = np.zeros(len(names), dtype=np.int8)
        domain = np.append(ranges["is_op"], none[:count])
        domain[len(domain) - len(compiled) :] = _OF_XLA
        process, thread, start, end = (
            np.concatenate([ranges[name], called[name], compiled[name]])
            for name in ("process", "thread", "start", "end")
        )
        columns = {
            "process": process,
            "thread": thread,
            "domain": pd.Categorical.from_codes(domain, _DOMAINS),
            "name": self._events.names.categorical(names),
            "start_end": none.astype(bool),
            "sequence": np.append(ranges["sequence"], np.full(count, np.nan)),
            "sizes": self._events.sizes.categorical(
                np.append(ranges["sizes"], np.full(count, self._events.sizes.code("")))
            ),
            "output_sizes": pd.Categorical.from_codes(none, [""]),
        }
        return self._conform(NVTX_RANGES, columns, start, end_ns=end)

    def api_calls(self) -> pd.DataFrame:
        """List the calls that started the recorded activities, see ``tcprof.frames.API_CALLS``."""
        calls = self._events.calls
        columns = {name: calls[name] for name in ("process", "thread")} | {"correlation": np.arange(len(calls))}
        frame = self._conform(API_CALLS, columns, calls["start"], returned_ns=calls["end"])
        return API_CALLS.conform(frame[frame["correlation"].isin(self._call)])

    def waits(self) -> pd.DataFrame:
        """List the calls that wait for a GPU, see ``tcprof.frames.WAITS``."""
        return self._list_calls("Synchronize")

    def setup_calls(self) -> pd.DataFrame:
        """List the calls that load code or manage memory, with the columns of ``tcprof.frames.WAITS``."""
        return self._list_calls("Load", "Malloc", "Alloc", "Free")

    def _list_calls(self, *parts: str) -> pd.DataFrame:
        calls = self._events.calls
        columns = {name: calls[name] for name in ("process", "thread")}
        columns["name"] = self._events.names.categorical(calls["name"])
        frame = self._conform(WAITS, columns, calls["start"], end_ns=calls["end"])
        called = [name for name in frame["name"].cat.categories if any(part in name for part in parts)]
        return WAITS.conform(frame[frame["name"].isin(called)])

    def lost_launches(self) -> int | None:
        """Count launches whose kernels are not in the trace; None where this is unknown."""
        names = pd.Series(self._events.names.categorical(self._events.calls["name"])).astype(str)
        return count_lost_launches(self._events.calls, names, self._call, self._events.work["stream"])

    def activities(self) -> pd.DataFrame:
        """List work on the GPUs, see ``tcprof.frames.ACTIVITIES``; the correlation is the row of its call."""
        work, names = self._events.work, self._events.names
        columns = {
            "gpu": work["gpu"],
            "kind": pd.Categorical.from_codes(work["kind"], list(KINDS)),
            "name": names.categorical(work["name"], _name_work),
            "launch_geometry": self._events.grids.categorical(work["grid"]),
            "stream": work["stream"],
            "process": self._process,
            "correlation": self._call,
            "moved_bytes": work["bytes"],
            "host_memory": names.categorical(work["name"], _host_memory),
        }
        return self._conform(ACTIVITIES, columns, work["start"], end_ns=work["end"])

    def wrong(self) -> tuple[InvalidValues, ...]:
        """List what was left out, and what was corrected."""
        odd = Counter({f"impossible {name}": count for name, count in self._events.odd.items()}) + self._repaired
        rows = [(what, count, False) for what, count in self._events.wrong.items() if count]
        rows += [(what, count, True) for what, count in odd.items() if count]
        return tuple(InvalidValues(EVENTS, *row) for row in sorted(rows))

    def _conform(self, schema: Schema, columns: Mapping[str, Any], start: Any, **ends: Any) -> pd.DataFrame:
        """Make a frame in order of start, on a clock that begins with the first event."""
        zero = self._first_ns
        times = {"start_ns": start - zero} | {name: end - zero for name, end in ends.items()}
        frame = pd.DataFrame({**columns, **times}, copy=False)
        return schema.conform(frame.iloc[np.argsort(start, kind="stable")])


def _name_work(name: str) -> str:
    """Name a copy by its direction, as ``tcprof.frames`` does; a kernel's name stays."""
    copy = _COPY.match(name)
    return _WAYS.get(copy.group("way"), name) if copy else "memset" if name.startswith(_MEMSET) else name


def _host_memory(name: str) -> str:
    copy = _COPY.match(name)
    return next((_MEMORY[side] for side in copy.group("source", "target") if side in _MEMORY), "") if copy else ""
