"""Kernels of two recordings matched by place, then by name."""

import numpy as np
import pytest
from builders import FIXTURES, TraceBuilder, analyzed, assert_rows
from hypothesis import given
from hypothesis import strategies as st

import tcprof
from tcprof.analysis.kernels.names import read_names
from tcprof.comparison import Side
from tcprof.comparison.matching import kernels as matching
from tcprof.comparison.matching.kernels import align, classify_kernels, match_kernels
from tcprof.comparison.matching.sides import join_kinds
from tcprof.frames import KERNEL_CHANGES, KERNELS

pytestmark = pytest.mark.usefixtures("shared_reads")

SGEMM = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_ffma_kernel__5x_cublas"
NVJET = "nvjet_sm90_hsh_128x128_64x6_2x1_v_bz_TNT"
NVJET_SMALL = "nvjet_sm90_hsh_64x32_64x16_2x2_h_bz_splitK_TNN"
ELEMENTWISE = (
    "void at::native::vectorized_elementwise_kernel<(int){}, at::native::{}, std::array<char *, (unsigned long)3>>"
)
RELU = ELEMENTWISE.format(4, "relu_kernel_cuda<float>")
RELU_HALF = ELEMENTWISE.format(8, "relu_kernel_cuda<c10::Half>")
ADD = ELEMENTWISE.format(4, "CUDAFunctor_add<float>")
CAST = ELEMENTWISE.format(4, "float16_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda(float) (instance 1)]")
FLASH = "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<...>>"
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)"
STEP = 1_000_000


def program(*steps, outer="step", launched=True, stream_of=lambda name: 7):
    """Steps of 1 ms, each a list of (range in the step, kernel, duration in ns) in order of launch."""
    builder = TraceBuilder().gpu()
    for number, kernels in enumerate(steps):
        begin = time = STEP * number
        if outer:
            builder.range(outer, begin, begin + STEP // 2)
        for place, (path, name, duration) in enumerate(kernels):
            at = begin + 100 * place + 10
            if path:
                builder.range(path, at, at + 50)
            builder.kernel(name, time, time + duration, launched=at + 10 if launched else None, stream=stream_of(name))
            time += duration + 1000
    return builder


def changes_of(folder, base, new, **options):
    """Changes over steps of all kinds, as a comparison has them."""
    sides = analyzed(base, folder, "a.sqlite"), analyzed(new, folder, "b.sqlite")
    return match_kernels(*(join_kinds(Side("", (side,))).first for side in sides), **options).changes


def brief(changes):
    """The changes, with names that fit into a table."""
    short = {SGEMM: "sgemm", NVJET: "nvjet", NVJET_SMALL: "nvjet small", RELU: "relu", RELU_HALF: "relu half"}
    short |= {ADD: "add", CAST: "cast", NCCL: "nccl"}
    named = changes[["base_name", "new_name"]].replace(short)
    return changes.assign(base=named["base_name"], new=named["new_name"])


def test_what_stands_in_the_place_of_a_product_is_matched_and_a_cast_that_was_added_is_new(tmp_path):
    base = program(*[[("forward", SGEMM, 9000), ("forward", RELU, 2000), ("backward", SGEMM, 8000)]] * 6)
    amp = [("forward", CAST, 500), ("forward", NVJET, 1000), ("forward", RELU_HALF, 1500), ("backward", NVJET, 900)]
    found = match_kernels(analyzed(base, tmp_path), analyzed(program(*[amp] * 8), tmp_path, "b.sqlite"))
    expected = """
        path      status   base   new        base_count  new_count  base_ns  new_ns  difference_ns
        forward   renamed  sgemm  nvjet      1           1          9000     1000    -8000
        backward  renamed  sgemm  nvjet      1           1          8000     900     -7100
        forward   renamed  relu   relu half  1           1          2000     1500    -500
        forward   new      -      cast       0           1          0        500     500
        """
    assert_rows(brief(found.changes), expected)
    first = found.changes.iloc[0]
    assert (first["base_class"], first["new_class"]) == ("FP32 matmuls", "FP16 tensor kernels")
    assert (first["base_precision"], first["new_precision"]) == ("fp32", "fp16")
    assert (first["base_tensor_kernel"], first["new_tensor_kernel"]) == (False, True)
    assert found.base_matched_pct == pytest.approx(100)
    assert found.new_matched_pct == pytest.approx(100 * 3400 / 3900)
    assert [(n, str(d)) for n, d in found.changes.dtypes.items()] == [(c.name, c.dtype) for c in KERNEL_CHANGES.columns]


def test_the_rows_of_launches_name_their_change_and_warm_up_has_none(tmp_path):
    steps = [[("forward", SGEMM, 90_000), ("forward", ADD, 5000)]] + [
        [("forward", SGEMM, 9000), ("forward", ADD, 500)]
    ] * 7
    base = analyzed(program(*steps), tmp_path)
    assert base.steps["warm_up"].tolist() == [True] + [False] * 7
    found = match_kernels(base, base)
    assert_rows(brief(found.changes), "base  base_ns  base_count\nsgemm  9000  1\nadd  500  1")
    assert found.base_row.tolist() == [-1, -1] + [0, 1] * 7
    assert found.new_row.tolist() == found.base_row.tolist()


@pytest.mark.slow
def test_a_kernel_that_moved_to_another_range_is_matched_by_name(tmp_path):
    base = program(*[[("forward", SGEMM, 9000), ("forward", ADD, 300), ("backward", RELU, 200)]] * 6)
    new = program(*[[("forward", SGEMM, 9000), ("backward", RELU, 200), ("backward", ADD, 400)]] * 6)
    assert_rows(
        brief(changes_of(tmp_path, base, new)),
        """
        path      status  base   new    difference_ns
        backward  same    add    add    100
        forward   same    sgemm  sgemm  0
        backward  same    relu   relu   0
        """,
    )


def test_a_recording_without_ranges_is_compared_whole(tmp_path):
    base = program(*[[("forward", SGEMM, 9000), ("backward", RELU, 200)]] * 2)
    new = program(*[[("", NVJET, 900), ("", RELU, 200)]] * 2, outer="")
    expected = """
        path  status   base   new    base_count  new_count  base_ns  new_ns
        -     renamed  sgemm  nvjet  2           2          18_000   1800
        -     same     relu   relu   2           2          400      400
        """
    assert_rows(brief(changes_of(tmp_path, base, new)), expected)


@pytest.mark.slow
def test_a_kernel_that_is_usual_on_one_side_and_rare_on_the_other_is_the_same(tmp_path):
    often = [("forward", SGEMM, 9000), ("forward", ADD, 600), ("forward", ADD, 600)]
    without = [("forward", SGEMM, 9000)]
    base, new = program(often, often, often, often, without, without), program(*[without] * 5, often)
    expected = """
        status  base   new    base_count  new_count
        same    add    add    1.3333333   0.3333333
        same    sgemm  sgemm  1           1
        """
    assert_rows(brief(changes_of(tmp_path, base, new)), expected, rel=1e-6)
    assert_rows(
        brief(changes_of(tmp_path, new, base)), expected.replace("1.3333333   0.33", "0.3333333   1.33"), rel=1e-6
    )


def test_order_is_that_of_launch_not_that_in_which_streams_ran(tmp_path):
    def overlapped(first, second):
        builder = TraceBuilder().gpu()
        for begin in builder.steps(6, STEP, 1000):
            builder.kernel(first, begin + 5000, begin + 9000, launched=begin + 10, stream=1)
            builder.kernel(second, begin + 4000, begin + 6000, launched=begin + 20, stream=2)
        return builder

    found = changes_of(tmp_path, overlapped(SGEMM, ADD), program(*[[("", NVJET, 4000), ("", ADD, 2000)]] * 6))
    assert_rows(brief(found), "status  base  new\nrenamed  sgemm  nvjet\nsame  add  add")


def test_kernels_of_no_range_that_run_in_an_step_count_for_it_and_others_do_not(tmp_path):
    builder = program(*[[("forward", SGEMM, 9000), ("forward", ADD, 500)]] * 6)
    for number in range(6):
        begin = STEP * number
        builder.kernel(RELU, begin + 9100, begin + 9200)  # between the two, without a launch
        builder.kernel(NVJET, begin + 500_000, begin + 510_000, launched=begin + 600_000)
    analysis = analyzed(builder, tmp_path)
    expected = "path  base  base_count\nforward  sgemm  1\nforward  add  1\n-  relu  1"
    assert_rows(brief(match_kernels(analysis, analysis).changes), expected)


def test_each_launch_names_its_innermost_range(tmp_path):
    builder = program(*[[("forward", SGEMM, 9000), ("", ADD, 500)]] * 6)
    launched = analyzed(builder.kernel(RELU, 900_000, 900_100), tmp_path).kernel_instances.sort_values("activity")
    ranges = launched["range"].tolist()
    # In order of thread and time: a step, then the range in it.
    assert [row for row in ranges if row >= 0] == [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10]
    assert ranges.count(-1) == 1


def test_each_product_of_the_mlp_is_matched_with_the_one_on_the_tensor_cores():
    found = match_kernels(*(tcprof.read(FIXTURES / f"mlp_{name}.sqlite").analysis for name in ("fp32", "fp16"))).changes
    products = found[found["base_class"] == "FP32 matmuls"]
    assert len(products) >= 3
    assert set(products["status"]) == {"renamed"}
    assert set(products["new_class"]) == {"FP16 tensor kernels"}
    assert (products["base_count"] == products["new_count"]).all()
    assert (products["base_tensor_active_pct"] < 1).all()
    assert (products["new_tensor_active_pct"] > 30).all()
    added = found[found["status"] == "new"]
    assert "copies and casts" in set(added["new_class"])
    assert not set(added["new_class"]) & {"FP16 tensor kernels", "FP32 matmuls"}


@pytest.mark.parametrize(
    ("name", "tensor_kernel", "precision", "label"),
    [
        (NVJET, True, "fp16", "FP16 tensor kernels"),
        (NVJET, False, "fp16", "FP16 matmuls"),
        (SGEMM, False, "fp32", "FP32 matmuls"),
        ("void gemvNSP_kernel<double, 1, 32>", False, "fp64", "FP64 matmuls"),
        ("void gemv2T_kernel_val<int, int, __half, __half, float>", False, "fp16", "FP16 matmuls"),
        ("some_matmul", False, "", "matmuls"),
        ("mystery", True, "", "tensor kernels"),
        ("void cublasLt::splitKreduce_kernel<(int)32, float>", False, "fp32", "matmul setup kernels"),
        (FLASH, False, "", "attention"),
        (CAST, False, "fp32", "copies and casts"),
        (ADD.replace("add", "nocast_add"), False, "fp32", "element-wise kernels"),
        ("triton_poi_fused_add_relu_3", False, "", "fused kernels"),
        ("triton_mm", False, "", "matmuls"),
        (NCCL, False, "", "communication"),
        ("graph", False, "", "CUDA graphs"),
        ("graph", True, "", "CUDA graphs"),
        ("mystery", False, "", "unclassified kernels"),
    ],
)
def test_the_class_of_a_kernel(name, tensor_kernel, precision, label):
    kernels = KERNELS.empty()[["name", "tensor_kernel", "precision"]]
    kernels.loc[0] = [name, tensor_kernel, precision]
    assert read_names([name])["precision"].tolist() == [precision]
    assert classify_kernels(kernels) == [label]


def equal(first, second):
    return (first[:, None] == second[None, :]).astype(float)


def weighted(first, second):
    """Codes of the same remainder are alike, the same code more so."""
    alike = first[:, None] % 3 == second[None, :] % 3
    return np.where(first[:, None] == second[None, :], 3.5, np.where(alike, 2.0, 0.0))


def best_sum(base, new, similarity):
    table = [[0.0] * (len(new) + 1) for _ in range(len(base) + 1)]
    score = similarity(np.array(base, dtype=int), np.array(new, dtype=int))
    for i in range(len(base)):
        for j in range(len(new)):
            table[i + 1][j + 1] = max(table[i][j] + score[i, j], table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


codes = st.lists(st.integers(0, 5), max_size=12)


@given(codes, codes)
def test_an_alignment_has_the_largest_sum_and_keeps_the_order(base, new):
    first, second = align(np.array(base, dtype=np.int64), np.array(new, dtype=np.int64), weighted)
    assert (np.diff(first) > 0).all()
    assert (np.diff(second) > 0).all()
    scores = [
        float(weighted(np.array([base[i]]), np.array([new[j]]))[0, 0]) for i, j in zip(first, second, strict=True)
    ]
    assert all(scores)
    assert sum(scores) == best_sum(base, new, weighted)


@given(codes, codes)
def test_alignment_in_windows_keeps_the_order_and_pairs_only_what_is_alike(base, new):
    window = matching.WINDOW
    matching.WINDOW = 4
    try:
        first, second = align(np.array(base, dtype=np.int64), np.array(new, dtype=np.int64), equal)
    finally:
        matching.WINDOW = window
    assert (np.diff(first) > 0).all()
    assert (np.diff(second) > 0).all()
    assert all(base[i] == new[j] for i, j in zip(first, second, strict=True))
