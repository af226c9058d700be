"""Programs without a framework in which nothing iterates: the kernel that takes most of the time, and what holds it up.

What: `few-blocks`, kernels whose grid has fewer blocks than half of the SMs; or else `main-kernel`, one that takes half
of the time in which kernels run, where counters tell what bounds it. Where kernels of libraries run none is said.

Why: an SM computes a block at a time or several, so that one without a block idles. What bounds a kernel says where to
begin.

Thresholds: 10 % of the GPU's work from first activity to last, and 20 µs a launch for `few-blocks`; 30 % for
`main-kernel`. There is no price: how a kernel is written is not recorded.

Do: more blocks, with less work for each thread; Nsight Compute for the one kernel, whose sections say line by line what
it waits for.

Not when: the kernel is called once, and others matter in the program as it is used.
"""

import re

import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.names import short_name
from tcprof.analysis.kernels.patterns import function_name
from tcprof.analysis.kernels.summary import CUDA_CORES, ISSUE, L1, L2, LATENCY, MEMORY, TENSOR
from tcprof.findings.pricing.advice import HIGH, MEDIUM, Advice, Option, Rule
from tcprof.findings.pricing.builders import about_kernels, list_kernels, make_advice, time_of
from tcprof.findings.pricing.step import Step

RULE = Rule(("main-kernel", "few-blocks"))
FEW_PCT, MAIN_PCT = 10.0, 30.0
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


def find(step: Step) -> list[Advice]:
    """Kernels with few blocks, or else the one that takes most."""
    if step.name or step.is_of_framework or not len(step.kernels):
        return []
    return _few_blocks(step) or _main_kernel(step)


def _few_blocks(step: Step) -> list[Advice]:
    kernels, sms = step.kernels, float(step.gpu_row["sm_count"])
    is_few = (kernels["blocks"] < _FEW * sms) & (kernels["exposed_ns"] / kernels["launches"] >= _LEAST_NS)
    rows = kernels[is_few & ~kernels["communication"]]  # whose blocks are one for each channel
    if step.share_pct(time_of(rows)) < FEW_PCT:
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
    if not what or step.share_pct(time) < MAIN_PCT or time < _MOST * time_of(step.kernels):
        return []
    shares = {name: units.format_pct(first[name]) for name in re.findall(r"\{(\w+)\}", what)}
    said = (
        f"{short_name(str(first['name']))} takes {step.tell_share(time)}: {what.format(**shares)}",
        "Nsight Compute says line by line what it waits for.",
    )
    return [_advise(step, RULE.name, said, rows, "look into the kernel", MEDIUM)]


def _advise(step: Step, name: str, said: tuple[str, str], rows: pd.DataFrame, title: str, confidence: str) -> Advice:
    function = function_name(str(rows["name"].iloc[0]))
    code = (f"ncu --set full --kernel-name {function} --launch-count 1 PROGRAM",) * bool(function)
    about = about_kernels(step, rows.index)
    return make_advice(step, name, said, [Option(title, code)], about, list_kernels(rows), confidence)
