"""What kind of work a kernel does, as its name has it: which kernels can stand in for each other in two recordings."""

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.kernels.names import PRODUCTS

Floats = npt.NDArray[np.float64]

PRODUCT = "products"
GRAPH = "CUDA graphs"  # recorded as a whole: which kernels they hold is not known
# In order: the first that is found decides.
_FAMILIES = (
    (GRAPH, re.compile(r"^graph$")),
    ("communication", re.compile(r"nccl|nvshmem")),
    ("fused kernels", re.compile(r"triton_(?:poi|red|per)|^(?:input_|loop_)?\w*fusion(?:_\d+)?$")),
    ("attention", re.compile(r"flash|fmha|sdpa|attention|attn", re.IGNORECASE)),
    ("optimizer", re.compile(r"multi_tensor_apply|[Aa]dam|\bsgd|lamb_|amp_update_scale")),
    (
        "helpers of products",
        re.compile(
            r"splitK_?reduce|reduction::kernel|execute_split_k_kernel|init_device_workspace|fft2d|flip_filter"
            r"|epilogue::impl|scal_kernel|precompute_",
            re.IGNORECASE,
        ),
    ),
    ("layout changes", re.compile(r"nchwToNhwc|nhwcToNchw|AddPadding|transpose", re.IGNORECASE)),
    (PRODUCT, PRODUCTS),
    (
        "normalization",
        re.compile(r"batch_?norm|layer_?norm|group_?norm|rms_?norm|_norm_|rowwisemoments", re.IGNORECASE),
    ),
    ("softmax", re.compile(r"softmax", re.IGNORECASE)),
    ("pooling", re.compile(r"pool", re.IGNORECASE)),
    ("copies and casts", re.compile(r"copy|convert|CatArray", re.IGNORECASE)),
    ("reductions", re.compile(r"reduce", re.IGNORECASE)),
    ("element-wise kernels", re.compile(r"elementwise|element_wise|dropout|pointwise", re.IGNORECASE)),
)
_OTHER = "other kernels"
# Of these, any two in the same place do the same work in two ways. Others must share most words that say what they do.
_STAND_INS = (PRODUCT, GRAPH, "attention", "normalization", "softmax", "pooling")
_ALIKE = 0.5
# What says nothing about the work: types, and the templates around a function.
_WORDLESS = re.compile(
    r"[tuf]\d*"
    r"|void|at|native|std|cuda|const|unnamed|anonymous|namespace|operator|lambda|instance|detail|impl|kernel"
    r"|functor|array|bool|char|int|long|unsigned|float|double|half|c10|bfloat16|nv|fp16|fp32|bf16|float16|size"
    r"|tensor|tensoriterator|tensoriteratorbase|elementwise|vectorized|unrolled|gpu|nocast|memory|loadwithoutcast"
    r"|loadwithcast|storewithoutcast|storewithcast|trivialoffsetcalculator|offsetcalculator|tensorlistmetadata"
    r"|tensorlistscalarlistmetadata|multi|apply|cudafunctor|binaryfunctor|bunaryfunctor|aunaryfunctor"
    r"|opmathsymmetric|params|wrapper|t|func|reduce|reduceop|vec|triton|poi|red|per|fused"
)


def classify_kernels(kernels: pd.DataFrame) -> pd.DataFrame:
    """The class of each kernel, for people, and its precision.

    Args:
        kernels: See ``tcprof.frames.KERNELS``.

    Returns:
        label, such as FP32 products, FP16 tensor kernels or softmax; and precision, fp32, empty where unknown.
    """
    keys = zip(kernels["name"], kernels["tensor_kernel"], kernels["precision"], strict=True)
    return pd.DataFrame([_classify(*key) for key in keys], columns=["label", "precision"], dtype=object)


def _classify(name: str, tensor_kernel: bool, precision: str) -> tuple[str, str]:
    family, _ = _read(name)
    if family != GRAPH and (tensor_kernel or family == PRODUCT):
        label = "tensor kernels" if tensor_kernel else PRODUCT
        return f"{precision.upper()} {label}".strip(), precision
    return family, precision


def similarities(base: Sequence[str], new: Sequence[str]) -> Floats:
    """How well kernels of these names can stand in for each other, a row for each of the baseline's.

    3.5 for the same name; up to 3 for two that do the same work, such as two products; up to 2 for two that share most
    of the words that say what they do; else 0.
    """
    families, words = zip(*(_read(name) for name in [*base, *new]), strict=True)
    codes = pd.factorize(np.array(families, dtype=object))[0]
    stand_in = np.isin(np.array(families, dtype=object), _STAND_INS)[: len(base), None]
    common = _common(words[: len(base)], words[len(base) :])
    same_family = codes[: len(base), None] == codes[None, len(base) :]
    found = np.select([same_family & stand_in, same_family & (common > _ALIKE)], [2 + common, 1 + common], 0.0)
    same = np.array(base, dtype=object)[:, None] == np.array(new, dtype=object)[None, :]
    return np.asarray(np.where(same, 3.5, found), dtype=np.float64)


def _common(base: Sequence[frozenset[str]], new: Sequence[frozenset[str]]) -> Floats:
    """The share of their words that two names have in common (Jaccard); 0 where a name has none."""
    number: dict[str, int] = {}
    for words in (*base, *new):
        for word in words:
            number.setdefault(word, len(number))
    sides = []
    for names in (base, new):
        has = np.zeros((len(names), len(number)))
        for row, words in enumerate(names):
            has[row, [number[word] for word in words]] = 1
        sides.append(has)
    both = sides[0] @ sides[1].T
    either = sides[0].sum(axis=1)[:, None] + sides[1].sum(axis=1)[None, :] - both
    return np.asarray(both / np.maximum(either, 1), dtype=np.float64)


@lru_cache(maxsize=100_000)
def _read(name: str) -> tuple[str, frozenset[str]]:
    """The family of a kernel, and the words of its name that say what it does."""
    family = next((family for family, pattern in _FAMILIES if pattern.search(name)), _OTHER)
    words = {word.lower() for word in re.findall(r"[A-Za-z][A-Za-z0-9]*", name.replace("_", " "))}
    return family, frozenset(word for word in words if not _WORDLESS.fullmatch(word))
