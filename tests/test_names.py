"""What names of kernels tell: most are from recordings on an H200, their arguments cut; others are older GPUs'."""

import pandas as pd
import pytest

from tcprof.analysis.kernels.names import LONGEST_PARSED, parse_name, read_names, short_name
from tcprof.analysis.kernels.patterns import TRAITS, function_name, read_attention, read_traits
from tcprof.chips import NO_MATRIX

# Precision, instructions and tile, which the names of kernels for the Tensor Cores tell.
TENSOR = """
    int8  mma.sync  64x64         void cutlass::Kernel2<cutlass_80_wmma_tensorop_i161616gemm_s8_64x64_128x2_tn_align16>(T1::Params)
    -     -         -             gemm_fusion_dot_5
    -     -         -             fused_moe_kernel_gptq_awq
    bf16  -         -             _matmul_ogs_NNT_bf16xbf16xmxfp4_16x256x128x1_swiglu
    fp8   -         -             _p_matmul_ogs_NTN_fp16xfp8e4m3xmxfp4
    fp8   tcgen05   -             bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x8x512u2_s3_sm100f
    bf16  tcgen05   -             bmm_Bfloat16_MxE2m1Bfloat16_Fp32_t128x8x512u2_s3_sm100f
    fp4   tcgen05   -             bmm_E2m1_E2m1E2m1_Fp32_t128x8x512u2_s3_sm100f
    fp8   tcgen05   -             fmhaSm100fKernel_QkvE4m3OBfloat16H128PagedKvCausalP64VarSeqQ128Kv128StaticContext
    fp16  -         -             void marlin::Marlin<half, 1125899906909960l, 256, 1, 8, 8, false, 4, 8, false>(int4 const*)
    -     -         -             _fwd_grouped_kernel_stage1
    -     -         -             kernel_unified_attention_2d
    bf16  -         -             void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<__nv_bfloat16>>(T1)
    fp16  wgmma     128x128       nvjet_sm90_hsh_128x128_64x6_2x1_v_bz_bias_TNT
    fp16  wgmma     64x16         nvjet_sm90_hsh_64x16_64x16_2x4_h_bz_splitK_bias_TNT
    bf16  wgmma     320x128       nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_TNT
    fp8   wgmma     128x128       nvjet_sm90_qqtst_128x128_128x6_2x1_v_bz_coopA_algo2_TNT
    fp16  wgmma     256x128       nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT
    bf16  wgmma     192x208       nvjet_tst_192x208_64x4_1x2_h_bz_coopA_TNN
    tf32  wgmma     128x128       nvjet_ssh_128x128_64x6_2x1_v_bz_NNT
    fp8   wgmma     -             void deep_gemm::sm90_fp8_gemm_1d2d_impl<(unsigned int)0, (unsigned int)7168, (unsigned int)128>(float *, int *)
    bf16  tcgen05   128x256       nvjet_sm100_tst_128x256_64x6_2x1_v_bz_TNT
    fp16  wgmma     128x128x64    cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_f16_f16_128x128x64_0_tnn_align8_warpspecialized_cooperative
    fp16  wgmma     128x128x64    sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn
    fp16  wgmma     128x128x64    sm90_xmma_dgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn
    fp16  wgmma     128x128x64    sm90_xmma_wgrad_indexed_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn
    tf32  wgmma     128x128x32    sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas
    fp64  mma.sync  128x64x16     sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize128x64x16_stage3_warpsize2x2x1_tensor16x8x8_execute_kernel__5x_cublas
    tf32  mma.sync  32x32x64      sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize32x32x64_stage3_warpsize2x2x1_tensor16x8x8_aligna4_alignc4_execute
    bf16  mma.sync  64x64x64      sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_stage6_warpsize2x2x1_tensor16x8x16_kernel
    tf32  mma.sync  128x32x16     sm80_xmma_fprop_implicit_gemm_indexed_wo_smem_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x32x16_stage1_warpsize4x1x1_g1_tensor16x8x8_aligna4_alignc8_execute_kernel__5x_cudnn
    fp16  mma.sync  128x64        ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_nn
    bf16  mma.sync  256x128       ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_32x3_nn
    fp16  mma.sync  128x64        ampere_h16816gemm_128x64_ldg8_stages_64x3_nn
    tf32  mma.sync  128x128       ampere_s1688gemm_128x128_ldg8_stages_32x3_tn
    fp16  mma.sync  128x128       turing_fp16_s1688cudnn_fp16_128x128_ldg8_relu_f2f_exp_small_nhwc_tn_v1
    fp16  mma.sync  256x128       volta_fp16_s884cudnn_fp16_256x128_ldg8_relu_f2f_exp_small_nhwc2nchw_tn_v1
    fp16  mma.sync  128x128       void cutlass::Kernel2<cutlass_75_tensorop_f16_s1688gemm_f16_128x128_nn_align1>(T1::Params)
    fp16  mma.sync  32x32         void cutlass::Kernel2<cutlass_80_wmma_tensorop_f16_s161616gemm_f16_32x32_32x1_nt_align2>(T1::Params)
    int8  mma.sync  128x256       void cutlass::Kernel2<cutlass_80_tensorop_i16832gemm_s8_128x256_128x3_tn_align16>(T1::Params)
    fp64  mma.sync  64x64         void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1>(T1::Params)
    fp16  mma.sync  256x64        void cutlass__5x_cudnn::Kernel<cutlass_tensorop_f16_s16816fprop_optimized_f16_256x64_32x4_nhwc_align8>(T1::Params)
    bf16  mma.sync  -             void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<(int)64, (int)128, (int)128, (int)4, cutlass::bfloat16_t>>(pytorch_flash::Flash_fwd_params)
    fp16  mma.sync  -             void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<pytorch_flash::Flash_bwd_kernel_traits<(int)64, (int)128, (int)128, (int)4, cutlass::half_t>>(pytorch_flash::Flash_bwd_params)
    fp16  mma.sync  64x64         fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::half_t>::Params)
    fp16/bf16  wgmma  64x128x64   cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0
    tf32  mma.sync  64x64         fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, cutlass::arch::Sm80>::Params)
    bf16  wgmma     -             void flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<128>>, cutlass::bfloat16_t, float>>(T1::Params)
    bf16  wgmma     -             void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<4>, cute::TiledMMA<cute::MMA_Atom<cute::SM90_64x128x16_F32BF16BF16_SS>>>>>(T1::Params)
    fp16  mma.sync  -             void cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::gemm::threadblock::MmaPipelined<cutlass::half_t, cutlass::gemm::warp::MmaTensorOp<cutlass::half_t>>>>(T1::Params)
    fp8   tcgen05   -             void deep_gemm::sm100_fp8_gemm_1d1d_impl<(unsigned int)0>(float *)
    fp16  mma.sync  -             wmma_kernel(const __half *, const __half *, float *)
    fp16  mma.sync  -             _Z13wmmaMultiplyPK6__halfS1_Pf
    -     mma.sync  -             matmulWmmaTiled(const float *, float *)
    -     mma.sync  -             void at::native::tinygemm_m16n8k16_chunk_kernel<(int)4>(T1, T2)
    -     wgmma     -             my_wgmma_loop
    -     -         -             void naive_mma<(int)16>(const float *)
    -     -         -             compute::tiledMma(int)
    -     -         -             tensorCoreProduct(Matrices)
    -     -         -             matmulTensorCore(float *, float *)
    -     -         -             triton_tem_fused_mm_0
    -     -         -             triton_tem_fused_addmm_relu_5
    """  # noqa: E501

# Shape of the instructions.
SHAPES = """
    16x8x16  ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_32x3_nn
    16x8x16  ampere_h16816gemm_128x64_ldg8_stages_64x3_nn
    16x8x16  void cutlass::Kernel2<cutlass_80_wmma_tensorop_f16_s161616gemm_f16_32x32_32x1_nt_align2>(T1::Params)
    16x8x8   void cutlass::Kernel2<cutlass_75_tensorop_f16_s1688gemm_f16_128x128_nn_align1>(T1::Params)
    16x8x8   ampere_s1688gemm_128x128_ldg8_stages_32x3_tn
    16x8x8   sm90_xmma_wgrad_image_first_layer_f16f16_f32_f32_nhwckrsc_nhwc_hmma_k64c4r7s7_tile16x64x64_tensor1688_execute
    16x8x8   sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize128x64x16_stage3_warpsize2x2x1_tensor16x8x8_execute_kernel__5x_cublas
    16x8x16  sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_stage6_warpsize2x2x1_tensor16x8x16_kernel
    16x8x32  void cutlass::Kernel2<cutlass_80_tensorop_i16832gemm_s8_128x256_128x3_tn_align16>(T1::Params)
    8x8x16   turing_int8_i8816cudnn_int8_128x128_ldg16_relu_nhwc_tn_v1
    8x8x4    void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1>(T1::Params)
    8x8x4    volta_fp16_s884cudnn_fp16_256x128_ldg8_relu_f2f_exp_small_nhwc2nchw_tn_v1
    16x8x16  void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<cutlass::bfloat16_t>>()
    16x8x16  fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::half_t>::Params)
    16x8x8   fmha_cutlassF_f16_aligned_64x64_rf_sm75(PyTorchMemEffAttention::AttentionKernel<cutlass::half_t>::Params)
    16x8x8   fmha_cutlassB_f32_aligned_64x64_k64_sm80(PyTorchMemEffAttention::AttentionBackwardKernel<float>::Params)
    16x8x16  void cutlass::Kernel<cutlass::gemm::warp::MmaTensorOp<cutlass::half_t>, cutlass::arch::Mma<cutlass::gemm::GemmShape<(int)16, (int)8, (int)16>, (int)32, cutlass::half_t>>()
    16x8x8   void at::native::tinygemm_m16n8k8_chunk_kernel<(int)4>(T1, T2)
    16x8x16  wmma_kernel(const __half *, const __half *, float *)
    16x8x4   wmma_tf32_kernel(const float *, float *)
    -        matmulWmmaTiled(const float *, float *)
    -        void cutlass::Kernel<cutlass::gemm::threadblock::MmaPipelined<cutlass::half_t, cutlass::gemm::warp::MmaTensorOp<cutlass::half_t>>>(T1::Params)
    -        nvjet_sm90_hsh_128x128_64x6_2x1_v_bz_NNT
    -        void at::native::vectorized_elementwise_kernel<(int)4>(int)
    """  # noqa: E501

# Precision of what is read; all of these are known to have no matrix instruction.
WITHOUT_MATRIX = """
    fp16  void flashinfer::BatchDecodeWithPagedKVCacheKernel<__half>(T1)
    fp32  sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas
    fp32  sm80_xmma_gemm_cf32cf32_f32f32_cf32_nt_n_tilesize32x32x8_stage3_warpsize2x2x1_ffma_aligna8_alignc8_execute_kernel__5x_cublas
    fp32  sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize256x64x8_stage3_warpsize2x2x1_g1_ffma_aligna4
    fp32  void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nt_align1>(T1::Params)
    fp32  ampere_sgemm_128x64_nn
    fp32  volta_sgemm_64x32_sliced1x4_tn
    fp32  ampere_scudnn_128x64_relu_medium_nn_v1
    fp32  void sgemm_largek_lds64<(bool)1, (bool)0, (int)5, (int)5, (int)4, (int)4, (int)4, (int)34>(float *, const float *)
    fp16  void implicit_convolve_sgemm<__half, __half, (int)128, (int)5, (int)5, (int)3, (int)3, (int)3, (int)1>(int, int)
    fp16  void gemv2T_kernel_val<int, int, __half, __half, __half, float, (int)128, (int)16, (int)4, (int)4>(T10, T6, T6)
    fp32  void wgrad_alg0_engine<float, (int)128, (int)5, (int)5, (int)3, (int)3, (int)3, (bool)0, (int)512>(int, int, int)
    fp32  void fft2d_c2r_32x32<float, (bool)0, (bool)0, (unsigned int)1, (bool)0, (bool)0>(T1 *, const float2 *, int, int)
    fp32  void cudnn::winograd_nonfused::winogradWgradData4x4<float, float>(cudnn::winograd_nonfused::WinogradDataParams<T1>)
    -     void cublasLt::splitKreduce_kernel<(int)32, (int)16, int, float, __half, float, __half, (bool)0, __half>(T4 *)
    fp16  void cudnn::batchnorm_bwtr_nhwc_semiPersist<__half, float, __half, (int)512, (int)16>(cudnn::NhwcBatchNormBwdParams)
    -     void cask_plugin__5x_cudnn::xmma__5x_cudnn::init_device_workspace_kernel<xmma__5x_cudnn::implicit_gemm::dgrad::W>(T1)
    -     void cudnn::fusion::compute_dot_do_o_specialized<(bool)1, (int)64>(const void *, const void *, void *, void *, unsigned int, float, const void *, bool)
    -     void cudnn::fusion::fmha_reduce_head<(bool)1>(const void *, void *, unsigned int, unsigned int, const float *)
    -     void cudnn::fusion::convert_dq_to_16bits<(bool)1>(const void *, void *, unsigned int, const float *, float *, bool)
    -     sm50_xmma_pooling_coalescedC_NHWC_kMAX_3_False_execute_kernel_trt
    fp32  void pointwise_mult_and_sum_complex<float2, (int)8, (int)4>(T1 *, T1 *, T1 *, int, int, int, int, int, float2)
    fp16  void <unnamed>::softmax_warp_forward<c10::Half, c10::Half, float, (int)4, (bool)1, (bool)0>(T2 *, const T1 *, int)
    -     void at_cuda_detail::cub::detail::scan::DeviceScanKernel<at_cuda_detail::cub::detail::scan::policy_hub<long>>(T1)
    -     triton_poi_fused_add_clone_permute_select_backward_11
    -     triton_poi_fused_mm_3
    -     triton_red_fused_gelu_gelu_backward_sum_view_7
    -     triton_per_fused__to_copy_add_native_layer_norm_native_layer_norm_backward_view_12
    fp32  void at::native::vectorized_elementwise_kernel<(int)8, at::native::float16_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]::operator ()() const::[lambda(float) (instance 1)]>
    -     void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]::operator ()() const::[lambda(float) (instance 1)]>
    -     void at::native::elementwise_kernel<(int)128, (int)4, void at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<T1>>
    fp16  void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<c10::Half, at::native::MeanOps<c10::Half, float>>>(T3)
    -     void at::native::<unnamed>::multi_tensor_apply_kernel<at::native::<unnamed>::TensorListMetadata<(int)2>>(T1, T2, T3...)
    fp32  void at::native::vectorized_elementwise_kernel<(int)4, at::native::<unnamed>::batch_norm_calc_invstd(const at::Tensor &, double)::[lambda() (instance 1)]::operator ()() const::[lambda(float) (instance 1)]>
    -     void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctor_add<float>, at::native::memory::LoadWithCast<(int)2>>
    fp32  void at::native::elementwise_kernel<(int)128, (int)4, void at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]::operator ()() const::[lambda(float) (instance 1)]>>
    -     void cublasLt::splitKreduce_kernel<(int)32, (int)16, int, float, __half>(T4 *)
    fp16  void at::native::<unnamed>::max_pool_backward_nhwc<c10::Half, float>(const T1 *, const long *, int, long, long, long)
    bf16  void at::native::<unnamed>::cunn_SoftMaxForwardReg<c10::BFloat16, float, c10::BFloat16, long, (int)8>(T3 *, const T1 *, T5)
    fp32  void at::native::<unnamed>::vectorized_layer_norm_kernel<float, float, (bool)0>(int, T2, const T1 *, const T1 *, T1 *)
    fp32  void at::native::<unnamed>::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(T1 *, T1 *, const T1 *, const T3 *)
    fp16  void at::native::<unnamed>::fused_dropout_kernel_vec<c10::Half, float, unsigned int, (int)1, (int)8, bool>(T3, T2)
    -     void at::native::<unnamed>::CatArrayBatchedCopy<at::native::<unnamed>::OpaqueType<(unsigned int)2>, unsigned int>(T1 *)
    -     void at::native::vectorized_gather_kernel<(int)16, long>(char *, char *, T2 *, int, long, long, long, long, bool)
    fp32  void at::native::<unnamed>::sum_and_scatter<float, long>(const T2 *, T1 *, long, const T2 *, const long *)
    fp32  void cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::gemm::threadblock::MmaPipelined<float, cutlass::gemm::warp::MmaSimt<float>>>>(T1::Params)
    fp32  fmha_cutlassF_f32_aligned_64x64_rf_sm75(PyTorchMemEffAttention::AttentionKernel<float, cutlass::arch::Sm75>::Params)
    fp64  volta_dgemm_64x64_nn
    fp16  volta_hgemm_128x64_nn
    fp64  void gemvNSP_kernel<double, (int)1, (int)32, (int)4, (int)1024>(T1)
    fp32  sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_execute_kernel__5x_cublas
    -     sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x64x64_stage4_warpsize2x2x1_tensor16x8x16_execute_split_k_kernel__5x_cublas
    fp16  void pytorch_flash::flash_bwd_dot_do_o_kernel<(bool)1, pytorch_flash::Flash_bwd_kernel_traits<(int)64, cutlass::half_t>>(T1)
    -     triton_poi_fused_gelu_view_8
    -     loop_multiply_fusion
    -     input_reduce_fusion_4
    -     _ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_T1_
    fp32  void at::native::<unnamed>::GammaBetaBackwardCUDAKernelTemplate<float, float, (unsigned int)32>(long, long)
    fp32  void at::native::<unnamed>::compute_grad_weight<float, long>(const T2 *, const T1 *)
    -     ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)
    """  # noqa: E501

# These may have matrix instructions or not.
UNTOLD = """
    -     void transformer_engine::cast_transpose_kernel<(int)4, float, __nv_bfloat16, __nv_fp8_e4m3>(T2 *, T3 *)
    -     graph
    -     memcpy32_post
    -     my_kernel
    -     plain_product(Matrices)
    fp32  no_tensor_cores(float *)
    fp32  void cutlass::gemm_nn_128x128<float>(float*, float*)
    fp32  sgemmVectorize(float *, float *, float *, int)
    fp64  matmul(double *, double *)
    fp32  sgemm_v2(Matrices)
    fp16  my_gemm(const half *, const half *, float *)
    -     scale(const __half *, float *)
    fp32  julia_broadcast(CuKernelContext, CuDeviceArray<Float32, 4, Global>, Tuple<OneTo<Int64>>)
    -     add(int *, const char *)
    -     some_matmul
    -     _attn_fwd
    fp32  saxpy(float *, float)
    fp32  gammaKernel(float *)
    -     digamma_kernel
    -     summaryStatistics
    -     comma
    -     mmap_copy
    -     command_buffer
    """


def lines(table: str) -> list[str]:
    return [line.strip() for line in table.strip().splitlines()]


def shown(name: str) -> tuple[bool, str]:
    """Whether a name is one for the Tensor Cores, and its precision, instructions and tile; "-" is not told."""
    row = read_names([name]).iloc[0]
    return bool(row["named_tensor"]), " ".join(row[what] or "-" for what in ("precision", "family", "tile"))


@pytest.mark.parametrize("line", lines(TENSOR))
def test_names_for_the_tensor_cores(line):
    *told, name = line.split(maxsplit=3)
    assert shown(name) == (True, " ".join(told))


@pytest.mark.parametrize("line", lines(WITHOUT_MATRIX))
def test_kernels_that_have_no_matrix_instruction(line):
    precision, name = line.split(maxsplit=1)
    assert shown(name) == (False, f"{precision} {NO_MATRIX} -")


@pytest.mark.parametrize("line", lines(UNTOLD))
def test_names_that_do_not_tell(line):
    precision, name = line.split(maxsplit=1)
    assert shown(name) == (False, f"{precision} - -")


@pytest.mark.parametrize(
    ("name", "communication"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)", True),
        ("ncclKernel_AllReduce_RING_LL_Sum_half(ncclWorkElem)", True),
        ("nvjet_sm90_hsh_128x128_64x6_2x1_v_bz_NNT", False),
        ("void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>>(int, T2, T3)", False),
    ],
)
def test_communication(name, communication):
    assert read_names([name])["communication"].tolist() == [communication]
    assert not (communication and shown(name)[0])


# What products are added up in.
ACCUMULATORS = """
    fp16  ampere_h16816gemm_128x64_ldg8_stages_64x3_nn
    fp32  ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_nn
    fp16  sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize128x128x32_tensor16x8x16_execute
    fp32  sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_stage6_tensor16x8x16_kernel
    fp32  nvjet_sm90_hsh_128x128_64x6_2x1_v_bz_NNT
    fp16  nvjet_sm90_hhh_128x128_64x6_2x1_v_bz_NNT
    fp32  nvjet_sm90_qqtst_128x128_128x6_2x1_v_bz_coopA_algo2_TNT
    fp32  void cutlass::Kernel2<cutlass_75_tensorop_f16_s1688gemm_f16_128x128_nn_align1>(T1::Params)
    fp32  void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, cutlass::half_t>>(T1)
    -     wmma_kernel(const __half *, const __half *, float *)
    -     ampere_sgemm_128x64_nn
    """


@pytest.mark.parametrize("line", lines(ACCUMULATORS))
def test_what_products_are_added_up_in(line):
    accumulator, name = line.split(maxsplit=1)
    assert parse_name(name).accumulator == accumulator.strip("-")


@pytest.mark.parametrize("line", lines(SHAPES))
def test_shape_of_the_instruction(line):
    shape, name = line.split(maxsplit=1)
    assert parse_name(name).shape == shape.strip("-")


def test_names_are_read_in_their_order():
    names = ["", "nvjet_sm90_hsh_128x128_64x6_2x1_v_bz_NNT", "graph", "ampere_h16816gemm_128x64_ldg8_stages_64x3_nn"]
    assert read_names(names)["family"].tolist() == ["", "wgmma", "", "mma.sync"]
    assert {*read_names([]).columns} == {*read_names(names).columns} >= {"named_tensor", "precision", "tile", "work"}


def test_a_name_is_parsed_once():
    name = f"ampere_h16816gemm_128x64_ldg8_stages_64x3_nn_{id(object())}"  # as no other test has
    misses = parse_name.cache_info().misses
    read_names([name, name])
    assert parse_name(name).work == "matmuls"
    assert parse_name.cache_info().misses == misses + 1


@pytest.mark.parametrize(
    ("name", "work", "words"),
    [
        ("graph", "CUDA graphs", {"graph"}),
        (
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)",
            "communication",
            {"nccldevkernel", "allreduce", "sum", "ring", "ll"},
        ),
        ("triton_poi_fused_add_clone_11", "fused kernels", {"add", "clone"}),
        ("void flash_fwd_kernel<(int)64>(float *)", "attention", {"flash", "fwd"}),
        ("void splitKreduce_kernel<(int)32, float>(T4 *)", "matmul setup kernels", {"splitkreduce"}),
        ("ampere_sgemm_128x64_nn", "matmuls", {"ampere", "sgemm", "x64", "nn"}),
        (
            "void cudnn::bn_fw_tr_1C11_batchnorm<float>(int)",
            "normalization",
            {"cudnn", "bn", "fw", "tr", "c11", "batchnorm"},
        ),
        ("my_kernel", "unclassified kernels", {"my"}),
    ],
)
def test_the_work_that_a_name_tells_of(name, work, words):
    parsed = parse_name(name)
    assert (parsed.work, parsed.words) == (work, words)


# Work of kernels that were taken for others.
WORKS = """
    pooling               sm50_xmma_pooling_fw_4d_FP16FP32NHWC_Average_FastDiv_CAlign8_execute_kernel_trt
    matmuls               sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize128x64x64_trt
    attention             void cudnn::fusion::compute_dot_do_o_specialized<(bool)1, (int)64>(const void *)
    attention             void cudnn::fusion::convert_dq_to_16bits<(bool)1>(const void *, void *)
    normalization         void cudnn::bn_bw_1C11_kernel_new<__half, float, float2, (int)512>(float, float)
    normalization         void cudnn::detail::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(float, float)
    normalization         void at::native::<unnamed>::GammaBetaBackwardCUDAKernelTemplate<float, float>(long)
    layout changes        void CUTENSOR_NAMESPACE::permutationKernelPLC3<ElementwiseStaticConfig>(int)
    matmul setup kernels  void pointwise_mult_and_sum_complex<float2, (int)8, (int)4>(T1 *, T1 *)
    """


@pytest.mark.parametrize("line", lines(WORKS))
def test_the_work_of_kernels_that_were_taken_for_others(line):
    work, name = line.split("  ", maxsplit=1)
    assert parse_name(name.strip()).work == work


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("std::enable_if<!T7, void>::type internal::gemvx::kernel<int, int, float, float, (bool)0, (int)6>(T1)",
         "gemvx::kernel"),
        ("void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>>(int)",
         "vectorized_elementwise_kernel<FillFunctor>"),
        ("void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl_nocast<at::native::"
         "BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float>>>(at::TensorIteratorBase &)"
         "::[lambda(int) (instance 1)]>(int, T3)", "elementwise_kernel<MulFunctor>"),
        ("void at::native::vectorized_elementwise_kernel<(int)8, at::native::GeluCUDAKernelImpl(at::TensorIterator &, "
         "GeluType)::[lambda() (instance 2)]::operator ()() const::[lambda(c10::Half) (instance 1)]>(int)",
         "vectorized_elementwise_kernel<GeluCUDAKernelImpl>"),
        ("void at::native::vectorized_elementwise_kernel<(int)4, at::native::AUnaryFunctor<float, float, float>>(int)",
         "vectorized_elementwise_kernel<AUnaryFunctor>"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1>(T1::Params)",
         "cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1"),
        ("void at::native::<unnamed>::max_pool_backward_nhwc<float>(const T1 *)", "max_pool_backward_nhwc"),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize32x32x64_execute_kernel__5x_cublas",
         "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize32x32x64"),
        ("", "(unnamed)"),
        ("a\x1b[31mb", "a\ufffd[31mb"),
        ("x" * 30 + "y" * 70, "x" * 30 + "y" * 8 + "…" + "y" * 25),
    ],
)  # fmt: skip
def test_short_names(name, short):
    assert short_name(name) == short


@pytest.mark.parametrize(
    "unnamed", ["<unnamed>::", "(anonymous namespace)::", "`anonymous namespace'::", "{anonymous}::"]
)
@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("{}my_kernel(float*, int)", "my_kernel"),
        ("void {}softmax_warp_forward<float, 8, false>(float*, const float*)", "softmax_warp_forward"),
        ("void at::native::{}multi_tensor_apply_kernel<at::native::{}UnaryOpFunctor<float, 2>>(T1)",
         "multi_tensor_apply_kernel<UnaryOpFunctor>"),
        ("void cub::DeviceRadixSortKernel<{}Policy, (bool)0>(int)", "DeviceRadixSortKernel"),
    ],
)  # fmt: skip
def test_namespaces_without_a_name_are_left_out(name, short, unnamed):
    assert short_name(name.replace("{}", unnamed)) == short
    assert len(short) <= 64


def test_of_a_name_that_goes_on_for_ever_the_beginning_is_read():
    """The expressions take time with the square of the length; 64 kB took minutes."""
    begin = "wgmma " + "cudnn_generated_sdpa_" * (LONGEST_PARSED // 20)
    assert parse_name(begin + "_f16_") == parse_name(begin[:LONGEST_PARSED])


NATIVE = "void at::native::"
FLASH = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 32, 4>>(Flash_fwd_params)"
PYTORCH = {"uses_framework", "is_pytorch_native"}
# Names with their traits; those beside them are close by, and have none.
NAMES = {
    "sm80_xmma_fprop_implicit_gemm_f16f16": {"is_convolution", "is_of_library", "uses_framework"},
    "sm80_xmma_wgrad_implicit_gemm_f16f16": {"is_convolution", "is_weight_gradient", "is_of_library", "uses_framework"},
    "void gemv2T_kernel_val<int>": {"is_vector_product"},
    "cutlass_80_tensorop_s1688gemm_128x128_nn_align1": {"is_unaligned", "is_of_library"},
    "cutlass_80_tensorop_s1688gemm_128x128_nn_align16": {"is_of_library"},
    "softmax_warp_forward": {"is_softmax"},
    "gather_keep_from_mask(bool *, const unsigned long long *, int)": {"is_indexed", "is_suppression"},
    "LogSoftMaxForward softmax": set(),
    "log_softmax_warp_forward": set(),
    "void softmax_warp_forward<float, float, float, (int)4, (bool)1, (bool)0>(float *)": set(),  # of a loss
    "void softmax_warp_forward<float, float, float, (int)9, (bool)0, (bool)1>(float *)": {"is_softmax"},
    f"{NATIVE}sbtopk::gatherTopK<float>": {"is_choice", *PYTORCH},
    FLASH: {"is_flash_attention_2"},
    "flash::flash_fwd_kernel_sm90": set(),
    "distribution_normal_and_transform": {"is_random"},
    "void potrf_cta_lower<double, double, 9>": {"is_solver"},
    "lstm_cell_forward<float>": {"is_recurrent_cell"},
    "void cub::DeviceSelectSweepKernel<int>": {"is_choice", "is_nonzero"},
    "ReduceOp<bool, at::native::func_wrapper_t<bool, at::native::or_kernel_cuda": {"is_any", *PYTORCH},
    f"{NATIVE}CatArrayBatchedCopy<float>": {"is_concatenation", *PYTORCH},
    f"{NATIVE}elementwise_kernel<128, 4, direct_copy_kernel_cuda>": {"is_plain_copy", *PYTORCH},
    f"{NATIVE}unrolled_elementwise_kernel<direct_copy_kernel_cuda, LoadWithCast<1>>": {"is_cast", *PYTORCH},
    "LSTM_elementWise_fp<float>": set(),  # of cuDNN, which has the whole sequence
    f"{NATIVE}vectorized_gather_kernel<16>": {"is_indexed", *PYTORCH},
    f"{NATIVE}bfloat16_copy_kernel_cuda": {"is_cast", *PYTORCH},
    "void cudnn::ops::nchwToNhwcKernel<float>": {"is_convolution", "is_layout_change", "uses_framework"},
    "cudnn::bn_fw_tr_1C11_kernel_NCHW": {"is_convolution", "is_norm_channels_first", "uses_framework"},
    "max_pool_forward_nchw": {"is_convolution", "is_pooling_channels_first"},
    "max_pool_forward_nhwc": {"is_convolution"},
    "batch_norm_transform_input_kernel": {"is_norm_channels_first"},
    "batch_norm_transform_input_channels_last_kernel": set(),
    f"{NATIVE}addcmul_cuda_kernel": {"is_looped_optimizer", "is_pytorch_optimizer", *PYTORCH},
    f"{NATIVE}multi_tensor_apply_kernel<PointwiseOpScalarFunctor>": {
        "is_list_optimizer",
        "is_pytorch_optimizer",
        *PYTORCH,
    },
    "multi_tensor_apply_kernel<FusedAdamMathFunctor>": set(),
    "at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>": {
        "is_fused_optimizer",
        "is_pytorch_optimizer",
        *PYTORCH,
    },
    "multi_tensor_apply_kernel<LpNormFunctor>": set(),
    "amp_update_scale_cuda_kernel": {"is_unscaling", "is_scaler"},
    "apex::check_overflow": {"is_scaler"},
    "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096>)": {"is_sent"},
    "ncclDevKernel_Broadcast_RING_LL": {"is_broadcast"},
    "ncclDevKernel_Reduce_Sum_f32_RING_LL": {"is_reduction"},
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL": set(),
    "at::native::(anonymous namespace)::compute_grad_weight<float, long>": {"is_table_gradient", *PYTORCH},
    f"{NATIVE}FillFunctor<float>": {"is_fill", *PYTORCH},
    "triton_poi_fused_add_0": {"uses_framework", "is_of_compiler"},
}


def test_each_name_has_its_traits_alone():
    names = pd.Series(NAMES.keys(), index=range(10, 10 + len(NAMES)))
    traits = read_traits(names)
    assert traits.index.equals(names.index)
    found = {name: set(traits.columns[row]) for name, row in zip(NAMES, traits.to_numpy(), strict=True)}
    assert found == NAMES
    assert set().union(*NAMES.values()) == set(TRAITS)


def test_no_names_have_all_columns():
    assert read_traits(pd.Series([], dtype=object)).columns.tolist() == list(TRAITS)


@pytest.mark.parametrize(("name", "found"), [(FLASH, (128, 64, 32)), ("flash_fwd_kernel", None)])
def test_flash_attention_tells_head_and_blocks(name, found):
    assert read_attention(name) == found


@pytest.mark.parametrize(
    ("name", "found"), [("void scale<float>(float *)", "scale"), ("add(int *)", "add"), ("<>", "")]
)
def test_the_function_is_what_ncu_selects_by(name, found):
    assert function_name(name) == found
