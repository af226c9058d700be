"""What a kernel's name tells: whether it is meant for the Tensor Cores, its precision, instructions and tile.

The names are those of cuBLAS and cuBLASLt, cuDNN, CUTLASS, FlashAttention, Triton and TransformerEngine. A name is a
witness, not a measurement: what it says stands in columns of its own.
"""

import re
from collections.abc import Sequence

import pandas as pd

NO_MATRIX = "none"

# Plain arithmetic, whatever else the name holds: FP32 products are called xmma_gemm too.
_PLAIN = re.compile(
    r"ffma|simt|_sgemm_|\bsgemm|fft2d|gemv|splitKreduce|execute_split_k_kernel|init_device_workspace|dot_do_o|convert_dq"
)
# Kernels of PyTorch whose source has no matrix instruction: what the tensor pipe does in them is index arithmetic.
_NO_MATRIX = re.compile(
    r"at::native::.*(?:elementwise_kernel|reduce_kernel|multi_tensor_apply_kernel|[Ss]oft[Mm]ax|_norm|max_pool|avg_pool"
    r"|nll_loss|index|[Gg]ather|[Ss]catter|CatArray|dropout|[Ee]mbedding)"
)
# In order: the first that is found decides. Names: instruction family.
_FAMILIES = (
    ("mma.sync", re.compile(r"(?:nvjet|cutlass3x|xmma)_sm12\d", re.IGNORECASE)),
    ("tcgen05", re.compile(r"tcgen05|(?<![a-z])umma|(?:nvjet|cutlass3x|xmma)_sm1[01]\d|nvjet_.*_2cta", re.IGNORECASE)),
    ("wgmma", re.compile(r"wgmma|gmma|warpgroup|nvjet_|cutlass3x_sm90|sm90_fp8|FlashAttn\w+Sm90", re.IGNORECASE)),
    (
        "mma.sync",
        re.compile(
            r"[shdc](?:884|1688|16816)|i(?:8816|16832|16864)|hmma|imma|dmma|tensorop|wmma|tensor(?:16|8)x?8"
            r"|sm[78]\d_xmma|flash_(?:fwd|bwd)|fmha_cutlass[FB]",
            re.IGNORECASE,
        ),
    ),
)
# Meant for the Tensor Cores, with instructions that the name does not tell.
_TENSOR = re.compile(
    r"xmma_(?:gemm|fprop|dgrad|wgrad)|cutlass.*tensor|triton_(?:tem|mm|bmm)|_scaled_mm|te_gemm|sdpa.*flash"
)
_PRECISIONS = (
    ("fp8", re.compile(r"e4m3|e5m2|fp8|nvjet_(?:sm\d+_)?q[a-z]+_")),
    ("int8", re.compile(r"i8i8|s8s8|i16832|i8816|imma|int8|nvjet_(?:sm\d+_)?i[a-z]+_")),
    ("fp64", re.compile(r"f64f64|d884|dmma|\bdouble\b")),
    ("tf32", re.compile(r"tf32|tfloat32|nvjet_(?:sm\d+_)?s[a-z]+_")),
    ("bf16", re.compile(r"bf16|bfloat16|__nv_bfloat|nvjet_(?:sm\d+_)?t[a-z]+_")),
    ("fp16", re.compile(r"f16|fp16|[Hh]alf|h884|h1688|h16816|s884|s161616|nvjet_(?:sm\d+_)?h[a-z]+_")),
    ("tf32", re.compile(r"s1688gemm|s1688fprop|s1688dgrad|s1688wgrad")),
)
_COMMUNICATION = re.compile(r"^nccl|ncclDevKernel|ncclKernel|nvshmem")
_TILES = re.compile(
    r"tile(?:size)?(\d+x\d+x\d+)|nvjet_(?:sm\d+_)?[a-z]{3}_(\d+x\d+)_|_(\d+x\d+)_\d+x\d_|_(\d+x\d+x?\d*)_"
)


def read_names(names: Sequence[str]) -> pd.DataFrame:
    """What the names tell, a row for each.

    Returns:
        named_tensor and communication (bool), precision, family and tile; text that is empty where the name does not
        tell.
    """
    columns = ["named_tensor", "communication", "precision", "family", "tile"]
    return pd.DataFrame([_read(name) for name in names], columns=columns)


def _read(name: str) -> tuple[bool, bool, str, str, str]:
    plain = _PLAIN.search(name) is not None
    family = "" if plain else next((family for family, pattern in _FAMILIES if pattern.search(name)), "")
    if _NO_MATRIX.match(name.removeprefix("void ")):
        return False, False, "", NO_MATRIX, ""
    tensor = not plain and (bool(family) or _TENSOR.search(name) is not None)
    precision = next((precision for precision, pattern in _PRECISIONS if pattern.search(name)), "")
    tile = next((group for group in match.groups() if group), "") if tensor and (match := _TILES.search(name)) else ""
    return tensor, _COMMUNICATION.search(name) is not None, precision if tensor else "", family, tile
