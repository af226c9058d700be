"""The worlds that intervals must hold in: random kernels, and all that was found to make a narrow interval wrong.

``tests/test_worlds.py`` holds them to their bounds; ``benchmarks/synthetic.py`` makes the table in docs/accuracy.md.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from clocks import falling, recorded
from worlds import GRAPH, UNTRACED, US, Kernel, Sampler, World, beside, join_worlds, make_world

PLAIN, ROUNDED = Sampler(), Sampler(rounded=True)
FAST = Sampler(period=5 * US, rounded=True)
STAMPED = Sampler(launches=2000)
KERNELS_OF_MODULE = 5
CLOCKS = (1.98, 1.6, 1.8)


@dataclass(frozen=True)
class Scenario:
    what: str  # in a few words
    make: Callable[[int], World]  # a world from a seed
    sampler: Sampler = PLAIN  # how it is sampled
    error: float = 0.2  # bound of the mean error in points, weighted by kernel time
    resolved: float = 0.9  # least share of the kernels that are resolved: intervals that say nothing hold anything
    modules: float = 0.9  # least share of the modules whose intervals hold

    def measure(self, seeds: int) -> pd.DataFrame:
        return pd.concat([self.make(seed).measure(self.sampler) for seed in range(seeds)], ignore_index=True)

    def measure_modules(self, seeds: int) -> pd.DataFrame:
        found = [self.make(seed).measure_modules(self.sampler, KERNELS_OF_MODULE) for seed in range(seeds)]
        return pd.concat(found, ignore_index=True)


def draw(
    seed: int, *, number: int = 20, us: tuple[float, float] = (2, 500), top: float = 0.9, **how: float
) -> list[Kernel]:
    """Kernels of 2 to 500 µs, two of five without tensor activity, each uneven in its own way."""
    rng = np.random.default_rng(seed)
    lasts = np.exp(rng.uniform(*np.log(us), number))
    active = np.where(rng.random(number) < 0.4, 0, rng.uniform(0.01, top, number))
    shapes = [tuple(np.array([0.4, 1, 1, 1, 1, 1, 0.4]) * rng.uniform(0.7, 1.3, 7)) for _ in range(number)]
    return [
        Kernel(f"kernel_{i}", each, share, shape, **how)
        for i, (each, share, shape) in enumerate(zip(lasts, active, shapes, strict=True))
    ]


def steps(seed: int, number: int = 12, *, repeats: int = 2, **how: object) -> World:
    """Twelve steps of two layers."""
    kernels = how.pop("kernels", None) or draw(seed)
    return make_world(kernels, number, seed, repeats=repeats, **how)


def one_varies(seed: int, **how: object) -> World:
    """One kernel of three differs by 30 %."""
    return steps(seed, kernels=[replace(k, vary=0.3, **how) if i % 3 == 0 else k for i, k in enumerate(draw(seed))])


def first_step(seed: int) -> World:
    """The first step alone: twelve layers, and what is launched once."""
    layer = [
        ("ln", 12, 0),
        ("qkv", 85, 0.8),
        ("attention", 120, 0.55),
        ("proj", 40, 0.75),
        ("gelu", 30, 0.02),
        ("fc", 110, 0.82),
    ]
    once = [
        ("lm_head", 1200, 0.84),
        ("softmax", 1080, 0.0035),
        ("loss", 300, 0),
        ("wgrad", 1400, 0.78),
        ("small", 25, 0.4),
    ]
    return make_world([Kernel(*k) for k in layer] + [Kernel(*k, only=0) for k in once], 1, seed, repeats=12)


def rare_long(seed: int) -> World:
    """Of 65 launches of one name and geometry one is long, right before a softmax."""
    layer = [Kernel("gemm", 85, 0.8), Kernel("gemm", 85, 0.8), Kernel("softmax", 60, 0.005), Kernel("other", 30, 0)]
    return make_world(layer * 32 + [Kernel("gemm", 700, 0.86), Kernel("softmax", 60, 0.005)], 6, seed)


def after_a_graph(seed: int) -> World:
    """Each step is a CUDA graph recorded as a whole, of varying rate, and then an optimizer."""
    rng, optimizer, parts, start = np.random.default_rng(seed), [], [], 0
    optimizer = [Kernel("adam", 21, 0), Kernel("norm", 8, 0), Kernel("cast", 30, 0), Kernel("gemm", 60, 0.7)] * 3
    for step in range(12):
        shape = tuple(rng.uniform(0.2, 1.8, 40))
        graph = Kernel(GRAPH, float(rng.uniform(3000, 5000)), float(rng.uniform(0.3, 0.6)), shape)
        parts.append(make_world([graph, *optimizer], 1, 100 * seed + step, start_ns=start, idle=0.0))
        start = int(parts[-1].end.max()) + 5 * US
    return join_worlds(*parts)


def other_process(seed: int) -> World:
    """A process that is not traced has 5 % of the time."""
    return beside(steps(seed), Kernel(UNTRACED, 150, 0.5), share=0.05, seed=seed)


def two_streams(seed: int) -> World:
    """Two streams, whose kernels overlap."""
    second = [replace(kernel, name=f"b_{kernel.name}") for kernel in draw(seed + 50, number=12, top=0.45)]
    return join_worlds(
        steps(seed, kernels=draw(seed, number=12, top=0.45)), make_world(second, 12, seed + 1, repeats=2)
    )


def slower(seed: int, ghz: float, number: int = 12, slow: float = 0.0) -> World:
    """The clock falls to so many GHz while tensor kernels run."""
    return falling(steps(seed, number, kernels=draw(seed, top=0.6)), ghz, slow)


def locked(seed: int) -> World:
    """A step lasts exactly two samples, so that each sample holds the same parts of the same kernels."""
    kernels = [Kernel("a", 8, 0.4), Kernel("b", 30, 0.6), Kernel("c", 50, 0.01), Kernel("d", 5, 0)]
    return make_world(kernels, 60, seed, step_us=100, idle=0)


def dependent(seed: int, number: int = 64) -> World:
    """Launches that are placed 1 to 4 µs before the one before them ends, and wait for it."""
    return steps(seed, number, kernels=[replace(kernel, early_us=(1, 4)) for kernel in draw(seed, us=(3, 60))])


def nodes(seed: int, *, number: int = 12, idle_us: tuple[float, float] = (5, 60)) -> World:
    """Each step is a graph traced by node: 30 kernels right behind each other, and a pause before the next one."""
    kernels, parts, start = draw(seed, number=30, us=(2, 60)), [], 0
    pauses = US * np.random.default_rng(seed).uniform(*idle_us, number)
    for step, pause in enumerate(pauses.astype(int)):
        parts.append(make_world(kernels, 1, 1000 * seed + step, start_ns=start, idle=0, gap_us=0.8))
        start = int(parts[-1].end.max()) + pause
    whole = join_worlds(*parts)
    kind, stream = whole.kind % len(kernels), np.zeros_like(whole.stream)
    return replace(whole, kernels=tuple(kernels), kind=kind, stream=stream, seed=seed)


def some_wait(seed: int, number: int = 12) -> World:
    """Of three kernels one waits, one starts at once, and one is not dependent."""
    kernels = [
        replace(kernel, early_us=(1, 4) if i % 3 else (0, 0), waits=i % 3 == 1) for i, kernel in enumerate(draw(seed))
    ]
    return steps(seed, number, kernels=kernels)


def twins(seed: int, number: int = 12, ranges: bool = True) -> World:
    """Two layers, distinguished by range or else only by order, in which one kernel of three does other work."""
    rng, kernels = np.random.default_rng(seed + 11), draw(seed, number=12, us=(5, 200))
    active = [[float(rng.uniform(0, 0.9)) if i % 3 == 0 else k.active for i, k in enumerate(kernels)] for _ in range(2)]
    layers = [
        replace(kernel, active=share, place=f"layer_{layer}_{i % 4}" if ranges else "")
        for layer, shares in enumerate(active)
        for i, (kernel, share) in enumerate(zip(kernels, shares, strict=True))
    ]
    return make_world(layers if ranges else [Kernel("head", 20, 0.1), *layers, Kernel("adam", 40, 0)], number, seed)


SCENARIOS = {
    "fixed order": Scenario("20 kernels of 2 to 500 µs in fixed order, 24 launches each", steps),
    "random order": Scenario("the same in random order", lambda seed: steps(seed, shuffled=True)),
    "short kernels": Scenario(
        "2 to 12 µs, 120 launches each", lambda seed: steps(seed, 40, repeats=3, kernels=draw(seed, us=(2, 12)))
    ),
    "few steps": Scenario("three launches each", lambda seed: steps(seed, 3, repeats=1), error=2, resolved=0.6),
    "one step": Scenario("kernels launched once beside twelve layers", first_step, error=0.5),
    "rare long launches": Scenario("a long launch in 65 of its name and geometry", rare_long),
    "two streams": Scenario("kernels that overlap", two_streams),
    "never idle": Scenario("no idle time at all", lambda seed: steps(seed, idle=0, gap_us=0), resolved=0.8),
    "work varies by 10 %": Scenario(
        "launches of each kernel differ",
        lambda seed: steps(seed, kernels=draw(seed, vary=0.1)),
        error=0.5,
        resolved=0.7,
    ),
    "some vary by 30 %": Scenario("one kernel of three", one_varies, error=0.5, resolved=0.7),
    "length varies by 30 %": Scenario(
        "one kernel of three, its duration too", lambda seed: one_varies(seed, tied=True), error=0.5, resolved=0.7
    ),
    "beside a graph": Scenario("an optimizer after a CUDA graph recorded as a whole", after_a_graph),
    "dependent launches": Scenario(
        "each starts 1 to 4 µs before the one before it ends, and waits for that; 3 to 60 µs, 128 launches each",
        dependent,
        error=0.5,
        resolved=0.8,
    ),
    "dependent, some wait": Scenario("likewise; one of three waits, one does not", some_wait, error=0.5, resolved=0.6),
    "nodes of a graph": Scenario(
        "30 kernels of 2 to 60 µs right behind each other, in 12 graphs", nodes, error=1.5, resolved=0.5
    ),
    "twins": Scenario("one name, grid and duration, other work by layer", twins, error=0.3, resolved=0.85),
    "twins without ranges": Scenario("distinguished by order in the step", partial(twins, ranges=False), error=0.3),
    "another process": Scenario("untraced work has 5 % of the time", other_process, error=6, resolved=0.2),
    "clock steps": Scenario(
        "1.6 to 1.98 GHz, every 0.8 ms", lambda seed: steps(seed, clock=(CLOCKS, 800)), error=0.5, resolved=0.85
    ),
    "clock steps fast": Scenario("every 60 µs", lambda seed: steps(seed, clock=(CLOCKS, 60)), error=0.5, resolved=0.85),
    "clock falls to 1.75 GHz": Scenario("while tensor kernels run, within 2 µs", lambda seed: slower(seed, 1.75)),
    "clock falls to 1.6 GHz": Scenario("likewise", lambda seed: slower(seed, 1.6)),
    "clock falls, 64 steps": Scenario("to 1.6 GHz, 128 launches each", lambda seed: slower(seed, 1.6, 64)),
    "clock falls, and creeps": Scenario(  # 89.6 % of 192 modules
        "a quarter of it within 30 µs", lambda seed: slower(seed, 1.6, 64, 0.25), modules=0.88
    ),
    "clock falls, short": Scenario(
        "kernels of 2 to 12 µs",
        lambda seed: falling(steps(seed, 40, repeats=3, kernels=draw(seed, us=(2, 12), top=0.6)), 1.6),
        error=0.5,
    ),
    "clock falls, percentages": Scenario("whole percentages", lambda seed: slower(seed, 1.6), ROUNDED, error=0.4),
    "clock falls, percentages, 64 steps": Scenario("likewise", lambda seed: slower(seed, 1.6, 64), ROUNDED),
    **{
        f"launches and clock of {name}": Scenario(
            "an H200's, with cycles of our own", partial(recorded, name), resolved=0.85
        )
        for name in ("convnet_channels_last", "transformer_eager", "transformer_compiled")
    },
    "a recorded clock, percentages": Scenario(
        "of transformer_eager", partial(recorded, "transformer_eager"), ROUNDED, error=0.4
    ),
    "sampler 2 µs late": Scenario("the sampler's clock is off", steps, Sampler(late=2000)),
    "sampler 3 µs late": Scenario("likewise", steps, Sampler(late=3000)),
    "sampler 5 µs early": Scenario("likewise", steps, Sampler(late=-5000), resolved=0.8),
    "never idle, 2 µs late": Scenario(
        "it cannot be measured", lambda seed: steps(seed, idle=0, gap_us=0), Sampler(late=2000), error=0.5, resolved=0.6
    ),
    "launch stamps": Scenario("launches are stamped 2 µs off at random", steps, STAMPED, error=0.5, resolved=0.6),
    "launch stamps, 64 steps": Scenario("likewise", partial(steps, number=64), STAMPED, error=0.3, resolved=0.8),
    "samples lost": Scenario("30 % of the samples", steps, Sampler(lost=0.3)),
    "locked to the step": Scenario("a step is two samples long", locked, Sampler(jitters=False), error=5, resolved=0),
    "percentages": Scenario("fixed order, whole percentages", steps, ROUNDED, error=0.3),
    "percentages, short": Scenario(
        "2 to 12 µs", lambda seed: steps(seed, 40, repeats=3, kernels=draw(seed, us=(2, 12))), ROUNDED, 1.5, 0.4
    ),
    "percentages, low": Scenario(
        "Tensor Active below 5 %", lambda seed: steps(seed, kernels=draw(seed, top=0.05)), ROUNDED
    ),
    "percentages, no clock": Scenario("no SM clock recorded", steps, Sampler(rounded=True, with_clock=False), 0.3),
    "percentages at 200 kHz": Scenario("samples of 5 µs", steps, FAST),
    "percentages at 200 kHz, clock falls": Scenario("to 1.6 GHz", lambda seed: slower(seed, 1.6), FAST),
    "percentages, lost": Scenario("30 % of the samples lost", steps, Sampler(rounded=True, lost=0.3), 0.4, 0.8),
}
