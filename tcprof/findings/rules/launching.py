"""Rules on idle time of the GPU while the CPU is at work."""

import numpy as np

from tcprof import units
from tcprof.analysis.host import FULL_QUEUE, LAUNCHES, OF_SCALER, WAITS, WORK
from tcprof.findings.pricing import MEASURED
from tcprof.findings.pricing.advice import HIGH, LOW, MEDIUM, NOTABLE_PCT, Advice, Gain, IdleTime, Option, rule
from tcprof.findings.pricing.builders import TRY, about_iteration, about_ranges, make_advice
from tcprof.findings.pricing.launching import are_pinned, replays_graphs, tell_guess
from tcprof.findings.pricing.step import NONE, Step
from tcprof.frames import KERNEL_KINDS, OPS_DOMAIN
from tcprof.untrusted import one_line

_LEAST_PCT = 5.0
_FEW_WAITS = 3  # of a step: fewer may lie between a graph and the next
_GRAPHS = (
    "# CUDA graphs of forward and backward:",
    'model = torch.compile(model, mode="reduce-overhead")',
    "# or of all of a step, with its inputs always in the same memory:",
    "with torch.cuda.graph(graph): step()  # once; then graph.replay()",
    "# one launch for many parameters:",
    "optimizer = torch.optim.AdamW(model.parameters(), fused=True)  # or SGD",
)
_MORE_GRAPHS = (
    "# all of a step in one graph, with its inputs always in the same memory:",
    "with torch.cuda.graph(graph): step()  # once; then graph.replay()",
    *_GRAPHS[-2:],
)
_ABOUT_OPS = (
    "The ranges of PyTorch's ops slow each launch more than is assumed here: record with --annotate modules "
    "--unprofiled."
)
_ABOUT_RECORDING = "Record with --unprofiled: recording adds to each launch, and how much is only assumed here."
_BATCH = ("loader = DataLoader(dataset, 2 * batch_size)  # the gain is that of a sample",)


@rule("launch-bound", idle=IdleTime.REST)
def launch_bound(step: Step) -> list[Advice]:
    """The GPU waits while the CPU launches kernels."""
    idle = step.host.idle_ns[LAUNCHES]
    if not step.is_cpu_bound or step.host.is_blocking:
        return []
    waits = step.host.waits["count"]
    inside = waits[~waits.index.isin([*KERNEL_KINDS, "memset", "memcpy", FULL_QUEUE, OF_SCALER])]
    removed = "removed" if inside.sum() < _FEW_WAITS else "removed_beside_waits"  # which no graph can hold
    # A graph of the whole step also replaces what the CPU does beside launching in ranges that launch.
    gain = step.price_launches(
        MEASURED["graphs"][removed],
        MEASURED["graphs"]["busy"],
        step.host.idle_ns[WAITS] + step.host.work_of_launching_ns,
    )
    if gain.likely_pct < _LEAST_PCT or gain.low_pct < NOTABLE_PCT:
        return []
    count, busy = float(step.kernels["launches"].sum()), float(step.kernels["exposed_ns"].sum())
    evidence = (
        f"{units.format_count(count)} kernels run {units.format_ns(busy / max(count, 1))} each on average; the GPU "
        f"works {step.tell_share(step.busy_ns)}",
        f"the CPU is at work {units.format_pct(min(100.0, step.share_pct(step.cpu_ns)))} of it",
    )
    has_ops = bool((step.analysis.nvtx_ranges["domain"] == OPS_DOMAIN).any()) and not step.is_timed_alone
    said = (
        f"The GPU idles {step.tell_share(idle)} while the CPU launches kernels",
        "Mixed precision will not help: it adds launches. Fewer launches do.",
    )
    options = [
        Option("CUDA graphs of more of the step", _MORE_GRAPHS, gain)
        if replays_graphs(step)
        else Option("CUDA graphs", _GRAPHS, gain),
        Option("twice the batch", _BATCH, step.price_batch(NONE)),
    ]
    surer = _ABOUT_OPS if has_ops else "" if step.is_timed_alone else _ABOUT_RECORDING
    about = about_iteration(step)
    return [make_advice(step, "launch-bound", said, options, about, evidence, _confidence(step, gain), surer)]


def _confidence(step: Step, gain: Gain) -> str:
    if step.is_timed_alone and gain.low_pct > _LEAST_PCT:
        return HIGH
    has_ops = (step.analysis.nvtx_ranges["domain"] == OPS_DOMAIN).any()
    return LOW if has_ops or not step.name else MEDIUM


_REMOVED = np.array([0.0, 0.6, 1.0])  # of the idle time: nothing, where workers cost what they save
_AHEAD = (
    "loader = DataLoader(dataset, batch_size, num_workers=4, pin_memory=True,",
    "                    persistent_workers=True, prefetch_factor=4)",
    "inputs = inputs.to(device, non_blocking=True)",
)
_FASTER = (
    "num_workers=os.process_cpu_count()  # more than now, one for each CPU core",
    "# data that are in memory: whole batches at once, without workers:",
    "batch = images[indices].to(device, non_blocking=True)",
    "# decode and augment on the GPU (torchvision.transforms.v2, NVIDIA DALI)",
)
_NOTABLE = 0.01  # of the idle time, to be named
_IN_LAUNCHING = (
    "Most of it is in ranges that launch kernels, too, so that these do not tell whether it is loading: a profiler of "
    "the CPU does."
)
_IN_MPI = "Most of it is in calls of MPI, which wait for other processes or for the network."
_MESSAGES = ("MPI_Irecv(...)  // before the kernels that do not need it, and MPI_Wait after their launches",)
_FIND = ("py-spy record --native -o profile.svg -- python train.py",)
_NAME_IT = "Name what the step does with NVTX ranges: a range “load” tells loading from other work."


@rule("cpu-work", idle=IdleTime.SHARED)
def cpu_work(step: Step) -> list[Advice]:
    """The GPU waits while the CPU does something other than launching: loading data, for the most part."""
    idle = step.host.idle_ns[WORK]
    gain = step.price_idle(_REMOVED * idle)
    if not step.name or gain.likely_pct < _LEAST_PCT:
        return []
    work = step.host.work[step.host.work > _NOTABLE * idle]
    named = [
        f"{units.format_ns(time)} in {f'“{one_line(name, 40)}”' if name else 'no range'}"
        for name, time in work.head(3).items()
    ]
    is_pinned = are_pinned(step)
    is_of_launching = 2 * step.host.work_of_launching_ns > idle
    is_of_mpi = 2 * float(work[work.index.str.startswith("MPI_")].sum()) > idle
    is_loading = not is_of_launching and not is_of_mpi
    why = _IN_MPI if is_of_mpi else _IN_LAUNCHING if is_of_launching else _say_of_loading(step, is_pinned)
    said = (f"The GPU idles {step.tell_share(idle)} while the CPU does something other than launching kernels", why)
    evidence = (f"idle time of a step: {', '.join(named)}", *tell_guess(step)[: is_pinned and is_loading])
    load = Option("load faster", _FASTER, gain) if is_pinned else Option("load ahead", _AHEAD, gain)
    find_it = Option("messages beside kernels", _MESSAGES, gain) if is_of_mpi else Option("find it", _FIND, gain)
    options = [load if is_loading else find_it]
    about = about_ranges(step, work.index)
    confidence = MEDIUM if step.is_timed_alone else LOW
    surer = _NAME_IT if work.index[0] == "" or (is_of_launching and not is_of_mpi) else TRY
    return [make_advice(step, "cpu-work", said, options, about, evidence, confidence, surer)]


def _say_of_loading(step: Step, is_pinned: bool) -> str:
    """What workers can do, by whether a loader was set up to run ahead."""
    if is_pinned:
        return "Copies come from pinned memory: if something loads ahead already, it is too slow."
    return f"If that is loading data, {'workers' if step.is_of_framework else 'another thread'} can do it ahead."
