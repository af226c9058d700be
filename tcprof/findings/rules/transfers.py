"""Rules on what is moved: copies, and communication between GPUs."""

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.host import BLOCKED_NS, FROM_MEMORY, LAUNCHES, TO_GPU, find_launching_ranges
from tcprof.analysis.ranges.projection import launches_of
from tcprof.findings.pricing import CODE, MEASURED
from tcprof.findings.pricing.advice import MEDIUM, Advice, IdleTime, Option, rule
from tcprof.findings.pricing.builders import (
    about_ranges,
    are_pinned,
    cap_to_overlap,
    is_mostly_pinned,
    make_advice,
    note_inferred_pinning,
    time_of,
)
from tcprof.findings.pricing.multi_gpu import find_sent, times_of_communication, waiting_ns
from tcprof.findings.pricing.step import Step
from tcprof.frames import HOST_TO_DEVICE, PAGEABLE

_LEAST_PCT = 3.0  # of a step


@rule("exposed-copies")
def exposed_copies(step: Step) -> list[Advice]:
    """Copies to the GPU from pinned memory with nothing beside them."""
    copies = _find_copies(step)
    time = time_of(copies) / step.count
    if not step.name or step.share_pct(time) < _LEAST_PCT or not are_pinned(step):
        return []
    text = (
        "Overlap copies",
        f"Copies to the GPU with nothing else running take {step.format_share(time)}",
        "They come from pinned memory: on a separate stream they can overlap with kernels.",
    )
    gain = step.price_kernels(cap_to_overlap(step, MEASURED["assumed"]["copies"], time))
    option = Option("copies beside kernels", CODE["copy_stream"], gain)
    return [_advise_copies(step, "exposed-copies", text, copies, option)]


@rule("pageable-copies", idle=IdleTime.FIRST)
def pageable_copies(step: Step) -> list[Advice]:
    """Copies to the GPU from memory that is not pinned, for which the CPU waits."""
    copies = _find_copies(step)
    if not step.name or copies.empty or are_pinned(step):
        return []
    time, on_cpu = time_of(copies) / step.count, _time_calls(step, copies)
    gain = step.price_copies(
        MEASURED["assumed"]["copies_pageable"], cap_to_overlap(step, MEASURED["assumed"]["pinned"], time), on_cpu
    )
    waits = step.host.waits["time_ns"].reindex([TO_GPU, FROM_MEMORY[PAGEABLE]]).sum()
    if step.share_pct(time + waits) < _LEAST_PCT or (gain.is_futile and step.share_pct(time) < _LEAST_PCT):
        return []
    text = (
        "Copy from pinned memory",
        f"Copies to the GPU from pageable memory take {step.format_share(time)} with nothing else running. The CPU "
        f"waits for them {units.format_ns(waits + on_cpu)} of each step",
        "From pinned memory they are faster, and the CPU prepares the next kernels meanwhile.",
    )
    return [_advise_copies(step, "pageable-copies", text, copies, Option("pinned memory", CODE["pinned"], gain))]


def _find_copies(step: Step) -> pd.DataFrame:
    return step.copies[(step.copies["name"] == HOST_TO_DEVICE) & (step.copies["exposed_ns"] > 0)]


def _time_calls(step: Step, copies: pd.DataFrame) -> float:
    """CPU time of a step in the calls that start copies, without what is a wait already."""
    calls = step.analysis.api_calls
    launch = launches_of(calls, copies)
    is_known = launch >= 0
    start, returned = (calls[name].to_numpy(np.float64)[launch[is_known]] for name in ("start_ns", "returned_ns"))
    begun = np.minimum(copies["start_ns"].to_numpy()[is_known], returned)
    work = returned - np.where(begun - start >= BLOCKED_NS, begun, start)
    return float(np.nansum(work.clip(0))) / step.count


def _advise_copies(step: Step, name: str, text: tuple[str, str, str], copies: pd.DataFrame, option: Option) -> Advice:
    time = time_of(copies) / step.count
    count = units.format_things(len(copies) / step.count, "copy", "copies")
    evidence, options = [f"{count} in a step, {units.format_ns(time)}", *note_inferred_pinning(step)], [option]
    if 2 * time > step.length_ns:
        evidence.append("they take longer than everything else, so most of them have no work to overlap with")
        options.append(Option("send less", CODE["send_less"]))
    about = about_ranges(step, find_launching_ranges(step.analysis, copies))
    return make_advice(step, name, text, options, about, evidence, raise_confidence="")


_OF_KERNELS = 2.0  # times as long as kernels take


@rule("mostly-copies")
def mostly_copies(step: Step) -> list[Advice]:
    """Programs without a framework in which nothing iterates, and copies take longer than kernels."""
    if step.name or step.uses_framework or not len(step.kernels):
        return []
    time, kernels = time_of(step.copies), time_of(step.kernels)
    if step.share_pct(time) < 30.0 or time < _OF_KERNELS * kernels:
        return []
    is_pageable = not is_mostly_pinned(step.copies)
    text = (
        "Keep data on the GPU",
        f"Copies take {step.format_share(time)}. Kernels take {units.format_pct(step.share_pct(kernels))}",
        "Data that stays on the GPU is copied once" + (", and pinned memory is copied faster." if is_pageable else "."),
    )
    evidence = [
        f"{way}: {units.format_ns(row['exposed_ns'])} for {units.format_bytes(row['moved_bytes'])}"
        for way, row in step.copies.groupby("name", observed=True)[["exposed_ns", "moved_bytes"]].sum().iterrows()
    ]
    options = [Option("keep data on the GPU", CODE["malloc_host"] * is_pageable)]
    return [make_advice(step, "mostly-copies", text, options, None, evidence, MEDIUM, "")]


@rule("exposed-communication", of_all_gpus=True)
def exposed_communication(step: Step) -> list[Advice]:
    """Communication between GPUs with nothing beside it."""
    rows = step.kernels[step.kernels["communication"]]
    time = step.communication_ns - waiting_ns(step)  # for a slower GPU, which is another rule's
    if step.share_pct(time) < 3.0:
        return []
    text = (
        "Overlap communication",
        f"Communication with nothing else running takes {step.format_share(time)}",
        "Overlapped with computation, it costs little.",
    )
    is_sent = 2 * time_of(find_sent(step)) > step.communication_ns
    gain = step.price_kernels(cap_to_overlap(step, MEASURED["assumed"]["communication"], time))
    options = [Option("overlap", CODE["overlap_stages"] if is_sent else CODE["overlap_gradients"], gain)]
    return [make_advice(step, "exposed-communication", text, options, rows=rows)]


@rule("uneven-gpus", of_all_gpus=True)
def uneven_gpus(step: Step) -> list[Advice]:
    """One GPU takes longer than the others, which wait for it."""
    times = times_of_communication(step)
    uneven = sum(times.values()) / len(times) - times[step.gpu]
    if times[step.gpu] > min(times.values()) or step.share_pct(uneven) < 3.0:
        return []
    if not step.is_cost_known and step.is_cpu_bound and step.host.idle_ns[LAUNCHES] >= uneven:
        return []
    most = units.format_pct(step.share_pct(max(times.values())))
    text = (
        "Balance the GPUs",
        f"Other GPUs wait for GPU {step.gpu}. Communication takes {step.format_share(times[step.gpu])} there and up to "
        f"{most} on the others",
        "All GPUs run at the pace of the slowest.",
    )
    evidence = [
        f"GPU {gpu}: {units.format_ns(time)} of communication with nothing else running" for gpu, time in times.items()
    ]
    option = Option("even work", CODE["even_work"], step.price_kernels(MEASURED["assumed"]["uneven"] * uneven))
    rows = step.kernels[step.kernels["communication"]]
    return [make_advice(step, "uneven-gpus", text, [option], evidence=evidence, rows=rows)]
