"""Unprofiled steps are timed by the GPU, on a CUDA that plays what a program ahead of its GPU meets."""

from types import SimpleNamespace

import numpy as np
import pytest

from tcprof.annotate.step_times import StepTimes

STEP_MS = 100.0


class Cuda:
    """The host is done at once; the GPU takes ``STEP_MS`` for each step, and reaches events in order."""

    def __init__(self) -> None:
        self.given_ms, self.reached_ms = 3600e3, 3600e3  # an hour in which single precision tells 0.25 ms apart
        self.is_on, self.is_capturing, self.device = True, False, 0

    def is_initialized(self) -> bool:
        return self.is_on

    def is_current_stream_capturing(self) -> bool:
        return self.is_capturing

    def current_device(self) -> int:
        return self.device

    def Event(self, *, enable_timing: bool) -> "Event":  # noqa: N802 -- torch calls it so
        assert enable_timing
        return Event(self)

    def work(self, milliseconds: float) -> None:
        self.given_ms += milliseconds


class Event:
    def __init__(self, cuda: Cuda) -> None:
        self.cuda, self.device = cuda, cuda.device

    def record(self) -> None:
        self.at_ms = self.cuda.given_ms

    def query(self) -> bool:
        return self.at_ms <= self.cuda.reached_ms

    def synchronize(self) -> None:
        self.cuda.reached_ms = max(self.cuda.reached_ms, self.at_ms)

    def elapsed_time(self, other: "Event") -> float:
        assert self.device == other.device
        assert self.query()
        assert other.query()
        return float(np.float32(other.at_ms - self.at_ms))


@pytest.fixture
def cuda():
    return Cuda()


@pytest.fixture
def lines():
    return []


@pytest.fixture
def times(lines, cuda):
    return StepTimes(lines.append, SimpleNamespace(cuda=cuda))


def train(times: StepTimes, cuda: Cuda, count: int, milliseconds: float = STEP_MS) -> None:
    for _ in range(count):
        handle = times.start("step")
        cuda.work(milliseconds)
        times.end(handle)


def test_a_program_ahead_of_its_gpu_is_timed_by_the_gpu(times, cuda, lines):
    train(times, cuda, 50)
    assert not lines  # the GPU is still at the first
    cuda.reached_ms += 10.5 * STEP_MS
    train(times, cuda, 1)
    assert len(lines) == 10
    times.write_all()
    steps = np.array([line.split()[1:] for line in lines], dtype=np.int64)
    assert len(steps) == 50  # the last one ends with the next
    assert (steps[:, 2] - steps[:, 1] == 1e6 * STEP_MS).all()
    assert (np.diff(steps[:, 1]) == 1e6 * STEP_MS).all()
    assert (steps[:, 3] == 1).all()


def test_short_steps_are_timed_together(times, cuda, lines):
    for _ in range(100):
        train(times, cuda, 1, 1.0)
        cuda.reached_ms = cuda.given_ms
    *_, steps = (list(map(int, line.split()[1:])) for line in lines)
    assert steps[3] == 21
    assert steps[2] - steps[1] == 21e6


def test_steps_before_the_first_use_of_cuda_are_the_host_s(times, cuda, lines):
    cuda.is_on = False
    train(times, cuda, 2)
    assert len(lines) == 1
    cuda.is_on = True
    train(times, cuda, 2)
    times.write_all()
    assert lines


def test_no_event_is_recorded_into_a_graph(times, cuda, lines):
    cuda.is_capturing = True
    train(times, cuda, 2)
    assert len(lines) == 1
