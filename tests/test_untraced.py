"""Work of other processes: seen where the trace has pauses, reported, and part of the kernels' intervals."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scenarios import PLAIN, steps
from worlds import UNTRACED, Kernel, World, beside, join_worlds, make_world

import tcprof
from tcprof.analysis.clock import align_samples, check_clocks
from tcprof.analysis.untraced import Untraced, find_untraced

COVER, DETECTED = 0.9, 0.7
OTHERS = (  # kernels in µs, their activity, and their share of the time
    (150, 0.5, 0.05),
    (150, 0.5, 0.1),
    (60, 0.3, 0.05),
    (400, 0.6, 0.1),
    (150, 0.2, 0.2),
    (40, 0.5, 0.3),
    (1000, 0.5, 0.1),
    (150, 0.8, 0.05),
)
KINDS = ("beside", "slices")


def alone(seed: int) -> World:
    """A program that leaves the GPU idle for a fifth of the time."""
    return steps(seed, idle=0.2, idle_us=(20, 200))


def shared(seed: int, kind: str) -> World:
    """With another process on its GPU, beside it or in slices of time."""
    world, (us, active, share) = alone(seed), OTHERS[seed]
    if kind == "slices":
        return beside(world, Kernel(UNTRACED, us, active), share, seed)
    pause = us * (1 / share - 1)
    other = make_world(
        [Kernel("other", us, active)], int(world.end.max() / 1000 / (us + pause)) + 1, seed, gap_us=pause
    )
    return join_worlds(world, replace(other, kernels=(Kernel(UNTRACED, us, active),)))


def seen(world: World) -> Untraced:
    samples, activities = world.samples(PLAIN), world.activities()
    return find_untraced(align_samples(samples, check_clocks(activities, samples)), activities)


@cache
def measured(kind: str) -> pd.DataFrame:
    found = []
    for seed in range(len(OTHERS)):
        world = shared(seed, kind)
        kernels = world.measure(PLAIN)
        found.append(kernels[kernels["counts"]].assign(seed=seed, seen=seen(world).is_notable))
    return pd.concat(found, ignore_index=True)


@pytest.mark.parametrize("kind", KINDS)
def test_another_process_is_seen(kind: str) -> None:
    assert measured(kind).groupby("seed")["seen"].first().mean() >= DETECTED


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_or_kernels_are_unresolved_beside_another_process(kind: str) -> None:
    found = measured(kind)
    found = found[found["seen"]]
    assert (found["held"] | ~found["resolved"]).mean() >= COVER


@pytest.mark.parametrize("seed", range(4))
def test_a_program_alone_raises_no_alarm(seed: int) -> None:
    found = seen(alone(seed))
    assert not found.is_notable
    assert not found.doubt(np.ones(1)).any()


@pytest.mark.usefixtures("shared_reads")
def test_fixtures_raise_no_alarm(fixture_file) -> None:
    assert not [
        text for text in tcprof.read(fixture_file).faults if "trace does not show" in text or "drift apart" in text
    ]
