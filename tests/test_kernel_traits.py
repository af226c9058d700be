"""Traits that rules of advice read from kernels' names."""

import pandas as pd
import pytest

from tcprof.analysis.kernels.patterns import TRAITS, function_name, read_attention, read_traits

NATIVE = "void at::native::"
FLASH = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 32, 4>>(Flash_fwd_params)"
# Names with their traits; those beside them are close by, and have none.
NAMES = {
    "sm80_xmma_fprop_implicit_gemm_f16f16": {"is_convolution", "is_of_library", "is_of_framework"},
    "sm80_xmma_wgrad_implicit_gemm_f16f16": {
        "is_convolution",
        "is_weight_gradient",
        "is_of_library",
        "is_of_framework",
    },
    "void gemv2T_kernel_val<int>": {"is_vector_product"},
    "cutlass_80_tensorop_s1688gemm_128x128_nn_align1": {"is_unaligned", "is_of_library"},
    "cutlass_80_tensorop_s1688gemm_128x128_nn_align16": {"is_of_library"},
    "softmax_warp_forward": {"is_softmax"},
    "LogSoftMaxForward softmax": set(),
    "log_softmax_warp_forward": set(),
    "void softmax_warp_forward<float, float, float, (int)4, (bool)1, (bool)0>(float *)": set(),  # of a loss
    "void softmax_warp_forward<float, float, float, (int)9, (bool)0, (bool)1>(float *)": {"is_softmax"},
    f"{NATIVE}sbtopk::gatherTopK<float>": {"is_choice", "is_of_framework", "is_pytorch_native"},
    FLASH: {"is_flash_attention_2"},
    "flash::flash_fwd_kernel_sm90": set(),
    "distribution_normal_and_transform": {"is_random"},
    "void potrf_cta_lower<double, double, 9>": {"is_solver"},
    "lstm_cell_forward<float>": {"is_recurrent_cell"},
    "void cub::DeviceSelectSweepKernel<int>": {"is_choice", "is_nonzero"},
    "ReduceOp<bool, at::native::func_wrapper_t<bool, at::native::or_kernel_cuda": {
        "is_any",
        "is_of_framework",
        "is_pytorch_native",
    },
    f"{NATIVE}CatArrayBatchedCopy<float>": {"is_concatenation", "is_of_framework", "is_pytorch_native"},
    f"{NATIVE}elementwise_kernel<128, 4, direct_copy_kernel_cuda>": {
        "is_plain_copy",
        "is_of_framework",
        "is_pytorch_native",
    },
    f"{NATIVE}unrolled_elementwise_kernel<direct_copy_kernel_cuda, LoadWithCast<1>>": {
        "is_cast",
        "is_of_framework",
        "is_pytorch_native",
    },
    "LSTM_elementWise_fp<float>": set(),  # of cuDNN, which has the whole sequence
    f"{NATIVE}vectorized_gather_kernel<16>": {"is_indexed", "is_of_framework", "is_pytorch_native"},
    f"{NATIVE}bfloat16_copy_kernel_cuda": {"is_cast", "is_of_framework", "is_pytorch_native"},
    "void cudnn::ops::nchwToNhwcKernel<float>": {"is_convolution", "is_layout_change", "is_of_framework"},
    "cudnn::bn_fw_tr_1C11_kernel_NCHW": {"is_convolution", "is_norm_channels_first", "is_of_framework"},
    "max_pool_forward_nchw": {"is_convolution", "is_pooling_channels_first"},
    "max_pool_forward_nhwc": {"is_convolution"},
    "batch_norm_transform_input_kernel": {"is_norm_channels_first"},
    "batch_norm_transform_input_channels_last_kernel": set(),
    f"{NATIVE}addcmul_cuda_kernel": {
        "is_looped_optimizer",
        "is_pytorch_optimizer",
        "is_of_framework",
        "is_pytorch_native",
    },
    f"{NATIVE}multi_tensor_apply_kernel<PointwiseOpScalarFunctor>": {
        "is_list_optimizer",
        "is_pytorch_optimizer",
        "is_of_framework",
        "is_pytorch_native",
    },
    "multi_tensor_apply_kernel<FusedAdamMathFunctor>": set(),
    "at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>": {
        "is_fused_optimizer",
        "is_pytorch_optimizer",
        "is_of_framework",
        "is_pytorch_native",
    },
    "multi_tensor_apply_kernel<LpNormFunctor>": set(),
    "amp_update_scale_cuda_kernel": {"is_unscaling", "is_scaler"},
    "apex::check_overflow": {"is_scaler"},
    "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096>)": {"is_sent"},
    "ncclDevKernel_Broadcast_RING_LL": {"is_broadcast"},
    "ncclDevKernel_Reduce_Sum_f32_RING_LL": {"is_reduction"},
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL": set(),
    "triton_poi_fused_add_0": {"is_of_framework", "is_of_compiler"},
}


def test_each_name_has_its_traits_alone() -> None:
    names = pd.Series(NAMES.keys(), index=range(10, 10 + len(NAMES)))
    traits = read_traits(names)
    assert traits.index.equals(names.index)
    found = {name: set(traits.columns[row]) for name, row in zip(NAMES, traits.to_numpy(), strict=True)}
    assert found == NAMES
    assert set().union(*NAMES.values()) == set(TRAITS)


def test_no_names_have_all_columns() -> None:
    assert read_traits(pd.Series([], dtype=object)).columns.tolist() == list(TRAITS)


@pytest.mark.parametrize(("name", "found"), [(FLASH, (128, 64, 32)), ("flash_fwd_kernel", None)])
def test_flash_attention_tells_head_and_blocks(name: str, found: tuple[int, int, int] | None) -> None:
    assert read_attention(name) == found


@pytest.mark.parametrize(
    ("name", "found"), [("void scale<float>(float *)", "scale"), ("add(int *)", "add"), ("<>", "")]
)
def test_the_function_is_what_ncu_selects_by(name: str, found: str) -> None:
    assert function_name(name) == found
