"""Names of ranges that XLA opens as it runs a compiled program (JAX, TensorFlow): without the numbers in them."""

import re

# "XlaModule:#prefix=jit(step)/layers,hlo_module=jit_step,program_id=7#" around a program; in it, for each part that it
# launches, "Thunk:#name=jit(step)/layers/dot_general,hlo_op=gemm_fusion.2,unique_hlo_op_id=4724#". See XLA's
# xla/backends/gpu/runtime/annotation.cc.
_MODULE = re.compile(r"XlaModule:#(?:prefix=(?P<name>.*),)?hlo_module=(?P<own>[^,#]+)(?:,program_id=\d+)?#")
_THUNK = re.compile(r"Thunk:#(?:name=(?P<name>.*),)?hlo_op=(?P<own>[^,#]+)(?:,unique_hlo_op_id=\d+)?#")
MODULE = "XLA module "


def shorten_name(name: str) -> str:
    """The name of a range without XLA's numbers, which change when a program is compiled again; others as they are."""
    if not name.endswith("#"):
        return name
    if module := _MODULE.fullmatch(name):
        return MODULE + module["own"]
    if thunk := _THUNK.fullmatch(name):
        return ", ".join(filter(None, (thunk["name"], thunk["own"])))
    return name
