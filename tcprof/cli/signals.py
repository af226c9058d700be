"""The end by a signal: as by an exception, so that nothing half-written and no temporary folder stays behind."""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_USUAL = {  # what these signals do in Python; a program under ``nohup`` ignores SIGHUP, and still does
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}
_SIGNALLED = 128  # an exit status above it is that plus the signal's number
_SAME_S = 1.0  # timeout(1) signals its program and then the program's group, which must not disturb the end
_AGAIN_S = 2  # Python drops an exception that is raised while it frees an object: it is raised again


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise SystemExit, and SIGINT KeyboardInterrupt, until the block has ended."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread can
        yield
        return
    first = 0
    raised_at = float("-inf")
    raised: BaseException | None = None

    def end(number: int, _frame: FrameType | None) -> None:
        nonlocal first, raised_at, raised
        if time.monotonic() - raised_at < _SAME_S:
            return
        signal.alarm(_AGAIN_S)
        if number == signal.SIGALRM and _is_handled(raised):
            return  # it was not dropped: the command is cleaning up, which may take long
        first, raised_at = first or number, time.monotonic()
        raised = KeyboardInterrupt() if first == signal.SIGINT else SystemExit(_SIGNALLED + first)
        raise raised

    changed = {number: usual for number, usual in _USUAL.items() if signal.getsignal(number) == usual}
    alarm = signal.getsignal(signal.SIGALRM)
    for number in (*changed, signal.SIGALRM):
        signal.signal(number, end)
    try:
        yield
    finally:
        signal.alarm(0)
        for number, usual in (*changed.items(), (signal.SIGALRM, alarm)):
            signal.signal(number, usual)


def _is_handled(error: BaseException | None) -> bool:
    """Whether the block that runs now handles an exception, or one that was raised while it was handled."""
    handled = sys.exc_info()[1]
    while handled is not None and handled is not error:
        handled = handled.__context__
    return handled is not None
