"""What a change of time and of Tensor Active consists of: parts that add up."""

import numpy as np
import pytest
from builders import FIXTURES, TraceBuilder, analyzed, assert_rows
from hypothesis import given, settings
from hypothesis import strategies as st

import tcprof
from tcprof.comparison.matching.kernels import Spans, match_kernels
from tcprof.comparison.waterfall import explain_changes, largest_part
from tcprof.frames import WATERFALL

pytestmark = pytest.mark.usefixtures("shared_reads")

SGEMM = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_ffma_kernel__5x_cublas"
NVJET = "nvjet_sm90_hsh_128x128_64x6_2x1_v_bz_TNT"
ADD = "void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>>"
CAST = "void at::native::vectorized_elementwise_kernel<(int)4, at::native::float16_copy_kernel_cuda>"
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
STEP = 200_000


def program(*work, steps=6, samples=None):
    """Steps of 200 µs with the same work: (kernel, start, end) after the step's start; a kernel of "" is a copy."""
    builder = TraceBuilder().gpu()
    for begin in builder.steps(steps, STEP, STEP - 1000):
        for place, (name, start, end) in enumerate(work):
            options = {"launched": begin + 10 * place + 10, "stream": place}
            if name:
                builder.kernel(name, begin + start, begin + end, **options)
            else:
                builder.copy("host to device", begin + start, begin + end, **options)
    if samples is not None:
        builder.samples(samples * steps, period=STEP // len(samples))
    return builder


def waterfall(base, new):
    return explain_changes(base, new, match_kernels(base, new))


def of(rows, quantity):
    return rows[rows["quantity"] == quantity].reset_index(drop=True)


def change_of(rows, part):
    return rows.loc[rows["part"] == part, "change"].sum()


def assert_adds_up(rows):
    """Changes of the parts add up to the total's; of time, base and new do as well; nothing is negative there."""
    assert len(rows)
    for (_, quantity), of_quantity in rows.groupby(["gpu", "quantity"]):
        total = of_quantity[of_quantity["part"] == "total"]
        parts = of_quantity[of_quantity["part"] != "total"]
        assert len(total) == 1
        assert parts["change"].sum() == pytest.approx(total["change"].item(), rel=0, abs=1e-6)
        if quantity == "time_ns":
            assert (parts[["base", "new"]] >= 0).all(axis=None)
            assert parts["base"].sum() == pytest.approx(total["base"].item(), rel=0, abs=1e-6)
            assert parts["new"].sum() == pytest.approx(total["new"].item(), rel=0, abs=1e-6)


def test_every_nanosecond_of_a_step_is_in_one_part(tmp_path):
    base = program(
        ("", 1000, 3000),
        (SGEMM, 2000, 12_000),  # the copy has 1000 before it
        (ADD, 11_000, 14_000),  # 2000 behind the product
        (ADD, 12_000, 13_000),  # all of it under the other one
        (NCCL, 13_000, 16_000),  # 2000 behind the kernels
        ("", 15_000, 17_000),  # 1000 behind NCCL's
        (ADD, 20_000, 21_000),  # after 3000 of nothing
    )
    new = program(("", 1000, 2000), (CAST, 2000, 2500), (NVJET, 2500, 5500), (ADD, 5500, 6500), (ADD, 8000, 9000))
    rows = waterfall(analyzed(base, tmp_path), analyzed(new, tmp_path, "b.sqlite"))
    expected = """
        part                base_class            new_class            base     new      change
        total               -                     -                    200_000  200_000  0
        same kernels        -                     -                    2000    2000    0
        replaced kernels    FP32 matmuls         FP16 tensor kernels  10_000  3000    -7000
        new kernels         -                     copies and casts     0       500     500
        removed kernels     element-wise kernels  -                    1000    0       -1000
        communication       -                     -                    2000    0       -2000
        copies and memsets  -                     -                    2000    1000    -1000
        idle                -                     -                    3000    1500    -1500
        between steps       -                     -                    180_000  192_000  12_000
        """
    assert_rows(of(rows, "time_ns"), expected)
    assert set(rows["quantity"]) == {"time_ns"}  # without samples
    assert [(name, str(dtype)) for name, dtype in rows.dtypes.items()] == [(c.name, c.dtype) for c in WATERFALL.columns]
    assert_adds_up(rows)


intervals = st.lists(
    st.tuples(st.sampled_from([SGEMM, ADD, NCCL, ""]), st.integers(0, 60), st.integers(0, 25)), min_size=1, max_size=6
).filter(
    lambda work: all(sum(name == each for each, _, _ in work) < 3 for name in (SGEMM, ADD, NCCL))
)  # else it iterates


def counted(work):
    """Nanoseconds of each kind in the window, counted one by one: the kernel that started first has the time."""
    first, last = min(start for _, start, _ in work), max(start + length for _, start, length in work)
    found = {"kernels": 0, NCCL: 0, "": 0, None: 0, SGEMM: 0, ADD: 0}
    for time in range(first, last):
        running = [
            (start, row, name) for row, (name, start, length) in enumerate(work) if start <= time < start + length
        ]
        kernels = [entry for entry in running if entry[2] in (SGEMM, ADD)]
        if kernels:
            found["kernels"] += 1
            found[min(kernels)[2]] += 1
        else:
            names = {name for _, _, name in running}
            found[NCCL if NCCL in names else "" if "" in names else None] += 1
    return found, last - first


def check_time_is_as_counted(folder, base, new):
    works = [
        [(name, 100 + 10 * start, 100 + 10 * (start + length)) for name, start, length in work] for work in (base, new)
    ]
    sides = [analyzed(program(*work, steps=1), folder, f"{n}.sqlite") for n, work in enumerate(works)]
    rows = of(waterfall(*sides), "time_ns")
    assert_adds_up(rows)
    for column, work in (("base", base), ("new", new)):
        found, window = counted(work)
        value = rows.groupby("part")[column].sum()
        assert value["total"] == 10 * window
        kernels = [part for part in value.index if part.endswith(" kernels")]
        assert value[kernels].sum() == 10 * found["kernels"]
        assert value["communication"] == 10 * found[NCCL]
        assert value["copies and memsets"] == 10 * found[""]
        assert value["idle"] == 10 * found[None]


@pytest.mark.slow
@settings(max_examples=50)
@given(intervals, intervals)
def test_time_is_as_counted_nanosecond_by_nanosecond(tmp_path, base, new):
    check_time_is_as_counted(tmp_path, base, new)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), min_size=1), st.integers(-5, 80), st.integers(0, 40))
def test_the_overlap_with_windows_is_as_counted(windows, start, length):
    first = np.array([begin for begin, _ in windows])
    spans = Spans(first, first + [size for _, size in windows], whole=False)
    expected = sum(begin <= time < begin + size for begin, size in windows for time in range(start, start + length))
    assert spans.overlap(np.array([start]), np.array([start + length])).tolist() == [expected]


# Tensor Active. In each step a window of 100 µs, or as told, with the kernel in all of it, under samples of 10 µs.


CHANGES = {  # the sides, Tensor Active of both and its change, and its parts
    "a kernel uses the pipes more: the intensity alone": (
        program((NVJET, 0, 100_000), samples=[20] * 10 + [0] * 10),
        program((NVJET, 0, 100_000), samples=[60] * 10 + [0] * 10),
        "20  60  40",
        {"idle": 0, "mix": 0, "intensity": pytest.approx(40, abs=1)},
    ),
    "a pause: the idle part alone": (
        program((NVJET, 0, 50_000), (NVJET, 50_000, 100_000), samples=[40] * 10 + [0] * 10),
        program((NVJET, 0, 50_000), (NVJET, 150_000, 200_000), samples=[40] * 5 + [0] * 10 + [40] * 5),
        "40  20  -20",
        {"idle": pytest.approx(-20, abs=1), "mix": pytest.approx(0, abs=1), "intensity": pytest.approx(0, abs=1)},
    ),
    "a kernel came: the mix, and not the intensity": (
        program((NVJET, 0, 100_000), samples=[40] * 10 + [0] * 10),
        program((NVJET, 0, 100_000), (CAST, 100_000, 200_000), samples=[40] * 10 + [0] * 10),
        "40  20  -20",
        {"idle": pytest.approx(0, abs=1e-9), "mix": pytest.approx(-20, abs=1), "intensity": pytest.approx(0, abs=0.5)},
    ),
    "a tensor kernel came: the mix, and not the intensity either": (
        program((ADD, 0, 100_000), samples=[0] * 20),
        program((ADD, 0, 100_000), (NVJET, 100_000, 200_000), samples=[0] * 10 + [80] * 10),
        "0  40  40",
        {"mix": pytest.approx(40, abs=1), "intensity": pytest.approx(0, abs=0.5)},
    ),
    # Half the time busy and twice the intensity: from 20 % back to 20 %, so that the two parts cancel. Exchanged first,
    # idle is -10 of 20 (busy 1 to 0.5 at 20 %); exchanged last, -20 (1 to 0.5 at 40 %).
    "what changes together is shared evenly": (
        program((NVJET, 0, 100_000), (NVJET, 100_000, 200_000), samples=[20] * 20),
        program((NVJET, 0, 50_000), (NVJET, 150_000, 200_000), samples=[40] * 5 + [0] * 10 + [40] * 5),
        "20  20  0",
        {"idle": pytest.approx(-15, abs=1), "intensity": pytest.approx(15, abs=1)},
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_change_of_tensor_active_is_in_its_part(tmp_path, case):
    base, new, total, parts = CHANGES[case]
    rows = waterfall(analyzed(base, tmp_path), analyzed(new, tmp_path, "b.sqlite"))
    found = of(rows, "tensor_active_pct")
    assert_rows(found.head(1), f"base  new  change\n{total}", abs=1e-9)
    assert {part: change_of(found, part) for part in parts} == parts
    if not total.endswith(" 0"):
        assert (
            largest_part(rows, 0, "tensor_active_pct")["part"]
            == found.loc[found.loc[1:, "change"].abs().idxmax(), "part"]
        )
    assert found.loc[1:, ["base", "new"]].isna().all(axis=None)
    assert_adds_up(rows)


@pytest.mark.usefixtures("shared_reads")
@pytest.mark.parametrize(
    ("base", "new"), [("mnist_fp32", "mnist_amp"), ("mlp_fp32", "mlp_fp16"), ("jax_mlp", "gan_fp16")]
)
def test_the_parts_of_recordings_are_all_that_the_fit_tells_of_the_change(base, new):
    sides, fitted = [tcprof.read(FIXTURES / f"{name}.sqlite").analysis for name in (base, new)], []
    for analysis in sides:
        counted = analysis.steps[analysis.steps["counted"]]
        windows = analysis.instances[analysis.instances["range"].isin(counted["range"])]
        start = analysis.activities["start_ns"].to_numpy()[analysis.kernel_instances["activity"]]
        inside = [
            analysis.kernel_instances["tensor_active_ns"][(start >= first) & (start < last)].sum()
            for first, last in zip(windows["gpu_start_ns"], windows["gpu_end_ns"], strict=True)
        ]
        fitted.append(100 * sum(inside) / counted["gpu_window_ns"].sum())
    rows = waterfall(*sides)
    assert_adds_up(rows)
    changes = of(rows, "tensor_active_pct").set_index("part")["change"]
    assert changes[["idle", "mix", "intensity"]].sum() == pytest.approx(fitted[1] - fitted[0], abs=1e-6)
    assert abs(changes["not explained by the fit"]) < 0.05 + 0.1 * abs(changes["total"])
