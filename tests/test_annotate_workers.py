"""Workers of a server are annotated, however they are started: each writes down its process, and opens ranges."""

import json
import subprocess
import sys

import pytest

from tcprof.annotate.window import CONTROL, RECORDED, STEPS, TIMED
from tcprof.record.program import annotated

pytestmark = pytest.mark.torch

pytest.importorskip("torch", reason="the annotation needs torch: pip install 'tcprof[workloads]'")

PROGRAM = """
import multiprocessing, os, subprocess, sys

def work():
    import time, torch
    net = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        time.sleep(0.02)  # shorter steps are timed together

if __name__ == "__main__":
    method = sys.argv[1]
    if method == "work":
        work()
    elif method == "exec":  # as Ray's raylet starts a worker: a program that has left its parent executes another one
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execv(sys.executable, [sys.executable, "-u", __file__, "work"])
            os.wait()
            os._exit(0)
        os.wait()
    else:
        if method == "preloaded":  # a server of forks that has imported PyTorch already
            multiprocessing.set_forkserver_preload(["torch"])
        context = multiprocessing.get_context("forkserver" if method == "preloaded" else method)
        workers = [context.Process(target=work) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
"""


@pytest.mark.parametrize(("method", "workers"), [("fork", 2), ("exec", 1)])
def test_workers_are_annotated_however_they_are_started(tmp_path, method, workers):
    script, processes = tmp_path / "serve.py", tmp_path / "processes"
    script.write_text(PROGRAM, encoding="utf-8")
    processes.mkdir()
    (processes / CONTROL).write_bytes(TIMED)
    command = annotated((sys.executable, str(script), method), "auto", processes)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert (done.stdout, done.stderr) == ("", "")
    logs = list(processes.glob(f"{STEPS}*"))
    written = {path.name.removeprefix(STEPS): path.read_text(encoding="ascii").splitlines() for path in logs}
    assert [len(lines) for lines in written.values()] == [2] * workers  # a step ends with the next one
    described = list(processes.glob("[0-9]*"))
    names = {path.name for path in described}
    assert written.keys() <= names if method != "preloaded" else len(names) == 1
    assert all("torch_version" in json.loads(path.read_text()) for path in described)


SCALED = """
import time, torch
net = torch.nn.Linear(2, 2)
optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for _ in range(COUNT)]
scaler = torch.amp.GradScaler("cpu")
for step in range(9):
    if step == 2:
        with open(CONTROL, "r+b") as file:
            file.write(TIMED)
    for optimizer in optimizers:
        loss = net(torch.ones(1, 2)).sum() * (float("inf") if step == 6 else 1)  # whose step the scaler leaves out
        scaler.scale(loss).backward()
        scaler.step(optimizer)
    scaler.update()
    time.sleep(0.02)  # shorter steps are timed together
"""


@pytest.mark.parametrize("count", [1, 2])
def test_a_step_of_a_gradient_scaler_is_timed_once(tmp_path, count):
    script, processes = tmp_path / "train.py", tmp_path / "processes"
    processes.mkdir()
    (processes / CONTROL).write_bytes(RECORDED)
    settings = f"COUNT, CONTROL, TIMED = {count}, {str(processes / CONTROL)!r}, {TIMED!r}"
    script.write_text(settings + SCALED, encoding="utf-8")
    command = annotated((sys.executable, str(script)), "auto", processes)
    subprocess.run(command, timeout=120, check=True)
    (log,) = processes.glob(f"{STEPS}*")
    lines = log.read_text(encoding="ascii").splitlines()
    kinds = [line[0] for line in lines]
    assert kinds == ["r"] * kinds.count("r") + ["t"] * kinds.count("t")
    timed = sum(int(line.split()[4]) for line in lines if line[0] == "t")
    assert 5 <= kinds.count("r") + timed <= 9  # those timed last have not ended
    assert timed >= 3
