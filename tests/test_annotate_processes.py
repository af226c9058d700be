"""The annotation in programs of several processes and threads: each ends the ranges that it opened, and no others."""

import json
from pathlib import Path

import pytest
from forked import run_forked

pytestmark = pytest.mark.torch

pytest.importorskip("torch", reason="the annotation needs torch: pip install 'tcprof[workloads]'")

PRELUDE = """
import gc, json, multiprocessing, os, sys, threading, torch, tcprof.annotate as annotation
from torch import nn

class Numbered:
    '''Writes down in which process a range began and ended.'''

    def __init__(self):
        self.stack = []

    def write(self, what, owner):
        with open(sys.argv[1], "a") as file:
            print(json.dumps([what, owner, os.getpid()]), file=file)

    def start(self, name):
        self.write(f"start {name}", os.getpid())
        return name, os.getpid()

    def end(self, handle):
        self.write(f"end {handle[0]}", handle[1])

    def push(self, name):
        self.stack.append((name, os.getpid()))

    def pop(self):
        self.stack.pop()

    def mark(self, name):
        pass

annotation.open_ranges = Numbered

def train():
    '''A step whose optimizer is still to come.'''
    net = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net(torch.ones(1, 2)).sum().backward()
    return optimizer

def infer():
    nn.Linear(2, 2).eval()(torch.ones(1, 2))
"""


def run(folder: Path, script: str) -> tuple[str, list[tuple[str, int, int]]]:
    """What a program prints, and what became of its ranges: what was done, the process that began it, and that did it.

    The script is a file, as processes that are spawned import it.
    """
    program, log = folder / "program.py", folder / "log"
    log.touch()
    program.write_text(f"{PRELUDE}\nannotation.start()\n{script}", encoding="utf-8")
    done = run_forked(program.read_text(encoding="utf-8"), str(log), file=str(program))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout, [tuple(json.loads(line)) for line in log.read_text(encoding="utf-8").splitlines()]


def assert_each_ends_its_own(done: list[tuple[str, int, int]]) -> None:
    assert all(owner == process for _, owner, process in done)
    began = [(what.partition(" ")[2], owner) for what, owner, _ in done if what.startswith("start")]
    ended = [(what.partition(" ")[2], owner) for what, owner, _ in done if what.startswith("end")]
    assert sorted(began) == sorted(ended)


def test_a_forked_process_leaves_the_ranges_of_its_parent_open(tmp_path):
    script = """
kept = train()
child = os.fork()
if not child:
    gc.collect()
    infer()
    annotation._installed[0].close()
    os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    said, done = run(tmp_path, script)
    assert said == "3\n"
    assert len({process for _, _, process in done}) == 2
    assert_each_ends_its_own(done)


@pytest.mark.slow
def test_the_workers_of_a_loader_open_nothing_and_end_nothing(tmp_path):
    script = """
net = nn.Linear(2, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
data = torch.utils.data.TensorDataset(torch.ones(4, 2))
for (x,) in torch.utils.data.DataLoader(data, batch_size=2, num_workers=2, multiprocessing_context="fork"):
    net(x).sum().backward()
    optimizer.step()
print("trained")
"""
    said, done = run(tmp_path, script)
    assert said == "trained\n"
    assert len({process for _, _, process in done}) == 1
    assert_each_ends_its_own(done)
    assert [what for what, _, _ in done].count("start step") == 2
