"""Ranges that XLA opens as it compiles and runs programs (JAX, TensorFlow): their names without the numbers in them."""

import re

import numpy as np
import pandas as pd

from tcprof.arrays import Bools, Ints

# "XlaModule:#prefix=jit(step)/layers,hlo_module=jit_step,program_id=7#" around a program; in it, for each part that it
# launches, "Thunk:#name=jit(step)/layers/dot_general,hlo_op=gemm_fusion.2,unique_hlo_op_id=4724#". See XLA's
# xla/backends/gpu/runtime/annotation.cc. Programs that the autotuner makes, to try kernels, have no program_id.
_MODULE = re.compile(r"XlaModule:#(?:prefix=(?P<name>.*),)?hlo_module=(?P<own>[^,#]+)(?:,program_id=(?P<id>\d+))?#")
_THUNK = re.compile(r"Thunk:#(?:name=(?P<name>.*),)?hlo_op=(?P<own>[^,#]+)(?:,unique_hlo_op_id=\d+)?#")
_COMPILER = re.compile(
    r"Xla(?!Module:)[A-Z]\w*:#.*#"
)  # "XlaCompile:#module=jit_step#", "XlaPass:#name=fusion,module=jit_step#"
MODULE = "XLA module "
COMPILATION = "XLA compilation"  # autotuning, which runs kernels to choose among them, is part of it


def shorten_name(name: str) -> str:
    """The name of a range without XLA's numbers, which change when a program is compiled again; others as they are."""
    if not name.endswith("#"):
        return name
    if module := _MODULE.fullmatch(name):
        return MODULE + module["own"] if module["id"] else COMPILATION
    if thunk := _THUNK.fullmatch(name):
        return ", ".join(filter(None, (thunk["name"], thunk["own"])))
    return COMPILATION if _COMPILER.fullmatch(name) else name


def lie_in_compilation(name: pd.Categorical, thread: Ints, start: Ints, end: Ints) -> Bools:
    """Which ranges lie in one of XLA's compilation on their thread: passes, and what autotuning runs."""
    inside = np.zeros(len(start), dtype=bool)
    if COMPILATION in name.categories:
        compiles = np.asarray(name == COMPILATION)
        order = np.lexsort((-end, start, thread))
        reach = pd.Series(np.where(compiles, end, np.iinfo(np.int64).min)[order]).groupby(thread[order])
        before = reach.cummax().groupby(thread[order]).shift(fill_value=np.iinfo(np.int64).min)
        inside[order] = before.to_numpy() >= end[order]
    return inside
