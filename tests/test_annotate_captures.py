"""The ranges of stream captures, kept for recordings that begin after them."""

import re
import subprocess
import sys

import pytest
from builders import PROCESS, TraceBuilder

from tcprof.annotate.window import CONTROL, RECORDED, REPLAYS, TIMED
from tcprof.nsys import schema
from tcprof.record.program import annotated
from tcprof.record.recording import read_captures
from tcprof.redaction.redact import redact
from tcprof.sources.nsys_sqlite.export import NsysExport, write_captured

PROGRAM = """
import torch
class Graph:
    is_open = False
    def capture_begin(self):
        Graph.is_open = True
    def capture_end(self):
        Graph.is_open = False
    def replay(self):
        pass
torch.cuda.CUDAGraph, torch.cuda.is_current_stream_capturing = Graph, lambda: Graph.is_open
import tcprof.annotate  # once more: what comes with PyTorch's import found its own class
tcprof.annotate._installed[0].remove(); tcprof.annotate._installed.clear(); tcprof.annotate.start()
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))
sgd = torch.optim.SGD(net.parameters())
def train():
    sgd.zero_grad(); net(torch.ones(3, 4)).sum().backward(); sgd.step()
def capture(function):
    Graph().capture_begin(); result = function(); Graph().capture_end(); return result
marks = []
torch.cuda.nvtx.mark = marks.append
train()
capture(train)
y = capture(lambda: net(torch.ones(3, 4)).sum())
capture(lambda: torch.autograd.grad(y, tuple(net.parameters())))
Graph().replay()
train()
print(len(marks), marks[:1])
"""
CALLS = [("forward", 60), ("Sequential", 59), ("Sequential.0", 59), ("Sequential.1", 59)]
BACK = ["Sequential.1", "Sequential.0"]


@pytest.mark.torch
@pytest.mark.parametrize("phase", [RECORDED, TIMED])
def test_ranges_are_kept_while_a_stream_is_captured(tmp_path, phase):
    """Also those of a backward pass to some inputs, each of whose nodes is marked."""
    pytest.importorskip("torch")
    script = tmp_path / "graphs.py"
    script.write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "processes").mkdir()
    (tmp_path / "processes" / CONTROL).write_bytes(phase)
    command = (
        "env",
        "NVTX_INJECTION64_PATH=none",
        *annotated((sys.executable, str(script)), "auto", tmp_path / "processes"),
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stderr == ""
    assert re.fullmatch(r"1 \['tcprof clock( \d+){3}'\]\n" if phase == RECORDED else r"0 \[\]\n", done.stdout)
    assert (tmp_path / "processes" / REPLAYS).exists()
    captured = read_captures(tmp_path / "processes")
    if phase == TIMED:
        assert captured == {}
        return
    (rows,) = captured.values()
    assert all(begin <= until for _, _, begin, until, _ in rows)
    opened = [(name, kind) for kind, *_, name in rows if kind != schema.NVTX_MARK and name != "step"]
    training = [*CALLS, ("backward", 59), ("optimizer", 59)]
    assert opened == [*training, *CALLS, ("forward", 60), ("backward", 59)]
    marked = [name for kind, *_, name in rows if kind == schema.NVTX_MARK]
    assert [name for number, name in enumerate(marked) if marked[number - 1] != name] == ["backward", *BACK] * 2


def test_captures_are_put_on_the_recordings_clock(tmp_path):
    """By the mark that came soonest after the process had told its clock; one of another numbering tells nothing."""
    builder = TraceBuilder().recorded(10_000)
    for thread, at, told in (
        (1, 550, "tcprof clock 1000 1 90500"),
        (1, 720, "tcprof clock 1000 1 90700"),
        (7, 5, "tcprof clock 1000 1 90000"),
    ):
        builder.mark(told, at, thread=thread, domain="")
    export = builder.write(tmp_path)
    kept = [[schema.NVTX_PUSH_POP, 3, 80_000, 80_100, "Net"], [schema.NVTX_MARK, 1, 80_050, 80_050, "Net.a"]]
    write_captured(export, {PROCESS: kept, 2000: kept})
    redact(export, copy := tmp_path / "copy.sqlite")  # names of modules are kept
    ranges, marks = NsysExport(copy).captured()
    assert ranges[["process", "thread", "name", "start_ns", "end_ns"]].to_numpy().tolist() == [
        [PROCESS, 3, "Net", 80_000 - 89_980, 80_100 - 89_980]
    ]
    assert marks[["thread", "name", "start_ns"]].to_numpy().tolist() == [[1, "Net.a", 80_050 - 89_980]]
