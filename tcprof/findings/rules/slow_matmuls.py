"""Rules on matrix multiplications that are slower than others of their size."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.names import PRODUCT
from tcprof.analysis.kernels.verdicts import MEMORY
from tcprof.findings.pricing import MEASURED
from tcprof.findings.pricing.advice import MEDIUM, NOTABLE_PCT, Advice, Option, rule
from tcprof.findings.pricing.builders import about_kernels, list_kernels, make_advice, time_of
from tcprof.findings.pricing.products import ATTENTION, SLOW_SHARE, is_product, share_of_reached
from tcprof.findings.pricing.step import Step

_ALIGNED = (
    "width = -(-width // 64) * 64  # 4097 becomes 4160",
    "embedding = torch.nn.Embedding(50304, width)  # for a vocabulary of 50257",
)


@rule("unaligned-shapes")
def unaligned_shapes(step: Step) -> list[Advice]:
    """Products that are slow since their rows are not aligned.

    What: tensor kernels whose name says that they load one or two values at a time (`align1`, `align2`), and whose
    measured rate is below two thirds of what aligned products of as many FLOP reach on this chip.

    Why: Tensor Cores are fed 16 bytes at a time: 8 values in 16 bits, 4 in TF32. A width of 4097 was 4 to 7 times as
    slow as one of 4096 (docs/lessons.md). Convolutions are left out: those of the first layer have as many channels as
    an image.

    Thresholds: 1 % of a step, and the measured loss above. A size alone is no reason: cuBLAS uses Tensor Cores at any
    size.

    Do: round widths, vocabularies and head sizes up to a multiple of 8, better of 64: 4097 to 4104, 50257 to 50304.

    Not when: the size is given by the data, and padding it costs more than it saves.
    """
    kernels = step.kernels
    is_product = kernels["tensor_kernel"] & (kernels["work"] == PRODUCT) & ~kernels["is_convolution"]
    rows = kernels[is_product & kernels["is_unaligned"]]
    share = share_of_reached(step, rows)
    is_slow = share < SLOW_SHARE
    rows, share = rows[is_slow], share[is_slow]
    time = time_of(rows)
    if step.share_pct(time) < NOTABLE_PCT:
        return []
    saved = MEASURED["assumed"]["alignment"] * (rows["exposed_ns"] * (1 - share)).sum()
    reach = units.format_pct(100 * float(np.average(share, weights=rows["exposed_ns"])))
    said = (
        f"Products whose rows are not aligned reach {reach} of the rate of aligned ones: {step.tell_share(time)}",
        "Sizes that are multiples of 8, better of 64, are fed to the Tensor Cores at full speed.",
    )
    option = Option("aligned sizes", _ALIGNED, step.price_kernels(np.minimum(saved, time)))
    sizes = "Record with --annotate shapes, to see the sizes."
    return [make_advice(step, "unaligned-shapes", said, [option], None, (), MEDIUM, sizes, rows)]


_OLD, _NEW = "mma.sync", ("wgmma", "tcgen05")
_NEWER = (
    "pip install --upgrade torch  # built for CUDA 12 or later",
    "// CUTLASS 3: cutlass::gemm::collective::CollectiveBuilder<arch::Sm90, ...>",
)


@rule("old-products")
def old_products(step: Step) -> list[Advice]:
    """Products by instructions of the chip before: `mma.sync` where others of the same precision reach more.

    What: aligned products on Tensor Cores by `mma.sync` (`sm80_`, `cutlass_80`, `s16816`), in a precision that the chip
    multiplies faster by its newer instructions, and whose measured rate is below two thirds of what products of as many
    FLOP reach on it.

    Why: on Hopper `mma.sync` has two thirds of the rate of `wgmma` at most, in 16 bits half of it where an instruction
    is 8 deep (`s1688`). Such kernels come with older libraries, and from code that was compiled for the chip before.

    Thresholds: 1 % of a step, and the measured loss. The gain is to the rate that cuBLAS reached (docs/lessons.md).
    Left out are products below 2.1 GFLOP, the smallest that were measured, those bound by memory, convolutions, of
    which cuDNN has none by the newer instructions for few channels, and unaligned ones, which have a rule of their own.

    Do: a PyTorch built for CUDA 12 or later, whose cuBLAS has kernels for Hopper; CUTLASS 3 with `arch::Sm90`.

    Not when: the product does something that the library has no other kernel for.
    """
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
    said = (
        f"Products by instructions of the chip before reach {reach} of the rate of others: {step.tell_share(time)}",
        "This chip has newer ones for the same precision, which libraries that know it use.",
    )
    saved = MEASURED["assumed"]["old_products"] * (rows["exposed_ns"] * (1 - share)).sum()
    option = Option("a library that knows the chip", _NEWER, step.price_kernels(saved))
    return [make_advice(step, "old-products", said, [option], rows=rows)]


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
_BATCH = (
    "loader = DataLoader(dataset, batch_size=2 * batch_size)",
    "# with gradient accumulation: half as many micro-batches of twice the size",
)
_SIZES = (
    "for batch_size in (batch_size - 128, batch_size, batch_size + 128):",
    "    print(batch_size, time_of_step(batch_size) / batch_size)",
)


@rule("small-grid", "last-wave", after=("launch-bound",))
def small_grid(step: Step, found: Collection[str]) -> list[Advice]:
    """Products that leave SMs without work: fewer blocks than SMs, or a last wave that fills only some of them.

    What: products and attention whose SMs were active less than those of products that fill the chip and take as long,
    by 10 percentage points: measured, by the cycles in which an SM held a warp. The grid says which case it is: under
    half as many blocks as SMs is `small-grid`, since twice the batch then still is one wave; with more it is
    `last-wave`.

    Why: an SM computes one block or several at a time. With 16 blocks, 116 of the 132 SMs of an H200 have nothing to
    do; with 144, where one fits on an SM, the last 12 take as long as the 132 before them.

    Thresholds: 2 % of a step, and the 10 points. High is what is lost against products that fill the chip; how much of
    it another size wins is assumed. Left out are kernels bound by memory, those beside other kernels, NCCL's among
    them, which hold SMs while they wait, and gradients of convolutions' weights (`wgrad`), whose grid is that of the
    weights, whatever the batch.

    Do: a larger batch, fewer but larger micro-batches, or requests that are answered together: the gain is that of a
    sample, since such a step does more. The CPU's time that a sample then needs less is in it, unless launch-bound
    fires. For a last wave, sizes whose blocks fill whole waves: a smaller batch may win, too.

    Not when: the batch is given, by latency or by how the model learns.
    """
    kernels, sms = step.kernels, float(step.gpu_row["sm_count"])
    is_product = kernels["work"].isin([PRODUCT, ATTENTION]) & ~kernels["is_weight_gradient"]
    rows = kernels[is_product & _are_alone(step) & (kernels["bound"] != MEMORY) & kernels["sm_active_pct"].notna()]
    rows = rows[rows["median_ns"] >= _MEASURED["duration_ns"][0]]
    reach = np.interp(np.log(rows["median_ns"]), np.log(_MEASURED["duration_ns"]), _MEASURED["active_pct"])
    rows = rows.assign(lost=1 - rows["sm_active_pct"] / reach)
    rows = rows[(reach - rows["sm_active_pct"] >= _LEAST_POINTS) & rows["blocks"].notna()]
    is_small = rows["blocks"] < _FEWER * sms
    small, waves = rows[is_small], rows[~is_small]
    advice = [_small_grid(step, small, bool(found))] if step.share_pct(_time_lost(small)) >= 2.0 else []
    return advice + ([_last_wave(step, waves)] if step.share_pct(_time_lost(waves)) >= 2.0 else [])


def _are_alone(step: Step) -> "pd.Series[bool]":
    """Whether a kernel has nearly all of its SMs to itself: communication holds some while it waits, too."""
    alone_ns = step.exposure.alone_ns[step.launches["activity"].to_numpy()]
    mean_ns = step.launches.assign(alone_ns=alone_ns).groupby("kernel")["alone_ns"].mean()
    kernels = step.kernels
    return mean_ns.reindex(kernels.index) >= _ALONE * kernels["total_ns"] / kernels["launch_count"]


def _small_grid(step: Step, rows: pd.DataFrame, is_launch_bound: bool) -> Advice:
    saved = MEASURED["assumed"]["small_grid"] * _time_lost(rows)
    # The CPU's time is that of two samples then, too; where launches are the limit, that is in the price of those.
    gain = step.price_kernels(saved, _HALF) if is_launch_bound else step.price_batch(saved)
    said = "Products have fewer blocks than the GPU has SMs, so that some have no work"
    meaning = "With a larger batch the same time does more; the gain is that of a sample."
    return _advise(step, "small-grid", said, meaning, rows, Option("twice the batch", _BATCH, gain))


def _last_wave(step: Step, rows: pd.DataFrame) -> Advice:
    gain = step.price_kernels(MEASURED["assumed"]["tail"] * _time_lost(rows))
    said = "Products leave SMs without work while the last blocks run"
    meaning = "Sizes whose blocks fill all SMs to the end lose less; the gain is that of a sample."
    return _advise(step, "last-wave", said, meaning, rows, Option("other sizes", _SIZES, gain))


def _time_lost(rows: pd.DataFrame) -> float:
    return float((rows["exposed_ns"] * rows["lost"]).sum())


def _advise(step: Step, name: str, said: str, meaning: str, rows: pd.DataFrame, option: Option) -> Advice:
    idle = f"{step.tell_share(time_of(rows))}, of which {units.format_pct(step.share_pct(_time_lost(rows)))} is lost"
    sms = units.format_count(step.gpu_row["sm_count"])
    told = [
        f"{units.format_things(row['blocks'], 'block')} for {sms} SMs, which are active "
        f"{units.format_pct(row['sm_active_pct'])}"
        for row in rows[["blocks", "sm_active_pct"]].to_dict("records")
    ]
    about = about_kernels(step, rows.index)
    return make_advice(step, name, (f"{said}: {idle}", meaning), [option], about, list_kernels(rows, told))
