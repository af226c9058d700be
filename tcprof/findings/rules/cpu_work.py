"""The GPU waits while the CPU does something other than launching: loading data, for the most part.

What: idle time in which the CPU launches nothing for 0.2 ms or more, in a range that launches no kernels or in none;
or for 1 ms in any range. The range is named.

Why: what the CPU does between two launches takes the GPU's time where nothing is queued.

Thresholds: 5 % of a step; only where something iterates, since any program loads something first.

Do: where the range launches no kernels, load ahead in other processes (`DataLoader(num_workers=..., pin_memory=True,
persistent_workers=True, prefetch_factor=...)`) and copy with `non_blocking=True`; move other work out of the step.
Where the copies come from pinned memory the loader is set up already: then more workers, or less work for a batch.
Where most of it is in calls of MPI (`--trace=mpi`), receive while kernels run that do not need the message.

Not when: the data are in memory already and cheap to fetch: workers then cost more than they save (MNIST in
docs/lessons.md took 1.7 times as long with them).
"""

from tcprof import units
from tcprof.analysis.host import WORK
from tcprof.findings.pricing.advice import LOW, MEDIUM, Advice, IdleTime, Option, Rule
from tcprof.findings.pricing.builders import TRY, about_ranges, make_advice, save
from tcprof.findings.pricing.launching import are_pinned, tell_guess
from tcprof.findings.pricing.step import Step
from tcprof.untrusted import one_line

RULE = Rule(("cpu-work",), idle=IdleTime.SHARED)
LEAST_PCT = 5.0
_REMOVED = (0.0, 0.6, 1.0)  # of the idle time: nothing, where workers cost what they save
_CODE = (
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


def find(step: Step) -> list[Advice]:
    """Idle time for which other work on the CPU is the reason."""
    idle = step.host.idle_ns[WORK]
    gain = step.price_idle(save(_REMOVED, idle))
    if not step.name or gain.likely_pct < LEAST_PCT:
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
    load = Option("load faster", _FASTER, gain) if is_pinned else Option("load ahead", _CODE, gain)
    find_it = Option("messages beside kernels", _MESSAGES, gain) if is_of_mpi else Option("find it", _FIND, gain)
    options = [load if is_loading else find_it]
    about = about_ranges(step, work.index)
    confidence = MEDIUM if step.is_timed_alone else LOW
    surer = _NAME_IT if work.index[0] == "" or (is_of_launching and not is_of_mpi) else TRY
    return [make_advice(step, RULE.name, said, options, about, evidence, confidence, surer)]


def _say_of_loading(step: Step, is_pinned: bool) -> str:
    """What workers can do, by whether a loader was set up to run ahead."""
    if is_pinned:
        return "Copies come from pinned memory: if something loads ahead already, it is too slow."
    return f"If that is loading data, {'workers' if step.is_of_framework else 'another thread'} can do it ahead."
