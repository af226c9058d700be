"""Say what users change in how they record, in the words of each recorder."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from tcprof.errors import EXPORT_OR_COPY_AGAIN

Recorder: TypeAlias = Literal["nsys", "torch", "jax"]


@dataclass(frozen=True)
class Remedies:
    """Remedies for what a recording lacks: whole sentences, or what follows 'record with'. Empty for none."""

    file: str  # about a damaged file
    metrics: str  # about absent samples
    kernels: str  # what records kernels
    launches: str  # what records launches, after 'To fix this:'
    lost: str  # about kernels that were lost
    ops: str  # what ties backward passes to modules
    modules: str  # about modules without a name
    shapes: str  # what records the sizes of operands
    ranges: str  # what marks parts of a step
    steps: tuple[str, ...]  # code that marks steps
    more_steps: tuple[str, ...]  # code that records more of them
    repeat: str  # about how much runs differ
    unprofiled: str  # the option that measures what recording costs


COPY_TRACE_AGAIN = "Write the trace again, and copy the whole file."
_BY_TCPROF = "Record with 'tcprof profile SCRIPT'"
_SEVERAL = "Record each several times"
_CPU_AND_GPU = "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])"
_ON_GPU = "jax.profiler.trace(FOLDER) on a GPU"
_SMALLER = "Record again, with fewer steps at a time."
REMEDIES: Mapping[Recorder, Remedies] = MappingProxyType(
    {
        "nsys": Remedies(
            file=EXPORT_OR_COPY_AGAIN,
            metrics=f"{_BY_TCPROF}, or with 'nsys profile --gpu-metrics-devices=all' (until 2023: "
            "--gpu-metrics-device=all).",
            kernels="--trace=cuda,nvtx",
            launches="record with --trace=cuda,nvtx; for CUDA graphs with --cuda-graph-trace=node",
            lost="Record again, and let every process run to its end.",
            ops="'tcprof profile --annotate ops'",
            modules=(
                "Record a PyTorch program with 'tcprof profile', which names them, or name NVTX ranges by module path."
            ),
            shapes="--annotate shapes",
            ranges="NVTX ranges",
            steps=(
                'with torch.cuda.nvtx.range("step"): ...  # around each step',
                '// C++: nvtxRangePush("step"); ...; nvtxRangePop();',
            ),
            more_steps=("tcprof profile ...  # with more steps",),
            repeat=f"{_SEVERAL}: tcprof profile --repeat 5.",
            unprofiled="'tcprof profile'",
        ),
        "torch": Remedies(
            file=COPY_TRACE_AGAIN,
            metrics=f"{_BY_TCPROF}.",
            kernels=_CPU_AND_GPU,
            launches=f"record with {_CPU_AND_GPU}",
            lost=_SMALLER,
            ops="ProfilerActivity.CPU",
            modules="Record with profile(with_stack=True, with_modules=True), which names them.",
            shapes="record_shapes=True",
            ranges="torch.profiler.record_function",
            steps=("profiler.step()  # after each step",),
            more_steps=("profile(schedule=schedule(wait=1, warmup=2, active=10), ...)  # active: steps to record",),
            repeat=f"{_SEVERAL}.",
            unprofiled="",
        ),
        "jax": Remedies(
            file=COPY_TRACE_AGAIN,
            metrics=f"{_BY_TCPROF}.",
            kernels=_ON_GPU,
            launches="trace the host, too (host_tracer_level above 0)",
            lost=_SMALLER,
            ops="",
            modules="Give the program's parts a jax.named_scope, as Flax does with modules.",
            shapes="",
            ranges="jax.profiler.TraceAnnotation",
            steps=('with jax.profiler.StepTraceAnnotation("step", step_num=number): ...  # around each step',),
            more_steps=("with jax.profiler.trace(FOLDER): ...  # around more steps",),
            repeat=f"{_SEVERAL}.",
            unprofiled="",
        ),
    }
)
