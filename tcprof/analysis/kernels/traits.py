"""What else kernels' names tell, a column each: what advice depends on beside the columns of ``read_names``."""

import math
import re
from functools import lru_cache

import pandas as pd

# Adam that loops over the parameters, by kernels that nothing else has.
_LOOPED = r"addcdiv_cuda_kernel|addcmul_cuda_kernel|lerp_scalar_kernel"
_PATTERNS = {
    "is_convolution": r"(?i)conv|[fbdw](?:prop|grad)|winograd|implicit_|nhwc|nchw",
    "is_weight_gradient": r"[Ww]grad",
    "is_vector_product": r"gemv|gemvx|dot_kernel|gemmk1_",
    "is_unaligned": r"align[abc]?[12](?!\d)",  # loads one or two values at a time
    "is_softmax": r"(?is)^(?!.*log_?softmax).*softmax",  # not that of a loss
    "is_flash_attention_2": r"(?s)^(?!.*sm90).*flash_(?:fwd_kernel|bwd_)",
    "is_random": r"(?:normal|uniform)_and_transform",
    "is_indexed": r"indexFunc|gather|scatter",
    "is_cast": r"float16_copy_kernel|unrolled_elementwise_kernel<[^<>]*direct_copy|LoadWithCast.*direct_copy",
    # cuDNN's and PyTorch's own, whose names for channels last say so.
    "is_layout_change": r"nchwToNhwc|nhwcToNchw",
    "is_norm_channels_first": r"bn_(?:bw|fw_tr|fw_inf)_1C11"
    r"|batch_norm_(?:backward|collect_statistics|transform_input)(?!\w*channels_last)",
    "is_pooling_channels_first": r"pool\w*nchw|PoolForward_NCHW|PoolBackward_NCHW",
    "is_looped_optimizer": _LOOPED,
    "is_list_optimizer": r"(?s)^(?!.*(?:Fused|LpNorm|non_finite|lpnorm)).*multi_tensor_apply",
    "is_second_moment": r"PointwiseOp",  # addcmul and addcdiv
    "is_pytorch_optimizer": rf"at::native.*(?:multi_tensor_apply|[Ff]used_?[Aa]dam|[Ff]used_?[Ss]gd)|{_LOOPED}",
    "is_unscaling": r"non_finite_check_and_unscale|amp_update_scale",
    # Of PyTorch's scaler, or of another that compares numbers, to find what is not finite.
    "is_scaler": r"non_finite|amp_update_scale|[Oo]verflow|ScaleFunctor|AxpbyFunctor|Compare(?:Eq)?Functor"
    r"|is_?(?:finite|inf|nan)",
    "is_sent": r"SendRecv|_Send|_Recv",  # stages of a pipeline, or all to all
    # Weights sent and gradients summed in each step are nn.DataParallel's: others reduce on all GPUs (AllReduce).
    "is_broadcast": r"^nccl\w*_Broadcast",
    "is_reduction": r"^nccl\w*_Reduce_",
    "is_of_library": r"cutlass|xmma|cublas|magma|(?:maxwell|volta|turing|ampere)_",
    "is_of_framework": r"at::native|triton_|^(?:input_|loop_)?\w*fusion|cudnn|xmma|cutlass|nvjet|^graph$",
    "is_pytorch_native": r"at::native",
    "is_of_compiler": r"^triton_|^graph$",  # of torch.compile, or what hides its kernels
}
TRAITS = {name: re.compile(pattern) for name, pattern in _PATTERNS.items()}
_ATTENTION = re.compile(r"kernel_traits<(?:\(int\))?(\d+), *(?:\(int\))?(\d+), *(?:\(int\))?(\d+)")
_FUNCTION = re.compile(r"\w+(?=[<(]|$)")


def read_traits(names: "pd.Series[str]") -> pd.DataFrame:
    """Which traits each name has: columns of bool, by the index of the names."""
    return pd.DataFrame([_read(name) for name in names], index=names.index, columns=list(TRAITS), dtype=bool)


@lru_cache(maxsize=100_000)
def _read(name: str) -> tuple[bool, ...]:
    return tuple(pattern.search(name) is not None for pattern in TRAITS.values())


def read_attention(name: str) -> tuple[int, int, int] | None:
    """Of FlashAttention-2 the size of a head, and the rows of queries and of keys of a block."""
    found = _ATTENTION.search(name)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def function_name(name: str) -> str:
    """The function alone, as Nsight Compute's ``--kernel-name`` takes it; empty where there is none."""
    found = _FUNCTION.search(name)
    return found[0] if found else ""


def count_blocks(geometry: str) -> float:
    """The blocks of a grid, as in ``launch_geometry``; NaN where it was not read."""
    grid = geometry.partition(" ")[0].split("x")
    return math.prod(map(float, grid)) if len(grid) == 3 else math.nan
