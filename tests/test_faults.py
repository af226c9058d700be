"""What makes a recording's figures untrustworthy: told first, with what was lost and what to do."""

import json
import math
from pathlib import Path

import pytest
from builders import TraceBuilder

import tcprof
from tcprof.findings.faults import lower_frequency
from tcprof.redaction import copy_check
from tcprof.sources.nsys_sqlite import NsysExport, export

pytestmark = pytest.mark.usefixtures("shared_reads")

OVERFLOW = "GPU Metrics [0]: Sampling buffer overflow"
LOST_BUFFER = (
    "Number of CUPTI events produced: \t5279, CUPTI buffers: 49 of 50. Some CUPTI events might be missing. To make "
    "sure all the events are collected, let the application run until it quits, and make sure cudaDeviceReset() is "
    "called before exit."
)
FREQUENCY = "GPU_METRICS_OPTIONS:SAMPLING_FREQUENCY"
LOST = (
    "Figures use the remaining samples: means may be far off, sums across gaps are lower bounds (≥) and are not "
    "compared, and samples next to a gap may be misplaced."
)


def recorded(frequency: int = 200_000, times: list[int] | None = None) -> TraceBuilder:
    """A recording of 100 µs: ten samples, or those at the given times, and a kernel in a range."""
    builder = TraceBuilder().gpu().range("step", 0, 90_000).kernel("gemm", 2_000, 9_000, launched=1_000)
    times = times or [10_000 * number for number in range(10)]
    return builder.captured(FREQUENCY, str(frequency)).samples([50] * len(times), times=times)


def faults_of(builder: TraceBuilder, folder: Path) -> tuple[str, ...]:
    return tcprof.read(builder.write(folder), kernels=False).faults  # which need no fit of the kernels


@pytest.mark.parametrize(
    ("was", "advised"),
    [
        (200_000, 100_000),
        (100_000, 50_000),
        (50_000, 20_000),
        (33_333, 10_000),
        (20_000, 10_000),
        (12_000, 10_000),
        (10_000, 5_000),
        (999, 200),
        (20, 10),
        (19, None),
        (math.nan, None),
    ],
)
def test_the_frequency_to_try(was, advised):
    assert lower_frequency(was) == advised


def test_events_that_nsys_could_not_read_are_told_in_one_line(tmp_path):
    """Recorded with JAX, nsys 2025.3: the same page of nsys's sources once for each source of events."""
    builder = recorded()
    for number in (18, 19):
        text = (
            f"Error when processing events: Source ID=\n ({number})\n Error information:\n ProcessEventsError (4005)\n"
        )
        builder.diagnostic("warning", f"{text}ErrorText (100)=StringStorage.cpp(119): Throw in function GetKey\n")
    cautions = tcprof.read(builder.write(tmp_path), kernels=False).warnings
    (told,) = [each for each in cautions if each.startswith("Nsight Systems")]
    assert told.endswith("('Importation succeeded with non-fatal errors'): NVTX ranges may be missing.")
    assert "\n" not in told


def test_long_messages_are_cut_and_each_text_is_cleaned_once(tmp_path, monkeypatch):
    """2,000 messages of 100,000 characters took 50 s and 2.5 GB."""
    cleaned: list[str] = []
    clean = copy_check.without_private
    monkeypatch.setattr(copy_check, "without_private", lambda path, them: [cleaned.extend(them), clean(path, them)][1])
    builder = recorded()
    for number in range(6):
        builder.diagnostic("warning", f"{number // 3} of /home/me/train.py " + "word " * 20_000)
    report = tcprof.read(builder.write(tmp_path))
    shown = report.analysis.observed.diagnostics["text"].tolist()
    assert (len(shown), len(cleaned)) == (6, 2)
    assert [text.split(" word")[0] for text in shown] == [*["0 of <redacted>"] * 3, *["1 of <redacted>"] * 3]
    assert max(map(len, cleaned)) == export.LONGEST_MESSAGE
    assert report.faults == ()


def test_the_machine_s_long_texts_are_no_fault(tmp_path):
    """Nsight Systems keeps all that the machine says of itself; recorded under Linux 6.18, one text had over 64 KiB."""
    builder = recorded().system("NvDriverVersion", "580.159.04")
    analysis = tcprof.read(builder.system("KernelConfig", "CONFIG=y\n" * 20_000).write(tmp_path))
    assert analysis.faults == ()
    assert analysis.recording.driver_version == "580.159.04"


def test_a_recording_without_faults(tmp_path, fixture_file):
    assert tcprof.read(fixture_file).faults == ()
    fine = recorded().diagnostic("warning", "Not all CUDA events might have been collected.")
    fine.diagnostic("information", "Number of CUPTI events produced: \t5279, CUPTI buffers: 50.")
    fine.diagnostic("information", "GPU Metrics [0]: Skipping metric NVLRX.x (requires unsupported counter 0x1 @ auto)")
    fine.diagnostic("warning", "Cpu event chronological order was broken.")
    assert faults_of(fine, tmp_path) == ()


def test_an_overflow_tells_what_was_lost_and_the_frequency_to_try(tmp_path):
    gap = recorded(times=[0, 10_000, 20_000, 30_000, 70_000, 80_000, 90_000]).diagnostic("error", OVERFLOW)
    analysis = tcprof.read(gap.write(tmp_path))
    assert analysis.faults == (
        f"Samples were lost ({OVERFLOW}): GPU 0 has none for 30.0 µs, 30.0 % of recorded time. {LOST} Record again "
        "with --frequency 100000 (this recording was at 200 kHz).",
    )
    assert not any("overflow" in text or "--frequency" in text for text in analysis.warnings)


def test_samples_that_end_before_the_kernels_are_lost_too(tmp_path):
    builder = recorded().kernel("late", 190_000, 200_000, launched=150_000).diagnostic("error", OVERFLOW)
    assert "GPU 0 has none for 100 µs, 50.0 % of recorded time." in faults_of(builder, tmp_path)[0]


def test_stretches_that_nsys_marked(tmp_path):
    assert faults_of(recorded(20_000).lost(20_000, 41_000), tmp_path) == (
        "Samples were lost (marked by Nsight Systems as missing or inconsistent): GPU 0 has none for 30.0 µs, 30.0 % "
        f"of recorded time. {LOST} Record again with --frequency 10000 (this recording was at 20 kHz).",
    )
    (outside,) = faults_of(recorded().lost(500_000, 521_000), tmp_path)
    assert "inconsistent): 21.0 µs. " in outside


def test_gaps_of_which_nsys_says_nothing(tmp_path):
    times = [10_000 * number for number in range(400)]
    assert faults_of(recorded(times=times[:9] + times[12:]), tmp_path) == ()
    (fault,) = faults_of(recorded(times=times[:9] + times[14:]), tmp_path)
    assert fault.startswith("Samples were lost: GPU 0 has none for 50.0 µs, 1.2 % of recorded time. ")


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ([LOST_BUFFER], "may have been lost (buffers not flushed: 1)"),
        ([LOST_BUFFER, LOST_BUFFER], "may have been lost (buffers not flushed: 2)"),
        (["CUPTI dropped 1200 records. Some CUPTI events might be missing."], "were lost (records dropped: 1,200)"),
    ],
)
def test_lost_kernels(tmp_path, texts, told):
    builder = recorded()
    for text in texts:
        builder.diagnostic("information", text)
    assert faults_of(builder, tmp_path) == (
        f"Kernels may be missing: CUDA trace events {told}. A missing kernel's time counts as idle, and its "
        "tensor cycles go to its neighbours. Record again, and let every process run to its end.",
    )


def launched(lost: tuple[int, ...], *, streams: int = 1, process: int = 1000) -> TraceBuilder:
    """Ten launches of kernels on streams in turn, some of them without their kernel."""
    builder = recorded()
    for number in range(10):
        start, correlation = 10_000 + 5_000 * number, 500 + number
        builder.launch(start, correlation, process=process, name="cudaLaunchKernel_v7000")
        if number not in lost:
            place = {"streamId": number % streams, "correlationId": correlation, "process": process}
            builder.kernel("gemm", start + 500, start + 900, **place)
    return builder


@pytest.mark.parametrize(
    ("lost", "streams", "counted"),
    [
        ((), 1, 0),
        ((3, 4), 1, 2),
        ((8, 9), 1, 0),  # the recording may have ended before they ran
        ((3, 9), 1, 1),
        ((3, 6), 2, 2),
        ((1, 5, 7, 9), 2, 1),  # the second stream has nothing after the fourth launch: the others may be its own
    ],
)
def test_launches_that_must_have_had_a_kernel(tmp_path, lost, streams, counted):
    trace = NsysExport(launched(lost, streams=streams).write(tmp_path))
    assert trace.lost_launches() == counted


def test_lost_launches_cannot_be_told_without_calls_or_with_graphs(tmp_path):
    assert NsysExport(recorded().without("CUPTI_ACTIVITY_KIND_RUNTIME").write(tmp_path)).lost_launches() is None
    assert NsysExport(recorded().write(tmp_path, "unnamed.sqlite")).lost_launches() is None
    assert NsysExport(launched((3,)).graph(70_000, 80_000).write(tmp_path, "graph.sqlite")).lost_launches() is None


def test_nothing_is_said_where_all_kernels_are_there(tmp_path):
    incomplete = "Number of incomplete CUPTI events dropped: 1. Incomplete events appear when GPU timestamp"
    builder = launched(()).diagnostic("information", LOST_BUFFER).diagnostic("information", incomplete)
    assert faults_of(builder, tmp_path) == ()
    builder.diagnostic("information", "CUPTI dropped 12 records.")
    assert "records dropped: 12" in tcprof.read(builder.write(tmp_path, "dropped.sqlite")).faults[0]


def test_lost_kernels_are_counted(tmp_path):
    (fault,) = faults_of(launched((3, 4)).diagnostic("information", LOST_BUFFER), tmp_path)
    assert "launches without a kernel: 2" in fault


@pytest.fixture
def faulty(tmp_path):
    builder = recorded(times=[0, 10_000, 20_000, 30_000, 70_000, 80_000, 90_000])
    builder.diagnostic("error", OVERFLOW).diagnostic("information", LOST_BUFFER)
    return builder.write(tmp_path, "faulty.sqlite")


@pytest.mark.parametrize("command", ["ranges", "kernels", "timeline"])
def test_faults_stand_above_the_table_on_the_same_stream(run, faulty, command):
    status, out, err = run(command, faulty)
    assert status == 0
    paragraphs = out.replace("\nwarning:", "\n\nwarning:").split("\n\n")
    first = " ".join(paragraphs[0].replace("\\", "").split())
    assert first.startswith(f"warning: Samples were lost ({OVERFLOW}): GPU 0 has none for 30.0 µs")
    assert paragraphs[1].startswith("warning: Kernels may be missing")
    assert paragraphs[2].startswith("faulty.sqlite: NVIDIA H200")
    assert max(map(len, "\n\n".join(paragraphs[:2]).splitlines())) <= 80
    assert "warning:" not in err
    assert "lost" not in err


@pytest.mark.parametrize(("name", "output"), [("faults.txt", "text"), ("faults.md", "markdown")])
def test_output_with_faults_is_as_before(run, faulty, golden, name, output):
    golden(name, run("ranges", faulty, "--format", output).out)


def test_report_and_export_tell_them_and_keep_their_paths_alone_on_the_output(run, faulty, tmp_path):
    page, folder = tmp_path / "page.html", tmp_path / "frames"
    for args, printed in ((["report", faulty, "-o", page], [str(page)]), (["export", faulty, "-o", folder], None)):
        status, out, err = run(*args)
        assert status == 0
        assert err.startswith("warning: Samples were lost")
        assert sorted(out.split()) == (printed or sorted(map(str, folder.iterdir())))
    about = json.loads((folder / "recording.json").read_text())
    assert about["faults"] == list(tcprof.read(faulty).faults)
    text = page.read_text()
    assert (
        text.index("</header>")
        < text.index('role="alert"')
        < text.index("Samples were lost")
        < text.index('id="figures"')
    )
