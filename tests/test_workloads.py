"""The scripts in workloads/, small and on the CPU: each learns, opens the ranges it promises, and refuses bad input."""

import argparse
import contextlib
import importlib
import io
import json
import re
import runpy
import signal
import struct
import subprocess
import sys
import types
from http.client import HTTPConnection
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the workloads need torch: pip install 'tcprof[workloads]'")
pytest.importorskip("nvtx", reason="the workloads need nvtx: pip install 'tcprof[workloads]'")

pytestmark = pytest.mark.torch

WORKLOADS = Path(__file__).parent.parent / "workloads"
TRANSFORMER = ("--batch-size", 8, "--context", 32, "--layers", 1, "--width", 64, "--heads", 4, "--vocabulary", 32)
PARTS = ("forward", "backward", "optimizer")
COPY = ("copy", *PARTS)


def opened_paths(events):
    """The paths of the ranges in the order in which they opened; each must have closed."""
    paths, stack = [], []
    for event in events:
        if event == "pop":
            stack.pop()
        else:
            stack.append(event.removeprefix("push "))
            paths.append("/".join(stack))
    assert stack == []
    return paths


def run_recorded(script, *options, **constants):
    """Run a script in this process: its output and its ranges; ``constants`` are those of scripts that it imports."""
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
    return output.getvalue(), opened_paths(events)


@contextlib.contextmanager
def modules_anew():
    """The scripts' own modules are imported anew, with the nvtx that is there, and then as they were."""
    names = {path.stem for path in WORKLOADS.glob("*.py")}
    kept = {name: sys.modules.pop(name) for name in names & set(sys.modules)}
    yield
    for name in names:
        sys.modules.pop(name, None)
    sys.modules.update(kept)


def steps(parent, count, parts=COPY):
    return [f"{parent}step", *(f"{parent}step/{part}" for part in parts)] * count


EPOCHS = [
    "warm-up",
    *steps("warm-up/", 4),
    *(path for n in (0, 1) for path in (f"epoch {n}", *steps(f"epoch {n}/", 2))),
]
BATCHES = [f"batch {size}{part}" for size in (1, 4) for part in ("", *("/step", "/step/copy", "/step/forward") * 2)]
GAN_STEP = ["step", "step/copy"]
GAN_STEP += [
    f"step/{name}{part}" for name in ("discriminator", "generator") for part in ("", *(f"/{p}" for p in PARTS))
]
MNIST = ("--batch-size", 2, "--steps", 2, "--epochs", 2)
# What is run, a line that it prints, and the ranges behind its warm-up, or all of them if they begin with it.
SCRIPTS = {
    "mnist_baseline.py": (MNIST, r"time per step: [\d.]+ ms, [\d,]+ images/s \(median epoch\)", [*EPOCHS, "test"]),
    "mnist_amp.py": (MNIST, r"precision: autocast to torch.bfloat16, loss not scaled", [*EPOCHS, "test"]),
    "mnist_pinned.py": (
        (*MNIST, "--workers", 0),
        r"time per step: [\d.]+ ms, [\d,]+ images/s \(median epoch\)",
        [*EPOCHS[21:], "test"],
    ),
    "fashion.py": (
        ("--images", 2000, "--steps", 20, "--workers", 0),
        r"validation accuracy: [89]\d\.\d+ %",
        [*steps("", 20, ("load", *COPY)), "validation"],
    ),
    "mlp_amp.py": (
        ("--width", 65, "--batch-size", 64, "--steps", 20, "--epochs", 1),
        r"loss: ([\d.]+) to ([\d.]+) in 20 steps",
        ["epoch 0", *steps("epoch 0/", 20, PARTS)],
    ),
    "polynomial.py": (
        ("--precision", "master"),
        r"found: [+-][\d.e+-]+ x\^0 \+0\.8[456]\d* x\^1 .*",
        steps("", 2000, PARTS),
    ),
    "gan.py": (
        ("--steps", 5, "--width", 64, "--batch-size", 32, "--batches", 8, "--precision", "fp32"),
        r"discriminator is right: [\d.]+ % \(50 % is a guess\)",
        GAN_STEP * 5,
    ),
    "matmul.py": (("--steps", 2, "--sizes", 64), r"time per step: .* products/s .*", None),
    "pinn.py": (
        ("--warm-up", 20, "--steps", 3, "--points", 64),
        r"loss: (\S+) to (\S+) in 23 steps.*",
        steps("", 3, PARTS),
    ),
    "transformer.py": (
        (*TRANSFORMER, "--steps", 40, "--precision", "fp32"),
        r"loss: (\S+) to (\S+) in .*",
        steps("", 40),
    ),
    "convnet.py": (
        ("--batch-size", 4, "--size", 32, "--steps", 20, "--precision", "fp32"),
        r"loss: (\S+) to (\S+) in .*",
        steps("", 20),
    ),
    "inference.py": (
        ("--size", 32, "--steps", 2, "--batch-sizes", 4, 1, "--precision", "fp32"),
        r"time per step: [\d.]+ ms, [\d.,]+ images/s \(batches of 4\)",
        BATCHES,
    ),
    "llama.py": ((*TRANSFORMER, "--steps", 60), r"loss: [01]\.\d+ after 60 steps.*", []),
    "resnet.py": (
        ("--batch-size", 32, "--image-size", 8, "--width", 8, "--classes", 4, "--steps", 60),
        r"loss: 0\.[0-6]\d* after 60 steps.*",  # chance is ln 4 = 1.39
        [],
    ),
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_learns_and_opens_its_ranges(script, idx_folder):
    options, line, ranges = SCRIPTS[script]
    data = ("--data", idx_folder) if script.startswith("mnist") else ()
    constants = {"convnet": {"CHANNELS": (8, 16, 32, 64)}} if script == "inference.py" else {}
    output, paths = run_recorded(script, *options, *data, **constants)
    found = re.search(rf"^{line}$", output, re.MULTILINE)
    assert found, output
    if found.groups():
        assert float(found[2]) < float(found[1])
    if ranges is not None:
        behind = ranges[:1] == ["warm-up"]
        assert [path for path in paths if behind or not path.startswith("warm-up")] == ranges


def test_all_scripts_are_tried():
    trained = {path.name for path in WORKLOADS.glob("*.py") if "__main__" in path.read_text(encoding="utf-8")}
    assert trained == {*SCRIPTS, "jax_mlp.py", "known_work.py", "server.py"}


def test_without_jax_it_says_so(tmp_path):
    (tmp_path / "jax.py").write_text("raise ModuleNotFoundError(\"No module named 'jax'\", name='jax')")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        patch.delitem(sys.modules, "jax", raising=False)
        with contextlib.suppress(SystemExit):
            assert "SKIPPED: jax is not installed" in run_recorded("jax_mlp.py")[0]


@pytest.fixture
def workload(monkeypatch):
    monkeypatch.syspath_prepend(WORKLOADS)
    return importlib.import_module


def idx(magic, *shape, content):
    return struct.pack(f">{1 + len(shape)}I", magic, *shape) + bytes(content)


@pytest.fixture
def idx_folder(tmp_path):
    """A tiny MNIST: 8 training and 4 test images; every pixel of image n is 10 n, its label n."""
    for prefix, count in (("train", 8), ("t10k", 4)):
        pixels = (10 * (place // 784) for place in range(count * 784))
        (tmp_path / f"{prefix}-images-idx3-ubyte").write_bytes(idx(2051, count, 28, 28, content=pixels))
        (tmp_path / f"{prefix}-labels-idx1-ubyte").write_bytes(idx(2049, count, content=range(count)))
    return tmp_path


def test_capture_holds_the_epochs_and_no_other_range(workload, monkeypatch):
    """The capture starts after the warm-up and stops after the epochs, when the GPU has done its work."""
    mnist, digits = workload("mnist"), workload("digits")
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


def test_the_server_answers_refuses_and_ends_in_order():
    options = ("--device", "cpu", "--port", "0", "--layers", "2", "--width", "64", "--heads", "4", "--batch-size", "4")
    with subprocess.Popen(
        [sys.executable, WORKLOADS / "server.py", *options], stdout=subprocess.PIPE, text=True
    ) as server:
        port = int(re.search(r":(\d+)$", server.stdout.readline().strip())[1])

        def ask(path, content):
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("POST", path, json.dumps(content))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

        alone, shorter = (ask("/generate", {"prompt": "Once upon", "tokens": count}) for count in (5, 3))
        assert alone[0] == 200
        assert shorter[1]["text"] == alone[1]["text"][:3]
        assert ask("/generate", {"prompt": ""})[0] == 400
        assert ask("/start_profile", None)[0] == 500  # without a GPU
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=60) == 0


def test_cuda_calls_and_launches_of_the_cuda_program_are_checked():
    source = (WORKLOADS / "wmma.cu").read_text()
    calls = [line for line in source.splitlines() if re.search(r"\bcuda[A-Z]\w*\(", line)]
    assert len(calls) > 10
    assert [line for line in calls if not re.search(r"CHECK\(cuda[A-Z]|cudaGetErrorString", line)] == []
    assert source.count("<<<") == 2
