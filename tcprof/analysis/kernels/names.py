"""What a kernel's name tells: whether it is meant for the Tensor Cores, its precision, instructions and tile.

The names are those of cuBLAS and cuBLASLt, cuDNN, CUTLASS, FlashAttention, PyTorch, Triton, XLA and TransformerEngine,
and of any code, mangled or not, that names its matrix instructions. A name is a witness, not a measurement: what it
says stands in columns of its own.
"""

import re
from collections.abc import Sequence

import pandas as pd

NO_MATRIX = "none"


def _either(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


def _mma(*prefixes: str) -> str:
    """A pattern for mma as a word or a part of a CamelCase name, not as letters of gamma, summary or xmma.

    Args:
        prefixes: What stands before it, such as wg for wgmma, Wgmma and WGMMA; empty for mma alone.
    """
    forms = [
        ("(?<![A-Za-z])", [f"{prefix}mma" for prefix in prefixes]),
        ("", [f"{prefix}mma".capitalize() for prefix in prefixes]),
        ("(?<![A-Z])", [f"{prefix}mma".upper() for prefix in prefixes]),
    ]
    return "|".join(f"{before}(?:{'|'.join(words)})(?![a-z])" for before, words in forms)


# Products and convolutions, on whichever cores: the precision of these is told for the CUDA cores too.
PRODUCTS = re.compile(
    r"gemm|gemv|nvjet|xmma|cutlass|wgrad|dgrad|fprop|convol|conv\dd|winograd|triton_(?:tem|mm|bmm)|dot_kernel|matmul"
    r"|(?:maxwell|pascal|volta|turing|ampere)_\w*cudnn_",
    re.IGNORECASE,
)
_COMMUNICATION = re.compile(r"^nccl|ncclDevKernel|ncclKernel|nvshmem")

# Kernels whose source is known and has no matrix instruction; what the tensor pipe does in them is index arithmetic.
# What goes before and after products and attention: layouts, sums of parts, work space.
_HELPERS = _either(
    r"splitK_?reduce|ReduceSplitK|reduction::kernel|execute_split_k_kernel|init_device_workspace|epilogue::impl",
    r"fft2d|flip_filter|scal_kernel|precompute_indices|nchwToNhwc|nhwcToNchw|nhwcAddPadding",
    r"dot_do_o|convert_dq|fmha_reduce_head|flash_fwd_splitkv_combine|FlashAttn(?:FwdCombine|Bwd(?:Pre|Post)process)",
)
_OTHER_WORK = _either(
    r"^triton_(?:poi|red|per|for)_",  # Inductor: element-wise, reductions, persistent ones, lists of tensors
    r"^(?:loop|input)_\w*fusion",  # XLA's element-wise fusions and reductions
    r"^(?:void )?(?:at(?:::|_cuda_detail::)?)?(?:cub|thrust)::",
    r"^(?:void )?(?:<unnamed>::|\(anonymous namespace\)::)?(?:softmax_warp_|elementwise_kernel_with_index)",
    r"cudnn::(?:\w+::)?(?:batchnorm|bn_|pooling)|xmma_pooling|curandState",
)
_PYTORCH = re.compile(r"^(?:void |_ZN)?\d?at(?:::|6)native(?:::|\d)")  # its own kernels, but for those with a product
_PYTORCH_MATRIX = re.compile(f"{_mma('', 'w', 'wg', 'g', 'h', 'i', 'd')}|gemm|cutlass|flash|fmha")
# Products in plain arithmetic, though they are called xmma or Mma too.
_CUDA_CORES = _either(
    r"ffma|[Ss]imt(?![a-z])|sm[56]\d_xmma|xmma_\w*_c?f32c?f32_f32f32_",
    r"(?:maxwell|pascal|volta|turing|ampere|hopper)_[sdhcz](?:gemm|cudnn)|convolve_sgemm|sgemm_largek",
    r"gemv(?:x::|2|N|T|_)|gemmSN_|gemmk1_|cudnn::(?:\w+::)?winograd|wgrad_alg0_engine|dgrad_engine",
    r"fmha_cutlass[FB]_(?:f32_\w*_sm[567]|\w+_sm50)\d?",  # below Ampere there is none for float32
)

# Instructions, in order: the first that is found decides.
_FAMILIES = (
    ("mma.sync", re.compile(r"(?i:(?:nvjet|cutlass3x|xmma)_sm12\d)")),
    (
        "tcgen05",
        _either(
            r"tcgen05|(?i:(?:nvjet|cutlass3x|xmma)_sm1[01]\d)|nvjet_.*_2cta|deep_gemm::sm10|(?:Mainloop|Attn\w+)Sm1[01]\d",
            _mma("u"),
        ),
    ),
    (
        "wgmma",
        _either(
            r"(?i:warpgroup|nvjet_|cutlass3x_sm90|sm90_fp8)|FlashAttn\w+Sm90|MainloopSm90|SM90_\d+x\d+x\d+_",
            _mma("wg", "g"),
        ),
    ),
    (
        "mma.sync",
        _either(
            r"(?i:[shdc](?:884|1688|16816)|i(?:8816|16832|16864)|tensorop|tensor(?:16|8)x?8|sm[78]\d_xmma|flash_(?:fwd|bwd))",
            r"fmha_cutlass[FB]|SM[78]\d_\d+x\d+x\d+_|mma(?:_|\.|::)sync|m16n8k\d+",
            _mma("w", "h", "i", "d"),
        ),
    ),
)
# Meant for the Tensor Cores, with instructions that the name does not tell.
_TENSOR = _either(
    r"xmma_(?:gemm|fprop|dgrad|wgrad)|cutlass.*tensor|triton_(?:tem|mm|bmm)|_scaled_mm|te_gemm|sdpa.*flash",
    r"transformer_engine::.*(?:gemm|attn)",
    r"(?i:(?<!no)(?<!no_)(?<!non)(?<!non_)(?<!without)(?<!without_)tensor_?core)",
    _mma(""),
)
_TENSOR_PRECISIONS = (
    ("fp8", re.compile(r"(?i:e4m3|e5m2|fp8)|nvjet_(?:sm\d+_)?q[a-z]+_")),
    ("int8", _either(r"(?i:i8i8|s8s8|i16832|i8816|int8)|nvjet_(?:sm\d+_)?i[a-z]+_", _mma("i"))),
    ("fp64", _either(r"(?i:f64f64|d884)|\bdouble\b", _mma("d"))),
    ("tf32", re.compile(r"(?i:tf32|tfloat32)|nvjet_(?:sm\d+_)?s[a-z]+_")),
    ("bf16", re.compile(r"(?i:bf16|bfloat16)|nvjet_(?:sm\d+_)?t[a-z]+_")),
    ("fp16", re.compile(r"(?i:f16|fp16|half|h884|h1688|h16816|s884|s161616)|nvjet_(?:sm\d+_)?h[a-z]+_")),
    ("tf32", re.compile(r"s1688(?:gemm|fprop|dgrad|wgrad)")),
)
# Of products that do not name a matrix instruction; a sum in float32 says nothing where the inputs are narrower.
_PLAIN_PRECISIONS = (
    ("bf16", re.compile(r"bf16|bfloat", re.IGNORECASE)),
    ("fp16", re.compile(r"half|hgemm|hcudnn|f16f16|fp16", re.IGNORECASE)),
    ("fp64", re.compile(r"\bdouble\b|[dz]gemm|dcudnn|f64f64|\bFloat64\b")),
    ("fp32", re.compile(r"\bfloat\b|[sc]gemm|scudnn|f32f32|ffma|_f32_|\bFloat32\b")),
)
_TILES = re.compile(
    r"tile(?:size)?(\d+x\d+x\d+)|nvjet_(?:sm\d+_)?[a-z]+_(\d+x\d+)_|_(\d+x\d+)_\d+x\d_|(?<!SM\d\d)_(\d+x\d+x?\d*)_"
)


def read_names(names: Sequence[str]) -> pd.DataFrame:
    """What the names tell, a row for each.

    Returns:
        named_tensor and communication (bool), precision, family and tile; text that is empty where the name does not
        tell. A family of ``NO_MATRIX`` is one whose source is known to have no matrix instruction.
    """
    columns = ["named_tensor", "communication", "precision", "family", "tile"]
    return pd.DataFrame([_read(name) for name in names], columns=columns)


def _read(name: str) -> tuple[bool, bool, str, str, str]:
    if _COMMUNICATION.search(name):
        return False, True, "", NO_MATRIX, ""
    pytorch = _PYTORCH.match(name) and not _PYTORCH_MATRIX.search(name)
    if pytorch or _HELPERS.search(name) or _OTHER_WORK.search(name):
        return False, False, "", NO_MATRIX, ""
    if _CUDA_CORES.search(name):
        return False, False, _first(_PLAIN_PRECISIONS, name), NO_MATRIX, ""
    family = _first(_FAMILIES, name)
    if not (family or _TENSOR.search(name)):
        return False, False, _first(_PLAIN_PRECISIONS, name) if PRODUCTS.search(name) else "", "", ""
    tile = next((group for group in match.groups() if group), "") if (match := _TILES.search(name)) else ""
    return True, False, _first(_TENSOR_PRECISIONS, name), family, tile


def _first(patterns: Sequence[tuple[str, re.Pattern[str]]], name: str) -> str:
    """What the first pattern that is found stands for; empty if none is."""
    return next((found for found, pattern in patterns if pattern.search(name)), "")
