"""Products that leave SMs without work: fewer blocks than SMs, or a last wave that fills only some of them.

What: products and attention whose SMs were active less than those of products that fill the chip and take as long, by
10 percentage points: measured, by the cycles in which an SM held a warp. The grid says which case it is: under half as
many blocks as SMs is `small-grid`, since twice the batch then still is one wave; with more it is `last-wave`.

Why: an SM computes one block or several at a time. With 16 blocks, 116 of the 132 SMs of an H200 have nothing to do;
with 144, where one fits on an SM, the last 12 take as long as the 132 before them.

Thresholds: 2 % of a step, and the 10 points. High is what is lost against products that fill the chip; how much of it
another size wins is assumed. Left out are kernels bound by memory, those beside other kernels, NCCL's among them, which
hold SMs while they wait, and gradients of convolutions' weights (`wgrad`), whose grid is that of the weights, whatever
the batch.

Do: a larger batch, fewer but larger micro-batches, or requests that are answered together: the gain is that of a
sample, since such a step does more. The CPU's time that a sample then needs less is in it, unless launch-bound fires.
For a last wave, sizes whose blocks fill whole waves: a smaller batch may win, too.

Not when: the batch is given, by latency or by how the model learns.
"""

from collections.abc import Collection

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.names import PRODUCT
from tcprof.analysis.kernels.summary import MEMORY
from tcprof.findings.pricing.advice import LOW, Advice, Option, Rule
from tcprof.findings.pricing.builders import TRY, about_kernels, list_kernels, make_advice, save, time_of
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.products import ATTENTION
from tcprof.findings.pricing.step import Step

LEAST_PCT = 2.0
RULE = Rule(("small-grid", "last-wave"), after=("launch-bound",))
_LEAST_POINTS = 10.0
_ALONE = 0.9  # of its time a kernel has no other beside it
_FEWER = 0.5  # of the SMs: with twice the blocks of more than half there is a second wave
_MEASURED = MEASURED["idle_sms"]
_HALF = (0.5, 0.5, 0.5)
_BATCH = (
    "loader = DataLoader(dataset, batch_size=2 * batch_size)",
    "# with gradient accumulation: half as many micro-batches of twice the size",
)
_SIZES = (
    "for batch_size in (batch_size - 128, batch_size, batch_size + 128):",
    "    print(batch_size, time_of_step(batch_size) / batch_size)",
)


def find(step: Step, found: Collection[str]) -> list[Advice]:
    """Products with a small grid, and those with a last wave that is nearly empty."""
    kernels, sms = step.kernels, float(step.gpu_row["sm_count"])
    is_product = kernels["work"].isin([PRODUCT, ATTENTION]) & ~kernels["is_weight_gradient"]
    rows = kernels[is_product & _are_alone(step) & (kernels["bound"] != MEMORY) & kernels["sm_active_pct"].notna()]
    rows = rows[rows["median_ns"] >= _MEASURED["duration_ns"][0]]
    reach = np.interp(np.log(rows["median_ns"]), np.log(_MEASURED["duration_ns"]), _MEASURED["active_pct"])
    rows = rows.assign(lost=1 - rows["sm_active_pct"] / reach)
    rows = rows[(reach - rows["sm_active_pct"] >= _LEAST_POINTS) & rows["blocks"].notna()]
    is_small = rows["blocks"] < _FEWER * sms
    small, waves = ([each] if _lost_pct(step, each) >= LEAST_PCT else [] for each in (rows[is_small], rows[~is_small]))
    return [_small_grid(step, each, bool(found)) for each in small] + [_last_wave(step, each) for each in waves]


def _are_alone(step: Step) -> "pd.Series[bool]":
    """Whether a kernel has nearly all of its SMs to itself: communication holds some while it waits, too."""
    alone_ns = step.exposure.alone_ns[step.launches["activity"].to_numpy()]
    mean_ns = step.launches.assign(alone_ns=alone_ns).groupby("kernel")["alone_ns"].mean()
    kernels = step.kernels
    return mean_ns.reindex(kernels.index) >= _ALONE * kernels["total_ns"] / kernels["launch_count"]


def _small_grid(step: Step, rows: pd.DataFrame, is_launch_bound: bool) -> Advice:
    saved = save(MEASURED["assumed"]["small_grid"], _time_lost(rows))
    # The CPU's time is that of two samples then, too; where launches are the limit, that is in the price of those.
    gain = step.price_kernels(saved, _HALF) if is_launch_bound else step.price_batch(saved)
    said = "Products have fewer blocks than the GPU has SMs, so that some have no work"
    meaning = "With a larger batch the same time does more; the gain is that of a sample."
    return _advise(step, RULE.name, said, meaning, rows, Option("twice the batch", _BATCH, gain))


def _last_wave(step: Step, rows: pd.DataFrame) -> Advice:
    gain = step.price_kernels(save(MEASURED["assumed"]["tail"], _time_lost(rows)))
    said = "Products leave SMs without work while the last blocks run"
    meaning = "Sizes whose blocks fill all SMs to the end lose less; the gain is that of a sample."
    return _advise(step, "last-wave", said, meaning, rows, Option("other sizes", _SIZES, gain))


def _time_lost(rows: pd.DataFrame) -> float:
    return float((rows["exposed_ns"] * rows["lost"]).sum())


def _lost_pct(step: Step, rows: pd.DataFrame) -> float:
    return step.share_pct(_time_lost(rows))


def _advise(step: Step, name: str, said: str, meaning: str, rows: pd.DataFrame, option: Option) -> Advice:
    idle = f"{step.tell_share(time_of(rows))}, of which {units.format_pct(_lost_pct(step, rows))} is lost"
    sms = units.format_count(step.gpu_row["sm_count"])
    told = [
        f"{units.format_things(row['blocks'], 'block')} for {sms} SMs, which are active "
        f"{units.format_pct(row['sm_active_pct'])}"
        for row in rows[["blocks", "sm_active_pct"]].to_dict("records")
    ]
    about = about_kernels(step, rows.index)
    return make_advice(step, name, (f"{said}: {idle}", meaning), [option], about, list_kernels(rows, told), LOW, TRY)
