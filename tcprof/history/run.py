"""A run as a store describes it: what its recording says, and what its user adds."""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.modules.tree import ALL
from tcprof.analysis.observed import Marks
from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.analysis.samples.interval_estimates import FEWEST_STEP_TIMES, Centers, bootstrap_interval, find_medians
from tcprof.analysis.steps.detected_steps import KERNEL_ORDER_DOMAIN
from tcprof.analysis.steps.marked_steps import are_steady
from tcprof.analysis.unprofiled import time_unprofiled_steps
from tcprof.comparison import Side
from tcprof.comparison.matching.sides import KEYS, Renaming, gpu_models, list_path_keys
from tcprof.comparison.modules import fold_name, measure_modules
from tcprof.comparison.statistics.rows import MEDIAN, UNPROFILED_TIME, measure
from tcprof.errors import UsageError
from tcprof.frames import HEADLINE, HEADLINE_INTERVAL, KINDS, LARGEST_UNCOVERED_PCT, MODULES, OPS_DOMAIN, RANGES, STEPS
from tcprof.frames.compared import UNPROFILED_STEP
from tcprof.version import __version__

# The facts of a run that split series; others are shown where a step falls together with their change.
SPLITTING = ("gpu_name", "gpu_count", "power_limit_w", "program", "config", "rank")


@dataclass(frozen=True)
class Facts:
    """What a recording does not say of its run; empty where unknown."""

    commit: str = ""
    commit_utc: str = ""
    branch: str = ""
    label: str = ""
    program: str = ""  # else what the recording says
    power_limit_w: float | None = None
    config: Mapping[str, str] = field(default_factory=dict)


NO_FACTS = Facts()


def describe_run(analysis: Analysis, facts: Facts) -> dict[str, Any]:
    """Make the row of a run."""
    recording, side = analysis.recording, Side("", (analysis,))
    identity, rank = recording.identity, recording.identity.rank
    program = facts.program or identity.program
    if not program:
        raise UsageError(
            f"{recording.file} does not name its program.", "Name it: --program NAME", 'Facts(program="NAME")'
        )
    clock = analysis.samples["gpc_clock_hz"].median()
    texts = {
        "content": hashlib.sha256(signed(analysis.fingerprint).tobytes()).hexdigest(),
        "added_utc": now(),
        "recorded_utc": to_utc(recording.started_utc),
        "commit": facts.commit,
        "commit_utc": to_utc(facts.commit_utc),
        "branch": facts.branch,
        "label": facts.label,
        "program": program,
        "gpu_name": gpu_models(side, side)[0],
        "config": ", ".join(f"{key}={value}" for key, value in sorted(facts.config.items())),
        "rank": f"{rank.rank} of {rank.world_size}" if rank and rank.world_size > 1 else "",
        "driver_version": recording.driver_version,
        "cuda_version": recording.cuda_version,
        "torch_version": identity.torch_version,
        "tcprof_version": __version__,
        "file": recording.file,
    }
    return {name: clean(value) for name, value in texts.items()} | {
        "marks": analysis.fingerprint.astype("<u8").tobytes(),
        "gpu_count": int((analysis.ranges["depth"] == 0).sum()),
        "power_limit_w": facts.power_limit_w,
        "clock_hz": None if np.isnan(clock) else float(clock),
    }


def fingerprint_of(run: Mapping[str, Any]) -> str:
    """Join the facts of a run that split series."""
    return json.dumps({name: run[name] for name in SPLITTING}, ensure_ascii=False)


def signed(marks: Marks) -> Any:
    """Convert marks to signed integers, as databases hold them."""
    return marks.astype("<u8").view("<i8")


def clean(text: str) -> str:
    """Remove what databases refuse in a text: PostgreSQL NUL, all of them lone surrogates."""
    return text.encode("utf-8", "replace").decode().replace("\0", "�")


def to_utc(time: str) -> str:
    """Convert a time to UTC, to the second; empty for what is no time."""
    try:
        parsed = datetime.fromisoformat(time)
    except ValueError:
        return ""
    return parsed.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if parsed.tzinfo else f"{parsed:%Y-%m-%dT%H:%M:%S}Z"


def now() -> str:
    """Return the time in UTC to the second."""
    return to_utc(datetime.now(UTC).isoformat())


# Which branch a build is of, where it has checked out a commit alone.
_BRANCH_VARIABLES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME")
_WAIT_S = 30


def add_commit(facts: Facts) -> tuple[Facts, tuple[str, ...]]:
    """Add commit, its time and branch from git where they are not given; returns notes for the user, too.

    A given commit has the branch that is checked out only if that holds it.

    Raises:
        UsageError: The time is not in ISO 8601, or lacks its offset from UTC.
    """
    commit, commit_utc, branch = facts.commit, facts.commit_utc, facts.branch
    shown_commit = _ask(
        "show", "--no-patch", "--format=%H %cI", "--end-of-options", f"{commit or 'HEAD'}^{{commit}}"
    ).split()
    if not shown_commit and commit:
        when = "" if commit_utc else "; the run is sorted by its recording time, unless --commit-time gives another"
        return facts, (f"{commit} is not a commit of this repository{when}.",)
    if shown_commit:
        if not branch and (not commit or _ask("merge-base", "HEAD", shown_commit[0]) == shown_commit[0]):
            branch = current_branch()
        commit, commit_utc = shown_commit[0], commit_utc or shown_commit[1]
    note = "" if branch else "the run has no branch, so BRANCH@latest does not find it: --branch names one."
    return replace(facts, commit=commit, commit_utc=commit_utc, branch=branch), (note,) if note else ()


def current_branch() -> str:
    """Find the branch that is checked out, or that the build is of; empty where neither is known."""
    return _ask("symbolic-ref", "--short", "--quiet", "HEAD") or next(
        (name for name in map(os.environ.get, _BRANCH_VARIABLES) if name), ""
    )


def _ask(*words: str) -> str:
    """Ask git; empty where there is no git, no repository or no answer."""
    try:
        done = subprocess.run(["git", *words], cwd=Path.cwd(), capture_output=True, text=True, timeout=_WAIT_S)
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError, ValueError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def parse_config(pairs: list[str]) -> dict[str, str]:
    """Parse the KEY=VALUE pairs of ``--config``."""
    config: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not (equals and key) or key in config:
            what = f"gives {key} twice" if key in config else "is not KEY=VALUE"
            raise UsageError(f"--config {pair!r} {what}", "Write --config batch=64 --config precision=bf16.")
        config[key] = value
    return config


MOST = 20  # ranges, and modules, of each GPU: those with most time
STEP, RANGE, MODULE, CAPTURE = "step", "range", "module", "capture"
# Metrics by the columns of the frames that show them.
METRICS = {
    column.name: column
    for column in (
        *(UNPROFILED_STEP, STEPS["step_ns"], HEADLINE.column, KINDS["gpu_idle_pct"], RANGES["gpu_window_ns"]),
        *(RANGES["tensor_tflops"], RANGES["hfu_pct"], MODULES["kernel_ns"], MODULES["tensor_active_pct"]),
    )
}
_COLUMNS = ["metric", "scope", "subject", "gpu", "unit", "value", "low", "high", "n"]
_KEY = ["scope", "subject", "gpu", "metric"]


def list_points(analysis: Analysis) -> pd.DataFrame:
    """List the points of a recording: its series and values; GPUs are counted among those with work."""
    captures = analysis.ranges[analysis.ranges["depth"] == 0]
    order = {gpu: number for number, gpu in enumerate(sorted(captures["gpu"]))}
    parts = [*_of_kinds(analysis), *_of_ranges(analysis), *_of_modules(analysis)]
    if not parts:
        return pd.DataFrame(columns=_COLUMNS)
    points = pd.concat(parts, ignore_index=True)
    points = points[points["value"].notna() & (points["n"] > 0)].drop_duplicates(_KEY)
    units = points["metric"].map({name: column.unit for name, column in METRICS.items()})
    low, high = (points[name].where(points[["low", "high"]].notna().all(axis=1)) for name in ("low", "high"))
    ends = {"low": np.fmin(low, points["value"]).where(low.notna()), "high": np.fmax(high, points["value"])}
    ends["high"] = ends["high"].where(high.notna())
    return points.assign(gpu=points["gpu"].map(order), unit=units, **ends)[_COLUMNS].reset_index(drop=True)


def _rows(metric: str, scope: str, keys: pd.DataFrame, centers: Centers) -> pd.DataFrame:
    """Make the points of one metric; ``keys`` has their subjects and GPUs."""
    ends = {"value": centers.value, "low": centers.low, "high": centers.high, "n": centers.count}
    return keys[["subject", "gpu"]].assign(metric=metric, scope=scope, **ends)


def _of_kinds(analysis: Analysis) -> list[pd.DataFrame]:
    """List step time, Tensor Active and GPU idle of each kind of steps, as ``tcprof show`` has them."""
    kinds = analysis.kinds
    if kinds.empty:
        return []
    # Whether a recording has steps of other roles as well must not change what those of the first are called.
    path = analysis.steps.groupby(["gpu", "kind"], as_index=False)["path"].first()
    plain = kinds.merge(path)["path"].astype(str).str.rsplit(SEPARATOR, n=1).str[-1]
    kinds = kinds.assign(subject=kinds["name"].where(kinds["kind"] > 0, plain))
    steps = analysis.steps
    steps = steps[are_steady(steps) & steps["step_ns"].notna()]
    index = pd.MultiIndex.from_frame(kinds[["gpu", "kind"]])
    at = index.get_indexer(pd.MultiIndex.from_frame(steps[["gpu", "kind"]])).astype(np.int64)
    length, size = steps["step_ns"].to_numpy(), len(kinds)
    times = find_medians(at, length, size, FEWEST_STEP_TIMES)
    parts = [
        *_of_unprofiled(analysis, kinds),
        _rows("step_ns", STEP, kinds, replace(times, value=kinds["step_time_ns"].to_numpy())),
    ]
    first = analysis.step_summary.assign(kind=0).set_index(["gpu", "kind"]).reindex(index)
    for metric, column, rounded_ends in (
        (HEADLINE.name, "tensor_active_mean_pct", HEADLINE_INTERVAL),
        ("gpu_idle_pct", "idle_pct", ()),
    ):
        share = steps[column].to_numpy()
        low, high = bootstrap_interval(at, np.nan_to_num(share * length), np.where(np.isnan(share), 0, length), size)
        if rounded_ends:  # which rounding widens
            low, high = (
                np.where(first[name].notna(), first[name], end)
                for name, end in zip(rounded_ends, (low, high), strict=True)
            )
        count = kinds["step_count"].to_numpy()
        parts.append(_rows(metric, STEP, kinds, Centers(count, kinds[metric].to_numpy(), low, high, times.constant)))
    return parts


def _of_unprofiled(analysis: Analysis, kinds: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """List the unprofiled step time of each GPU's first role, where it was measured."""
    for _, first in kinds[kinds["kind"] == 0].groupby("gpu"):
        times = time_unprofiled_steps(analysis, int(first["gpu"].iloc[0])).to_numpy()
        yield _rows(UNPROFILED_TIME, STEP, first, find_medians(np.zeros(len(times), np.int64), times, 1))


def _of_ranges(analysis: Analysis) -> list[pd.DataFrame]:
    """List time and Tensor Active of ranges; FLOP/s of the steps alone, or of captures where nothing iterates."""
    keys = list_path_keys([analysis.ranges])
    centers = measure(analysis, keys, Renaming()).centers[MEDIAN]
    ranges = keys.merge(analysis.ranges, on=KEYS, how="left", validate="one_to_one").assign(
        subject=lambda rows: rows["path"]
    )
    iterates = set(analysis.steps["path"])
    is_shown = ~ranges["domain"].isin([OPS_DOMAIN, KERNEL_ORDER_DOMAIN]) & (ranges["depth"] > 0)
    chosen = (
        ranges[is_shown].sort_values("gpu_window_ns", ascending=False, kind="stable").groupby("gpu").head(MOST).index
    )
    is_listed = np.isin(np.arange(len(ranges)), chosen)
    is_step = ranges["path"].isin(iterates).to_numpy() & (ranges["depth"] > 0).to_numpy()
    is_capture = ((ranges["depth"] == 0) & ~ranges["gpu"].isin(analysis.steps["gpu"])).to_numpy()
    value, low, high = (ranges[name].to_numpy() for name in (HEADLINE.name, *HEADLINE_INTERVAL))
    count = (ranges["instance_count"] - ranges["slow_count"]).to_numpy()
    active = Centers(count, value, low, high, np.zeros(len(ranges), dtype=bool))
    parts = []
    for scope, rows in ((RANGE, is_listed), (CAPTURE, is_capture)):
        for metric, of_metric in (("gpu_window_ns", centers["gpu_window_ns"]), (HEADLINE.name, active)):
            parts.append(_rows(metric, scope, ranges, of_metric)[rows])
        for metric in ("tensor_tflops", "hfu_pct"):
            whole = (RANGES[metric].missing_pct(ranges) <= LARGEST_UNCOVERED_PCT).to_numpy()
            parts.append(_rows(metric, scope, ranges, centers[metric])[rows & whole & (is_step | is_capture)])
    return parts


def _of_modules(analysis: Analysis) -> list[pd.DataFrame]:
    """List kernel time per step and Tensor Active of modules, layers of a list together."""
    if analysis.modules.empty:
        return []
    modules = analysis.modules.assign(module=analysis.modules["module"].map(fold_name))
    keys = modules[["gpu", "module", "phase"]].drop_duplicates(ignore_index=True)
    measured = measure_modules(analysis, modules, pd.MultiIndex.from_frame(keys))
    named = (keys["phase"] == ALL) & (keys["module"] != "")
    time = pd.Series(measured.time.centers.value)[named].sort_values(ascending=False, kind="stable")
    chosen = keys.loc[time.index].groupby("gpu").head(MOST).index
    rows = keys.assign(subject=keys["module"])
    return [
        _rows(metric, MODULE, rows, figures.centers).loc[chosen]
        for metric, figures in (("kernel_ns", measured.time), ("tensor_active_pct", measured.active))
    ]
