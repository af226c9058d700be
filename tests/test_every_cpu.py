"""Results do not depend on the CPU: BLAS has other kernels on each, whose sums round differently."""

import json
import os
import subprocess
import sys

import pytest
from builders import FIXTURES
from core_types import VARIABLE, switchable

from tcprof.analysis.kernels.least_squares import NEGLIGIBLE

pytestmark = pytest.mark.slow  # ``make test-cpu`` tries the outputs of all fixtures

SENSITIVE = ("convnet_channels_last", "mlp_fp32", "transformer_fp32")  # many kernels that count nothing
TEXTS = (("kernels", "--by", "path", "--limit", "0"), ("timeline",), ("ranges",))
_RUN = """
import json, sys
from tcprof import cli
for command in json.loads(sys.argv.pop()):
    sys.argv[1:] = command
    try:
        cli.main()
    except SystemExit as end:
        if end.code:
            raise
"""


@pytest.fixture(scope="module")
def core_types() -> list[str]:
    """At least two; the newest first."""
    found = switchable()
    if len(found) < 2:
        pytest.skip("needs an x86-64 CPU, Linux, and an OpenBLAS with kernels of several CPUs")
    return found


def output(core_type: str, *commands: tuple[str, ...]) -> str:
    """What the commands print where BLAS computes as on that CPU."""
    command = [sys.executable, "-c", _RUN, json.dumps(commands)]
    environment = {**os.environ, VARIABLE: core_type}
    done = subprocess.run(command, env=environment, capture_output=True, check=True, encoding="utf-8")
    return done.stdout


@pytest.mark.parametrize("name", SENSITIVE)
def test_text_is_the_same(name: str, core_types: list[str]) -> None:
    recording = str(FIXTURES / f"{name}.sqlite")
    commands = [(command, recording, *options) for command, *options in TEXTS]
    newest, oldest = (output(core_type, *commands) for core_type in (core_types[0], core_types[-1]))
    assert len(newest.splitlines()) > 60
    assert newest.splitlines() == oldest.splitlines()


def test_numbers_are_the_same_within_what_the_fit_resolves(core_types: list[str]) -> None:
    command = ("kernels", str(FIXTURES / f"{SENSITIVE[0]}.sqlite"), "--format", "json")
    found = [json.loads(output(core_type, command))["rows"] for core_type in core_types]
    names = ("tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct")
    expected = [[row[name] for name in names] for row in found[0]]
    assert len(expected) > 50
    assert all(value is not None for row in expected for value in row)
    for rows in found[1:]:
        for row, values in zip(rows, expected, strict=True):
            assert [row[name] for name in names] == pytest.approx(values, rel=0, abs=100 * NEGLIGIBLE)
