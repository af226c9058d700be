"""What published runs reach, beside which a Tensor Active is read: facts with their sources, no verdict.

Of pre-training alone: MFU of decoding, of convolutional networks and of simulations is in no source used here.
"""

import math
import re
from dataclasses import dataclass

import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.kernels.names import OPTIMIZER, PRODUCT, parse_name
from tcprof.analysis.kernels.patterns import read_traits
from tcprof.analysis.steps.iterations import are_counted
from tcprof.annotate.steps import BACKWARD
from tcprof.arrays import pick_rows, rows_of_gpu
from tcprof.findings.judged import GpuFindings
from tcprof.findings.pricing.products import ATTENTION

_MOSAIC = "at 2,048 tokens, MosaicML llm-foundry, scripts/train/benchmarking/README.md"
# The MFU, in percent, of training transformers in 16 bits, least and most, with its source: by what the GPUs are
# called, and by what the names hold of those with about the same peaks.
_PUBLISHED = {
    "H100s": (
        re.compile(r"H[12]00"),
        (38, 43, "Llama 3 405B, arXiv:2407.21783, table 4"),
        (35, 46, f"MPT of 0.76 to 70 billion parameters {_MOSAIC}"),
    ),
    "A100s": (
        re.compile("A100"),
        (55, 65, "MegaScale 175B, arXiv:2402.15627, table 2"),
        (44, 64, f"MPT of 0.125 to 70 billion parameters {_MOSAIC}"),
    ),
}
_RELATION = "MFU counts useful FLOP at the boost clock, Tensor Active all tensor work at the clock that ran."


@dataclass(frozen=True)
class Reference:
    """What published runs of one kind reach."""

    brief: str  # the range of all of them
    sentence: str  # each with its source, and what the figure is


def find_reference(analysis: Analysis, found: GpuFindings) -> Reference | None:
    """What published runs like a GPU's steps reach; None where none is of this kind of run and GPU.

    The kind is told by the kernels of the steps: an optimizer, or a backward pass, and fused attention without
    convolutions train a transformer.
    """
    if found.figures is None or math.isnan(found.figures.tensor_active_pct):
        return None
    name = str(analysis.gpus.set_index("gpu")["name"].get(found.gpu, ""))
    published = next(((gpus, runs) for gpus, (names, *runs) in _PUBLISHED.items() if names.search(name)), None)
    if published is None or not _trains_transformer(analysis, found.gpu):
        return None
    gpus, runs = published
    brief = f"{min(low for low, _, _ in runs)}–{max(high for _, high, _ in runs)} % MFU"
    told = " and ".join(f"{low}–{high} % ({source})" for low, high, source in runs)
    sentence = f"Published training of transformers in 16 bits on {gpus} has an MFU of {told}. {_RELATION}"
    return Reference(brief, sentence)


def _trains_transformer(analysis: Analysis, gpu: int) -> bool:
    launched = rows_of_gpu(analysis.kernel_instances, gpu)
    in_steps = pick_rows(launched[["kernel"]], are_counted(launched, analysis.iterations))
    names = analysis.kernels["name"].loc[in_steps["kernel"].unique()]
    works = pd.Series([parse_name(each).work for each in names], index=names.index, dtype=object)
    of_gpu = analysis.modules[analysis.modules["gpu"] == gpu]
    trains = bool((works == OPTIMIZER).any() or (of_gpu["phase"] == BACKWARD).any())
    convolves = bool(read_traits(names)["is_convolution"][works == PRODUCT].any())
    return trains and bool((works == ATTENTION).any()) and not convolves
