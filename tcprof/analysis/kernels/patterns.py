"""What parts of kernels' names tell: of matrix instructions, and as traits, a column each, that advice depends on."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd

# Names that caches keep: more than a file of 20 MB has, since a full cache helps no one who reads them in turn.
MOST_NAMES = 1 << 18


def either(*patterns: str) -> re.Pattern[str]:
    """One expression that finds what any of some find."""
    return re.compile("|".join(patterns))


def mma(*prefixes: str) -> str:
    """Make a pattern for mma after such a prefix or "", as a word or part of a CamelCase name: not of gamma or xmma."""
    forms = [
        ("(?<![A-Za-z])", [f"{prefix}mma" for prefix in prefixes]),
        ("", [f"{prefix}mma".capitalize() for prefix in prefixes]),
        ("(?<![A-Z])", [f"{prefix}mma".upper() for prefix in prefixes]),
    ]
    return "|".join(f"{before}(?:{'|'.join(words)})(?![a-z])" for before, words in forms)


# Instructions, in order: the first that is found decides.
_FAMILIES = (
    ("mma.sync", re.compile(r"(?i:(?:nvjet|cutlass3x|xmma)_sm12\d)")),
    (
        "tcgen05",
        either(
            r"tcgen05|(?i:(?:nvjet|cutlass3x|xmma)_sm1[01]\d)|nvjet_.*_2cta|deep_gemm::sm10|(?:Mainloop|Attn\w+)Sm1[01]\d"
            r"|(?i:(?:fmha|[bg]e?mm)\w{0,200}sm1[01]\d)",
            mma("u"),
        ),
    ),
    (
        "wgmma",
        either(
            r"(?i:warpgroup|nvjet_|cutlass3x_sm90|sm90_fp8)|FlashAttn\w+Sm90|MainloopSm90|SM90_\d+x\d+x\d+_",
            mma("wg", "g"),
        ),
    ),
    (
        "mma.sync",
        either(
            r"(?i:[shdc](?:884|1688|16816)|i(?:8816|16832|16864)|tensorop|tensor(?:16|8)x?8|sm[78]\d_xmma|flash_(?:fwd|bwd))",
            r"fmha_cutlass[FB]|SM[78]\d_\d+x\d+x\d+_|mma(?:_|\.|::)sync|m16n8k\d+",
            mma("w", "h", "i", "d"),
        ),
    ),
)
# Shapes of instructions, rows x columns x depth, in order: the first that is found decides. Numbers in CUTLASS's names
# are those of an instruction, in names of its WMMA kernels those of two. FlashAttention and PyTorch's memory-efficient
# attention have no numbers; their sources have the shapes.
_SHAPES = (
    ("8x8x4", re.compile(r"(?i:[shd]884)|fmha_cutlass[FB]_f16_\w{0,200}_sm70")),
    ("8x8x16", re.compile(r"(?i:i8816)")),
    ("16x8x8", re.compile(r"(?i:[shd]1688|tensor1688)|fmha_cutlass[FB]_(?:f32_\w{0,200}_sm80|f16_\w{0,200}_sm75)")),
    ("16x8x16", re.compile(r"(?i:[shdi]16816|[shi]161616|flash_(?:fwd|bwd))|fmha_cutlass[FB]_b?f16_\w{0,200}_sm80")),
    ("16x8x32", re.compile(r"(?i:i16832)")),
    ("16x8x64", re.compile(r"(?i:i16864)")),
)
_SHAPE = re.compile(
    r"tensor(\d+)x(\d+)x(\d+)|SM[78]\d_(\d+)x(\d+)x(\d+)_|(?<![a-z])m(\d+)n(\d+)k(\d+)"
    r"|Mma<[\w:]{0,200}GemmShape<(?:\(int\))?(\d+), (?:\(int\))?(\d+), (?:\(int\))?(\d+)>, (?:\(int\))?32,"
)
# What the compiler makes of the products of the WMMA API, which benchmarks/mma_rates.cu shows.
_WMMA = re.compile(mma("w"))
_SHAPES_OF_WMMA = {"fp16": "16x8x16", "bf16": "16x8x16", "tf32": "16x8x4", "int8": "16x8x16"}
# Meant for the Tensor Cores, with instructions that the name does not give.
_TENSOR = either(
    r"xmma_(?:gemm|fprop|dgrad|wgrad)|cutlass.*tensor|triton_(?:tem|mm|bmm|gemm)|_scaled_mm|te_gemm|sdpa.*flash",
    # XLA's by Triton, and those of vLLM, SGLang, FlashInfer and TensorRT-LLM.
    r"gemm_fusion|fused_moe_(?:gptq_awq_)?kernel|fused_moe_kernel|matmul_ogs|[Mm]arlin|machete|awq_gemm|_block_\w+_matmul",
    r"^_fwd_(?:grouped_kernel_stage1|kernel)$|kernel_unified_attention|fmha(?:Sm\d|_v2)|flashinfer::\w*Prefill",
    r"transformer_engine::.*(?:gemm|attn)",
    r"(?i:(?<!no)(?<!no_)(?<!non)(?<!non_)(?<!without)(?<!without_)tensor_?core)",
    mma(""),
)
_PRECISIONS = (
    # PyTorch's memory-efficient attention multiplies float32 as three products of TF32 parts, from Ampere on.
    ("tf32", re.compile(r"fmha_cutlass[FB]_f32_")),
    # cuDNN's attention is called so for both kinds of 16 bits.
    ("fp16/bf16", re.compile(r"cudnn_generated\w{0,200}?_sdpa_\w{0,200}?_f16_")),
    ("fp8", re.compile(r"(?i:e4m3|e5m2|fp8)|nvjet_(?:sm\d+_)?q[a-z]+_")),
    # Weights in FP4 beside activations in 16 bits are multiplied in these.
    ("fp4", re.compile(r"(?i:e2m1(?!\w?(?:bfloat|fp16|half))|nvfp4)|nvjet_(?:sm\d+_)?oo[a-z]+_")),
    ("int8", either(r"(?i:i8i8|s8s8|i16832|i8816|i161616|gemm_[su]8|int8)|nvjet_(?:sm\d+_)?i[a-z]+_", mma("i"))),
    ("fp64", either(r"(?i:f64f64|d884)|\bdouble\b", mma("d"))),
    ("tf32", re.compile(r"(?i:tf32|tfloat32)|nvjet_(?:sm\d+_)?s[a-z]+_")),
    ("bf16", re.compile(r"(?i:bf16|bfloat16)|nvjet_(?:sm\d+_)?t[a-z]+_")),
    ("fp16", re.compile(r"(?i:f16|fp16|half|h884|h1688|h16816|s884|s161616)|nvjet_(?:sm\d+_)?h[a-z]+_")),
    ("tf32", re.compile(r"s1688(?:gemm|fprop|dgrad|wgrad)")),
)
# What products are added up in: the letter before the instruction's sizes, the second of nvjet's, or the second type of
# cuDNN's second pair. FlashAttention and its like add up in float32. With FP16, GeForce cards are twice as fast.
_ACCUMULATORS = (
    ("fp16", re.compile(r"h(?:884|1688|16816)|f16f16_f16f16|nvjet_(?:sm\d+_)?[a-z]h[a-z]_")),
    (
        "fp32",
        re.compile(r"s(?:884|1688|16816|161616)|f16f32|f16_f32|nvjet_(?:sm\d+_)?[a-z]+s[a-z]_|flash|fmha|sdpa|Flash"),
    ),
)
_TILES = re.compile(
    r"tile(?:size)?(\d+x\d+x\d+)|nvjet_(?:sm\d+_)?[a-z]+_(\d+x\d+)_|_(\d+x\d+)_\d+x\d_|(?<!SM\d\d)_(\d+x\d+x?\d*)_"
)


@dataclass(frozen=True)
class Instructions:
    """What a name tells of a kernel's matrix instructions; each is empty where it does not tell."""

    precision: str = ""  # of what they read, such as bf16. Several, as in fp16/bf16, where it is one of these
    family: str = ""  # mma.sync, wgmma or tcgen05
    shape: str = ""  # rows, columns and depth of an instruction, such as 16x8x16, where the family has several
    tile: str = ""  # of the products, such as 128x128x64
    accumulator: str = ""  # precision in which products are added up: fp16, fp32


def read_instructions(name: str) -> Instructions | None:
    """Read matrix instructions from a kernel's name; None if it tells of none."""
    family = first(_FAMILIES, name)
    if not (family or _TENSOR.search(name)):
        return None
    tile = next((group for group in match.groups() if group), "") if (match := _TILES.search(name)) else ""
    precision = first(_PRECISIONS, name)
    shape = ""
    if family == "mma.sync":
        numbers = match.groups() if (match := _SHAPE.search(name)) else ()
        shape = "x".join(number for number in numbers if number) or first(_SHAPES, name)
        shape = shape or (_SHAPES_OF_WMMA.get(precision, "") if _WMMA.search(name) else "")
    return Instructions(precision, family, shape, tile, first(_ACCUMULATORS, name))


def first(patterns: Sequence[tuple[str, re.Pattern[str]]], name: str) -> str:
    """Return what the first pattern that matches stands for; empty if none does."""
    return next((text for text, pattern in patterns if pattern.search(name)), "")


# Adam that loops over the parameters, by kernels that nothing else has.
_LOOPED = r"addcdiv_cuda_kernel|addcmul_cuda_kernel|lerp_scalar_kernel"
_PATTERNS = {
    "is_convolution": r"(?i)conv|[fbdw](?:prop|grad)|winograd|implicit_|nhwc|nchw",
    "is_weight_gradient": r"[Ww]grad",
    "is_vector_product": r"gemv|gemvx|dot_kernel|gemmk1_",
    "is_unaligned": r"align[abc]?[12](?!\d)",  # loads one or two values at a time
    # Not that of a loss, which PyTorch's kernels for few classes tell by a flag.
    "is_softmax": r"(?is)^(?!.*log_?softmax|.*softmax_warp_\w+<[^<>]*(?:float|double), (?:\(int\))?\d+, "
    r"(?:\(bool\)1|true)).*softmax",
    "is_flash_attention_2": r"(?s)^(?!.*sm90).*flash_(?:fwd_kernel|bwd_)",
    "is_solver": r"(?i)getr[fs]|potr[fs]|geqrf|syev|gesvd|gebrd|orm(?:qr|tr)|trs[mv]|cusolver|magma",
    "is_concatenation": r"CatArrayBatchedCopy",
    "is_plain_copy": r"^(?!.*(?:WithCast|gpu_kernel_impl<|unrolled_)).*elementwise_kernel<.*direct_copy_kernel_cuda",
    "is_choice": r"(?i)sort|topk|multinomial|arg(?:max|min)|nonzero|DeviceSelect",
    "is_nonzero": r"DeviceSelectSweep|nonzero",
    "is_suppression": r"nms_kernel|gather_keep_from_mask",  # of boxes that overlap
    "is_any": r"ReduceOp<bool, at::native::func_wrapper_t<bool, at::native::or_kernel",
    "is_recurrent_cell": r"(?:lstm|gru)_cell_(?:forward|backward)",
    "is_table_gradient": r"compute_grad_weight|embedding_backward|sum_and_scatter|krn_partial",
    "is_fill": r"FillFunctor",
    "is_random": r"(?:normal|uniform)_and_transform",
    "is_indexed": r"indexFunc|gather(?!TopK)|scatter",
    "is_cast": r"float16_copy_kernel|(?:unrolled_elementwise_kernel|gpu_kernel_impl)<[^<>]*direct_copy"
    r"|LoadWithCast.*direct_copy",
    # cuDNN's and PyTorch's own, whose names for channels last say so.
    "is_layout_change": r"nchwToNhwc|nhwcToNchw",
    "is_norm_channels_first": r"bn_(?:bw|fw_tr|fw_inf)_1C11"
    r"|batch_norm_(?:backward|collect_statistics|transform_input)(?!\w*channels_last)",
    "is_pooling_channels_first": r"pool\w*nchw|PoolForward_NCHW|PoolBackward_NCHW",
    "is_looped_optimizer": _LOOPED,
    "is_list_optimizer": r"(?s)^(?!.*(?:Fused|LpNorm|non_finite|lpnorm)).*multi_tensor_apply",
    "is_fused_optimizer": r"at::native.*[Ff]used_?(?:[Aa]da|[Ss]gd|Optimizer)",
    "is_pytorch_optimizer": rf"at::native.*(?:multi_tensor_apply|[Ff]used_?[Aa]dam|[Ff]used_?[Ss]gd)|{_LOOPED}",
    "is_unscaling": r"non_finite_check_and_unscale|amp_update_scale",
    # Of PyTorch's scaler, or of another that compares numbers, to find what is not finite.
    "is_scaler": r"non_finite|amp_update_scale|[Oo]verflow|ScaleFunctor|AxpbyFunctor|Compare(?:Eq)?Functor"
    r"|is_?(?:finite|inf|nan)",
    "is_sent": r"SendRecv|_Send|_Recv",  # stages of a pipeline, or all to all
    # Weights sent and gradients summed in each step are nn.DataParallel's: others reduce on all GPUs (AllReduce).
    "is_broadcast": r"^nccl\w*_Broadcast",
    "is_reduction": r"^nccl\w*_Reduce_",
    "is_of_library": r"cutlass|xmma|nvjet|cublas|magma|(?:maxwell|volta|turing|ampere)_",
    "uses_framework": r"at::native|triton_|^(?:input_|loop_)?\w*fusion|cudnn|xmma|^graph$",
    "is_pytorch_native": r"at::native",
    "is_of_compiler": r"^triton_|^graph$",  # of torch.compile, or what hides its kernels
}
TRAITS = {name: re.compile(pattern) for name, pattern in _PATTERNS.items()}
_ATTENTION = re.compile(r"kernel_traits<(?:\(int\))?(\d+), *(?:\(int\))?(\d+), *(?:\(int\))?(\d+)")
_FUNCTION = re.compile(r"\w+(?=[<(]|$)")


def read_traits(names: "pd.Series[str]") -> pd.DataFrame:
    """Find the traits of each name: columns of bool, by the index of the names."""
    return pd.DataFrame([_read(name) for name in names], index=names.index, columns=list(TRAITS), dtype=bool)


@lru_cache(MOST_NAMES)
def _read(name: str) -> tuple[bool, ...]:
    return tuple(pattern.search(name) is not None for pattern in TRAITS.values())


def read_attention(name: str) -> tuple[int, int, int] | None:
    """Read the size of a head, and a block's rows of queries and of keys, from names of FlashAttention-2."""
    match = _ATTENTION.search(name)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def function_name(name: str) -> str:
    """Return the function alone, as Nsight Compute's ``--kernel-name`` takes it; empty where there is none."""
    match = _FUNCTION.search(name)
    return match[0] if match else ""


def count_blocks(geometry: str) -> float:
    """Count the blocks of a grid, as in ``launch_geometry``; NaN where it was not read."""
    grid = geometry.partition(" ")[0].split("x")
    return math.prod(map(float, grid)) if len(grid) == 3 else math.nan


def count_threads(geometry: str) -> float:
    """Count the threads of a launch, likewise."""
    grid, _, block = geometry.partition(" ")
    return count_blocks(grid) * count_blocks(block)
