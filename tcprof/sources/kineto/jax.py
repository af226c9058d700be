"""Traces of JAX's profiler (XLA's, shown by XProf) as if torch.profiler had written them."""

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from tcprof.sources.kineto.events import NumberColumns, TextCodes, whole
from tcprof.sources.xla import MODULE

# What processes and threads are called says what an event is. Beside each stream stand lines that XLA derived from it
# ("XLA Ops", "XLA Modules"), whose times hold the gaps between kernels: they are left out. See XLA's
# xla/backends/profiler/gpu/cupti_collector.cc.
_GPU = re.compile(r"/device:GPU:(\d{1,3})")
_HOST = "/host:"
_STREAM = re.compile(r"Stream #(\d{1,9})\b.*")
_CALL = re.compile(r"(?:cu|cuda|hip)[A-Z]\w*")  # of CUDA, or of ROCm
_DETAIL = re.compile(r"(\w+):([\w,]+)")
_COPY = re.compile(r"Memcpy([HDP])2([HDP])")
_MOST = 1 << 32

_Event = Mapping[str, Any]


class JaxEvents:
    """Events of a JAX trace, as Kineto would have written them."""

    def __init__(self, names: TextCodes) -> None:
        self.names = names
        # Parts of programs that were launched: the numbers of their names, by correlation.
        self.launched = NumberColumns("correlation module part")
        self._gpus: dict[object, int] = {}
        self._hosts: set[object] = set()
        self._streams: dict[tuple[object, object], int] = {}

    @property
    def is_of_jax(self) -> bool:
        """Tell whether a process has a name that JAX gives."""
        return bool(self._gpus or self._hosts)

    def change(self, event: _Event) -> _Event | None:
        """Turn an event of a JAX trace into one of Kineto; None for all that Kineto would not have."""
        args, name, process, thread = (event.get(key) for key in ("args", "name", "pid", "tid"))
        if type(process) is not int or type(name) is not str:
            return None
        details = args if isinstance(args, dict) else {}
        if event.get("ph") == "M":
            self._learn(name, str(details.get("name")), process, thread)
        elif event.get("ph") == "C":
            return {**event, "pid": self._gpus[process]} if process in self._gpus else None
        elif process in self._gpus:
            stream = self._streams.get((process, thread)) if type(thread) is int else None
            return None if stream is None else self._work(event, details, name, self._gpus[process], stream)
        elif process in self._hosts and details:
            if "step_num" in details:
                return {**event, "cat": "user_annotation"}
            if "correlation_id" in details and _CALL.fullmatch(name):
                return {**event, "cat": "cuda_runtime", "args": {"correlation": _number(details["correlation_id"])}}
        return None

    def _learn(self, what: str, called: str, process: int, thread: object) -> None:
        gpu, stream = _GPU.fullmatch(called), _STREAM.fullmatch(called)
        if what == "process_name" and gpu:
            self._gpus[process] = int(gpu[1])
        elif what == "process_name" and called.startswith(_HOST):
            self._hosts.add(process)
        elif what == "thread_name" and stream and type(thread) is int:
            self._streams[process, thread] = int(stream[1])

    def _work(self, event: _Event, args: _Event, name: str, gpu: int, stream: int) -> _Event:
        correlation = _number(args.get("correlation_id"))
        kind = next((kind for kind in ("memcpy", "memset") if f"{kind}_details" in args), "kernel")
        details = dict(_DETAIL.findall(str(args.get(f"{kind}_details"))))
        module, part = (args.get(key) for key in ("hlo_module", "hlo_op"))
        if correlation >= 0 and isinstance(module, str) and isinstance(part, str):
            scope = str(args.get("name", str(args.get("tf_op")).partition(":")[0]))
            full = f"{scope}, {part}" if "/" in scope else part
            self.launched.add(correlation, self.names.code(MODULE + module), self.names.code(full))
        if copy := _COPY.fullmatch(name):
            source, target = (details.get(side, "").capitalize() for side in ("kind_src", "kind_dst"))
            name = f"Memcpy {copy[1]}to{copy[2]} ({source} -> {target})"
        place = {"device": gpu, "stream": stream, "correlation": correlation}
        size = {"grid": _sizes(details.get("grid")), "block": _sizes(details.get("block"))}
        category = "kernel" if kind == "kernel" else f"gpu_{kind}"
        moved = {"bytes": _number(details.get("size", details.get("num_bytes")))}
        return {**event, "cat": category, "name": name, "args": place | size | moved}

    def ranges(self, calls: NumberColumns) -> pd.DataFrame:
        """List the runs of programs and the parts in them, taken from the calls that launched them.

        A run ends where another program is launched by its thread, or where its own first part is launched again.
        """
        columns = {name: calls[name] for name in ("correlation", "process", "thread", "start", "end")}
        parts = pd.DataFrame({name: self.launched[name] for name in ("correlation", "module", "part")})
        rows = pd.DataFrame(columns).drop_duplicates("correlation")
        rows = rows.merge(parts.drop_duplicates("correlation"), on="correlation")
        rows = rows.sort_values(["process", "thread", "start"], kind="stable")
        change = (rows[["process", "thread", "module"]].diff() != 0).any(axis=1)
        first = rows["part"].groupby(change.cumsum()).transform("first")
        follows = rows["part"] == rows["part"].shift()
        run = (change | (rows["part"] == first) & ~follows).cumsum()
        part = (run.diff().ne(0) | ~follows).cumsum()
        spans = {"process": ("process", "first"), "thread": ("thread", "first")}
        spans |= {"start": ("start", "min"), "end": ("end", "max")}
        runs = rows.groupby(run.to_numpy()).agg(**spans, name=("module", "first"))
        inside = rows.groupby(part.to_numpy()).agg(**spans, name=("part", "first"))
        return pd.concat([runs, inside], ignore_index=True)


def _number(text: object) -> int:
    return whole(int(text), _MOST) if isinstance(text, str) and text.isdecimal() and len(text) < 16 else -1


def _sizes(text: str | None) -> list[int]:
    sizes = [_number(number) for number in (text or "").split(",")]
    return sizes if min(sizes) >= 0 else []
