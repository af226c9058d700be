"""What kind of work a kernel does, going by its name: which kernels can replace each other in two recordings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.kernels.names import GRAPH, PRODUCT, parse_name
from tcprof.arrays import Floats, Ints

# Of these, any two in the same place do the same work in two ways. Others must share most words that say what they do.
_STAND_INS = (PRODUCT, GRAPH, "attention", "normalization", "softmax", "pooling")
_ALIKE = 0.5
_SAME_GEOMETRY = 0.5  # of similarity: a hint only, less than that of names


@dataclass(frozen=True)
class Names:
    """What the codes of paths and kernels stand for, in both recordings."""

    name: npt.NDArray[np.object_]
    geometry: npt.NDArray[np.object_]
    path: npt.NDArray[np.object_]

    def similarity(self, base: Ints, new: Ints) -> Floats:
        """How well kernels of these codes can replace each other, a row for each of the baseline's."""
        found = similarities(self.name[base].tolist(), self.name[new].tolist())
        same = self.geometry[base][:, None] == self.geometry[new][None, :]
        return np.asarray(np.where((found > 0) & same, found + _SAME_GEOMETRY, found), dtype=np.float64)


def classify_kernels(kernels: pd.DataFrame) -> pd.DataFrame:
    """The class of each of ``tcprof.frames.KERNELS``, such as FP32 products, FP16 tensor kernels or softmax."""
    keys = zip(kernels["name"], kernels["tensor_kernel"], kernels["precision"], strict=True)
    return pd.DataFrame([_classify(*key) for key in keys], columns=["label", "precision"], dtype=object)


def _classify(name: str, tensor_kernel: bool, precision: str) -> tuple[str, str]:
    work = parse_name(name).work
    if work != GRAPH and (tensor_kernel or work == PRODUCT):
        label = "tensor kernels" if tensor_kernel else PRODUCT
        return f"{precision.upper()} {label}".strip(), precision
    return work, precision


def similarities(base: Sequence[str], new: Sequence[str]) -> Floats:
    """How well kernels of these names can replace each other, a row for each of the baseline's.

    3.5 for the same name; up to 3 for two that do the same work, such as two products; up to 2 for two that share most
    of the words that say what they do; else 0.
    """
    parsed = [parse_name(name) for name in [*base, *new]]
    works, words = np.array([name.work for name in parsed], dtype=object), [name.words for name in parsed]
    codes = pd.factorize(works)[0]
    stand_in = np.isin(works, _STAND_INS)[: len(base), None]
    common = _common(words[: len(base)], words[len(base) :])
    same_work = codes[: len(base), None] == codes[None, len(base) :]
    found = np.select([same_work & stand_in, same_work & (common > _ALIKE)], [2 + common, 1 + common], 0.0)
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
