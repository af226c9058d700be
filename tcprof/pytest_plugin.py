"""The plugin of pytest: a test records a program, and requires what its figures must be; see ``docs/pytest.md``.

It is loaded in every session where tcprof is installed: all that is heavy is imported by the first test that records.
"""

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tcprof.api.reading import Report
    from tcprof.comparison import Side
    from tcprof.history.store import Store

_KEY = "tcprof"  # of what a test reports about itself
_MOST_REPEATS = 5  # recordings of the newest commit that are the baseline


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("tcprof", "Tensor Cores")
    group.addoption("--tcprof-update", action="store_true", help="add the recordings of passed checks to the store")
    group.addoption(
        "--tcprof-store", metavar="URL", help="the store with the baselines, as for 'tcprof history --store'"
    )


class Recorder:
    """What the fixture ``tcprof`` is."""

    def __init__(self, request: pytest.FixtureRequest, folder: Path) -> None:
        self._config, self._item, self._folder = request.config, request.node, folder
        self._count = 0

    def record(
        self, program: str | PathLike[str] | Sequence[str], *, repeat: int = 1, **options: Any
    ) -> "list[Report]":
        """Record a program under Nsight Systems; the test is skipped where this machine cannot.

        Args:
            program: A script, or a command with its arguments.
            repeat: How many recordings; several measure how much runs differ.
            options: As ``tcprof.profile`` takes them.
        """
        import tcprof

        argv = [fspath(program)] if isinstance(program, str | PathLike) else [*map(fspath, program)]
        try:
            return [tcprof.profile(argv, self._next_file(), **options) for _ in range(repeat)]
        except tcprof.MachineError as error:
            self._report(f"skipped, nothing can be recorded here: {error.message.splitlines()[0]}")
            pytest.skip(f"tcprof cannot record here: {error}")

    def check(
        self,
        run: "Report | str | PathLike[str] | Sequence[Report | str | PathLike[str]]",
        *requirements: str,
        strict: bool = False,
    ) -> None:
        """Require what must hold of a run, or of several of one program: see ``docs/pytest.md``.

        A requirement fails where all of its 95 % interval says so. What the interval leaves open passes, and is
        reported; with ``strict`` it fails.

        Args:
            requirements: Such as ``tensor_active > 40`` or ``time <= baseline + 3 %``.
        """
        import tcprof
        from tcprof.comparison import Side
        from tcprof.comparison import compare as compare_sides
        from tcprof.comparison.gate import Condition, parse_requirement
        from tcprof.findings.compared import judge_comparison, judge_gate
        from tcprof.findings.rules import rules_of_findings
        from tcprof.views.comparison.gate import view_gate

        rules = [*rules_of_findings()]
        asked = [parse_requirement(item, rules) for item in requirements]
        several = [run] if isinstance(run, str | PathLike) or not isinstance(run, Sequence) else [*run]
        reports = (tcprof.read(item) if isinstance(item, str | PathLike) else item for item in several)
        new = Side("run", tuple(report.analysis for report in reports))
        base = self._find_baseline()
        relative = [item for item in asked if isinstance(item, Condition) and item.scale != "absolute"]
        if base is None:
            asked = [item for item in asked if item not in relative]
            for item in relative:
                self._report(f"no baseline yet: {item.text.strip()}; --tcprof-update makes this run the baseline")
        view = view_gate(judge_gate(asked, judge_comparison(compare_sides(base or new, new)), strict))
        lines = [f"{item.verdict}: {item.name}: {item.evidence}" for item in view.conditions]
        for line in lines:
            self._report(line)
        if view.state == "fail":
            pytest.fail("\n".join([view.outcome, *lines]), pytrace=False)
        self._update(new)

    def _next_file(self) -> Path:
        self._count += 1
        return self._folder / f"recording-{self._count}.nsys-rep"

    def _report(self, line: str) -> None:
        self._item.user_properties.append((_KEY, line))

    def _find_baseline(self) -> "Side | None":
        """Find the recordings of the newest commit that this test has in the store; None without any."""
        from tcprof.comparison import Side
        from tcprof.history.trends import load_run

        store = self._open_store(create=False)
        if store is None:
            return None
        runs = store.runs()
        runs = runs[(runs["label"] == self._item.nodeid) & runs["kept"]]
        if runs.empty:
            return None
        commit = runs["commit"].iloc[-1]
        chosen = runs[runs["commit"] == commit].tail(_MOST_REPEATS) if commit else runs.tail(1)
        return Side("baseline", tuple(load_run(store, int(number), self._folder) for number in chosen["run_id"]))

    def _update(self, new: "Side") -> None:
        if not self._config.getoption("--tcprof-update"):
            return
        from tcprof.history.run import Facts

        store = self._open_store(create=True)
        assert store is not None
        added = store.add(new.recordings, Facts(label=self._item.nodeid, program=self._item.nodeid), keep=True)
        self._report(f"{sum(run.is_new for run in added)} added to the store: the baseline from now on")

    def _open_store(self, *, create: bool) -> "Store | None":
        from tcprof.history.database import NoStoreError
        from tcprof.history.store import open_store

        try:
            return open_store(self._config.getoption("--tcprof-store"), create=create)
        except NoStoreError:
            return None


@pytest.fixture
def tcprof(request: pytest.FixtureRequest, tmp_path: Path) -> Recorder:
    """Record programs and check their figures."""
    return Recorder(request, tmp_path)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what each check found: pytest itself says little of tests that pass."""
    reports = [
        report for group in terminalreporter.stats.values() for report in group if getattr(report, "when", "") == "call"
    ]
    lines = [(report.nodeid, line) for report in reports for name, line in report.user_properties if name == _KEY]
    if lines:
        terminalreporter.section("tcprof")
        for nodeid, line in lines:
            terminalreporter.line(f"{nodeid}: {line}")
