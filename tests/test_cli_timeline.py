"""``tcprof timeline`` as a user meets it."""

import json
import re

import pytest
from builders import AMP, FIXTURES, TraceBuilder

from tcprof.frames import GAP_SUMS, GAPS

pytestmark = pytest.mark.usefixtures("shared_reads")


def test_output_is_as_before(run, golden):
    done = run("timeline", AMP)
    assert (done.status, max(map(len, done.out.splitlines())) <= 80) == (0, True)
    golden("timeline.txt", done.out)


def test_gaps_are_listed_by_cause_and_by_length(run):
    done = run("timeline", FIXTURES / "llama.sqlite", "--gaps", "--limit", "3")
    assert (done.status, max(map(len, done.out.splitlines())) <= 80) == (0, True)
    causes = re.findall(r"^(launch-bound|CPU work|data loading|synchronization) ", done.out, re.MULTILINE)
    assert causes == ["launch-bound", "CPU work", "data loading", "synchronization"]
    lengths = re.findall(r"^\d+ +([\d.]+) ms", done.out.partition("Longest gaps")[2], re.MULTILINE)
    assert lengths == sorted(lengths, reverse=True)
    document = json.loads(run("timeline", FIXTURES / "llama.sqlite", "--gaps", "--format", "json").out)
    assert document["kind"] == "gaps"
    for name, schema in (("rows", GAPS), ("gap_sums", GAP_SUMS)):
        assert all(list(row) == schema.names for row in document[name])
    (step,) = document["step_summary"]
    assert sum(row["saving_ns"] for row in document["gap_sums"]) == pytest.approx(step["idle_ns"] / step["step_count"])


def test_gaps_of_a_range(run):
    done = run("timeline", AMP, "--gaps", "--filter", "optimizer", "--format", "csv")
    paths = [line.split(",")[7] for line in done.out.splitlines()[1:]]
    assert paths
    assert all("optimizer" in path for path in paths)


@pytest.mark.slow
def test_unknown_range_is_refused(run):
    done = run("timeline", AMP, "--step", "nonsense")
    assert (done.status, done.out) == (2, "")
    assert all(word in done.err for word in ("'nonsense'", "tcprof ranges"))


def test_remedies_stand_below(run, tmp_path):
    trace = TraceBuilder().gpu().range("step", 0, 1_000).kernel("a", 2_000, 8_000, launched=10)
    trace.kernel("b", 9_000, 12_000, launched=5_000)
    done = run("timeline", trace.write(tmp_path), "--notes")
    notes = " ".join(done.err.split())
    assert re.search("33.3 % .*To fix this: .*100.0 % of the kernel time", notes)


def test_notes_and_the_ledger_wait_until_they_are_asked_for(run):
    brief, full = (run("timeline", FIXTURES / "llama.sqlite", *args) for args in ((), ("--notes",)))
    assert "notes (--notes)" in brief.out
    assert brief.err == ""
    assert "Time accounting" not in brief.out
    assert "4 alike" in brief.out
    assert "note: " in full.err
    assert all(text in full.out for text in ("Time accounting", "Clock check", "Each nanosecond"))
    listed = run("timeline", FIXTURES / "llama.sqlite", "--all").out
    assert "alike" not in listed
    assert ".layers.3" in listed


@pytest.mark.parametrize("option", ["", "--no-kernels"])
def test_ranges_fit_kernels_unless_told_not_to(option, run):
    done = run("ranges", AMP, *([option] if option else []), "--format", "csv", "--depth", 0)
    header, row = (line.split(",") for line in done.out.splitlines())
    share = dict(zip(header, row, strict=True))["tensor_kernel_share_pct"]
    assert bool(share) == (option != "--no-kernels")
    assert ("Kernels were not fitted (--no-kernels)" in done.err) == (option == "--no-kernels")


def test_why_there_are_no_kernels_is_the_true_reason(run, tmp_path):
    """A recording without kernels is not called large."""
    path = (
        TraceBuilder().gpu().range("step", 0, 9_000).copy("host to device", 2_000, 5_000, launched=10).write(tmp_path)
    )
    done = run("ranges", path)
    assert "fitted" not in done.out + done.err
    assert "no kernels, only copies" in " ".join(done.err.split())
