"""tcprof: are the Tensor Cores working? If not, where and why? Did my change help?

>>> import tcprof
>>> report = tcprof.read("run.sqlite")
>>> report.verdict, report.checks, report.faults
>>> report.ranges[["path", "tensor_active_mean_pct"]]
>>> tcprof.compare("base.sqlite", "new.sqlite").rows
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tcprof.errors import InputError, MachineError, NsysError, OutputError, StoppedError, TcprofError, UsageError
from tcprof.version import __version__

if TYPE_CHECKING:
    from tcprof import annotate
    from tcprof.api.comparing import compare
    from tcprof.api.reading import read
    from tcprof.api.recording import profile
    from tcprof.api.tracking import log

__all__ = [
    "InputError",
    "MachineError",
    "NsysError",
    "OutputError",
    "StoppedError",
    "TcprofError",
    "UsageError",
    "__version__",
    "annotate",
    "compare",
    "log",
    "profile",
    "read",
]


def __getattr__(name: str) -> Any:
    """Load a function when it is used, since most need pandas and ``tcprof --help`` answers at once."""
    if name == "read":
        from tcprof.api.reading import read

        return read
    if name == "compare":
        from tcprof.api.comparing import compare

        return compare
    if name == "log":
        from tcprof.api.tracking import log

        return log
    if name == "profile":
        from tcprof.api.recording import profile

        return profile
    if name == "annotate":  # a package that can be called; where it was loaded before tcprof, no attribute of tcprof
        import tcprof.annotate  # noqa: F401 - for what it puts into sys.modules

        return sys.modules["tcprof.annotate"]
    raise AttributeError(f"module 'tcprof' has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """Register the magics for ``%load_ext tcprof``."""
    from tcprof.integrations.notebook import register

    register(shell)


def __dir__() -> list[str]:
    return __all__
