"""Everything that tcprof raises on purpose.

::

    TcprofError               a sentence for the user, and a hint: what to do next
    ├── UsageError    exit 2  options that contradict each other
    ├── InputError    exit 3  a file that is absent, damaged, foreign, or lacks what is needed
    ├── OutputError   exit 3  a file that cannot be written
    ├── MachineError  exit 3  a machine that cannot record as it is
    ├── NsysError     exit 4  nsys is absent, or it failed
    └── StoppedError  exit 130  the user ended it

Any other exception that leaves the package is a defect of tcprof; the command line ends with status 70 then.
"""

from typing import ClassVar

DEFECT_STATUS = 70  # as EX_SOFTWARE in sysexits.h
# Hints that several modules give.
EXPORT_AGAIN = "Export the report again: nsys export --type=sqlite --force-overwrite=true REPORT.nsys-rep"
# As long as no index has tcprof; with a release "pip install 'tcprof[{0}]'" and "pip install --upgrade tcprof".
INSTALL_EXTRA = "pip install '.[{0}]' in a clone of tcprof, or pip install 'WHEEL[{0}]' with its wheel"
INSTALL_AGAIN = (
    "pip install --force-reinstall . in a clone of tcprof, or pip install --force-reinstall WHEEL with its wheel"
)
EXPORT_OR_COPY_AGAIN = f"{EXPORT_AGAIN}, or copy the file again from where it was made."


class TcprofError(Exception):
    """An error whose message and hint are meant for the user; as text it has both, a line each.

    Args:
        hint: What to do about it: a command, an option, a package. Empty where nothing can be advised.
        in_python: The hint in the words of Python, where those of the command line would be of no use there.
    """

    exit_status: ClassVar[int] = DEFECT_STATUS

    def __init__(self, message: str, hint: str = "", in_python: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self._in_python = in_python or hint

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.message, self._in_python)))


class UsageError(TcprofError):
    """Options or arguments that make no sense together."""

    exit_status = 2


class InputError(TcprofError):
    """A file that is absent, damaged, not an export, or lacks what was asked of it."""

    exit_status = 3


class NoRunError(InputError):
    """A store of runs that is not there yet, or that has no run of a branch yet."""


class OutputError(TcprofError):
    """A file that cannot be written."""

    exit_status = 3


class MachineError(TcprofError):
    """A machine that cannot record as it is: no GPU, no permission, no nsys, another profiler."""

    exit_status = 3


class NsysError(TcprofError):
    """Nsight Systems is absent, too old, or failed."""

    exit_status = 4


class StoppedError(TcprofError):
    """The user ended what was going on; the exit status is that of Ctrl-C."""

    exit_status = 130
