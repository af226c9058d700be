"""Rules on what of the chip holds kernels up."""

import re

import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.names import GRAPH, short_name
from tcprof.analysis.kernels.verdicts import CUDA_CORES, ISSUE, L1, L2, LATENCY, MEMORY, TENSOR, UNKNOWN
from tcprof.chips.chip import PRECISIONS
from tcprof.findings.ncu import ncu_command
from tcprof.findings.pricing.advice import HIGH, MEDIUM, Advice, Option, rule
from tcprof.findings.pricing.builders import make_advice, time_of
from tcprof.findings.pricing.products import lacks_precision
from tcprof.findings.pricing.step import Step
from tcprof.untrusted import one_line


@rule("no-tensor-cores")
def no_tensor_cores(step: Step) -> list[Advice]:
    """A GPU without Tensor Cores."""
    if not all(lacks_precision(step, precision) for precision in PRECISIONS):
        return []
    said = (
        f"{one_line(str(step.gpu_row['name']), 60)} has no Tensor Cores",
        "Volta was the first generation with them; the GTX 16 series has none either.",
    )
    return [make_advice(step, "no-tensor-cores", said, confidence=HIGH, raise_confidence="")]


_LIMITS = (
    "nvidia-smi -q -d PERFORMANCE,POWER,CLOCK  # which limit is active",
    "nvidia-smi -pl WATTS   # as root, up to the board's highest",
    "nvidia-smi -rgc        # as root: no set clock",
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
    said = (
        f"The clock is {units.format_hz(mean)} and not {units.format_hz(boost)} under kernels that do not wait for "
        f"memory: at the highest they would take {step.tell_share(lost)} less",
        "Dense work at the limit of power looks so, and is no fault of the program.",
    )
    option = Option("find the limit", _LIMITS)
    return [make_advice(step, "low-clock", said, [option], None, (), HIGH, "", rows)]


_LEAST_NS = 20_000
_FEW = 0.5  # of the SMs
_MOST = 0.5  # of the time in which kernels run
_SAID = {
    MEMORY: "the memory's bandwidth holds it up, at {dram_pct} of its peak",
    L2: "the L2 cache holds it up, at {l2_pct} of its peak",
    L1: "the L1 cache and shared memory hold it up, at {l1_pct} of their peak",
    TENSOR: "the Tensor Cores hold it up, {tensor_active_pct} active",
    CUDA_CORES: "the FP32 units hold it up, while the Tensor Cores are active {tensor_active_pct}",
    ISSUE: "instructions hold it up, {sm_issue_pct} of what SMs issue, while the Tensor Cores are active "
    "{tensor_active_pct}",
    LATENCY: "it waits, and exhausts nothing: issue slots {sm_issue_pct}, memory {dram_pct}, Tensor Cores "
    "{tensor_active_pct}",
}


@rule("main-kernel", "few-blocks")
def main_kernel(step: Step) -> list[Advice]:
    """Programs without a framework: the kernel that takes most of the time."""
    if step.is_of_framework or not len(step.kernels):
        return []
    return _few_blocks(step) or _main_kernel(step)


def _few_blocks(step: Step) -> list[Advice]:
    kernels, sms = step.kernels, float(step.gpu_row["sm_count"])
    is_few = (kernels["blocks"] < _FEW * sms) & (kernels["exposed_ns"] / kernels["launches"] >= _LEAST_NS)
    rows = kernels[is_few & ~kernels["communication"]]  # whose blocks are one for each channel
    if step.share_pct(time_of(rows)) < 10.0:
        return []
    first = rows.iloc[0]
    count = units.format_things(first["blocks"], "block")
    said = (
        f"{short_name(str(first['name']))} has {count} for {units.format_count(sms)} SMs: "
        f"{step.tell_share(time_of(rows))} is in kernels of so few",
        "An SM without a block has nothing to do.",
    )
    return [_advise(step, "few-blocks", said, rows, "more blocks", HIGH)]


def _main_kernel(step: Step) -> list[Advice]:
    rows = step.kernels.head(1)
    first = rows.iloc[0]
    what = _SAID.get(str(first["bound"]), "")
    time = time_of(rows)
    if not what or step.share_pct(time) < 30.0 or time < _MOST * time_of(step.kernels):
        return []
    shares = {name: units.format_pct(first[name]) for name in re.findall(r"\{(\w+)\}", what)}
    said = (
        f"{short_name(str(first['name']))} takes {step.tell_share(time)}: {what.format(**shares)}",
        "Nsight Compute says line by line what it waits for.",
    )
    return [_advise(step, "main-kernel", said, rows, "look into the kernel", MEDIUM)]


def _advise(step: Step, name: str, said: tuple[str, str], rows: pd.DataFrame, title: str, confidence: str) -> Advice:
    option = Option(title, ncu_command(step.analysis, int(rows.index[0])))
    return make_advice(step, name, said, [option], None, (), confidence, "", rows)
