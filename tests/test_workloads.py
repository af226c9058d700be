"""The training scripts in workloads/: they learn, open the ranges they promise and refuse bad input."""

import argparse
import contextlib
import gzip
import importlib
import io
import os
import re
import runpy
import struct
import subprocess
import sys
import types
from pathlib import Path

import pytest
from slow import slow

torch = pytest.importorskip("torch", reason="the workloads need torch: pip install 'tcprof[workloads]'")
pytest.importorskip("nvtx", reason="the workloads need nvtx: pip install 'tcprof[workloads]'")

pytestmark = pytest.mark.torch

WORKLOADS = Path(__file__).parent.parent / "workloads"
SCRIPTS = ("mnist_baseline.py", "mnist_amp.py")
LABELS, IMAGES = "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte"

# Stands in for nvtx and writes down each range as it opens and closes.
NVTX_RECORDER = """
import contextlib, os

@contextlib.contextmanager
def annotate(message):
    with open(os.environ["NVTX_RANGES"], "a") as file:
        file.write(f"push {message}\\n")
    yield
    with open(os.environ["NVTX_RANGES"], "a") as file:
        file.write("pop\\n")
"""


def run_script(name, *arguments, **environment):
    """Run a script on the CPU as a user does, on one thread as conftest.py has it, on every machine."""
    return subprocess.run(
        [sys.executable, WORKLOADS / name, "--device", "cpu", *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def run_well(name, *arguments, **environment):
    """Run a script that must succeed and return what it printed."""
    run = run_script(name, *arguments, **environment)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def run_recorded(script, *options, **constants):
    """Run a script in this process, as starting torch takes longer than it: its output and the ranges it opened.

    ``constants`` are those of other scripts that it imports: ``convnet={"CHANNELS": (8, 16)}``.
    """
    events, output = [], io.StringIO()

    @contextlib.contextmanager
    def annotate(message):
        events.append(f"push {message}")
        yield
        events.append("pop")

    with modules_anew(), pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output):
        patch.setattr(sys, "argv", [script, "--device", "cpu", *map(str, options)])
        patch.syspath_prepend(WORKLOADS)
        patch.setitem(sys.modules, "nvtx", types.SimpleNamespace(annotate=annotate))
        for module, values in constants.items():
            for name, value in values.items():
                patch.setattr(f"{module}.{name}", value)
        runpy.run_path(str(WORKLOADS / script), run_name="__main__")
    return output.getvalue(), TestRanges.opened_paths(events)


@contextlib.contextmanager
def modules_anew():
    """The scripts' own modules are imported anew, with the nvtx that is there, and then as they were."""
    names = {path.stem for path in WORKLOADS.glob("*.py")}
    kept = {name: sys.modules.pop(name) for name in names & set(sys.modules)}
    yield
    for name in names:
        sys.modules.pop(name, None)
    sys.modules.update(kept)


def losses_of(output):
    return re.findall(r"mean loss ([\d.]+)", output)


def accuracy_of(output):
    return float(re.search(r"^test accuracy: ([\d.]+) %$", output, re.MULTILINE)[1])


@pytest.fixture
def digits(monkeypatch):
    monkeypatch.syspath_prepend(WORKLOADS)
    return importlib.import_module("digits")


@pytest.fixture
def mnist(monkeypatch):
    monkeypatch.syspath_prepend(WORKLOADS)
    return importlib.import_module("mnist")


def idx(magic, *shape, content):
    return struct.pack(f">{1 + len(shape)}I", magic, *shape) + bytes(content)


@pytest.fixture
def idx_folder(tmp_path):
    """A tiny MNIST: 8 training and 4 test images; every pixel of image n is 10 n, its label n."""
    for prefix, count in (("train", 8), ("t10k", 4)):
        pixels = (10 * (place // 784) for place in range(count * 784))
        images = idx(2051, count, 28, 28, content=pixels)
        labels = idx(2049, count, content=range(count))
        (tmp_path / f"{prefix}-images-idx3-ubyte").write_bytes(images)
        (tmp_path / f"{prefix}-labels-idx1-ubyte").write_bytes(labels)
    return tmp_path


def pack(folder):
    """Replace every file by its .gz."""
    for path in list(folder.iterdir()):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()


class TestTraining:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("script", "precision"),
        [
            ("mnist_baseline.py", "float32"),
            ("mnist_amp.py", "autocast to torch.bfloat16, loss not scaled"),
        ],
    )
    def test_full_epoch_learns_the_drawn_digits(self, script, precision):
        output = run_well(script)
        assert "12,032 training and 2,000 test images drawn by this script, not MNIST" in output
        assert f"precision: {precision}\n" in output
        assert "188 steps in" in output
        assert re.search(r"^time per step: [\d.]+ ms, [\d,]+ images/s", output, re.MULTILINE)
        assert "GPU" not in output
        assert accuracy_of(output) > 97

    @pytest.mark.slow
    @pytest.mark.parametrize("script", SCRIPTS)
    def test_same_seed_same_loss(self, script, idx_folder):
        options = ("--data", idx_folder, "--batch-size", 4, "--steps", 1, "--epochs", 3)
        first, again, other = (losses_of(run_well(script, *options, "--seed", seed)) for seed in (5, 5, 6))
        assert len(first) == 3
        assert first == again
        assert first != other

    @pytest.mark.parametrize("option", ["steps=0", "epochs=0", "batch-size=-1", "batch-size=9", "device=x"])
    def test_impossible_options_are_refused(self, mnist, option, idx_folder, monkeypatch, capsys):
        monkeypatch.setattr(sys, "argv", ["mnist_x.py", "--device=cpu", "--data", str(idx_folder), f"--{option}"])
        with pytest.raises(SystemExit) as stop:
            mnist.start("What the script does.")
        assert stop.value.code == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.splitlines()[-1].startswith("mnist_x.py: error: ")

    @pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU, so that --device cuda is no error here")
    def test_cuda_without_a_gpu_is_refused(self, capsys):
        with pytest.raises(SystemExit) as stop:
            run_recorded("mnist_amp.py", "--device", "cuda")
        assert stop.value.code == 2
        assert capsys.readouterr().err.endswith("error: PyTorch finds no CUDA device here; use --device cpu\n")


class TestRanges:
    @pytest.mark.parametrize("script", SCRIPTS)
    def test_nest_as_promised(self, script, idx_folder):
        """Both scripts open the same ranges, and close each."""
        found = run_recorded(script, "--data", idx_folder, "--batch-size", 2, "--steps", 2, "--epochs", 2)[1]

        def steps(parent, count):
            parts = [f"{parent}/step/{part}" for part in ("copy", "forward", "backward", "optimizer")]
            return [f"{parent}/step", *parts] * count

        assert found == [
            *["warm-up", *steps("warm-up", 4)],  # fewer than usual: an epoch of 8 images has only 4 batches
            *["epoch 0", *steps("epoch 0", 2)],
            *["epoch 1", *steps("epoch 1", 2)],
            "test",
        ]

    @staticmethod
    def opened_paths(events):
        paths, stack = [], []
        for event in events:
            if event == "pop":
                stack.pop()
            else:
                stack.append(event.removeprefix("push "))
                paths.append("/".join(stack))
        assert stack == []
        return paths

    def test_capture_holds_the_epochs_and_no_other_range(self, mnist, digits, monkeypatch):
        """The capture starts after the warm-up and stops after the epochs, when the GPU has done its work."""
        events = []

        @contextlib.contextmanager
        def annotate(message):
            events.append(f"open {message}")
            yield
            events.append(f"close {message}")

        @contextlib.contextmanager
        def capture_of_a_gpu(_device):
            with real_capture("cuda"):
                yield

        real_capture = mnist.capture
        monkeypatch.setattr(mnist, "capture", capture_of_a_gpu)
        monkeypatch.setattr(mnist.nvtx, "annotate", annotate)
        monkeypatch.setattr(torch.cuda, "synchronize", lambda: events.append("synchronize"))
        monkeypatch.setattr(torch.cuda.profiler, "start", lambda: events.append("start"))
        monkeypatch.setattr(torch.cuda.profiler, "stop", lambda: events.append("stop"))
        options = argparse.Namespace(device="cpu", epochs=2, steps=None, batch_size=2, seed=0)
        mnist.train(lambda images, labels: torch.tensor(1.0), digits.draw(4, seed=0), options)
        assert events == [
            *["open warm-up", "close warm-up", "synchronize", "start"],
            *["open epoch 0", "close epoch 0", "open epoch 1", "close epoch 1"],
            *["synchronize", "stop"],
        ]

    def test_no_capture_on_a_cpu(self, mnist, monkeypatch):
        monkeypatch.setattr(torch.cuda.profiler, "start", lambda: pytest.fail("started a capture"))
        with mnist.capture("cpu"):
            pass


class TestDrawnDigits:
    def test_same_seed_same_images(self, digits):
        first, again, other = digits.draw(50, seed=3), digits.draw(50, seed=3), digits.draw(50, seed=4)
        assert torch.equal(first.images, again.images)
        assert torch.equal(first.labels, again.labels)
        assert not torch.equal(first.images, other.images)

    def test_shape_range_and_variety(self, digits):
        images, labels = digits.draw(500, seed=0)
        assert (images.shape, images.dtype) == ((500, 1, 28, 28), torch.float32)
        assert (labels.shape, labels.dtype) == ((500,), torch.int64)
        assert images.min() >= 0
        assert images.max() <= 1
        assert labels.unique().tolist() == list(range(10))
        assert len(images.flatten(1).unique(dim=0)) == 500

    def test_training_and_test_images_differ(self, digits):
        train_set, test_set = digits.load(None)
        count = len(test_set.labels)
        assert not torch.equal(train_set.labels[:count], test_set.labels)
        assert (train_set.images[:count] - test_set.images).abs().amax(dim=(1, 2, 3)).min() > 0.1


class TestIdxFiles:
    @pytest.mark.parametrize("packed", [False, True])
    def test_read_plain_or_packed(self, digits, idx_folder, packed):
        if packed:
            pack(idx_folder)
        train_set, test_set = digits.load(idx_folder)
        assert train_set.labels.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
        assert test_set.labels.tolist() == [0, 1, 2, 3]
        assert train_set.images.shape == (8, 1, 28, 28)
        torch.testing.assert_close(train_set.images[7], torch.full((1, 28, 28), 70 / 255))

    def test_script_trains_on_them(self, idx_folder):
        output, _ = run_recorded("mnist_baseline.py", "--data", idx_folder, "--batch-size", 3)
        assert f"data: 8 training and 4 test images read from {idx_folder}\n" in output
        assert "2 steps in" in output  # the third batch would not be full

    @pytest.mark.parametrize(
        ("name", "content", "complaint"),
        [
            (LABELS, None, f"found neither {LABELS} nor {LABELS}.gz"),
            (LABELS, idx(2051, 8, content=range(8)), "magic number is not 2049"),
            (LABELS, b"\0\0", "magic number is not 2049"),
            (LABELS, idx(2049, 8, content=range(5)), "13 bytes where its header promises 16"),
            (LABELS, idx(2049, 8, content=range(9)), "17 bytes where its header promises 16"),
            (LABELS, idx(2049, 9, content=range(9)), "8 train images but 9 labels"),
            (LABELS, idx(2049, 8, content=[10] * 8), "labels are not digits from 0 to 9"),
            (IMAGES, idx(2051, 4, 2, 3, content=range(24)), "images are 2 x 3 pixels, not 28 x 28"),
        ],
    )
    def test_wrong_file_is_told(self, digits, idx_folder, name, content, complaint):
        (idx_folder / name).unlink() if content is None else (idx_folder / name).write_bytes(content)
        with pytest.raises((OSError, ValueError), match=re.escape(complaint)):
            digits.load(idx_folder)

    @pytest.mark.parametrize("damage", ["cut short", "not gzip", "empty", "wrong sum"])
    def test_damaged_gzip_is_told(self, digits, idx_folder, damage):
        pack(idx_folder)
        path = idx_folder / "t10k-labels-idx1-ubyte.gz"
        packed = path.read_bytes()
        damaged = {
            "cut short": packed[:-9],
            "not gzip": b"x" + packed,
            "empty": b"",
            "wrong sum": packed[:-8] + bytes(4) + packed[-4:],
        }
        path.write_bytes(damaged[damage])
        with pytest.raises(ValueError, match=re.escape(str(path))):
            digits.load(idx_folder)

    @pytest.mark.parametrize("wrong", ["missing", *slow(["truncated"])])
    def test_script_stops_with_one_line(self, idx_folder, wrong, capsys):
        path = idx_folder / "t10k-labels-idx1-ubyte"
        path.unlink() if wrong == "missing" else path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(SystemExit) as stop:
            run_recorded("mnist_amp.py", "--data", idx_folder)
        printed = capsys.readouterr()
        assert (stop.value.code, printed.out) == (2, "")
        assert len(printed.err.splitlines()) == 1
        assert printed.err.startswith("mnist_amp.py: error: ")
        assert path.name in printed.err
