"""A run as a store describes it: what its recording says, and what its user adds."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
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
    """A row of the runs."""
    recording, side = analysis.recording, Side("", (analysis,))
    identity, rank = recording.identity, recording.identity.rank
    program = facts.program or identity.program
    if not program:
        raise UsageError(
            f"{recording.file} does not say which program it is of.", "Name it: --program NAME", 'Facts(program="NAME")'
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
    """The facts of a run that split series."""
    return json.dumps({name: run[name] for name in SPLITTING}, ensure_ascii=False)


def signed(marks: Marks) -> Any:
    """Marks as databases hold them, smallest first."""
    return marks.astype("<u8").view("<i8")


def clean(text: str) -> str:
    """A text as databases take it: PostgreSQL no NUL, both no half of a character."""
    return text.encode("utf-8", "replace").decode().replace("\0", "�")


def to_utc(time: str) -> str:
    """A time in UTC to the second; empty for one that is none."""
    try:
        known = datetime.fromisoformat(time)
    except ValueError:
        return ""
    return known.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if known.tzinfo else f"{known:%Y-%m-%dT%H:%M:%S}Z"


def now() -> str:
    """The time in UTC to the second."""
    return to_utc(datetime.now(UTC).isoformat())
