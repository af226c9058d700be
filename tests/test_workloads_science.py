"""The workloads with a loader, a table of products, or a differential equation: small and on the CPU."""

import importlib
import json
import math
import re

import pytest
import test_workloads
from test_workloads import (
    NVTX_RECORDER,
    WORKLOADS,
    accuracy_of,
    losses_of,
    run_recorded,
    run_script,
    run_well,
)

torch = pytest.importorskip("torch", reason="the workloads need torch: pip install 'tcprof[workloads]'")
pytest.importorskip("nvtx", reason="the workloads need nvtx: pip install 'tcprof[workloads]'")

pytestmark = pytest.mark.torch

idx_folder = test_workloads.idx_folder
PARTS = ("copy", "forward", "backward", "optimizer")
FASHION = ("--images", 2000, "--steps", 20)
FORMATS = ("fp64", "fp32", "tf32", "fp16", "bf16", "int8", "fp8")
MNIST = ("--steps", 3, "--epochs", 2)
PINN = ("--warm-up", 200, "--steps", 3, "--points", 64)
TIME = re.compile(r"^time per step: ([\d.]+) ms, ([\d,]+) (\S+)/s", re.MULTILINE)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Runs a script: what it printed, and the ranges that it opened."""

    def run(*arguments):
        folder = tmp_path_factory.mktemp("recorded")
        (folder / "nvtx.py").write_text(NVTX_RECORDER)
        ranges = folder / "ranges"
        output = run_well(*arguments, PYTHONPATH=str(folder), NVTX_RANGES=str(ranges))
        return output, test_workloads.TestRanges.opened_paths(ranges.read_text().splitlines())

    return run


@pytest.fixture
def workload(monkeypatch):
    """Imports a script as a module."""
    monkeypatch.syspath_prepend(WORKLOADS)
    return importlib.import_module


@pytest.fixture
def here(workload, monkeypatch, capsys):
    """Runs a script without starting Python and torch once more, and returns what it printed."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as in run_script: sums of floats depend on it

    def run(name, *arguments):
        monkeypatch.setattr("sys.argv", [f"{name}.py", "--device", "cpu", *map(str, arguments)])
        workload(name).main()
        return capsys.readouterr().out

    yield run
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def pinned_run(recorded):
    return recorded("mnist_pinned.py", *MNIST)


@pytest.fixture(scope="module")
def fashion_run():
    return run_recorded("fashion.py", *FASHION, "--workers", 0)


@pytest.fixture(scope="module")
def matmul_run():
    return run_recorded("matmul.py", "--steps", 2)


def value_of(label, output):
    return float(re.search(rf"^{re.escape(label)}: ([\d.]+) %", output, re.MULTILINE)[1])


def steps(parent, count, parts=PARTS):
    return [f"{parent}step", *(f"{parent}step/{part}" for part in parts)] * count


class TestMnistPinned:
    @pytest.mark.slow
    def test_learns_exactly_what_the_baseline_learns(self, pinned_run, here):
        output = pinned_run[0]
        baseline = here("mnist_baseline", *MNIST)
        alone = here("mnist_pinned", *MNIST, "--workers", 0)
        assert len(losses_of(baseline)) == 2
        assert losses_of(output) == losses_of(alone) == losses_of(baseline)
        assert accuracy_of(output) == accuracy_of(alone) == accuracy_of(baseline)
        assert TIME.search(output)[3] == "images"

    @pytest.mark.slow
    def test_ranges_nest_as_promised(self, pinned_run):
        self.check_ranges(pinned_run[1])

    @pytest.mark.slow
    def test_ranges_are_the_same_without_processes_that_load(self):
        self.check_ranges(run_recorded("mnist_pinned.py", *MNIST, "--workers", 0)[1])

    def test_ranges_nest_with_few_images_too(self, idx_folder):
        options = ("--data", idx_folder, "--batch-size", 2, "--workers", 0)
        found = run_recorded("mnist_pinned.py", *MNIST, *options)[1]
        assert [path for path in found if not path.startswith("warm-up")][:-1] == self.epochs()
        assert found[-1] == "test"

    @staticmethod
    def check_ranges(found):
        assert found == ["warm-up", *steps("warm-up/", 10), *TestMnistPinned.epochs(), "test"]

    @staticmethod
    def epochs():
        return [path for epoch in range(2) for path in (f"epoch {epoch}", *steps(f"epoch {epoch}/", 3))]

    def test_each_batch_comes_once_and_whole(self, workload):
        digits, pinned = workload("digits"), workload("mnist_pinned")
        options = pinned.argparse.Namespace(device="cpu", workers=0, batch_size=4, seed=0)
        data = digits.Digits(torch.arange(10.0).view(10, 1, 1, 1), torch.arange(10))
        batches = pinned.Prefetcher(data, options)
        epochs = []
        for _ in range(2):
            labels = []
            for images, places in batches:
                batches.advance()
                assert images.flatten().tolist() == places.tolist()
                labels += places.tolist()
            epochs.append(labels)
        assert [len(set(labels)) for labels in epochs] == [8, 8]  # the last two would be a smaller batch
        assert epochs[0] != epochs[1]


class TestFashion:
    def test_learns_and_tells_the_wait(self, fashion_run):
        assert value_of("validation accuracy", fashion_run[0]) > 80
        assert 0 <= value_of("waited for the loader", fashion_run[0]) <= 100
        assert len(TIME.findall(fashion_run[0])) == 1

    def test_ranges_nest_as_promised(self, fashion_run):
        parts = ("load", *PARTS)
        assert fashion_run[1] == ["warm-up", *steps("warm-up/", 5, parts), *steps("", 20, parts), "validation"]

    @pytest.mark.slow
    def test_processes_that_load_change_neither(self, recorded, fashion_run):
        output, ranges = recorded("fashion.py", *FASHION)
        assert value_of("validation accuracy", output) > 80
        assert ranges == fashion_run[1]

    def test_same_seed_same_result(self, here):
        def figures(output):
            return [line for line in output.splitlines() if line.startswith(("loss", "validation"))]

        first = here("fashion", *FASHION, "--workers", 0)
        again = here("fashion", *FASHION, "--workers", 0, "--loader", "pinned")
        other = here("fashion", *FASHION, "--workers", 0, "--seed", 1)
        assert len(figures(first)) == 2
        assert figures(first) == figures(again)  # pinned memory changes no batch
        assert figures(first) != figures(other)

    @pytest.mark.slow
    def test_torch_profiler_and_bf16(self, tmp_path):
        trace = tmp_path / "trace.json"
        options = ("--loader", "gpu", "--precision", "bf16", "--torch-profiler", "--trace", trace)
        run = run_script("fashion.py", *FASHION, *options)  # torch.profiler itself may talk on stderr
        assert run.returncode == 0, run.stderr
        assert value_of("validation accuracy", run.stdout) > 80
        table = run.stdout[run.stdout.index("Self CPU %") :]
        assert sum("%" in line for line in table.splitlines()[2:]) == 8
        assert json.loads(trace.read_text())["traceEvents"]


class TestMatmul:
    def test_errors_are_those_of_the_formats(self, matmul_run):
        rows = re.findall(r"^ *(\d+) +(\w+) +([\d.]+) +(\S+) +(\S+)$", matmul_run[0], re.MULTILINE)
        errors = {(int(size), name): float(error) for size, name, _, _, error in rows}
        bounds = {"fp64": 1e-14, "fp32": 1e-5, "tf32": 1e-3, "fp16": 1e-3, "bf16": 1e-2, "int8": 2e-2, "fp8": 1e-1}
        assert {(size, name) for size in (64, 256, 257) for name in FORMATS[:5]} <= set(errors)
        assert all(error < bounds[name] for (_, name), error in errors.items())
        assert errors[256, "fp64"] < errors[256, "fp32"] < errors[256, "fp16"] < errors[256, "bf16"]
        for size, name, milliseconds, rate, _ in rows:
            if float(milliseconds) > 0.1:
                expected = 2 * int(size) ** 3 / float(milliseconds) / 1e9
                assert math.isclose(float(rate), expected, rel_tol=0.02), name
        assert TIME.search(matmul_run[0]).group(0).endswith("products/s")

    def test_each_case_is_a_range_or_said_to_be_missing(self, matmul_run):
        cases = [f"{name} {size}" for size in (64, 256, 257) for name in FORMATS]
        missing = [
            f"{name} {size}" for size, name in re.findall(r"^ *(\d+) +(\w+)  –, not here$", matmul_run[0], re.MULTILINE)
        ]
        assert matmul_run[1] == ["warm-up", *(case for case in cases if case not in missing)]

    def test_what_a_device_lacks_is_told_and_other_errors_are_not_hidden(self, workload, monkeypatch):
        matmul = workload("matmul")
        options = matmul.argparse.Namespace(device="cpu", sizes=[16], seed=0)

        def refuse(*_, **__):
            raise RuntimeError("no such product here")

        monkeypatch.setattr(torch, "_int_mm", refuse)
        monkeypatch.delattr(torch, "_scaled_mm")
        cases = matmul.try_out(options)
        assert [name for (name, _), case in cases.items() if case is None] == ["int8", "fp8"]
        monkeypatch.setattr(matmul, "error_of", refuse)
        with pytest.raises(RuntimeError, match="no such product"):
            matmul.try_out(options)


class TestPinn:
    def test_opens_its_ranges_and_the_loss_falls(self):
        output, paths = run_recorded("pinn.py", *PINN, "--warm-up", 20, "--lbfgs", 5)
        first, last = map(float, re.search(r"^loss: (\S+) to (\S+) in 23 steps", output, re.MULTILINE).groups())
        assert last < first
        assert TIME.search(output)[3] == "points"
        in_capture = [path for path in paths if not path.startswith(("warm-up", "l-bfgs"))]
        assert in_capture == steps("", 3, PARTS[1:])
        assert paths[:2] == ["warm-up", "warm-up/step"]
        assert "l-bfgs/forward" in paths

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("problem", "iterations", "bound"), [("function", 500, 3), ("ode", 300, 3), ("poisson", 60, 20)]
    )
    def test_comes_near_the_right_values(self, here, problem, iterations, bound):
        output = here("pinn", *PINN, "--problem", problem, "--lbfgs", iterations)
        assert value_of("relative L2 error", output) < bound

    def test_the_finite_differences_solve_the_equation(self, workload):
        points, u = workload("pinn").solve_in_l()
        # Its maximum, from finer and finer grids; and both legs of the L are alike.
        assert math.isclose(u.max(), 0.1494, rel_tol=0.01)
        by_place = {
            (round(40 * x), round(40 * y)): value for (x, y), value in zip(points.tolist(), u.tolist(), strict=True)
        }
        assert all(math.isclose(value[0], by_place[-y, -x][0], rel_tol=1e-9) for (x, y), value in by_place.items())

    def test_the_exact_solution_of_the_ode_has_no_loss(self, workload):
        pinn = workload("pinn")

        class Exact(torch.nn.Module):
            def forward(self, x):
                return torch.cat([x.sin(), x.cos()], dim=-1)

        x = pinn.draw_on_line(50).requires_grad_()
        assert pinn.ode_loss(Exact(), x) < 1e-10

    def test_points_of_the_l_are_inside_and_on_its_boundary(self, workload):
        inside, boundary = workload("pinn").draw_in_l(500).chunk(2)
        assert not ((inside[:, 0] > 0) & (inside[:, 1] < 0)).any()
        on_outer = (boundary.abs() == 1).any(dim=1)
        on_inner = ((boundary[:, 0] == 0) & (boundary[:, 1] <= 0)) | ((boundary[:, 1] == 0) & (boundary[:, 0] >= 0))
        assert (on_outer | on_inner).all()
        assert on_outer.any()
        assert on_inner.any()
