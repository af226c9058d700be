"""Programs without a framework in which nothing iterates: the kernel that takes most of the time, and what holds it up.

What: `few-blocks`, kernels whose grid has fewer blocks than half of the SMs; or else `main-kernel`, one that takes half
of the time in which kernels run, where counters tell what bounds it; and `mostly-copies`, where copies take longer than
kernels. Where kernels of libraries run none is said.

Why: an SM computes a block at a time or several, so that one without a block idles. What bounds a kernel says where to
begin. Data that are sent for one kernel take longer than what it does with them.

Thresholds: 10 % of the GPU's work from first activity to last, and 20 µs a launch for `few-blocks`; 30 % for
`main-kernel`; 30 % for `mostly-copies`, and twice what kernels have. There is no price: how a kernel is written is not
recorded.

Do: more blocks, with less work for each thread; Nsight Compute for the one kernel, whose sections say line by line what
it waits for. For copies: pinned memory, and data that stay on the GPU for all that is computed with them.

Not when: the kernel is called once, and others matter in the program as it is used.
"""

import re

import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.bound import CUDA_CORES, ISSUE, L1, L2, LATENCY, MEMORY, TENSOR
from tcprof.analysis.kernels.names import short_name
from tcprof.findings.pricing.advice import HIGH, MEDIUM, Advice, Option, Subject
from tcprof.findings.pricing.builders import list_kernels, make_advice, time_of
from tcprof.findings.pricing.copies import is_mostly_pinned
from tcprof.findings.pricing.step import Step
from tcprof.findings.pricing.subject import about_kernels
from tcprof.findings.rules.idle_sms import count_blocks

NAMES = ("few-blocks", "main-kernel", "mostly-copies")
FEW_PCT, MAIN_PCT, COPIES_PCT = 10.0, 30.0, 30.0
_OF_KERNELS = 2.0  # times as long as kernels take
_PINNED = ("cudaMallocHost(&data, bytes);  // in place of malloc: pinned memory",)
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
    return (_few_blocks(step) or _main_kernel(step)) + _mostly_copies(step)


def _few_blocks(step: Step) -> list[Advice]:
    kernels, sms = step.kernels, float(step.gpu_row["sm_count"])
    blocks = count_blocks(kernels)
    is_few = (blocks < _FEW * sms) & (kernels["exposed_ns"] / kernels["launches"] >= _LEAST_NS)
    rows = kernels.assign(blocks=blocks)[is_few & ~kernels["communication"]]  # whose blocks are one for each channel
    if step.share_pct(time_of(rows)) < FEW_PCT:
        return []
    first = rows.iloc[0]
    count = units.format_things(first["blocks"], "block")
    said = (
        f"{short_name(str(first['name']))} has {count} for {units.format_count(sms)} SMs: "
        f"{step.tell_share(time_of(rows))} is in kernels of so few",
        "An SM without a block has nothing to do.",
    )
    return [_advise(step, NAMES[0], said, rows, "more blocks", HIGH)]


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
    return [_advise(step, NAMES[1], said, rows, "look into the kernel", MEDIUM)]


def _mostly_copies(step: Step) -> list[Advice]:
    activities = step.analysis.activities.assign(exposed_ns=step.exposure.exposed_ns)
    copies = activities[(activities["gpu"] == step.gpu) & (activities["kind"] == "memcpy")]
    time, kernels = time_of(copies), time_of(step.kernels)
    if step.share_pct(time) < COPIES_PCT or time < _OF_KERNELS * kernels:
        return []
    is_pageable = not is_mostly_pinned(copies)
    said = (
        f"Copies take {step.tell_share(time)}, and kernels {units.format_pct(step.share_pct(kernels))}",
        "Data that stay on the GPU are copied once" + (", and pinned memory is copied faster." if is_pageable else "."),
    )
    evidence = [
        f"{way}: {units.format_ns(row['exposed_ns'])} for {units.format_bytes(row['moved_bytes'])}"
        for way, row in copies.groupby("name", observed=True)[["exposed_ns", "moved_bytes"]].sum().iterrows()
    ]
    options = [Option("keep data on the GPU", _PINNED * is_pageable)]
    return [make_advice(step, NAMES[2], said, options, Subject(), evidence, MEDIUM)]


def _advise(step: Step, name: str, said: tuple[str, str], rows: pd.DataFrame, title: str, confidence: str) -> Advice:
    function = re.search(r"\w+(?=[<(]|$)", str(rows["name"].iloc[0]))
    code = (f"ncu --set full --kernel-name {function[0]} --launch-count 1 PROGRAM",) if function else ()
    about = about_kernels(step, rows.index)
    return make_advice(step, name, said, [Option(title, code)], about, list_kernels(rows), confidence)
