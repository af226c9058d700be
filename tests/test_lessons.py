"""What docs/lessons.md says in words holds in the figures of its runs and recordings."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import tcprof
from tcprof.chips import find_chip

pytestmark = pytest.mark.usefixtures("shared_reads")

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"


@pytest.fixture(scope="module")
def runs() -> dict[str, dict[str, str]]:
    with (FIXTURES / "runs.csv").open(newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def milliseconds(run: dict[str, str]) -> float:
    return float(run["time_per_step_ms"])


def mean_pct(name: str) -> float:
    rows = tcprof.read(FIXTURES / f"{name}.sqlite").ranges
    return float(rows[rows["name"] == "step"]["tensor_active_mean_pct"].max())


@pytest.mark.slow
def test_the_tables_are_those_of_the_fixtures() -> None:
    code = (
        "import runpy, pathlib; page = runpy.run_path('docs/generate_lessons.py'); print(page['render']("
        "pathlib.Path('docs/lessons.md').read_text()), end='')"
    )
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "lessons.md").read_text() == made, "run: make lessons"


def test_what_a_graph_hides_is_a_dash_and_no_zero() -> None:
    (row,) = re.findall(r"^\| `jax_mlp.py` \|.*$", (ROOT / "docs" / "lessons.md").read_text(), re.MULTILINE)
    assert row.endswith("| 64.6 % | 99.8 % | – |")


def test_every_run_of_the_gallery_is_there_and_in_the_lessons(runs: dict[str, dict[str, str]]) -> None:
    page = (ROOT / "docs" / "lessons.md").read_text()
    named = set(re.findall(r"[a-z]\w+", " ".join(re.findall(r"<!-- (?:runs|printed|rates|ranges): ([^>]*) -->", page))))
    assert named == set(runs)
    assert all((ROOT / "workloads" / run["command"].split()[0]).exists() for run in runs.values())


def test_attention_in_float32_is_three_products_in_tf32_on_tensor_cores() -> None:
    """Causal attention with heads of 64, 8 x 16 of them, 1024 tokens, in blocks of 64 x 64."""
    kernels = tcprof.read(FIXTURES / "transformer_fp32.sqlite").kernels
    fitted = kernels[kernels["name"].str.startswith("fmha_cutlassF_f32")]["tensor_cycles_per_launch"].item()
    reference = pd.read_csv(FIXTURES / "reference" / "transformer_tf32.ncu.csv", index_col="name")
    cycles = reference.filter(like="fmha_cutlassF_f32", axis="index")["tensor_cycles_per_launch"].item()
    blocks = 16 * 17 // 2
    flop = 8 * 16 * blocks * 2 * (2 * 64 * 64 * 64)  # scores, and values
    assert cycles * find_chip("GH100").flop_per_cycle("mma.sync", "tf32", shape="16x8x8") == pytest.approx(
        3 * flop, rel=1e-4
    )
    assert fitted == pytest.approx(cycles, rel=0.03)  # of one step


def test_what_the_gpu_holds_up_takes_as_long_again(runs: dict[str, dict[str, str]]) -> None:
    again = pd.read_csv(FIXTURES / "runs_again.csv", index_col="name")["time_per_step_ms"]
    ratio = again / pd.Series({name: milliseconds(run) for name, run in runs.items()}).reindex(again.index)
    held_up = ratio.index.str.startswith(("transformer", "matmul", "inference", "jax"))
    assert (ratio[held_up] - 1).abs().max() < 0.01
    assert (round(ratio.min(), 2), round(ratio.max(), 2)) == (0.93, 1.42)


def test_a_product_on_the_cpu(runs: dict[str, dict[str, str]]) -> None:
    ms = [
        {row[0]: float(row[1]) for row in re.findall(r"^ *1024 +(\w+) +([\d.]+)", runs[name]["result"], re.MULTILINE)}
        for name in ("matmul", "matmul_cpu")
    ]
    times = {name: ms[1][name] / ms[0][name] for name in ms[0] if name != "fp8"}
    assert (round(times["fp32"]), round(times["fp16"])) == (19, 109)
    assert times["fp32"] == min(times.values())
    assert times["fp16"] == max(times.values())


@pytest.mark.parametrize(
    "name", ["mlp_fp32", "mnist_fp32_large", "inference_fp32", "gan_fp32", "polynomial", "pinn_fp32"]
)
def test_without_tf32_float32_stays_off_the_tensor_cores(name: str) -> None:
    assert mean_pct(name) < 1


@pytest.mark.parametrize("name", ["mlp_tf32", "mlp_fp16", "mnist_amp_large", "transformer_tf32", "inference_fp16_last"])
def test_tf32_and_float16_reach_them(name: str) -> None:
    assert mean_pct(name) > 2


def test_what_pays_and_what_does_not(runs: dict[str, dict[str, str]]) -> None:
    ms = {name: milliseconds(run) for name, run in runs.items()}
    assert ms["mnist_fp32"] < min(ms["mnist_pinned"], ms["mnist_amp"])  # launch-bound
    assert ms["mnist_amp_large"] < ms["mnist_fp32_large"]
    assert ms["mlp_tf32"] < ms["mlp_fp16"] < ms["mlp_fp32"]
    assert ms["mlp_fp16"] < ms["mlp_fp16_4097"] < ms["mlp_fp32"]
    assert ms["mlp_tf32"] < ms["mlp_tf32_4097"] < ms["mlp_fp32"]
    assert ms["transformer_compiled"] < ms["transformer_eager"] < ms["transformer_tf32"] < ms["transformer_fp32"]
    assert ms["inference_fp16_last"] < ms["inference_fp16"] < ms["inference_fp32"] / 2
    assert ms["convnet_channels_last"] < ms["convnet_channels_first"]
    assert ms["gan_fp32"] < ms["gan_fp16"]
    assert ms["polynomial"] < ms["polynomial_master"] < ms["polynomial_amp"]


def test_the_size_decides_over_the_rate_of_products(runs: dict[str, dict[str, str]]) -> None:
    rows = re.findall(r"^ *(\d+) +(\w+) +[\d.]+ +([\d.e+]+)", runs["matmul"]["result"], re.MULTILINE)
    rates = {(name, int(size)): float(rate) for size, name, rate in rows}
    for name in ("tf32", "fp16", "bf16"):
        assert rates[name, 4097] < 0.5 * rates[name, 4096]
    for name in ("fp32", "fp64"):
        assert rates[name, 4097] > 0.5 * rates[name, 4096]
    assert rates["fp16", 4096] > 10 * rates["fp32", 4096]


def test_loss_scaling_keeps_the_generators_gradients(runs: dict[str, dict[str, str]]) -> None:
    zeros = dict(re.findall(r"fp16, loss times ([\d,]+): ([\d.]+) % of the generator", runs["gan_fp16"]["result"]))
    assert float(zeros["65,536"]) == 0 < float(zeros["1"]) < 1


def test_tf32_costs_accuracy_where_derivatives_are_solved_for(runs: dict[str, dict[str, str]]) -> None:
    errors = [
        float(re.search(r"relative L2 error: ([\d.]+) %", runs[name]["result"])[1])
        for name in ("pinn_fp32", "pinn_tf32")
    ]
    assert errors[1] > 2 * errors[0]
