"""What git says of the folder that a command runs in."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

from tcprof.errors import UsageError
from tcprof.history.run import Facts

# Which branch a build is of, where it has checked out a commit alone.
_BRANCH_VARIABLES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME")
_WAIT_S = 30


def add_commit(facts: Facts) -> tuple[Facts, tuple[str, ...]]:
    """The facts with commit, its time and branch from git where they are not given, and what a user must know.

    A given commit has the branch that is checked out only if that holds it.

    Raises:
        UsageError: The time is not in ISO 8601, or lacks its offset from UTC.
    """
    commit, commit_utc, branch = facts.commit, facts.commit_utc, facts.branch
    known = _ask("show", "--no-patch", "--format=%H %cI", "--end-of-options", f"{commit or 'HEAD'}^{{commit}}").split()
    if not known and commit:
        when = "" if commit_utc else "; its run is sorted by the time of its recording: --commit-time gives another"
        return facts, (f"{commit} is not a commit of this repository{when}.",)
    if known:
        if not branch and (not commit or _ask("merge-base", "HEAD", known[0]) == known[0]):
            branch = current_branch()
        commit, commit_utc = known[0], commit_utc or known[1]
    note = "" if branch else "the run has no branch, so BRANCH@latest does not find it: --branch names one."
    return replace(facts, commit=commit, commit_utc=commit_utc, branch=branch), (note,) if note else ()


def current_branch() -> str:
    """The branch that is checked out, or that the build is of; empty where neither is known."""
    return _ask("symbolic-ref", "--short", "--quiet", "HEAD") or next(
        (name for name in map(os.environ.get, _BRANCH_VARIABLES) if name), ""
    )


def _ask(*words: str) -> str:
    """What git prints; empty where there is no git, no repository or no answer."""
    try:
        done = subprocess.run(["git", *words], cwd=Path.cwd(), capture_output=True, text=True, timeout=_WAIT_S)
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError, ValueError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def parse_config(pairs: list[str]) -> dict[str, str]:
    """A configuration as ``--config`` gives it, KEY=VALUE each.

    Raises:
        UsageError: A pair has no equals sign, no key, or a key is given twice.
    """
    config: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not (equals and key) or key in config:
            what = f"gives {key} twice" if key in config else "has no key, an equals sign and a value"
            raise UsageError(f"--config {pair!r} {what}", "Write --config batch=64 --config precision=bf16.")
        config[key] = value
    return config
