"""The command line: one file a command, which parses, calls and prints.

Exit status: 0 done, 1 a gate failed, 2 wrong use, 3 the input lacks what is needed, 4 nsys failed.
"""

import os
import sys

from tcprof.cli.app import app
from tcprof.errors import TcprofError


def main() -> None:
    """Run the command line; errors that are meant for the user become two lines and an exit status."""
    from tcprof.cli import (  # noqa: F401 - they add their commands
        compare,
        doctor,
        export,
        kernels,
        profile,
        ranges,
        redact,
        report,
        show,
        timeline,
        workloads,
    )

    try:
        app()
    except TcprofError as error:
        print(f"tcprof: {error}", file=sys.stderr)  # noqa: T201
        if error.hint:
            print(f"  {error.hint}", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_status)
    except BrokenPipeError:
        # The reader, head perhaps, has gone. Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
