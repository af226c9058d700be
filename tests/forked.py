"""Python programs that use torch, in processes of their own that need not import it: forked from one that has.

For programs to which it makes no difference that torch was imported before their first line.
"""

import atexit
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import tcprof

SERVER = """
import gc, json, os, sys, types
import torch, torch.utils.data
gc.freeze()  # what torch has made takes 0.6 s to take apart, in each process
requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
while True:
    line = requests.readline()
    if not line:
        os._exit(0)
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers, flush=True)
    else:
        break
asked = json.loads(line)
for number, name in enumerate((os.devnull, asked["stdout"], asked["stderr"])):
    os.dup2(os.open(name, os.O_RDWR), number)
os.environ.clear()
os.environ.update(asked["environment"])
sys.argv = asked["argv"]
program = sys.modules["__main__"] = types.ModuleType("__main__")
if os.path.exists(sys.argv[0]):
    program.__file__ = sys.argv[0]
exec(compile(asked["code"], sys.argv[0], "exec"), vars(program))  # and the process ends as any does
"""


@cache
def _server() -> subprocess.Popen[str]:
    """The process that has imported torch; one for each process of pytest."""
    path = str(Path(tcprof.__file__).parents[1])
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    atexit.register(lambda: server.communicate(timeout=60))
    return server


def run_forked(code: str, *arguments: str, file: str = "-c", **environment: str) -> subprocess.CompletedProcess[str]:
    """What a program does whose text is ``code``, as if it were the file of that name or an argument of Python."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder) / name for name in ("stdout", "stderr")]
        for stream in streams:
            stream.touch()
        asked = {"code": code, "argv": [file, *arguments], "environment": {**os.environ, **environment}}
        asked.update(zip(("stdout", "stderr"), map(str, streams), strict=True))
        print(json.dumps(asked), file=server.stdin, flush=True)
        status = int(server.stdout.readline())
        said = [stream.read_text(encoding="utf-8") for stream in streams]
    return subprocess.CompletedProcess([file, *arguments], status, *said)
