"""Damaged and merged traces: a small one of each profiler's kind, whose events and text are changed."""

import json
from pathlib import Path
from random import Random
from typing import Any

from fuzz import odd

Event = dict[str, Any]
STEPS, STEP_US = 8, 1000
NUMBERS: tuple[Any, ...] = (0, -1, 1e300, 3e15, -3e15, 2**63, 2**31, "7", None, True, [], {}, 1e-9, 2e6)
PIECES = (b"\\", b"\x01", b"\xff\xfe", b'"', b"NaN", b"1e999", b"\\u12", b"}", b"]", b"\\ud800")


def write_trace(path: Path) -> Path:
    """Steps of two kernels each and a copy, in one process."""
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": _rank(100, 0)}))
    return path


def _rank(process: Any, gpu: Any, device: int = 0, at: float = 1e9) -> list[Event]:
    events: list[Event] = []
    for number in range(1, 3 * STEPS + 1):
        step, place = divmod(number - 1, 3)
        start = at + STEP_US * step + 10 * place
        one = {"ph": "X", "pid": process, "tid": 7, "ts": start}
        if not place:
            events.append({**one, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "dur": STEP_US - 10})
            events.append({**one, "cat": "python_function", "name": "nn.Module: Net_0", "dur": 500})
        call = "cudaMemcpyAsync" if place == 2 else "cudaLaunchKernel"
        events.append({**one, "cat": "cuda_runtime", "name": call, "dur": 5, "args": {"correlation": number}})
        of = {"device": device, "stream": 7, "correlation": number, "bytes": 64, "grid": [8, 1, 1], "block": [64, 1, 1]}
        kind, name = ("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)") if place == 2 else ("kernel", "sgemm")
        work = {"cat": kind, "name": name, "pid": gpu, "ts": start + 40 + 290 * place, "dur": 250}
        events.append({**one, **work, "args": of})
    return events


def _content(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def damage_events(random: Random, path: Path) -> str:
    """Some events' times, places, names or numbers, or the events themselves."""
    content = _content(path)
    events = content["traceEvents"]
    count = random.choice((1, 1, 5, 40))
    where = random.choice(("ts", "dur", "pid", "tid", "name", "cat", "args", "correlation", "stream", "device", "gone"))
    for event in random.sample(events, min(count, len(events))):
        value = odd.any_text(random) if where == "name" else random.choice(NUMBERS)
        if where == "gone":
            events.remove(event)
        elif where in ("correlation", "stream", "device"):
            event.setdefault("args", {})
            event["args"] = {**event["args"], where: value} if isinstance(event["args"], dict) else value
        else:
            event[where] = value
    path.write_text(json.dumps(content))
    return f"{count} events: {where}"


def merge_ranks(random: Random, path: Path) -> str:
    """Other ranks behind the first one, or among its events: with the same numbers, and the same GPU or another."""
    content = _content(path)
    others, tagged, shared = random.choice((1, 2, 7)), random.random() < 0.4, random.random() < 0.4
    for other in range(1, others + 1):
        process, gpu = (f"[TP{other:02d}] {number}" if tagged else number for number in (100 + other, other))
        late = random.choice((0, 30, 1e5))
        content["traceEvents"] += _rank(process, gpu, 0 if shared else other, 1e9 + late)
    is_sorted = random.random() < 0.3
    if is_sorted:
        content["traceEvents"].sort(key=lambda event: str(event.get("ts")))
    path.write_text(json.dumps(content))
    return f"{others} ranks more{', tagged' * tagged}{', on one GPU number' * shared}{', by time' * is_sorted}"


def repeat_session(random: Random, path: Path) -> str:
    """A second session in the file, which counts from 1 again."""
    content = _content(path)
    content["traceEvents"] += _rank(100, 0, at=1e9 + random.choice((0, 8000, 1e8)))
    path.write_text(json.dumps(content))
    return "a second session"


def damage_text(random: Random, path: Path) -> str:
    """Bytes that no JSON has, or the end missing."""
    text = path.read_bytes()
    at = random.randrange(len(text))
    piece = random.choice(PIECES)
    is_cut = random.random() < 0.2
    path.write_bytes(text[:at] if is_cut else text[:at] + piece + text[at:])
    return f"cut at {at}" if is_cut else f"{piece!r} at {at}"


MUTATIONS = (damage_events, damage_events, merge_ranks, merge_ranks, repeat_session)
IN_FILE = (damage_text,)
