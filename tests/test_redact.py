"""A redacted copy gives the same figures and holds nothing private."""

from pathlib import Path

import pytest
from builders import TraceBuilder

from tcprof.analysis import analyze
from tcprof.errors import InputError, OutputError
from tcprof.trace import Trace, schema
from tcprof.trace.redact import redact

FIXTURES = Path(__file__).parent.parent / "fixtures"
SECRETS = ("hunter2", "/home/alice", "alice", "build-host-7", "--password", "10.1.2.3", "AKIA", "stdout of the program")


def export_with_secrets(folder: Path) -> Path:
    """An export with something private in every table that real ones have it in."""
    builder = (
        TraceBuilder()
        .gpu()
        .recorded(duration=100_000)
        .exported()
        .range("step", 0, 20_000)
        .range("forward", 1_000, 9_000)
        .kernel("gemm", 2_000, 9_000, launched=1_500)
        .copy("host to device", 500, 900, launched=400)
        .samples([0, 50, 100], start=0, period=10_000)
        .captured("PROCESS_0:COMMAND", "python train.py --password hunter2")
        .captured("PROCESS_0:ENV_VARS", "AWS_KEY=AKIA")
        .captured("GPU_METRICS_OPTIONS:SAMPLING_FREQUENCY", "20000")
        .captured("DEVICE_DISPLAY_NAME", "build-host-7")
        .system("NvDriverVersion", "580.159.04")
        .system("EnvironmentVariables", "TOKEN=hunter2")
        .system("HostName", "build-host-7")
        .diagnostic("information", "Loaded /home/alice/lib.so on 10.1.2.3 with TOKEN=hunter2 for alice@build-host-7")
    )
    for number, text in enumerate(("python train.py --password hunter2", "stdout of the program", "/home/alice/data")):
        builder.row(schema.STRINGS, id=9_000 + number, value=text)
    builder.row("PROCESSES", globalPid=1, pid=1000, name="/home/alice/bin/python")
    builder.row("ThreadNames", nameId=9_002, priority=0, globalTid=1)
    builder.row("ProcessStreams", globalPid=1, filenameId=9_002, contentId=9_001)
    builder.row(schema.EXPORT_METADATA, name="EXPORT_PARAM_INPUT_FILE", value="/home/alice/run.nsys-rep")
    return builder.row("SOMETHING_NEW", text="hunter2").write(folder, "private.sqlite")


def test_nothing_private_is_left(tmp_path: Path) -> None:
    source, target = export_with_secrets(tmp_path), tmp_path / "copy.sqlite"
    before = source.read_bytes()
    assert all(secret.encode() in before for secret in SECRETS)
    left_out = redact(source, target)
    assert source.read_bytes() == before
    copy = target.read_bytes()
    assert [secret for secret in SECRETS if secret.encode() in copy] == []
    assert left_out.tables == 3
    assert left_out.strings == 3
    assert left_out.rows == 6


def test_the_figures_are_the_same(tmp_path: Path) -> None:
    sources = [export_with_secrets(tmp_path), *FIXTURES.glob("*.sqlite")]
    for number, source in enumerate(sources):
        target = tmp_path / f"copy{number}.sqlite"
        redact(source, target)
        one, other = analyze(Trace(source)), analyze(Trace(target))
        assert one.ranges.equals(other.ranges)
        assert one.activities.equals(other.activities)
        assert one.samples.equals(other.samples)
        assert one.recording.frequency_hz == other.recording.frequency_hz
        assert one.recording.driver_version == other.recording.driver_version


def test_fixtures_hold_nothing_private() -> None:
    fixtures = list(FIXTURES.glob("*.sqlite"))
    assert fixtures
    for fixture in fixtures:
        content = fixture.read_bytes()
        assert len(content) < 3_000_000
        for word in (b"/root", b"/home/", b"/tmp/", b"LD_LIBRARY_PATH", b"PYTHONPATH", b"HOSTNAME", b"nsys-rep"):
            assert word not in content, (fixture.name, word)


def test_what_cannot_be_read_or_written_is_said(tmp_path: Path) -> None:
    text = tmp_path / "text.sqlite"
    text.write_text(
        "no database, but long enough to have a header of a hundred bytes, which is what SQLite looks at " * 9
    )
    with pytest.raises(InputError, match=r"text\.sqlite cannot be read"):
        redact(text, tmp_path / "copy.sqlite")
    with pytest.raises(OutputError, match="cannot be written"):
        redact(export_with_secrets(tmp_path), tmp_path / "absent" / "copy.sqlite")
