"""Ranges that XLA opens as it compiles and runs programs (JAX, TensorFlow): their names without the numbers in them."""

import re
from collections.abc import Sequence
from itertools import takewhile

import numpy as np
import pandas as pd

from tcprof.annotate.steps import BACKWARD, FORWARD, OPTIMIZER, RECOMPUTE
from tcprof.arrays import Bools, Ints

# "XlaModule:#prefix=jit(step)/layers,hlo_module=jit_step,program_id=7#" around a program; in it, for each part that it
# launches, "Thunk:#name=jit(step)/layers/dot_general,hlo_op=gemm_fusion.2,unique_hlo_op_id=4724#". See XLA's
# xla/backends/gpu/runtime/annotation.cc. Programs that the autotuner makes, to try kernels, have no program_id.
_MODULE = re.compile(r"XlaModule:#(?:prefix=(?P<name>.*),)?hlo_module=(?P<own>[^,#]+)(?:,program_id=(?P<id>\d+))?#")
_THUNK = re.compile(r"Thunk:#(?:name=(?P<name>.*),)?hlo_op=(?P<own>[^,#]+)(?:,unique_hlo_op_id=\d+)?#")
_COMPILER = re.compile(
    r"Xla(?!Module:)[A-Z]\w*:#.*#"
)  # "XlaCompile:#module=jit_step#", "XlaPass:#name=fusion,module=jit_step#"
DOMAIN = "TSL"
MODULE = "XLA module "
COMPILATION = "XLA compilation"  # autotuning, which runs kernels to choose among them, is part of it


def shorten_name(name: str) -> str:
    """Cut XLA's numbers, which change when a program is compiled again, off a range's name; others stay."""
    if not name.endswith("#"):
        return name
    if module := _MODULE.fullmatch(name):
        return MODULE + module["own"] if module["id"] else COMPILATION
    if thunk := _THUNK.fullmatch(name):
        return ", ".join(filter(None, (thunk["name"], thunk["own"])))
    return COMPILATION if _COMPILER.fullmatch(name) else name


def lie_in_compilation(name: pd.Categorical, thread: Ints, start: Ints, end: Ints) -> Bools:
    """Find the ranges that lie in one of XLA's compilation on their thread: passes, and autotuning's runs."""
    inside = np.zeros(len(start), dtype=bool)
    if COMPILATION in name.categories:
        compiles = np.asarray(name == COMPILATION)
        order = np.lexsort((-end, start, thread))
        reach = pd.Series(np.where(compiles, end, np.iinfo(np.int64).min)[order]).groupby(thread[order])
        before = reach.cummax().groupby(thread[order]).shift(fill_value=np.iinfo(np.int64).min)
        inside[order] = before.to_numpy() >= end[order]
    return inside


# A scope: "jit(step)/transpose(jvp(Transformer))/block_0/up/dot_general", whose last part is JAX's own name of what is
# computed, unless several ops of one scope were fused.
_TRANSFORMED = re.compile(r"(?P<how>\w+)\((?P<what>.*)\)", re.DOTALL)
_REMATERIALIZED = "rematted_computation"  # in the backward pass of what is under jax.checkpoint
_NO_MODULES = {_REMATERIALIZED, "checkpoint", "closed_call", "while", "body", "cond"}
_NAMED = re.compile(r"\w*[A-Z]\w*|\w+_\d+")  # as Flax names modules; what JAX computes is called otherwise
_EINSUM = "->"
_QUALIFIED = re.compile(r"(?:\w+\.)+(?=[A-Z]\w*$)")  # as Equinox names its layers: eqx.nn.Linear
_FUSED = ";"  # between the scopes of ops that became one


def read_scopes(names: Sequence[str]) -> list[tuple[str, str]]:
    """Read module and phase from the scope in each short name of a program's part; empty where it has none.

    Modules are those of Flax, which opens a ``jax.named_scope`` around each, and what programs open themselves; the
    phase is known where the program computes gradients, or a scope is called ``optimizer``.
    """
    scopes = [_join_fused(name.rpartition(", ")[0]) for name in names]
    around = {
        "/".join(parts[:depth]) for parts in (scope.split("/") for scope in scopes) for depth in range(1, len(parts))
    }
    has_gradients = any("jvp(" in scope for scope in scopes)
    return [_read_scope(scope, scope in around, has_gradients) for scope in scopes]


def _join_fused(scope: str) -> str:
    """Join the scopes of ops that became one: the parts that they share."""
    parts = zip(*(name.split("/") for name in scope.split(_FUSED)), strict=False)
    return "/".join(column[0] for column in takewhile(lambda column: len(set(column)) == 1, parts))


def _read_scope(scope: str, holds_others: bool, has_gradients: bool) -> tuple[str, str]:
    modules, how = [], set()
    parts = scope.split("/")
    for part in parts:
        while match := _TRANSFORMED.fullmatch(part):
            how.add(match["how"])
            part = "" if match["how"].endswith("jit") else match["what"]
        part = _QUALIFIED.sub("", part)
        modules += [part] if part and part not in _NO_MODULES and _EINSUM not in part else []
    if modules and modules[-1] == parts[-1] and not holds_others and not _NAMED.fullmatch(parts[-1]):
        modules.pop()
    phase = FORWARD if scope and not has_gradients else ""
    if "transpose" in how:
        phase = RECOMPUTE if _REMATERIALIZED in parts else BACKWARD
    elif "jvp" in how:
        phase = FORWARD
    elif OPTIMIZER in map(str.lower, modules):
        return "", OPTIMIZER
    return ".".join(modules), phase
