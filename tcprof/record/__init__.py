"""Recording a program with nsys: what this machine can do, the plan, the run, and what it leaves."""

import sys

from tcprof.errors import MachineError

if not sys.platform.startswith("linux"):
    raise MachineError(
        "Programs can be recorded on Linux only.", "Recordings can be read here: copy one, or its export."
    )
