"""Which machine a benchmark ran on, in words: times say nothing without it."""

import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

TIMES = 3


def describe_machine() -> str:
    """Its processor, the cores that were allowed, its memory and Python, in one paragraph."""
    gibibytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    allowed = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
    return (
        f"Measured on {allowed} of the {os.cpu_count()} cores of a machine with {gibibytes:.0f} GiB of memory "
        f"(“{_processor()}”),\nwith Python {platform.python_version()}; `import pandas` alone takes {_import_s():.2f} "
        "s there."
    )


def _processor() -> str:
    """What the processor calls itself."""
    facts = Path("/proc/cpuinfo")
    named = re.search(r"^model name\s*:\s*(.+)$", facts.read_text(), re.MULTILINE) if facts.exists() else None
    return named[1].strip() if named else platform.processor() or platform.machine()


def _import_s() -> float:
    """Seconds of a process that only loads pandas, the best of some."""
    found = []
    for _ in range(TIMES):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import pandas"], check=True)
        found.append(time.perf_counter() - start)
    return min(found)
