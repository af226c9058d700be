"""A run as a store describes it: what its recording says, and what its user adds."""

import hashlib
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from tcprof.analysis import Analysis
from tcprof.analysis.observed import Marks
from tcprof.comparison import Side
from tcprof.comparison.matching.sides import gpu_models
from tcprof.errors import UsageError
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
        when = "" if commit_utc else "; its run is sorted by recording time; --commit-time gives another"
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
