"""Kernels of OpenBLAS that this CPU can run: their sums round differently, as on other CPUs.

    python tests/core_types.py

prints one that is not the CPU's own, for OPENBLAS_CORETYPE; nothing, and on the error stream why, where there is none.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

VARIABLE = "OPENBLAS_CORETYPE"
# What a CPU must have for each, newest first: OpenBLAS runs what it is told to, and crashes where the CPU cannot.
NEEDS = {
    "SkylakeX": {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"},
    "Haswell": {"avx2", "fma"},
    "Sandybridge": {"avx"},
    "Nehalem": {"sse4_2"},
}
_LIST = """
import numpy, scipy.linalg, threadpoolctl
libraries = threadpoolctl.threadpool_info()
print(*{each["architecture"] for each in libraries if each["internal_api"] == "openblas"})
"""


def runnable() -> list[str]:
    """Core types that this CPU can run, newest first; none where it cannot be told."""
    info = Path("/proc/cpuinfo")
    if platform.machine() not in ("x86_64", "AMD64") or not info.is_file():
        return []
    lines = (line.partition(":") for line in info.read_text(encoding="utf-8").splitlines())
    flags = next((set(value.split()) for name, _, value in lines if name.strip() == "flags"), set())
    return [name for name, needed in NEEDS.items() if needed <= flags]


def used(core_type: str | None) -> set[str]:
    """Core types that numpy and scipy really use when told one, or left to themselves; none without OpenBLAS."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    if core_type is not None:
        environment[VARIABLE] = core_type
    done = subprocess.run([sys.executable, "-c", _LIST], env=environment, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def switchable() -> list[str]:
    """Core types that numpy and scipy both use when told to, newest first."""
    return [name for name in runnable() if used(name) == {name}]


def main() -> None:
    """Print one that is not what is used by itself."""
    own = used(None)
    others = [name for name in switchable() if name not in own]
    if others:
        print(others[0])  # noqa: T201
    else:
        print("no second core type of OpenBLAS can be used here", file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    main()
