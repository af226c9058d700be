"""What each refinement of the kernels' fit is worth: each is switched off in turn, and everything measured again.

    python benchmarks/ablation.py                        # an hour on one core
    python benchmarks/ablation.py --jobs 2 --recordings FOLDER --write docs/accuracy.md
    python benchmarks/ablation.py --only conservation

Held against the known truth of ``tests/scenarios.py``, against Nsight Compute (fixtures, and a folder of recordings as
``accuracy.py`` takes it), and against the fixtures' own figures with everything on. A refinement without a gain in any
column goes.
"""

import argparse
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import work
from accuracy import FIXTURES, compare, score, table, write
from reference import find_cases
from scipy.sparse import csr_array

import tcprof
from tcprof.analysis.intervals import StepFunction
from tcprof.analysis.kernels import (
    classes,
    design,
    fit,
    launches,
    least_squares,
    noise,
    sm_clock,
    uncertainty,
)
from tcprof.analysis.kernels.untraced import Untraced
from tcprof.analysis.samples.sampling import NORMAL_95
from tcprof.arrays import Floats

sys.path.append(str(Path(__file__).parent.parent / "tests"))
SEEDS = 2
CHANGED_POINTS = 0.1
NOTHING = "(nothing)"
FIT_CAPACITY = sm_clock.fit_capacity


def sampled_clock(some: Any, rows: Any, pipe_cycles: Floats, samples: StepFunction) -> sm_clock.Capacity:
    """The mean of the clock over the samples of each launch: what needs no fit."""
    duration, kinds = some.end - some.start, len(some.opaque)
    if np.isnan(pipe_cycles).any():
        return sm_clock.constant_capacity(len(duration), kinds, 1.0)
    clock = StepFunction(samples.start, samples.end, pipe_cycles / (samples.end - samples.start))
    passed, covered = clock.integral(some.start, some.end), clock.covered(some.start, some.end)
    of_launch = np.where(covered > 0, passed / np.maximum(covered, 1), clock.value.mean())
    of_class = np.bincount(some.kind, of_launch * duration) / np.bincount(some.kind, duration)
    return sm_clock.Capacity(of_launch, of_class, np.zeros((kinds, kinds)))


def whole_launches(
    some: design.Launches, rows: design.Design, pipe_cycles: Floats, samples: StepFunction
) -> sm_clock.Capacity:
    """The clock, fitted with one rate for each class."""
    kinds = np.arange(len(some.opaque))
    mean_ns = np.bincount(some.kind, some.end - some.start) / np.bincount(some.kind)
    shares = csr_array(rows.class_ns.multiply(1 / mean_ns[None, :]))
    rows = replace(rows, shares=shares, part_kind=kinds, part_ns=mean_ns)
    return FIT_CAPACITY(some, rows, pipe_cycles, samples)


def uncoupled(make: Callable[..., Any], diagonal: Floats, coupling: Floats) -> Any:
    """The noise of samples whose errors have nothing to do with each other."""
    return make(diagonal, np.zeros_like(coupling))


def no_columns(some: design.Design, *_: Any) -> csr_array:
    """Errors in common of nothing."""
    return csr_array((len(some.length), 0))


def as_fitted(counted: Floats, *_: Any) -> Floats:
    """Launches as their classes are."""
    return counted


def only_assumed(some: Any, precision: Any, weighted: Floats, kinds: int) -> Floats:
    """No covariance from what is left over."""
    return np.zeros((kinds, kinds))


def no_offset(some: Any, precision: Any, *_: Any) -> Any:
    """An offset that the fit does not see."""
    return uncertainty.Offset(0.0, 0.0), np.zeros(len(some.part_kind))


Change = tuple[Any, str, Any]
REFINEMENTS: dict[str, list[Change]] = {
    "classes by duration": [(classes, "_split_by_duration", lambda kind, duration: kind)],
    "parts of a launch": [(design, "MOST_PARTS", 1)],
    "neighbouring parts alike": [(least_squares, "SHAPE", 1e3)],
    "not below 0": [(least_squares, "minimize_nonnegative", lambda matrix, right, _: np.linalg.solve(matrix, right))],
    "errors of a border in both samples": [(fit, "Noise", partial(uncoupled, noise.Noise))],
    "how much launches vary": [(fit, "estimate_variation", lambda variation, *_: variation)],
    "first moment of a launch": [(fit, "_heads", no_columns)],
    "rounding in common": [(fit, "_common_rounding", lambda reading, *_: csr_array((len(reading), 0)))],
    "conservation": [(fit, "conserve", as_fitted)],
    "misfit in the interval": [(fit, "misfit_covariance", only_assumed)],
    "few clusters (Student's t)": [
        (uncertainty.special, "stdtrit", lambda degrees, _: np.full(len(degrees), NORMAL_95))
    ],
    "clock offset in the interval": [(fit, "estimate_offset", no_offset)],
    "SM clock per kernel": [(launches, "fit_capacity", sampled_clock)],
    "its parts of a launch": [(launches, "fit_capacity", whole_launches)],
    "its lag": [(sm_clock, "LAG_NS", 0.0), (sm_clock, "MOST_LAG_NS", 0.0), (sm_clock, "LAG_ERROR_NS", 0.0)],
    "its misfit by place": [(sm_clock, "_places", lambda time: np.arange(time.shape[0]))],
    "its changes in a sample": [
        (sm_clock, "_covariance_in_time", lambda rows, left: np.zeros((rows.time.shape[1], rows.time.shape[1])))
    ],
    "dependent launches begin later": [
        (launches, "find_early", lambda kernels: np.zeros(len(kernels), dtype=np.int64)),
    ],
    "dependent launches that do not wait": [(fit, "find_ahead", lambda some, count: no_columns(some))],
    "classes by place": [(launches, "separate_places", lambda some, path_id: some)],
    "interrupted launches": [
        (launches, "doubt_interrupted", lambda name, geometry, some, counted: np.zeros(len(name)))
    ],
    "untraced work": [(Untraced, "doubt", lambda self, duration: np.zeros(len(duration)))],
}


@dataclass(frozen=True)
class Inputs:
    """What is measured: worlds with their scenario, and recordings that Nsight Compute measured, too."""

    worlds: list[tuple[str, Any, Any]]
    recordings: Path | None


INPUTS: list[Inputs] = []  # processes that measure are forked with it


@dataclass(frozen=True)
class Outcome:
    """What was found: kernels and modules of worlds, fixtures' kernels, and the figures against references."""

    kernels: pd.DataFrame
    modules: pd.DataFrame
    fixtures: pd.DataFrame
    figures: dict[str, float]


def make_inputs(seeds: int, recordings: Path | None) -> Inputs:
    """Worlds are made before anything is switched off: some are made of fixtures' fits."""
    from scenarios import SCENARIOS  # where the tests are

    some = [(name, kind.make(seed), kind.sampler) for name, kind in SCENARIOS.items() for seed in range(seeds)]
    return Inputs(some, recordings)


def measure(without: str) -> Outcome:
    """Everything, without one refinement."""
    inputs = INPUTS[0]
    with ExitStack() as stack:
        for place, name, other in REFINEMENTS.get(without, []):
            stack.enter_context(patch.object(place, name, other))
        stack.enter_context(patch.object(tcprof, "read", cache(tcprof.read)))  # each is asked for more than once
        worlds = [measure_world(*world) for world in inputs.worlds]
        kernels, modules = (pd.concat(frames, ignore_index=True) for frames in zip(*worlds, strict=True))
        fixtures = [
            tcprof.read(path).kernels.assign(recording=path.stem, row=lambda frame: np.arange(len(frame)))
            for path in sorted(FIXTURES.glob("*.sqlite"))
        ]
        figures = {**measure_references(inputs.recordings), **measure_bytes()}
    return Outcome(kernels, modules, pd.concat(fixtures, ignore_index=True), figures)


def measure_world(name: str, world: Any, sampler: Any) -> list[pd.DataFrame]:
    """Its kernels and its modules with 1 % of the time and more."""
    from scenarios import KERNELS_OF_MODULE

    found = world.fit(sampler)
    with patch.object(type(world), "fit", lambda *_: found):
        frames = world.measure(sampler), world.measure_modules(sampler, KERNELS_OF_MODULE)
    return [frame[frame["counts"]].assign(world=name) for frame in frames]


def measure_references(recordings: Path | None) -> dict[str, float]:
    """Means over the recordings that Nsight Compute measured, too."""
    cases = [case for folder in (FIXTURES, recordings) if folder for case in find_cases(folder)]
    scores: dict[str, list[dict[str, float]]] = {"cycles": [], "percentages": []}
    for case in cases:
        for mode, frame in compare(case).items():
            scores[mode].append(score(frame))
    return {
        f"{mode}_{name}": float(np.nanmean([each[name] for each in found]))
        for mode, found in scores.items()
        for name in ("fit_in_situ", "fit_worst", "strict_pct", "clocked_pct", "half_width")
    }


def measure_bytes() -> dict[str, float]:
    """Of kernels whose work is known: error of the bytes read and written, mean in %."""
    frame = work.compare()
    read = frame["dram_read_bytes"] / frame["expected_dram_read_bytes"].fillna(frame["ncu_dram_read_bytes"])
    written = frame["dram_write_bytes"] / frame["expected_dram_write_bytes"]
    errors = 100 * (pd.concat([read, written]) - 1).abs()
    return {"bytes_error": float(errors[np.isfinite(errors)].median())}


COLUMNS = {
    "kernels held": ("kernels", ".1f"),
    "modules held": ("modules", ".1f"),
    "median error": ("error", ".3f"),
    "half width": ("half", ".3f"),
    "fixtures: changed": ("changed", "d"),
    "most": ("most", ".1f"),
    "ncu, cycles": ("cycles_fit_in_situ", ".3f"),
    "held ": ("cycles_strict_pct", ".1f"),
    "ncu, percentages": ("percentages_fit_in_situ", ".3f"),
    "held": ("percentages_strict_pct", ".1f"),
    "half width ": ("percentages_half_width", ".3f"),
    "bytes": ("bytes_error", ".2f"),
}


def summarize(found: Outcome, whole: Outcome) -> tuple[str, dict[str, float]]:
    """The worlds that lose most, in words, and the figures of a row."""
    kernels = found.kernels.assign(
        half=(found.kernels["tensor_active_high_pct"] - found.kernels["tensor_active_low_pct"]) / 2
    )
    columns = ["tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct"]
    change = (found.fixtures[columns] - _like(whole.fixtures, found.fixtures)[columns]).abs().max(axis=1)
    figures = found.figures | {
        "kernels": 100 * kernels.groupby("world")["held"].mean().mean(),
        "modules": 100 * found.modules.groupby("world")["held"].mean().mean(),
        "error": kernels.groupby("world")["error"].median().mean(),
        "half": kernels.groupby("world")["half"].median().mean(),
        "changed": int((change > CHANGED_POINTS).sum()),
        "most": change.max(),
    }
    return _lost(found, whole), figures


def _like(whole: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """The same kernels of the other frame: these are in order of time, whatever the fit."""
    keys = ["recording", "row"]
    return whole.set_index(keys).reindex(frame.set_index(keys).index).reset_index()


def _lost(found: Outcome, whole: Outcome) -> str:
    """Where most intervals are lost, and where the error grows most."""
    texts = []
    for frame, kind in (("kernels", "kernels"), ("modules", "modules")):
        before, after = (100 * getattr(each, frame).groupby("world")["held"].mean() for each in (whole, found))
        name = (before - after).idxmax()
        if before[name] - after[name] >= 1:
            texts.append(f"{name}: {kind} held {before[name]:.0f} → {after[name]:.0f}")
    before, after = (each.kernels.groupby("world")["error"].mean() for each in (whole, found))
    name = (after - before).idxmax()
    if after[name] - before[name] >= 0.005:
        texts.append(f"{name}: mean error {before[name]:.2f} → {after[name]:.2f}")
    return "; ".join(texts)


def main() -> None:
    """Print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="worlds of each kind; default: %(default)s")
    parser.add_argument("--jobs", type=int, default=1, help="processes; default: %(default)s")
    parser.add_argument("--only", nargs="+", choices=REFINEMENTS, default=list(REFINEMENTS), metavar="NAME")
    parser.add_argument("--recordings", type=Path, help="a folder of more recordings with references")
    parser.add_argument("--write", type=Path, help="put the table into this page, between its markers")
    options = parser.parse_args()
    INPUTS.append(make_inputs(options.seeds, options.recordings))
    with ProcessPoolExecutor(options.jobs, get_context("fork")) as pool:  # what is patched cannot be pickled
        running = {name: pool.submit(measure, name) for name in (NOTHING, *options.only)}
        whole = running[NOTHING].result()
        rows = []
        for name, each in running.items():
            lost, figures = summarize(each.result(), whole)
            print(name, lost, figures, file=sys.stderr, flush=True)
            rows.append(((name, lost), figures))
    text = table(("without", "what is lost most"), COLUMNS, rows)
    print(text, end="")
    if options.write:
        write(options.write, "ablation", text)


if __name__ == "__main__":
    main()
