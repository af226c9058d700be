"""The grammar of kernel names: the only place where one is taken apart, and each name only once.

The names are those of cuBLAS and cuBLASLt, cuDNN, CUTLASS, FlashAttention, PyTorch, Triton, XLA and TransformerEngine,
and of any code, mangled or not, that names its matrix instructions. A name is a witness, not a measurement.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd

from tcprof.analysis.kernels.patterns import MOST_NAMES, Instructions, either, first, mma, read_instructions
from tcprof.chips import NO_MATRIX
from tcprof.untrusted import printable

# Products and convolutions, on whichever cores: the precision of these is given for the CUDA cores too.
PRODUCTS = re.compile(
    r"gemm|gemv|nvjet|xmma(?!_pooling)|cutlass|wgrad|dgrad|fprop|convol|conv\dd|winograd|triton_(?:tem|mm|bmm)|dot_kernel|matmul"
    r"|fused_moe|marlin|machete|^bmm_|_scaled_mm"
    r"|(?:maxwell|pascal|volta|turing|ampere)_\w{0,200}cudnn_",
    re.IGNORECASE,
)
_COMMUNICATION = re.compile(r"^nccl|ncclDevKernel|ncclKernel|nvshmem")

# Kernels whose source is known and has no matrix instruction; what the tensor pipe does in them is index arithmetic.
# What goes before and after products and attention: layouts, sums of parts, work space.
_HELPERS = either(
    r"splitK_?reduce|ReduceSplitK|reduction::kernel|execute_split_k_kernel|init_device_workspace|epilogue::impl",
    r"fft2d|pointwise_mult_and_sum_complex|flip_filter|scal_kernel|precompute_indices",
    r"nchwToNhwc|nhwcToNchw|nhwcAddPadding",
    r"dot_do_o|convert_dq|fmha_reduce_head|flash_fwd_splitkv_combine|FlashAttn(?:FwdCombine|Bwd(?:Pre|Post)process)",
)
_OTHER_WORK = either(
    r"^triton_(?:poi|red|per|for)_",  # Inductor: element-wise, reductions, persistent ones, lists of tensors
    r"^(?:loop|input)_\w*fusion",  # XLA's element-wise fusions and reductions
    r"^(?:void )?(?:at(?:::|_cuda_detail::)?)?(?:cub|thrust)::",
    r"^(?:void )?(?:<unnamed>::|\(anonymous namespace\)::)?(?:softmax_warp_|elementwise_kernel_with_index)",
    r"cudnn::(?:\w+::)?(?:batchnorm|bn_|pooling)|xmma_pooling|curandState",
)
_PYTORCH = re.compile(r"^(?:void |_ZN)?\d?at(?:::|6)native(?:::|\d)")  # its own kernels, but for those with a product
_PYTORCH_MATRIX = re.compile(f"{mma('', 'w', 'wg', 'g', 'h', 'i', 'd')}|gemm|cutlass|flash|fmha")
# Products in plain arithmetic, though they are called xmma or Mma too.
_CUDA_CORES = either(
    r"ffma|[Ss]imt(?![a-z])|sm[56]\d_xmma|xmma_\w{0,200}_c?f32c?f32_f32f32_",
    r"(?:maxwell|pascal|volta|turing|ampere|hopper)_[sdhcz](?:gemm|cudnn)|convolve_sgemm|sgemm_largek",
    r"gemv(?:x::|2|N|T|_)|gemmSN_|gemmk1_|flashinfer::\w*Decode|^_fwd_kernel_stage[12]$|cudnn::(?:\w+::)?winograd|wgrad_alg0_engine|dgrad_engine",
    r"fmha_cutlass[FB]_(?:f32_\w{0,200}_sm[567]|\w{1,200}_sm50)\d?",  # below Ampere there is none for float32
)

# Of products on the CUDA cores; a sum in float32 says nothing where the inputs are narrower.
_PLAIN_PRECISIONS = (
    ("bf16", re.compile(r"bf16|bfloat", re.IGNORECASE)),
    ("fp16", re.compile(r"half|hgemm|hcudnn|f16f16|fp16", re.IGNORECASE)),
    ("fp64", re.compile(r"\bdouble\b|[dz]gemm|dcudnn|f64f64|\bFloat64\b")),
    ("fp32", re.compile(r"\bfloat\b|[sc]gemm|scudnn|f32f32|ffma|_f32_|\bFloat32\b")),
)
# Types among arguments and template arguments. Integers, and structures that hold values, tell nothing.
_TYPES = (
    ("fp16", re.compile(r"\b(?:__half2?|half[24]?|half_t|Half|Float16)\b")),
    ("bf16", re.compile(r"\b(?:__nv_bfloat162?|bfloat16|bfloat16_t|BFloat16)\b")),
    ("fp64", re.compile(r"\b(?:double[24]?|Float64)\b")),
    ("fp32", re.compile(r"\b(?:float[234]?|Float32)\b")),
)
_NARROW_TYPE = re.compile(r"fp8|e4m3|e5m2|fp4|e2m1", re.IGNORECASE)
_UNTYPED = re.compile(r"\bconst void ?\*|\bvoid const ?\*")  # inputs whose type the name does not have
_OF_A_FUNCTION = re.compile(r"\([^()]*\)(?=::)")  # parameters of the function on the CPU that a kernel is named after
# Which type is read is decided when it is launched: the one in the name is that of the result.
_CASTS = re.compile(r"unrolled_elementwise_kernel<[^<>]*direct_copy|LoadWithCast")
PRODUCT, OPTIMIZER = "matmuls", "optimizer"
GRAPH = "CUDA graphs"  # recorded as a whole: which kernels they hold is not known
# The kinds of work, in order: the first that is found decides.
_WORKS = (
    (GRAPH, re.compile(r"^graph$")),
    ("communication", re.compile(r"nccl|nvshmem")),
    ("fused kernels", re.compile(r"triton_(?:poi|red|per)|^(?:input_|loop_)?(?!\w*gemm)\w*fusion(?:_\d+)?$")),
    (
        "attention",
        re.compile(r"flash|fmha|sdpa|attention|attn|^_fwd_(?:grouped_)?kernel|dot_do_o|convert_dq", re.IGNORECASE),
    ),
    (OPTIMIZER, re.compile(r"multi_tensor_apply|[Aa]dam|\bsgd|lamb_|amp_update_scale")),
    (
        "matmul setup kernels",
        re.compile(
            r"splitK_?reduce|reduction::kernel|execute_split_k_kernel|init_device_workspace|fft2d|flip_filter"
            r"|pointwise_mult_and_sum_complex|epilogue::impl|scal_kernel|precompute_",
            re.IGNORECASE,
        ),
    ),
    ("layout changes", re.compile(r"nchwToNhwc|nhwcToNchw|AddPadding|transpose|permutation", re.IGNORECASE)),
    (PRODUCT, PRODUCTS),
    (
        "normalization",
        re.compile(
            r"batch_?norm|layer_?norm|group_?norm|rms_?norm|_norm_|rowwisemoments|GammaBeta|cudnn::(?:\w+::)?bn_",
            re.IGNORECASE,
        ),
    ),
    ("softmax", re.compile(r"softmax", re.IGNORECASE)),
    ("pooling", re.compile(r"pool", re.IGNORECASE)),
    ("copies and casts", re.compile(r"copy|convert|CatArray", re.IGNORECASE)),
    ("reductions", re.compile(r"reduce", re.IGNORECASE)),
    ("element-wise kernels", re.compile(r"elementwise|element_wise|dropout|pointwise", re.IGNORECASE)),
)
_OTHER_KIND = "unclassified kernels"
# PyTorch's own kernels, and those that its compiler makes; libraries' kernels are anyone's.
_OF_PYTORCH = re.compile(
    r"\bat(?:_cuda_detail)?::|6native|\bc10::|pytorch_flash|PyTorchMemEff|^triton_(?:poi|red|per|tem)_"
)
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
LONGEST_NAME = 64
# What an element-wise kernel of PyTorch computes is among its template arguments: a functor, or the function on the CPU
# that holds the lambda. Those that only hand on what they are given tell nothing.
_FUNCTION = re.compile(
    r"\w*(?:_kernel_cuda|_cuda_kernel|[Ff]unctor|_kernel_impl|MeanOps|NormOps|WelfordOps|_kernel)\w*"
    r"|\w+(?=\(at::TensorIterator)"
)
_HANDING_ON = re.compile(r"gpu_kernel_impl|^(?:[AB]?UnaryFunctor|BinaryFunctor|operator)")
# What cuDNN and cuBLAS put into names, which says little.
_NOISE = re.compile(
    r"(?<=^cudnn)_generated_fort_native|_knob_\d+(?=_)|_cga\d\w*_kernel\d\w*"
    r"|_warpgroupsize\w+?_g\d+|_(?:strided_)?execute(?:_segment_k_o(?:n|ff))?_kernel|_kernel__5x_\w+|__5x_\w+"
)
_RETURN_TYPE = re.compile(r"^(?:void|std::enable_if<[^<>]{0,200}>::type) ")
_WRAPPERS = ("Kernel", "Kernel2", "kernel", "device_kernel")  # CUTLASS: the kernel itself is the first argument


@dataclass(frozen=True, kw_only=True)
class KernelName(Instructions):
    """What a kernel's name says; the family is ``NO_MATRIX`` where its source is known to have none."""

    named_tensor: bool  # whether it is meant for the Tensor Cores
    communication: bool  # whether it is a collective operation between GPUs
    work: str  # what kind of work it does, for people, such as ``PRODUCT`` or softmax
    words: frozenset[str]  # the words that say what it does, in lower case
    of_pytorch: bool  # whether only PyTorch has such a kernel


def read_names(names: Iterable[str]) -> pd.DataFrame:
    """Read matrix instructions and work from names, a row for each, see ``KernelName``."""
    texts = ("precision", "family", "shape", "tile", "accumulator", "work")  # objects: pandas compares its own slowly
    columns = {"named_tensor": bool, "communication": bool, **dict.fromkeys(texts, object)}
    parsed = [parse_name(name) for name in names]
    return pd.DataFrame({c: pd.Series([getattr(name, c) for name in parsed], dtype=columns[c]) for c in columns})


# Characters of a name that are looked at: the longest that was seen has 5,745. Expressions whose time grows with the
# square of the length have no more to do with a name that someone made up.
LONGEST_PARSED = 12_000


@lru_cache(MOST_NAMES)
def parse_name(name: str) -> KernelName:
    """Read a kernel's name."""
    name = name[:LONGEST_PARSED]
    work = next((work for work, pattern in _WORKS if pattern.search(name)), _OTHER_KIND)
    words = {word.lower() for word in re.findall(r"[A-Za-z][A-Za-z0-9]*", name.replace("_", " "))}
    is_tensor, communication, instructions = _matrix(name)
    return KernelName(
        **vars(instructions),
        named_tensor=is_tensor,
        communication=communication,
        work=work,
        words=frozenset(word for word in words if not _WORDLESS.fullmatch(word)),
        of_pytorch=bool(_OF_PYTORCH.search(name)),
    )


def _matrix(name: str) -> tuple[bool, bool, Instructions]:
    if _COMMUNICATION.search(name):
        return False, True, Instructions(family=NO_MATRIX)
    pytorch = _PYTORCH.match(name) and not _PYTORCH_MATRIX.search(name)
    if _HELPERS.search(name):
        return False, False, Instructions(_only_type(name), NO_MATRIX)
    if pytorch or _OTHER_WORK.search(name):
        return False, False, Instructions(_first_type(name), NO_MATRIX)
    if _CUDA_CORES.search(name):
        return False, False, Instructions(first(_PLAIN_PRECISIONS, name), NO_MATRIX)
    if instructions := read_instructions(name):
        return True, False, instructions
    precision = first(_PLAIN_PRECISIONS, name) if PRODUCTS.search(name) else ""
    return False, False, Instructions(precision or _only_type(name))


def _first_type(name: str) -> str:
    """Return the precision of the first argument that has one: of kernels in known sources that is what they read."""
    if _CASTS.search(name):
        return ""
    text = _OF_A_FUNCTION.sub("", name)
    precisions = [(match.start(), precision) for precision, pattern in _TYPES if (match := pattern.search(text))]
    return min(precisions)[1] if precisions else ""


def _only_type(name: str) -> str:
    """Return the precision of all arguments; empty where they differ, since none is first, or inputs have no type."""
    precisions = [precision for precision, pattern in _TYPES if pattern.search(name)]
    return precisions[0] if len(precisions) == 1 and not (_NARROW_TYPE.search(name) or _UNTYPED.search(name)) else ""


# Namespaces without a name, as NVIDIA, GCC's and Clang's, Microsoft's, and again GCC's demanglers write them.
_UNNAMED = re.compile(r"(?:<unnamed>|\(anonymous namespace\)|`anonymous namespace'|\{anonymous\})::")


@lru_cache(MOST_NAMES)
def short_name(name: str, length: int = LONGEST_NAME) -> str:
    """Remove return type, namespaces, arguments and most template arguments from a kernel's name."""
    text = _RETURN_TYPE.sub("", _UNNAMED.sub("", printable(name)))
    head, _, arguments = text.partition("<")
    scopes = head.partition("(")[0].strip().split("::")
    base = scopes[-1] or text
    if base in _WRAPPERS and arguments:
        inner = re.split(r"[<>,(]", arguments, maxsplit=1)[0].rpartition("::")[2].strip()
        base = "::".join(scopes[-2:]) if _WORDLESS.fullmatch(inner) else inner or base
    functions = [match for match in _FUNCTION.findall(arguments) if match != base]
    inner = next((match for match in functions if not _HANDING_ON.search(match)), functions[0] if functions else "")
    short = _NOISE.sub("", f"{base}<{inner}>" if inner else base) or "(unnamed)"
    head_length = length * 3 // 5  # what distinguishes kernels of one family is at the end
    return short if len(short) <= length else f"{short[:head_length]}…{short[head_length + 1 - length :]}"
