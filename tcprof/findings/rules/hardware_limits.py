"""Rules on what of the chip holds kernels up."""

import re

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.folding import FOLDED_KERNELS
from tcprof.analysis.kernels.names import GRAPH, short_name
from tcprof.analysis.kernels.patterns import count_threads
from tcprof.analysis.kernels.verdicts import CUDA_CORES, ISSUE, L1, L2, LATENCY, MEMORY, TENSOR, UNKNOWN
from tcprof.chips.chip import PRECISIONS
from tcprof.findings.ncu import ncu_command
from tcprof.findings.pricing import CODE
from tcprof.findings.pricing.advice import HIGH, MEDIUM, UNPRICED, Advice, Gain, Option, rule
from tcprof.findings.pricing.builders import bytes_of, make_advice, time_of
from tcprof.findings.pricing.products import lacks_precision
from tcprof.findings.pricing.step import Step
from tcprof.frames import STEP_SUMMARY
from tcprof.untrusted import one_line


@rule("no-tensor-cores")
def no_tensor_cores(step: Step) -> list[Advice]:
    """A GPU without Tensor Cores."""
    if not all(lacks_precision(step, precision) for precision in PRECISIONS):
        return []
    text = (
        f"{one_line(str(step.gpu_row['name']), 60)} has no Tensor Cores",
        "This GPU has no Tensor Cores",
        "Volta was the first generation with them; the GTX 16 series has none either.",
    )
    return [make_advice(step, "no-tensor-cores", text, confidence=HIGH, raise_confidence="")]


# What to do about each limit that the driver names, and why.
_ABOUT_LIMIT = {
    "power": (
        "The power limit holds the clock at {clock}: nothing to do in the program",
        "The driver reports the power limit ({power_limit_w}) as the cause; the GPU draws {power_w}.",
    ),
    "temperature": ("Cool the GPU: heat holds its clock at {clock}", "The driver reports thermal slowdown."),
    "setting": ("Unlock the clock, which is set to {clock}", "The driver reports a clock setting as the cause."),
    "hardware": ("Check the board's power supply: the clock stays at {clock}", "The driver reports hardware slowdown."),
}
_ANY_LIMIT = (
    "Check why the clock stays at {clock}, below {boost}",
    "Dense work at the power limit also looks like this, and no program can change that.",
)


@rule("low-clock", of_program=False)
def low_clock(step: Step) -> list[Advice]:
    """Kernels that run below the boost clock."""
    boost, kernels = float(step.gpu_row["clock_hz"]), step.kernels
    clock = kernels["sm_cycles"] / (kernels["total_ns"] * 1e-9 * step.gpu_row["sm_count"])
    waits = kernels["bound"].isin([MEMORY, L2, UNKNOWN]) | kernels["communication"]  # for bytes, or for other GPUs
    is_of_clock = ~waits & (kernels["work"] != GRAPH) & clock.notna()
    rows, clock = kernels[is_of_clock], clock[is_of_clock]
    lost = float((rows["exposed_ns"] * (1 - clock / boost).clip(lower=0)).sum()) if boost > 0 else 0.0
    if step.share_pct(lost) < 5.0:
        return []
    mean = float((clock * rows["exposed_ns"]).sum() / rows["exposed_ns"].sum())
    logged = step.analysis.step_summary.set_index("gpu").reindex([step.gpu]).iloc[0]  # a capture without steps has none
    limit = str(logged["clock_limit"])
    facts = {name: STEP_SUMMARY[name].format(logged[name]) for name in ("power_w", "power_limit_w")}
    facts |= {"clock": units.format_hz(mean), "boost": units.format_hz(boost)}
    action, why = (sentence.format(**facts) for sentence in _ABOUT_LIMIT.get(limit, _ANY_LIMIT))
    text = (
        action,
        f"Kernels that do not wait for memory run at {facts['clock']}. At {facts['boost']} they would take "
        f"{step.format_share(lost)} less",
        why,
    )
    option = Option("find the limit", CODE.get(f"clock_limit_{limit}", CODE["clock_limits"]))
    return [make_advice(step, "low-clock", text, [option], None, (), HIGH, "", rows)]


_LEAST_NS = 20_000
_FEW = 0.5  # of the SMs
_BLOCK = 128  # threads: smaller blocks leave most of an SM empty
_MOST = 0.5  # of the time in which kernels run
_BOUNDS = {
    MEMORY: "it is limited by memory bandwidth, at {dram_pct} of the peak",
    L2: "it is limited by the L2 cache, at {l2_pct} of the peak",
    L1: "it is limited by the L1 cache and shared memory, at {l1_pct} of their peak",
    TENSOR: "it is limited by the Tensor Cores, Tensor Active {tensor_active_pct}",
    CUDA_CORES: "it is limited by the FP32 units, at a Tensor Active of {tensor_active_pct}",
    ISSUE: "it is limited by issue slots, {sm_issue_pct} used, at a Tensor Active of {tensor_active_pct}",
    LATENCY: "it is limited by latency: issue slots {sm_issue_pct}, memory {dram_pct}, Tensor Active "
    "{tensor_active_pct}",
}


@rule("main-kernel", "few-blocks", of_framework=False)
def main_kernel(step: Step) -> list[Advice]:
    """Programs without a framework: the kernel that takes most of the time."""
    if step.uses_framework or not len(step.kernels):
        return []
    return _few_blocks(step) or _main_kernel(step)


def _few_blocks(step: Step) -> list[Advice]:
    kernels, sms = step.kernels, float(step.gpu_row["sm_count"])
    is_few = (kernels["blocks"] < _FEW * sms) & (kernels["exposed_ns"] / kernels["launches"] >= _LEAST_NS)
    rows = kernels[is_few & ~kernels["communication"] & ~kernels["is_of_library"]]  # which choose their own grids
    if step.share_pct(time_of(rows)) < 10.0:
        return []
    first = rows.iloc[0]
    count = units.format_things(first["blocks"], "block")
    divided, least = _divided(rows, sms, float(step.gpu_row["dram_bandwidth"]))
    text = (
        f"Launch more than {count} of {short_name(str(first['name']))}: the GPU has {units.format_count(sms)} SMs",
        f"Kernels with too few blocks for the GPU take {step.format_share(time_of(rows))}",
        "An SM without a block is idle. On all SMs, at the same rate per SM, they would take "
        f"{units.format_ns(divided)}.",
    )
    # Nothing is won where the work cannot be divided; more where several blocks share an SM, down to the memory's time.
    gain = step.price_kernels(np.array([0.0, time_of(rows) - divided, time_of(rows) - least]))
    size = count_threads(str(first["launch_geometry"])) / first["blocks"]
    grid, block = f"{sms:.0f}", f"{max(size, _BLOCK):.0f}"
    code = (
        f"# now {count} of {units.format_things(size, 'thread')}; with a grid-stride loop, launch one or more per SM:",
        f"kernel<<<{grid}, {block}>>>(...)  // CuPy: kernel(({grid},), ({block},), ...)",
    )
    return [_advise(step, "few-blocks", text, rows, "more blocks", MEDIUM, code, gain)]


def _divided(rows: pd.DataFrame, sms: float, bandwidth: float) -> tuple[float, float]:
    """Time of kernels with a block on each SM, and the least that their bytes take; in ns."""
    least = (1e9 * bytes_of(rows) / bandwidth).fillna(0).clip(upper=rows["exposed_ns"])
    divided = np.maximum(rows["exposed_ns"] * rows["blocks"] / sms, least)
    return float(divided.sum()), float(least.sum())


def _main_kernel(step: Step) -> list[Advice]:
    rows = step.kernels.head(1)
    first = rows.iloc[0]
    what = _BOUNDS.get(str(first["bound"]), "")
    time = time_of(rows)
    is_one = not first["is_of_library"] and first["name"] != FOLDED_KERNELS
    if not what or not is_one or step.share_pct(time) < 30.0 or time < _MOST * time_of(step.kernels):
        return []
    shares = {name: units.format_pct(first[name]) for name in re.findall(r"\{(\w+)\}", what)}
    text = (
        f"Look into {short_name(str(first['name']))}: {units.format_pct(step.share_pct(time))} of the time",
        f"{short_name(str(first['name']))} takes {step.format_share(time)}; {what.format(**shares)}",
        "Nsight Compute shows line by line what the kernel waits for.",
    )
    return [_advise(step, "main-kernel", text, rows, "look into the kernel", MEDIUM)]


def _advise(
    step: Step,
    name: str,
    text: tuple[str, str, str],
    rows: pd.DataFrame,
    title: str,
    confidence: str,
    code: tuple[str, ...] = (),
    gain: Gain = UNPRICED,
) -> Advice:
    option = Option(title, (*ncu_command(step.analysis, int(rows.index[0])), *code), gain)
    return make_advice(step, name, text, [option], None, (), confidence, "", rows)
