"""Turns of the ranks of a host, which begin together: each nsys that lists GPUs or begins to sample holds them briefly.

An nsys that begins to sample fails if its GPU is held.
"""

import fcntl
import os
import platform
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tcprof.nsys.capabilities import PATIENCE_S
from tcprof.nsys.run import SAMPLER_HELD, Completed, explain
from tcprof.record.run_shown import Watch, run_shown


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let one tcprof of this user at a time ask nsys, try metric sets and begin to record."""
    path = Path(tempfile.gettempdir()) / f"tcprof-{platform.node()}-{os.getuid()}.lock"  # other hosts may see it, too
    with ExitStack() as stack:
        with suppress(OSError):  # without a lock nsys itself says whether a GPU is held
            lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
            stack.callback(os.close, lock)
            if os.fstat(lock).st_uid == os.getuid():  # another user could hold a file of their own for ever
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run_in_turn(argv: Sequence[str], watch: Watch | None = None) -> Completed:
    """Run nsys, alone until the program has begun, if it samples; again where the GPU was held for a moment."""
    if not any(arg.startswith("--gpu-metrics-device") for arg in argv):
        return run_shown(argv, watch=watch)
    with ExitStack() as turn:
        turn.enter_context(one_at_a_time())
        until = time.monotonic() + PATIENCE_S
        while True:
            done = run_shown(argv, when_begun=turn.close, watch=watch)
            is_refused = done.output.lstrip().startswith("Illegal ") and explain(done.output) is SAMPLER_HELD
            if not done.status or done.was_stopped or not is_refused or time.monotonic() > until:
                return done
            time.sleep(1)
