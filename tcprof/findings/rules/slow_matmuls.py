"""Rules on matrix multiplications and attention that are slower than others of their size."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.names import PRODUCT
from tcprof.analysis.kernels.patterns import read_attention
from tcprof.analysis.kernels.verdicts import MEMORY
from tcprof.arrays import Floats
from tcprof.findings.pricing import CODE, MEASURED
from tcprof.findings.pricing.advice import MEDIUM, NOTABLE_PCT, PER_SAMPLE, Advice, Option, rule
from tcprof.findings.pricing.builders import about_launches, kernels_of, list_kernels, make_advice, time_of
from tcprof.findings.pricing.products import ATTENTION, SLOW_SHARE, find_attention, is_product, share_of_reached
from tcprof.findings.pricing.step import Step


@rule("unaligned-shapes")
def unaligned_shapes(step: Step) -> list[Advice]:
    """Products that are slow since their rows are not aligned."""
    kernels = step.kernels
    is_product = kernels["tensor_kernel"] & (kernels["work"] == PRODUCT) & ~kernels["is_convolution"]
    rows = kernels[is_product & kernels["is_unaligned"] & (kernels["precision"] != "fp64")]  # all of these are align1
    share = share_of_reached(step, rows)
    is_slow = share < SLOW_SHARE
    rows, share = rows[is_slow], share[is_slow]
    time = time_of(rows)
    if step.share_pct(time) < NOTABLE_PCT:
        return []
    saved = MEASURED["assumed"]["alignment"] * (rows["exposed_ns"] * (1 - share)).sum()
    reach = units.format_pct(100 * float(np.average(share, weights=rows["exposed_ns"])))
    text = (
        "Align matrix sizes",
        f"Matrix multiplications with unaligned rows take {step.format_share(time)}. They reach {reach} of the rate of "
        "aligned ones",
        "Multiples of 8, preferably 64, let the Tensor Cores run at full speed.",
    )
    option = Option("aligned sizes", CODE["aligned"], step.price_kernels(np.minimum(saved, time)))
    how = step.remedies.shapes
    sizes = f"Record with {how} to see the sizes." if how else ""
    return [make_advice(step, "unaligned-shapes", text, [option], None, (), MEDIUM, sizes, rows)]


_OLD, _NEW = "mma.sync", ("wgmma", "tcgen05")


@rule("old-products")
def old_products(step: Step) -> list[Advice]:
    """Products by instructions of the chip before: `mma.sync` where others of the same precision reach more."""
    kernels = step.kernels
    rows = kernels[is_product(step) & kernels["tensor_kernel"] & ~kernels["is_convolution"]]
    rows = rows[(rows["family"] == _OLD) & (rows["bound"] != MEMORY) & ~rows["is_unaligned"]]
    rows = rows[
        _is_slower(step, rows) & (rows["tensor_flop"] / rows["launch_count"] >= MEASURED["products"]["flop"][0])
    ]
    share = share_of_reached(step, rows)
    rows, share = rows[share < SLOW_SHARE], share[share < SLOW_SHARE]
    time = time_of(rows)
    if step.share_pct(time) < NOTABLE_PCT:
        return []
    reach = units.format_pct(100 * float(np.average(share, weights=rows["exposed_ns"])))
    text = (
        "Update the library",
        f"Matrix multiplications with the previous GPU generation's instructions take {step.format_share(time)}. They "
        f"reach {reach} of the rate of others",
        "This chip has faster instructions for the same precision.",
    )
    saved = MEASURED["assumed"]["old_products"] * (rows["exposed_ns"] * (1 - share)).sum()
    option = Option("a library built for this chip", CODE["newer_library"], step.price_kernels(saved))
    return [make_advice(step, "old-products", text, [option], rows=rows)]


def _is_slower(step: Step, rows: pd.DataFrame) -> "pd.Series[bool]":
    """Whether newer instructions of the chip are faster than the kernel's, in its precision."""
    chip = step.chip
    faster = [
        any(chip.flop_per_cycle(new, precision) > chip.flop_per_cycle(_OLD, precision, shape=shape) for new in _NEW)
        for precision, shape in zip(rows["precision"], rows["shape"], strict=True)
    ]
    return pd.Series(faster, index=rows.index, dtype=bool)


_LEAST_POINTS = 10.0
_ALONE = 0.9  # of its time a kernel has no other beside it
_FEWER = 0.5  # of the SMs: with twice the blocks of more than half there is a second wave
_MEASURED = MEASURED["idle_sms"]
_HALF = np.full(3, 0.5)


@rule("small-grid", "last-wave", after=("launch-bound",))
def small_grid(step: Step, earlier: Collection[str]) -> list[Advice]:
    """Products that leave SMs without work: fewer blocks than SMs, or a last wave that fills only some of them."""
    kernels, sms = step.kernels, float(step.gpu_row["sm_count"])
    is_product = kernels["work"].isin([PRODUCT, ATTENTION]) & ~kernels["is_weight_gradient"]
    rows = kernels[is_product & _are_alone(step) & (kernels["bound"] != MEMORY) & kernels["sm_active_pct"].notna()]
    rows = rows[rows["median_ns"] >= _MEASURED["duration_ns"][0]]
    reach = np.interp(np.log(rows["median_ns"]), np.log(_MEASURED["duration_ns"]), _MEASURED["active_pct"])
    rows = rows.assign(lost=1 - rows["sm_active_pct"] / reach)
    rows = rows[(reach - rows["sm_active_pct"] >= _LEAST_POINTS) & rows["blocks"].notna()]
    is_small = rows["blocks"] < _FEWER * sms
    small, waves = rows[is_small], rows[~is_small]
    advice = [_small_grid(step, small, bool(earlier))] if step.share_pct(_time_lost(small)) >= 2.0 else []
    return advice + ([_last_wave(step, waves)] if step.share_pct(_time_lost(waves)) >= 2.0 else [])


def _are_alone(step: Step) -> "pd.Series[bool]":
    """Whether a kernel has nearly all of its SMs to itself: communication holds some while it waits, too."""
    alone_ns = step.exposure.exclusive_ns[step.launches["activity"].to_numpy()]
    mean_ns = step.launches.assign(alone_ns=alone_ns).groupby("kernel")["alone_ns"].mean()
    kernels = step.kernels
    return mean_ns.reindex(kernels.index) >= _ALONE * kernels["total_ns"] / kernels["launch_count"]


def _small_grid(step: Step, rows: pd.DataFrame, is_launch_bound: bool) -> Advice:
    saved = MEASURED["assumed"]["small_grid"] * _time_lost(rows)
    # The CPU's time is that of two samples then, too; where launches are the limit, that is in the price of those.
    gain = replace(step.price_kernels(saved, _HALF), of=PER_SAMPLE) if is_launch_bound else step.price_batch(saved)
    text = ("Double the batch", "Matrix multiplications with fewer blocks than the GPU has SMs take")
    meaning = "A larger batch does more in the same time."
    option = Option("twice the batch", CODE["twice_the_training_batch"], gain)
    return _advise(step, "small-grid", text, meaning, rows, option)


def _last_wave(step: Step, rows: pd.DataFrame) -> Advice:
    gain = replace(step.price_kernels(MEASURED["assumed"]["tail"] * _time_lost(rows)), of=PER_SAMPLE)
    text = ("Fill the last wave", "Matrix multiplications whose last blocks leave SMs idle take")
    meaning = "Sizes whose blocks fill all waves take less time per sample."
    return _advise(step, "last-wave", text, meaning, rows, Option("other sizes", CODE["other_sizes"], gain))


def _time_lost(rows: pd.DataFrame) -> float:
    return float((rows["exposed_ns"] * rows["lost"]).sum())


def _advise(step: Step, name: str, text: tuple[str, str], meaning: str, rows: pd.DataFrame, option: Option) -> Advice:
    lost = f"Idle SMs cost {step.format_share(_time_lost(rows))}"
    sentence = f"{text[1]} {step.format_share(time_of(rows))}. {lost}"
    sms = units.format_count(step.gpu_row["sm_count"])
    notes = [
        f"{units.format_things(row['blocks'], 'block')} for {sms} SMs, SM Active "
        f"{units.format_pct(row['sm_active_pct'])}"
        for row in rows[["blocks", "sm_active_pct"]].to_dict("records")
    ]
    about = about_launches(step, rows.index, "kernel")
    return make_advice(step, name, (text[0], sentence, meaning), [option], about, list_kernels(rows, notes))


_MORE_BACKWARD = 1.5  # products of an attention, over those next to what lies between: two of six are not


@rule("attention-in-parts")
def attention_in_parts(step: Step) -> list[Advice]:
    """Attention computed in parts: product, mask, softmax, dropout, product."""
    attention = find_attention(step)
    between = attention[~attention["is_product"]]
    time = float(between["exposed_ns"].sum()) / step.count
    if step.share_pct(time) < 2.0:
        return []
    rows = kernels_of(step, between)
    text = (
        "Use fused attention",
        f"The kernels between attention's two matrix multiplications take {step.format_share(time)}",
        "A fused kernel keeps the scores on the chip.",
    )
    products = _MORE_BACKWARD * float(attention["exposed_ns"][attention["is_product"]].sum()) / step.count
    saved = MEASURED["parts"]["between"] * time + MEASURED["parts"]["products"] * products
    fewer = 1 - len(between) / len(step.launches)
    gain = step.price_kernels(saved, cpu=np.array([1.0, fewer, fewer]))
    about = about_launches(step, between["activity"])
    option = Option("fused attention", CODE["fused_attention"], gain)
    return [make_advice(step, "attention-in-parts", text, [option], about, confidence=MEDIUM, rows=rows)]


_OLD_ATTENTION = MEASURED["old_attention"]


@rule("old-attention")
def old_attention(step: Step) -> list[Advice]:
    """Attention by instructions of the chip before: FlashAttention-2 on Hopper."""
    if step.chip.name != _OLD_ATTENTION["chip"]:
        return []
    rows = step.kernels[step.kernels["is_flash_attention_2"] & (step.kernels["work"] == ATTENTION)]
    time = time_of(rows)
    if step.share_pct(time) < NOTABLE_PCT:
        return []
    gain = _attention_speedups(rows) - 1
    ratio = 1 + gain * _OLD_ATTENTION["spread"][:, None]
    saved = (rows["exposed_ns"].to_numpy() * (1 - 1 / ratio)).sum(axis=1)
    text = (
        "Use cuDNN's attention",
        f"FlashAttention-2, written for the previous GPU generation, takes {step.format_share(time)}",
        "cuDNN's attention uses Hopper's instructions, at twice the rate.",
    )
    times = units.format_ratio(time / (time - saved[1]))
    evidence = [f"on an H200, cuDNN's attention was {times} as fast with heads and sequences of this size"]
    option = Option("cuDNN's attention", CODE["cudnn_attention"], step.price_kernels(saved))
    return [make_advice(step, "old-attention", text, [option], None, evidence, MEDIUM, rows=rows)]


def _attention_speedups(rows: pd.DataFrame) -> Floats:
    """How many times as fast each kernel's pass becomes."""
    speedups = np.ones(len(rows))
    for place, (name, geometry) in enumerate(zip(rows["name"], rows["launch_geometry"].astype(str), strict=True)):
        way = "forward" if "flash_fwd" in name else "backward"
        head, queries, keys = read_attention(name) or (64, 0, 0)
        length = (queries if way == "forward" else keys) * float(geometry.partition("x")[0] or 0)
        measured = max((size for size in map(float, _OLD_ATTENTION[way]) if size <= head), default=0.0)
        if measured:
            of_size = _OLD_ATTENTION[way][f"{measured:g}"]
            speedups[place] = np.interp(np.log(max(length, 1.0)), np.log(_OLD_ATTENTION["length"]), of_size)
    return speedups
