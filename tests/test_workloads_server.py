"""The server in workloads/, small and on the CPU."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the workloads need torch: pip install 'tcprof[workloads]'")

pytestmark = pytest.mark.torch

SCRIPT = Path(__file__).parents[1] / "workloads" / "server.py"
SMALL = ("--device", "cpu", "--port", "0", "--layers", "2", "--width", "64", "--heads", "4", "--batch-size", "4")


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The server, and its port."""
    with subprocess.Popen([sys.executable, SCRIPT, *SMALL], stdout=subprocess.PIPE, text=True) as process:
        said = process.stdout.readline()
        yield process, int(re.search(r":(\d+)$", said.strip())[1])
        process.kill()


def ask(port: int, path: str, content: object = None) -> tuple[int, dict]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET" if path == "/health" else "POST", path, json.dumps(content))
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def test_the_same_prompt_has_the_same_answer_in_whatever_batch(server) -> None:
    _, port = server
    assert ask(port, "/health") == (200, {"ready": True})
    alone = ask(port, "/generate", {"prompt": "Once upon", "tokens": 5})
    assert alone[0] == 200
    assert len(alone[1]["text"]) == 5
    with ThreadPoolExecutor(6) as threads:
        asked = [{"prompt": "Once upon", "tokens": count} for count in (5, 1, 3, 5, 5, 5)]
        answers = list(threads.map(lambda content: ask(port, "/generate", content)[1]["text"], asked))
    assert answers == [alone[1]["text"][: content["tokens"]] for content in asked]


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        ("/generate", {"prompt": ""}, 400),
        ("/generate", {"prompt": "x", "tokens": 1025}, 400),
        ("/generate", {}, 400),
        ("/generate", [], 400),
        ("/nothing", {}, 400),
        ("/start_profile", None, 500),  # without a GPU
    ],
)
def test_what_cannot_be_done_is_refused_and_the_server_lives(server, path: str, content: object, status: int) -> None:
    _, port = server
    assert ask(port, path, content)[0] == status
    assert ask(port, "/generate", {"prompt": "x", "tokens": 1})[0] == 200


def test_sigterm_ends_it_in_order(server) -> None:
    process, _ = server
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0
    assert process.stdout.read() == "ended\n"
