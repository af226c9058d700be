"""Running nsys so that the user sees and hears everything, and can stop it."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import IO, TextIO

from tcprof.nsys.run import Completed
from tcprof.record.command import runs_on
from tcprof.record.stopping import StatusLine, Stopping, can_catch_signals, caught_signals, is_terminal, start_stoppable

RECORDING, RUNNING = "recording", "running"  # what goes on: until the program ends, or perhaps not so long
TURNING = "nsys is beginning or ending a capture"  # which it would lose if it was asked to stop meanwhile
_KEPT_BYTES = 64 * 1024  # of the beginning and of the end of each stream: enough for every message of nsys
_TICK_S = 0.05  # how late a signal or the program's end may be noticed
_DRAWN_OVER = re.compile(rb"(?:[^\r\n]*\r)+(?=\[\d+/\d+\] \[)")  # in front of nsys's last progress: "[1/1] [=75% ] x"
_LOOK_S = 0.3  # between looks at all processes of the machine
_START_S = 30.0  # nsys 2025 starts a program within 4 s
_DRAIN_S = 5.0  # how long to read on after the end: something that the program left behind may hold the pipes open


Watch = Callable[[Stopping], str]


def run_shown(
    argv: Sequence[str], *, when_begun: Callable[[], None] | None = None, watch: Watch | None = None
) -> Completed:
    """Run a program whose output the user sees at once, with a status line below it.

    Both streams go through tcprof so that nsys's messages can be recognised afterwards. The first Ctrl-C, SIGTERM or
    SIGHUP is passed on to nsys, which then writes the report. A second Ctrl-C makes nsys give it up, and kills whatever
    the recording has started.

    Args:
        argv: nsys's command line.
        when_begun: Called once nsys has started the program, or takes long to.
        watch: Called again and again while nsys lives; returns what goes on, for the status line.

    Raises:
        NsysError: It cannot be started.
        StoppedError: The user gave the recording up before there was a report.
    """
    with caught_signals() as received:
        process, stopping, line = start_stoppable(argv)
        assert process.stdout is not None
        assert process.stderr is not None
        with process.stdout, process.stderr, contextlib.closing(line):
            pumps = (_Pump(process.stdout, sys.stdout, line), _Pump(process.stderr, sys.stderr, line))
            for pump in pumps:
                pump.start()
            _follow(process, pumps, received, stopping, line, watch or _name_run(argv), when_begun)
    status = process.poll()
    if status is None:  # it could not be killed; so that it is reaped when it ends
        threading.Thread(target=process.wait, daemon=True).start()
        status = -signal.SIGKILL
    stopping.conclude(has_report=pumps[0].has_line("Generated:"))
    stdout, stderr = (pump.text() for pump in pumps)
    return Completed(status, stdout, stderr, was_stopped=stopping.is_asked)


def _follow(
    process: subprocess.Popen[bytes],
    pumps: Sequence["_Pump"],
    received: deque[int],
    stopping: Stopping,
    line: StatusLine,
    watch: Watch,
    when_begun: Callable[[], None] | None,
) -> None:
    """Wait until the program has ended and its output is read; attend to signals and to the line meanwhile."""
    began = time.monotonic()
    read_until: float | None = None
    look_at = began  # whether the program has begun
    doing = ""
    while True:
        lives = process.poll() is None
        while received and (doing != TURNING or len(received) > 1):
            stopping.attend(received.popleft(), nsys_lives=lives)
        doing = watch(stopping) if lives else ""
        is_writing = doing == RECORDING and pumps[0].has_line("Generating '")
        is_settled = stopping.advance(is_waiting=lives and not is_writing)
        now = time.monotonic()
        if when_begun is not None and now >= look_at:
            look_at = now + _LOOK_S
            if stopping.has_begun() or now > began + _START_S:
                when_begun()
                when_begun = None
        if read_until is None and (not lives or (stopping.is_given_up and is_settled)):
            read_until = now + _DRAIN_S
        is_all = not any(pump.is_alive() for pump in pumps) and not stopping.has_left()
        if read_until is not None and is_settled and (is_all or now > read_until):
            return
        if can_catch_signals():
            words = f"{doing} {int(now - began)} s"
            line.draw(_describe(words, stopping, is_writing=is_writing, has_ended=not lives))
        time.sleep(_TICK_S)


def _name_run(argv: Sequence[str]) -> Watch:
    doing = RUNNING if runs_on(argv) else RECORDING
    return lambda _: doing


def _describe(doing: str, stopping: Stopping, *, is_writing: bool, has_ended: bool) -> str:
    if stopping.is_given_up:
        return "giving up"
    if has_ended:
        return "nsys has ended; the program has not" + (" · Ctrl-C kills it" if stopping.is_asked else "")
    if is_writing:
        return "nsys is writing the report"
    if stopping.is_asked:
        return "stopping · Ctrl-C discards the report"
    return f"{doing} · Ctrl-C stops it and keeps the report"


class _Pump(threading.Thread):
    """Copies a pipe to a stream of ours as it comes, and keeps the beginning and the end.

    But for nsys's progress, which is drawn over and over: where the stream is no terminal, its last state is written.
    """

    def __init__(self, source: IO[bytes], sink: TextIO, line: StatusLine) -> None:
        super().__init__(daemon=True)
        self._source = os.dup(source.fileno())  # its own, to read on when the program's end is not the pipe's
        self._sink = sink
        self._line = line
        self._head = b""
        self._tail = b""
        self._begun = b""  # of a line of nsys's own that goes to a file

    def run(self) -> None:
        try:
            while chunk := os.read(self._source, _KEPT_BYTES):
                missing = _KEPT_BYTES - len(self._head)
                self._head += chunk[:missing]
                self._tail = (self._tail + chunk[missing:])[-_KEPT_BYTES:]
                with self._line.hidden(self._sink, chunk):
                    self._show(chunk if is_terminal(self._sink) else self._without_progress(chunk))
            self._show(self._begun)
        finally:
            os.close(self._source)

    def _without_progress(self, chunk: bytes) -> bytes:
        """Return whole lines only, once nsys writes the report: the program's own output is not touched."""
        if not self._begun and not self.has_line("Generating '"):
            return chunk
        lines, end, self._begun = (self._begun + chunk).rpartition(b"\n")
        return _DRAWN_OVER.sub(b"", lines + end)

    def _show(self, chunk: bytes) -> None:
        buffer = getattr(self._sink, "buffer", None)  # a notebook's stream has none
        with contextlib.suppress(OSError, ValueError):  # the reader has gone: the recording continues
            if buffer is None:
                self._sink.write(chunk.decode(errors="replace"))
            else:
                buffer.write(chunk)
            self._sink.flush()

    def has_line(self, beginning: str) -> bool:
        """Tell whether a line of what is kept begins so."""
        return b"\n" + beginning.encode() in b"\n" + self._head + self._tail

    def text(self) -> str:
        return (self._head + self._tail).decode(errors="replace")
