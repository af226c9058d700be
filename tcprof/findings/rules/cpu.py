"""Rules on idle time of the GPU while the CPU launches, waits for it, or does other work."""

from collections.abc import Collection
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.host import (
    FROM_MEMORY,
    FULL_QUEUE,
    LAUNCH_THAT_BLOCKS,
    LAUNCHES,
    LONG_NS,
    OF_QUEUE,
    OF_SCALER,
    TO_GPU,
    WAITS,
    WORK,
)
from tcprof.analysis.steps.marked_steps import FEWEST
from tcprof.annotate.steps import BACKWARD, DATA, DOMAIN, FORWARD, OPTIMIZER
from tcprof.arrays import rows_of_gpu
from tcprof.findings.pricing import CODE, MEASURED
from tcprof.findings.pricing.advice import (
    HIGH,
    LOW,
    MEDIUM,
    NOTABLE_PCT,
    UNPRICED,
    Advice,
    Gain,
    IdleTime,
    Option,
    rule,
)
from tcprof.findings.pricing.builders import (
    TRY,
    about_ranges,
    about_step,
    are_pinned,
    make_advice,
    note_inferred_pinning,
    replays_graphs,
)
from tcprof.findings.pricing.products import lacks_precision
from tcprof.findings.pricing.step import ALL, NONE, Step
from tcprof.frames import OPS_DOMAIN, PAGEABLE
from tcprof.untrusted import one_line

Lines: TypeAlias = tuple[str, ...]
_LEAST_PCT = 5.0
_MOST_IN_A_RUN = 0.5  # of the launches: less, and a graph holds little before the waits are removed
_GRAPHS, _WHOLE_GRAPH = (("CUDA graphs", CODE[code]) for code in ("graphs", "whole_graph"))
_MORE_GRAPHS = "CUDA graphs for more of the step", CODE["whole_graph"]
_OFTEN = 8  # calls of a model in a step: compiled, each takes longer than the few launches that it replaces
_FEWER = "Fewer launches help. Mixed precision won't: it adds launches."
_SIZES = "Sizes change from step to step, but a graph needs fixed sizes. Caches must be static, too."
_CHANGING = 0.05  # of the launches: what prepares a step and ends an epoch has fewer
_ABOUT_OPS = "Recording a range for each PyTorch op slows launches more than this estimate assumes."
_ABOUT_RECORDING = "Profiling slows each launch; by how much is an assumption of this estimate."


@rule("launch-bound", idle=IdleTime.REST, after=("boolean-masks", "anomaly-detection"))
def launch_bound(step: Step, causes: Collection[str]) -> list[Advice]:
    """The GPU waits while the CPU launches kernels."""
    idle = step.host.idle_ns[LAUNCHES]
    if not step.is_cpu_bound or step.host.is_blocking:
        return []
    waits = _list_removable(step)["count"]
    inside = waits[~waits.index.isin([FULL_QUEUE, OF_SCALER])]
    run_share = step.host.run_share
    # A graph of the whole step also replaces what the CPU does beside launching in ranges that launch.
    gain = step.price_launches(
        MEASURED["graphs"]["removed"] * np.array([run_share, run_share, 1.0]),
        MEASURED["graphs"]["busy"],
        step.host.idle_ns[WAITS] + step.host.work_of_launching_ns,
    )
    if gain.likely_pct < _LEAST_PCT or gain.low_pct < run_share * NOTABLE_PCT:
        return []
    title, graphs = _MORE_GRAPHS if replays_graphs(step) else _WHOLE_GRAPH if _calls_often(step) else _GRAPHS
    action, meaning, named = f"{'extend the' if replays_graphs(step) else 'use'} CUDA graphs", _FEWER, inside.index[:0]
    if len(inside) and run_share < _MOST_IN_A_RUN and not causes:
        named, first = inside.index, _list_options(step, step.host.waits.loc[inside.index], UNPRICED)[0]
        action, graphs = f"{first.title}, then {action}", first.code + graphs
        meaning = (
            f"A graph cannot include the {units.format_count(inside.sum())} calls in a step that wait for the GPU."
        )
    elif _changes_sizes(step) and not causes:
        action, graphs, meaning = f"pad inputs to one size, then {action}", CODE["one_size"] + graphs, _SIZES
    action = f"{action[0].upper()}{action[1:]}"
    text = (action, f"The GPU is idle {step.format_share(idle)} while the CPU launches kernels", meaning)
    options = [Option(title, graphs, gain), Option("twice the batch", CODE["twice_the_batch"], step.price_batch(NONE))]
    has_ops = bool((step.analysis.nvtx_ranges["domain"] == OPS_DOMAIN).any()) and not step.is_cost_known
    surer = _ABOUT_OPS if has_ops else "" if step.is_cost_known else _ABOUT_RECORDING
    if surer and (option := step.remedies.unprofiled):
        surer += " Record with --annotate modules." if has_ops else f" Measure it with {option}."
    about, evidence = about_step(step), _describe_launches(step, named)
    return [make_advice(step, "launch-bound", text, options, about, evidence, _confidence(step, gain), surer)]


def _describe_launches(step: Step, waits: "pd.Index[str]") -> Lines:
    count, busy = float(step.kernels["launches"].sum()), float(step.kernels["exposed_ns"].sum())
    return (
        f"{units.format_count(count)} kernels run {units.format_ns(busy / max(count, 1))} each on average",
        f"the GPU is busy {step.format_share(step.busy_ns)}",
        f"the CPU is busy {units.format_pct(min(100.0, step.share_pct(step.cpu_ns)))} of it",
        *_list_waits(step.host.waits.loc[waits]),
    )


def _calls_often(step: Step) -> bool:
    """Tell whether the step calls a model again and again, as a solver does."""
    paths, instances = step.analysis.paths, step.analysis.instances
    around = paths["name"].reindex(paths["parent_id"]).to_numpy()
    is_call = (paths["domain"] == DOMAIN) & (around == FORWARD)
    count = (rows_of_gpu(instances, step.gpu)["path_id"].map(is_call)).sum()
    return bool(count >= _OFTEN * max(len(rows_of_gpu(step.analysis.steps, step.gpu)), 1))


def _changes_sizes(step: Step) -> bool:
    """Tell whether many launches are of kernels and grids that few of the steps have."""
    steps = step.launches.groupby("kernel")["step"].nunique()
    is_rare = step.launches["kernel"].map(steps) <= step.count / 2
    return bool(step.name) and bool(is_rare.mean() >= _CHANGING)


def _confidence(step: Step, gain: Gain) -> str:
    if step.is_cost_known and gain.low_pct > _LEAST_PCT:
        return HIGH
    has_ops = (step.analysis.nvtx_ranges["domain"] == OPS_DOMAIN).any()
    return LOW if has_ops or not step.name else MEDIUM


_REMOVED = np.array([0.0, 0.85, 1.0])  # of the idle time: nothing, where workers cost what they save
_NOTABLE = 0.01  # of the idle time, to be named
_UNKNOWN = "No range shows whether this is data loading; a CPU profiler can."
_TOO_SLOW = (
    "Copies come from pinned memory, so the program may already prefetch. If it does, loading itself is too slow."
)
_IN_MPI = "Most of this time is in MPI calls, which wait for other processes or for the network."
_NAME_IT = "Mark the parts of the step with {}: a range “load” separates loading from other work."


@rule("cpu-work", idle=IdleTime.SHARED, after=("boolean-masks", "anomaly-detection"))
def cpu_work(step: Step, causes: Collection[str]) -> list[Advice]:
    """The GPU waits while the CPU does something other than launching: loading data, for the most part."""
    idle, launching = step.host.idle_ns[WORK], step.host.launching
    work = step.host.work[step.host.work > _NOTABLE * idle]
    has_data = (step.analysis.nvtx_ranges["name"] == DATA).any()
    is_load = work.index == DATA if has_data else work.index.isin(step.host.loading - launching)
    # Others are stalls, and bursts of a loader that is ahead; backward passes and optimizers are a framework's code.
    of_others = launching if causes else {BACKWARD, OPTIMIZER}
    is_steady = work.index.isin(step.host.steady) & ~work.index.isin(of_others)
    is_of_mpi = 2 * float(work[work.index.str.startswith("MPI_")].sum()) > idle
    is_loading = bool(not is_of_mpi and 2 * work[is_load & is_steady].sum() > idle)
    gain = step.price_idle(_REMOVED * np.array([0.0, work[is_steady & (is_load | (not is_loading))].sum(), idle]))
    if not step.name or gain.likely_pct < _LEAST_PCT:
        return []
    named = [
        f"{units.format_ns(time)} in {f'“{one_line(name, 40)}”' if name else 'no range'}"
        for name, time in work.head(3).items()
    ]
    is_pinned = are_pinned(step)
    action, why, title, code = "Reduce other CPU work", _UNKNOWN, "find it", "perf"
    if is_of_mpi:
        action, why, title, code = "Overlap MPI with kernels", _IN_MPI, "messages beside kernels", "mpi_messages"
    elif is_loading and is_pinned:
        action, why, title, code = "Load data faster", _TOO_SLOW, "load faster", "load_faster"
    elif is_loading:
        why = f"If this is data loading, {'workers' if step.uses_framework else 'another thread'} can prefetch."
        action, title, code = "Prefetch data", "load ahead", "load_ahead"
    elif step.uses_framework:
        code = "py_spy"
    text = (action, f"The GPU is idle {step.format_share(idle)} while the CPU launches no kernels", why)
    evidence = (
        f"idle time of a step: {', '.join(named)}",
        *note_inferred_pinning(step)[: int(is_pinned and is_loading)],
    )
    options, about = [Option(title, CODE[code], gain)], about_ranges(step, work.index)
    confidence = MEDIUM if step.is_cost_known else LOW
    surer = TRY if is_of_mpi or (is_loading and work.index[0]) else _NAME_IT.format(step.remedies.ranges)
    return [make_advice(step, "cpu-work", text, options, about, evidence, confidence, surer)]


_OF_MEMORY, _ALLOCATED = "Malloc|Alloc|Free", "memory that stays allocated"
_KEEP, _UNSCALED = "keep results on the GPU", "a fused optimizer, or bfloat16"
_A_STEP_LATER = "read results a step later"  # of inference, which needs them
_FIND_THEM = "Find the calls with torch.cuda.set_sync_debug_mode('warn')."
_LOOP = 10  # calls one after another that are a loop
_RECURS = 0.1  # calls in a step: fewer are the allocations of some steps
_MOST_LISTED, _NOTABLE_WAIT = 3, 0.01  # calls, and share of the waiting time, to be named


@rule("synchronizing-calls", idle=IdleTime.SHARED, after=("boolean-masks", "anomaly-detection"))
def synchronizing_calls(step: Step, causes: Collection[str]) -> list[Advice]:
    """The CPU waits for the GPU within the step, and the GPU then waits for the CPU."""
    idle = step.host.idle_ns[WAITS] + step.host.idle_ns[LAUNCHES]
    is_blocking = step.host.is_blocking or bool(causes)  # whose prices have the waits
    if not step.name or not step.cpu_ns > 0 or is_blocking or step.share_pct(idle) < NOTABLE_PCT:
        return []
    is_pageable = not are_pinned(step)  # waits for these are in the price of pageable-copies
    of_copies = [TO_GPU, FROM_MEMORY[PAGEABLE]] if is_pageable else []
    waits = _list_removable(step)
    waits = waits[~waits.index.isin([FULL_QUEUE, *of_copies])]
    of_memory = waits["time_ns"][waits.index.str.contains(_OF_MEMORY)].sum()
    # Without a replay only memory has a price: these calls wait whatever else the CPU does.
    is_of_memory = 2 * of_memory > waits["time_ns"].sum()
    if is_of_memory and step.count < FEWEST:
        return []  # the first steps of a program allocate
    most = step.host.idle_ns[WAITS] if is_of_memory else 0.0
    gain = _price(step, idle, is_pageable) if step.replay else step.price_idle(MEASURED["assumed"]["waits"] * most)
    if not len(waits) or not gain.likely_pct >= NOTABLE_PCT:
        return []
    waits = waits[waits["time_ns"] >= min(_NOTABLE_WAIT * waits["time_ns"].sum(), waits["time_ns"].max())]
    options = _list_options(step, waits, gain)
    if options[0].title == _A_STEP_LATER:  # unless what comes next depends on them
        options[0] = replace(options[0], gain=gain.with_shares((0.0, gain.likely_pct, gain.high_pct)))
    lost = min(step.time_waiting(but_for_copies=is_pageable), step.idle_ns) if step.replay else most
    text = (
        "Keep GPU memory allocated" if options[0].title == _ALLOCATED else "Remove host–device synchronizations",
        f"Synchronizing calls leave the GPU idle for {units.format_ns(lost)} of each {step.format_length()}",
        "No work is queued when they return, so the GPU waits for the next launches.",
    )
    confidence = MEDIUM if step.is_cost_known else LOW
    surer = _FIND_THEM if step.uses_framework and options[0].title == _KEEP else TRY
    about, evidence = about_ranges(step, waits["range"]), _list_waits(waits)
    return [make_advice(step, "synchronizing-calls", text, options, about, evidence, confidence, surer)]


def _list_removable(step: Step) -> pd.DataFrame:
    """List waits that recur and that the program can do without: not an optimizer's, such as those of L-BFGS."""
    waits = step.host.waits[~step.host.waits.index.isin(OF_QUEUE)]
    is_needed = (waits["range"] == OPTIMIZER) & (waits.index != OF_SCALER)
    return waits[~is_needed & (waits["count"] >= _RECURS)]


def _price(step: Step, idle: float, but_for_copies: bool) -> Gain:
    """What the waits cost; likely less than that where other work of the CPU may set the pace."""
    low, likely, high = MEASURED["assumed"]["waits"]
    cpu = np.maximum(0.0, 1 - MEASURED["assumed"]["looping"] * _time_loops(step) / step.cpu_ns)
    paced = step.host.idle_ns[WORK] > idle
    gain = step.price_waits(np.array([0.0 if paced else low, likely, high]), cpu, but_for_copies)
    most = [step.share_pct(idle)] * paced
    if step.replay and not step.is_cost_known:
        # That waits are longer with a faster CPU is assumed, so high alone has it.
        most.append(100 * likely * step.time_waiting(after=cpu[1], but_for_copies=but_for_copies) / gain.step_ns)
    return gain.with_shares((gain.low_pct, min(gain.likely_pct, *most), gain.high_pct)) if most else gain


def _time_loops(step: Step) -> float:
    """CPU time of a step in loops that wait in each turn, as for the norm of each gradient."""
    windows, waits = step.windows, step.analysis.waits.sort_values("start_ns")
    inside = waits["start_ns"].between(windows[0].min(), windows[1].max())
    gaps = waits["start_ns"].shift(-1) - waits["end_ns"]
    is_near = inside & (gaps < LONG_NS) & (waits["process"] == waits["process"].shift(-1))
    turns = is_near.groupby((~is_near).cumsum()).transform("sum")
    return float(gaps[is_near & (turns >= _LOOP)].sum()) / step.count


def _list_options(step: Step, waits: pd.DataFrame, gain: Gain) -> list[Option]:
    """What makes the calls needless, those first that wait longest; the gain is that of all."""
    of_copies = waits.index.isin([TO_GPU, *FROM_MEMORY.values()])
    of_scaler, of_device = waits.index == OF_SCALER, waits.index.str.startswith("cudaDeviceSynchronize")
    of_memory = waits.index.str.contains(_OF_MEMORY)
    of_results = ~of_scaler & ~of_device & ~of_copies & ~of_memory
    has_bf16, is_inference = not lacks_precision(step, "bf16"), step.uses_framework and not step.trains
    groups = [
        (of_scaler, *((_UNSCALED, "fused_or_bfloat16") if has_bf16 else ("a fused optimizer", "fused_scaler"))),
        (of_copies, "non-blocking copies", "non_blocking"),
        (of_memory, _ALLOCATED, "keep_memory"),
        (of_device, "no device-wide waits", "no_device_waits"),
        (of_results, *((_A_STEP_LATER, "results_later") if is_inference else (_KEEP, "results_on_gpu"))),
    ]
    options = [(float(waits["time_ns"][which].sum()), title, CODE[code]) for which, title, code in groups]
    used = sorted((option for option in options if option[0] > 0), reverse=True)
    return [Option(title, code, UNPRICED if place else gain) for place, (_, title, code) in enumerate(used)]


def _list_waits(waits: pd.DataFrame) -> tuple[str, ...]:
    return tuple(
        f"{str(name).partition('_v')[0]}: {units.format_ns(row['time_ns'])} of waiting in "
        f"{units.format_things(row['count'], 'call')} per step"
        + (f", mostly in “{one_line(row['range'], 40)}”" if row["range"] else "")
        for name, row in waits.head(_MOST_LISTED).iterrows()
    )


_AGAIN = "Record again without it, since other advice may change."


@rule("blocking-launches")
def blocking_launches(step: Step) -> list[Advice]:
    """Each launch waits until its kernel has ended."""
    if not step.host.is_blocking:
        return []
    gain = step.price_waits(ALL, MEASURED["blocking"]["cpu"])
    if gain.is_known and gain.likely_pct < NOTABLE_PCT:
        return []
    waits = step.host.waits.loc[LAUNCH_THAT_BLOCKS]
    launches = units.format_things(waits["count"], "launch", "launches")
    text = (
        "Unset CUDA_LAUNCH_BLOCKING",
        f"Each launch waits for its kernel to end, and the GPU is idle {step.format_share(step.idle_ns)}",
        "CUDA_LAUNCH_BLOCKING=1, which is for debugging, makes launches wait.",
    )
    evidence = (f"{launches} per step wait for their kernels: {units.format_ns(waits['time_ns'])}",)
    options = [Option("unset CUDA_LAUNCH_BLOCKING", CODE["unset_blocking"], gain)]
    about = about_step(step)
    return [make_advice(step, "blocking-launches", text, options, about, evidence, MEDIUM, _AGAIN)]
