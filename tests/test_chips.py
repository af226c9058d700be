"""The files of chips: names, counters, rates and peaks; and that a new chip is one file."""

import math
import re
import runpy
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import yaml
from builders import TraceBuilder
from chip_files import check_file

import tcprof
from tcprof.analysis.kernels.roofline import find_peaks
from tcprof.chips import Board, find_chip, lacks, read_boards
from tcprof.chips import chip as chip_data
from tcprof.frames import SAMPLE_METRICS, SAMPLES
from tcprof.nsys.capabilities import build_metric_set
from tcprof.sources.nsys_sqlite import samples


@pytest.mark.parametrize(
    ("chip", "family", "precision", "rate"),  # and the shape of an instruction, where the family has several
    [
        ("GH100", "wgmma", "bf16", 1024),
        ("GH100", "wgmma", "fp16", 1024),
        ("GH100", "wgmma", "fp8", 2048),
        ("GH100", "wgmma", "tf32", 512),
        ("GH100", "mma.sync 16x8x16", "fp16", 2048 / 3),
        ("GH100", "mma.sync 16x8x8", "fp16", 512),
        ("GH100", "mma.sync 16x8x8", "tf32", 1024 / 3),
        ("GH100", "mma.sync 16x8x32", "int8", 4096 / 3),
        ("GH100", "mma.sync 8x8x4", "fp64", 32),
        ("GA100", "mma.sync 16x8x16", "fp16", 512),
        ("GA100", "mma.sync", "bf16", 512),
        ("GA100", "mma.sync", "fp64", 32),
        ("GA100", "none", "", 0),
        ("unheard of", "none", "", 0),
    ],
)
def test_rates(chip, family, precision, rate):
    family, _, shape = family.partition(" ")
    assert find_chip(chip).flop_per_cycle(family, precision, shape=shape) == pytest.approx(rate, rel=1e-12)


@pytest.mark.parametrize(
    ("chip", "family", "precision"),
    [
        ("unheard of", "wgmma", "fp16"),
        ("GA100", "wgmma", "fp16"),
        ("GA100", "mma.sync", "fp8"),
        ("GH100", "tcgen05", "fp16"),
        ("GH100", "wgmma", ""),
        ("GH100", "mma.sync", "fp16"),  # its shapes differ
        ("GH100", "", "fp16"),
        ("", "", ""),
    ],
)
def test_what_is_not_known_has_no_rate(chip, family, precision):
    assert math.isnan(find_chip(chip).flop_per_cycle(family, precision))


@pytest.mark.parametrize(("chip", "precision"), [("unheard of", "fp16"), ("GH100", ""), ("GA100", "fp8")])
def test_a_peak_that_is_not_known(chip, precision):
    assert math.isnan(find_chip(chip).peak_flop_per_cycle(precision))


FILES = {path.name: chip_data.read_file(path) for path in sorted(chip_data.DATA.glob("*.toml"))}
NOT_A_COLUMN = {"sm_cycles"}  # read for the percentages, and not kept
BOARDS = read_boards()
FP64_CLOCKS = {  # of boards whose peak in FP64 is stated at another clock
    name: board["fp64_clock_hz"]
    for path in chip_data.DATA.glob("*.toml")
    for name, board in tomllib.loads(path.read_text(encoding="utf-8")).get("boards", {}).items()
    if "fp64_clock_hz" in board
}
PEAKS = [(name, precision) for name, (_, board) in BOARDS.items() for precision in board.peak_tflops]
WITHOUT_CLOCK = {
    *("B200", "GB200", "B300", "GB300", "H100 NVL", "H200 NVL", "H20 96 GB", "H20 141 GB"),
    *("RTX PRO 6000 Workstation", "DGX Spark"),
}
WITHOUT_RATE = {"Jetson AGX Thor"}


@pytest.mark.parametrize("name", FILES)
def test_every_figure_has_a_source(name):
    check_file(chip_data.DATA / name)
    file = FILES[name]
    tables = [file.rates, *(rates for _, rates in file.rates_of_boards if rates)]
    rates = [rate for table in tables for of_family in table.values() for rate in of_family.values()]
    sourced = [*file.metrics.values(), *file.boards.values()]
    assert rates or sourced or file.gpus
    assert all(len(figure.source) > 20 for figure in sourced)
    sources = tomllib.loads((chip_data.DATA / name).read_text(encoding="utf-8"))["sources"]
    assert all(len(text) > 20 for text in sources.values())  # each figure names one of these
    assert all(rate > 0 for rate in rates if not math.isnan(rate))  # of cut-down boards


@pytest.mark.parametrize("name", FILES)
def test_metrics_are_columns_of_the_samples(name):
    metrics = FILES[name].metrics
    assert set(metrics) <= {*SAMPLE_METRICS} | NOT_A_COLUMN
    assert all(metric.names and metric.counters for metric in metrics.values())


def test_every_sampled_column_has_a_name():
    of_one_chip = {
        column for column in SAMPLE_METRICS if any(column in file.metrics for file in FILES.values() if file.chips)
    }
    assert set(FILES["common.toml"].metrics) | of_one_chip == {*SAMPLE_METRICS} - {"pipe_cycles"} | NOT_A_COLUMN


def test_a_chip_has_one_file_and_a_name_one_column():
    chips = [chip for file in FILES.values() for chip in file.chips]
    names = [name for file in FILES.values() for metric in file.metrics.values() for name in metric.names]
    assert len(chips) == len(set(chips))
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("name", "precision"), PEAKS)
def test_peaks_of_boards_follow_from_rates(name, precision):
    chips, board = BOARDS[name]
    sums = "fp16" if precision.endswith("_in_fp16") else "fp32"
    clock = board.boost_clock_hz
    if precision == "fp64":
        clock = FP64_CLOCKS.get(name, clock)
    rate = find_chip(chips[0], board.names[0]).peak_flop_per_cycle(precision.removesuffix("_in_fp16"), sums)
    assert math.isnan(clock) == (name in WITHOUT_CLOCK)
    if name not in WITHOUT_CLOCK | WITHOUT_RATE:  # of the L40S, see its source
        peak = rate * board.sm_count * 4 * clock / 1e12
        assert peak == pytest.approx(board.peak_tflops[precision], rel=0.013 if name == "L40S" else 0.01)


def test_a_board_is_found_by_its_whole_name():
    names = [name for _, board in BOARDS.values() for name in board.names]
    assert len(names) == len(set(names))
    for chips, board in BOARDS.values():
        for name in board.names:
            for chip in (chips[0], "nan", "a chip that nobody knows"):
                assert find_chip(chip, f"NVIDIA {name}").board is find_chip(chip, name).board is board
            for other in (f"{name}X", f"{name} MIG 1g.10gb", f"X{name}", f"NVIDIA  {name}"):
                assert other in names or find_chip(chips[0], other).board == Board()


@pytest.mark.parametrize(
    ("gpu", "name"),
    [
        ("NVIDIA GB200", "GB200"),
        ("NVIDIA B200", "B200"),
        ("NVIDIA B300 SXM6 AC", "B300"),
        ("NVIDIA H200 NVL", "H200 NVL"),
        ("NVIDIA H200", "H200 SXM"),
        ("NVIDIA H20", "H20 96 GB"),
        ("NVIDIA GH200 480GB", "GH200 96 GB"),
        ("NVIDIA A100-SXM4-40GB", "A100 40 GB"),
        ("A100-SXM4-40GB", "A100 40 GB"),
        ("NVIDIA L40", "L40"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA L4", "L4"),
        ("Tesla T4", "T4"),
        ("Orin", "Jetson AGX Orin 64 GB"),
        ("NVIDIA GB10", "DGX Spark"),
    ],
)
def test_boards_whose_names_begin_alike(gpu, name):
    assert find_chip("", gpu).board is BOARDS[name][1]


@pytest.mark.parametrize(
    ("gpu", "sms", "clock_ghz", "precision", "expected"),
    [
        ("NVIDIA A100-SXM4-80GB", 108, 1.41, "bf16", 312),  # as stated
        ("NVIDIA A100-SXM4-80GB", math.nan, math.nan, "bf16", 312),
        ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", 42, 1.41, "bf16", 42 * 2048 * 1.41e-3),  # a part of it
        ("NVIDIA A100-SXM-64GB", 124, 1.395, "bf16", 124 * 2048 * 1.395e-3),  # a board that is not listed
        ("NVIDIA A100-SXM4-80GB", 108, 1.2, "bf16", 108 * 2048 * 1.2e-3),  # held back
        ("Orin", 8, 1.02, "int8", 8 * 4096 * 1.02e-3),
        ("Orin", 16, 1.3, "int8", 85),
        ("Orin", 16, 1.3, "fp16", math.nan),
    ],
)
def test_a_peak_is_one_that_the_gpu_can_reach(gpu, sms, clock_ghz, precision, expected):
    gpus = pd.DataFrame(
        {"gpu": 0, "name": gpu, "chip": "GA10B" if gpu == "Orin" else "GA100", "sm_count": sms}, index=[0]
    ).assign(clock_hz=clock_ghz * 1e9)
    kernels = pd.DataFrame({"gpu": 0, "tensor_kernel": True, "precision": precision, "accumulator": "fp32"}, index=[0])
    peak = find_peaks(kernels, gpus, None)["peak_tflops"]
    assert peak.tolist() == pytest.approx([expected], nan_ok=True)


def test_the_page_has_every_board():
    root = Path(__file__).parent.parent
    page = (root / "docs" / "chips.md").read_text(encoding="utf-8")
    generated = runpy.run_path(str(root / "docs" / "generate_chips.py"))["render"](page)
    assert generated == page, "run: python docs/generate_chips.py"


@pytest.mark.parametrize(
    ("precision", "chip", "gpu", "expected"),
    [
        ("tf32", "GV100", "", True),
        ("fp16", "GV100", "", False),
        ("tf32", "TU104", "", True),
        ("tf32", "GH100", "NVIDIA H100", False),
        ("fp8", "GA100", "", True),
        ("fp16", "GP102", "", True),
        ("tf32", "nan", "GeForce GTX 1080 Ti", True),
        ("fp16", "nan", "GeForce GTX 1660", True),
        ("fp16", "nan", "Tesla T4", False),
        ("tf32", "nan", "Tesla T4", True),
        ("tf32", "nan", "Tesla V100-SXM2-16GB", True),
        ("tf32", "nan", "NVIDIA TITAN RTX", True),
        ("tf32", "nan", "NVIDIA TITAN Xp", True),
        ("tf32", "nan", "Tesla P100-PCIE-16GB", True),
        ("tf32", "nan", "NVIDIA A100-SXM4-40GB", False),
        ("tf32", "nan", "NVIDIA T400 4GB", True),
        ("tf32", "nan", "NVIDIA RTX 4000 Ada Generation", False),
        ("tf32", "nan", "NVIDIA GeForce RTX 3090", False),
        ("tf32", "AD106", "NVIDIA GeForce RTX 4060 Ti", False),
        ("bf16", "GA10B", "Orin", False),  # its rate is not known
        ("fp8", "GA10B", "Orin", True),
        ("fp8", "nan", "NVIDIA GB200", False),
        ("tf32", "unheard of", "A GPU", False),
    ],
)
def test_what_a_gpu_is_known_to_lack(precision, chip, gpu, expected):
    assert lacks(precision, chip, gpu) == expected


METRIC = 'names = ["A"]\ncounters = ["a"]\n'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('chips = ["X"]\nsources = {}\nclock = 3', "clock, which nothing reads"),
        ('chips = ["X"]\n', "'sources'"),
        ("sources = {}\n", "each other file names its own"),
        ('chips = ["X"]\nsources = {}\n[flop_per_cycle.mma]\n', "mma, which nothing reads"),
        ('chips = ["X"]\nsources = {}\n[flop_per_cycle.wgmma]\nfp32 = {value = 1}\n', "fp32, which nothing reads"),
        ('chips = ["X"]\nsources = {}\n[flop_per_cycle.wgmma]\nfp16 = {value = 1}\n', "wgmma fp16 has no source"),
        ('chips = ["X"]\nsources = {}\n[flop_per_cycle.wgmma]\nfp16 = 1\n', "wgmma fp16 is not a table"),
        (f'chips = ["X"]\nsources = {{}}\n[metrics.a]\n{METRIC}', "a has no source"),
        (f'chips = ["X"]\nsources = {{}}\n[metrics.a]\n{METRIC}unit = "W"\n', "unit, which nothing reads"),
        ('chips = ["X"]\nsources = {}\n[boards.B]\nsm_count = 3\n', "B has no source"),
        ('chips = ["X"]\nsources = {}\n[boards.B]\nsms = 3\n', "sms, which nothing reads"),
        ("chips = ", "Invalid value"),
    ],
)
def test_a_file_with_a_mistake(content, said, tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(content)
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        check_file(path)
    assert str(path) in str(caught.value)


# A chip that does not exist, with names and counters of its own.
STUB = """
chips = ["GX999"]
sources = { stub = "made up for this test" }
[metrics.tensor_active_pct]
names = ["UTC Active [Throughput %]"]
counters = ["sm__pipe_utc_cycles_active"]
source = "stub"
[metrics.tensor_cycles]
names = ["UTC Active [Sum]"]
counters = ["sm__pipe_utc_cycles_active"]
sums = "Sum"
source = "stub"
[flop_per_cycle.tcgen05]
bf16 = { value = 2048, source = "stub" }
"""
# A metric that there was none of before.
POWER = """
[metrics.power_w]
names = ["Board Power [mW]"]
counters = ["pwr__board"]
scale = 1e-3
source = "stub"
"""


@pytest.fixture
def write_stub(tmp_path, monkeypatch):
    """Adds a file for GX999 to those of the package."""

    def write(content: str) -> None:
        folder = tmp_path / "chips"
        shutil.copytree(chip_data.DATA, folder)
        (folder / "gx999.toml").write_text(content)
        monkeypatch.setattr(chip_data, "DATA", folder)

    return write


def metric_set(*metrics: tuple[str, str]) -> str:
    percent = [{"name": "Throughput %", "suffix": ".avg.pct_of_peak_sustained_elapsed"}]
    listed = [{"name": name, "id": counter, "subMetrics": percent} for name, counter in metrics]
    return yaml.safe_dump({"version": 5, "metricSets": [{"alias": "own", "chips": ["GX999"], "metrics": listed}]})


def names_of(metric_set: str) -> list[str]:
    (made,) = yaml.safe_load(metric_set)["metricSets"]
    return [f"{metric['name']} [{sub['name']}]" for metric in made["metrics"] for sub in metric["subMetrics"]]


def test_a_new_chip_is_one_file(write_stub, tmp_path):
    write_stub(STUB)
    own = metric_set(("UTC Active", "TPC.Triage.sm__pipe_utc_cycles_active"), ("SMs Active", "TPC.sm__cycles_active"))
    recorded = names_of(build_metric_set(own, "GX999"))
    assert recorded == ["UTC Active [Throughput %]", "UTC Active [Sum]", "SMs Active [Sum]", "SM Cycles [Sum]"]
    builder = TraceBuilder().gpu(chip="GX999").recorded(40_000)
    builder.samples([4000] * 4, metric=recorded[1]).samples([2500] * 4, metric=recorded[3])
    builder.kernel("nvjet_sm100_tst_128x256_64x6_2x1_v_bz_TNT", 0, 40_000)
    report = tcprof.read(builder.write(tmp_path))
    assert report.analysis.tensor_source == "cycles"
    assert report.samples["tensor_active_pct"].tolist() == [40] * 4
    (kernel,) = report.kernels.to_dict("records")
    assert (kernel["family"], kernel["precision"]) == ("tcgen05", "bf16")
    assert kernel["tensor_flop"] == pytest.approx(16_000 * 2048)


def test_a_new_metric_is_a_column_and_its_names(write_stub, tmp_path, monkeypatch):
    write_stub(STUB + POWER)
    power = replace(SAMPLES.columns[-1], name="power_w")
    monkeypatch.setattr(samples, "SAMPLES", replace(SAMPLES, columns=(*SAMPLES.columns, power)))
    own = metric_set(("UTC Active", "sm__pipe_utc_cycles_active"), ("Board Power", "PWR.pwr__board"))
    assert "Board Power [Throughput %]" in names_of(build_metric_set(own, "GX999"))
    builder = TraceBuilder().gpu(chip="GX999").samples([700_000, 650_500], metric="Board Power [mW]")
    frame = builder.trace(tmp_path).samples(("power_w",)).frame
    assert frame["power_w"].tolist() == [700.0, 650.5]


@pytest.fixture(scope="module")
def product_flop():
    """FLOP of a product, from its tensor cycles, for each format and size of the recording."""
    ranges = tcprof.read(Path(__file__).parent.parent / "fixtures" / "matmul.sqlite").ranges
    return dict(zip(ranges["path"], ranges["tensor_flop"] / 3, strict=True))  # three of each


@pytest.mark.parametrize("name", ["fp64", "tf32", "fp16", "bf16", "int8", "fp8"])
def test_cycles_of_aligned_products_are_their_arithmetic(product_flop, name):
    assert product_flop[f"{name} 4096"] == pytest.approx(2 * 4096**3, rel=0.002)


@pytest.mark.parametrize(
    ("name", "tile", "error"),
    [
        ("tf32", (256, 128, 32), 0.001),  # by mma.sync 16x8x8, at two thirds of wgmma's rate
        ("fp16", (128, 128, 32), 0.001),  # likewise, at half of it
        ("bf16", (128, 128, 32), 0.02),
    ],
)
def test_cycles_of_others_are_that_of_whole_tiles(product_flop, name, tile, error):
    padded = math.prod(math.ceil(4097 / side) * side for side in tile)
    assert product_flop[f"{name} 4097"] == pytest.approx(2 * padded, rel=error)


def test_cycles_of_a_convolution_are_its_channels_padded_to_whole_tiles():
    """ResNet's first has 3 channels, of which a tile of CUTLASS's takes 32, and 64 filters, of which it takes 128."""
    analysis = tcprof.read(Path(__file__).parent.parent / "fixtures" / "resnet.sqlite")
    is_first = analysis.kernels["name"].str.contains("s16816fprop_optimized_bf16_128x128_32x5_nhwc_align8")
    first = analysis.kernel_instances[analysis.kernel_instances["kernel"].isin(analysis.kernels.index[is_first])]
    assert (first["tensor_flop"] / first["useful_flop"]).tolist() == pytest.approx([32 / 3 * 2] * 5, rel=1e-3)


@pytest.mark.parametrize(
    ("chip", "gpu"), [("GH100", "NVIDIA H20"), ("GH100", "NVIDIA H20-3e"), ("GA100", "NVIDIA CMP 170HX")]
)
def test_a_board_that_is_cut_down_has_no_rate_of_the_whole_chip(chip, gpu):
    found = find_chip(chip, gpu)
    rates = find_chip(chip).rates
    assert rates
    for name in rates:
        family, _, shape = name.partition(" ")
        assert all(math.isnan(found.flop_per_cycle(family, each, shape=shape)) for each in rates[name])
    assert math.isnan(found.peak_flop_per_cycle("bf16"))
