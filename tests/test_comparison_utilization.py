"""HFU, MFU, useful FLOP/s and idle time: of each instance, in comparisons and as conditions of a gate."""

from pathlib import Path

import pandas as pd
import pytest
from commands import Run
from test_flop import US, Step

import tcprof

pytestmark = pytest.mark.usefixtures("shared_reads")


STEPS = 6
FLOP = 2 * 2048**3  # of each step's product
KERNEL_S = 100e-6
PEAK = 989.5e12  # of an H200 in FP16, dense
MFU = 100 * FLOP / (PEAK * KERNEL_S)


def steps(executed: float = FLOP, sizes: bool = True, first: int = 10_000) -> Step:
    """Steps of one product each, which executes so many FLOP; of another run the first begins at another time."""
    step = Step(steps=STEPS, first=first)
    for at in range(20, 1000 * STEPS, 1000):
        step.op("aten::mm", at, at + 100, [[2048, 2048]] * 2 if sizes else "", seq=at).works(at + 50, executed)
    return step


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """A side that executes what is asked for, and one that executes a quarter more."""
    return (
        steps().sampled().write(tmp_path, "base.sqlite"),
        steps(1.25 * FLOP, first=10_010).sampled().write(tmp_path, "new.sqlite"),
    )


def test_the_table_has_them_where_they_are_known(sides: tuple[Path, Path], run: Run, tmp_path: Path) -> None:
    lines = run("compare", *sides, "--all", "--warm-up", "all").out.splitlines()
    figures = {title: line.split() for line in lines for title in ("HFU", "MFU") if line.startswith(title)}
    assert figures["HFU"][1:5] == ["17.4", "%", "21.7", "%"]
    assert figures["MFU"][1:5] == ["17.4", "%", "17.4", "%"]
    assert any(line.startswith("Useful FLOP/s") and "172 T" in line for line in lines)
    plain = [steps(sizes=False, first=at).sampled().write(tmp_path, f"{at}.sqlite") for at in (10_000, 10_010)]
    out = run("compare", *plain, "--all", "--warm-up", "all").out
    assert "\nHFU" in out
    assert "\nMFU" not in out


@pytest.mark.parametrize(
    ("condition", "status"),
    [("mfu < 17", 0), ("mfu < 18", 1), ("hfu > +3pt", 1)],
)
def test_conditions_on_them(sides: tuple[Path, Path], run: Run, condition: str, status: int) -> None:
    done = run("compare", *sides, "--warm-up", "all", "--strict", "--fail-if", condition)
    assert done.status == status, done.out


def read_host(step: Step, folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The ranges by path, and the instances, over host windows."""
    analysis = tcprof.read(step.sampled().write(folder), "host", warm_up="all", step="step")
    paths = analysis.paths["path"].to_numpy()
    instances = analysis.instances.assign(path=paths[analysis.instances["path_id"].to_numpy()])
    return analysis.ranges.set_index("path"), instances.set_index("path")


def test_a_host_window_that_holds_all_of_its_work_has_rates(tmp_path: Path) -> None:
    """The program waits for the GPU before ``run`` ends; the steps in it end long before their work."""
    ranges, instances = read_host(steps().range("run", 0, 20_000 * US), tmp_path)
    whole = 100 * STEPS * FLOP / (PEAK * 20e-3)
    known = ["tensor_tflops", "tensor_peak_pct", "hfu_pct", "mfu_pct"]
    assert ranges.loc["run", ["hfu_pct", "mfu_pct"]].tolist() == pytest.approx([whole, whole], rel=1e-3)
    assert instances.loc["run", ["hfu_pct", "mfu_pct"]].tolist() == pytest.approx([whole, whole], rel=1e-3)
    assert ranges.loc["run", known].notna().all()
    assert ranges.loc["step", known].isna().all()
    assert instances.loc["step", ["hfu_pct", "mfu_pct"]].isna().all(axis=None)


def test_over_gpu_windows_instances_add_up_to_their_path(tmp_path: Path) -> None:
    analysis = tcprof.read(steps().sampled().write(tmp_path), warm_up="all", step="step")
    row = analysis.ranges.set_index("path").loc["step"]
    of_step = analysis.instances[analysis.instances["path_id"] == row["path_id"]]
    assert of_step["mfu_pct"].mean() == pytest.approx(row["mfu_pct"]) == pytest.approx(MFU, rel=1e-6)
    assert of_step["hfu_pct"].mean() == pytest.approx(row["hfu_pct"])
