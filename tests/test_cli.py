"""The command line as a user meets it: output, exit status, and what bad input says."""

import csv
import io
import json
import os
import pickle
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from builders import AMP, FP32, TraceBuilder, small_trace

import tcprof
from tcprof.cli import COMMANDS, GROUPS
from tcprof.render.files import FRAMES

pytestmark = pytest.mark.usefixtures("shared_reads")

ABOUT = ("tcprof", "kind", "recording", "first_lines", "step_summary", "verdict")  # of each document in JSON


def test_ranges_as_text_fits_80_columns_and_leaves_notes_to_the_error_stream(run):
    done = run("ranges", AMP, "--notes")
    assert done.status == 0
    assert max(map(len, done.out.splitlines())) <= 80
    names = [
        line.split()[0] for line in done.out.splitlines() if re.match(r" *(step\b|copy|forward|backward|optim)", line)
    ]
    assert names == ["step", "copy", "forward", "backward", "optimizer"] * 2
    done = run("ranges", AMP.with_name("jax_mlp.sqlite"), "--notes")
    assert ("note: " in done.out, "note: " in done.err) == (False, True)


def test_ranges_shows_the_largest_with_what_they_lie_in(run, tmp_path):
    builder = TraceBuilder().gpu().recorded(duration=6_000_000).samples([50] * 600)
    for number in range(50):
        begin = number * 100_000
        builder.range("odd" if number % 2 else "even", begin, begin + 90_000)
        builder.range(f"r{number}", begin, begin + 80_000)
        builder.kernel("k", begin + 10, begin + 10 + 1_000 * (number + 1), launched=begin + 5)
    path = builder.write(tmp_path)
    names = [line.split("  ")[0] for line in _rows_of(run("ranges", path, "--limit", 6).out)]
    assert names == ["(whole capture)", "even", "r48", "odd", "r47", "r49"]
    assert len(_rows_of(run("ranges", path).out)) == 25
    assert "28 more not shown" in " ".join(run("ranges", path).out.split())
    assert len(_rows_of(run("ranges", path, "--limit", 0).out)) == 53
    assert len(json.loads(run("ranges", path, "--format", "json", "--limit", 6).out)["rows"]) == 53


def _rows_of(text: str) -> list[str]:
    table = text.split("──\n")[-1].split("\n")
    return [line.strip() for line in table if re.match(r" *(\(whole|even|odd|r\d)", line)]


def test_rows_are_selected(run):
    done = run("ranges", AMP, "--filter", "forward$", "--gpu", 0, "--format", "csv")
    assert [row["path"] for row in csv.DictReader(io.StringIO(done.out))] == [
        "epoch 0 / step / forward",
        "epoch 1 / step / forward",
    ]
    assert run("ranges", AMP, "--gpu", 7).status == 2
    wrong = run("ranges", AMP, "--filter", "(")
    assert wrong.status == 2
    assert "is not a regular expression" in wrong.err


def damaged(folder: Path, kind: str) -> Path:
    path = folder / f"{kind}.sqlite"
    whole = AMP.read_bytes()
    contents = {
        "text": b"timestamp,value\n1,2\n",
        "empty": b"",
        "zeroed": bytes(100) + whole[100:],
        "truncated": whole[: len(whole) // 2],
    }
    path.write_bytes(contents[kind])
    return path


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("text", "ranges"),
        ("empty", "report"),
        ("zeroed", "export"),
        *(("truncated", name) for name in ("ranges", "redact")),
    ],
)
def test_a_damaged_file_is_explained(kind, command, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = damaged(tmp_path, kind)
    output = ["-o", tmp_path / "out"] if command in ("export", "redact") else []
    done = run(command, path, *output)
    assert done.status == 3
    assert path.name in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / f"{kind}.html").exists()


def test_a_report_without_nsys(run, tmp_path, monkeypatch):
    from tcprof.nsys import locate

    monkeypatch.setattr(locate, "VENDOR_ROOT", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TCPROF_NSYS", raising=False)
    report = tmp_path / "run.nsys-rep"
    report.write_bytes(b"NVIDIA Tegra Profiler Report 2026@1@1@1-1")
    done = run("ranges", report)
    assert done.status == 3
    assert "nsys" in done.err
    export = tmp_path / "run.sqlite"
    export.write_bytes(AMP.read_bytes())
    assert run("ranges", report, "--depth", 0).status == 0  # the export that lies beside it is whole and newer


@pytest.mark.parametrize(
    ("build", "note"),
    [
        (TraceBuilder().gpu().range("step", 0, 20_000).kernel("k", 2_000, 9_000, launched=1_000), "not recorded"),
        (TraceBuilder().gpu().kernel("k", 2_000, 9_000, launched=1_000).samples([5, 5], start=0, period=9), "no NVTX"),
        (TraceBuilder().gpu().range("step", 0, 20_000).samples([5, 5], start=0, period=10_000), "no kernels"),
    ],
    ids=["no metrics", "no NVTX", "no kernels"],
)
def test_what_is_missing_is_said(build, note, run, tmp_path):
    done = run("ranges", build.write(tmp_path))
    assert done.status == 0
    assert note in " ".join(done.err.split())
    assert "whole capture" in done.out


def test_report_writes_a_page_and_prints_its_path_last(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = small_trace(tmp_path)
    done = run("report", path)
    assert (done.status, done.out.splitlines()[-1]) == (0, "small.html")
    assert (tmp_path / "small.html").read_text().startswith("<!doctype html>")
    before = path.read_bytes()
    for target in (path, tmp_path):
        refused = run("report", path, "-o", target)
        assert refused.status == 3
        assert path.read_bytes() == before
    assert run("report", path, "-o", tmp_path / "absent" / "page.html").status == 3


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_export_writes_every_frame(file_format, run, tmp_path):
    done = run("export", small_trace(tmp_path), "-o", tmp_path / "frames", "--format", file_format)
    assert done.status == 0
    read = pd.read_csv if file_format == "csv" else pd.read_parquet
    about = json.loads((tmp_path / "frames" / "recording.json").read_text())
    assert list(about) == [*ABOUT, "checks", "faults", "warnings", "ncu_metrics"]
    assert about["recording"]["file"] == "small.sqlite"
    frames = {path.stem: read(path) for path in (tmp_path / "frames").glob(f"*.{file_format}")}
    assert sorted(frames) == sorted(FRAMES)
    assert frames["activities"]["name"].tolist() == ["gemm"]
    assert sorted(done.out.split()) == sorted(str(path) for path in (tmp_path / "frames").iterdir())


def test_python_gives_what_the_command_line_gives(run):
    document, analysis = json.loads(run("ranges", AMP, "--format", "json").out), tcprof.read(AMP)
    assert document["verdict"] == list(analysis.verdict)
    assert document["checks"] == [vars(check) for check in analysis.checks]
    rows, frame = document["rows"], analysis.ranges
    assert [row["path"] for row in rows] == frame["path"].tolist()
    assert [row["tensor_cycles"] for row in rows] == pytest.approx(frame["tensor_cycles"].tolist())
    first, second = tcprof.compare(FP32, AMP), tcprof.compare(tcprof.read(FP32), tcprof.read(AMP))
    assert first.rows.equals(second.rows)
    with pytest.raises(tcprof.UsageError, match="no window"):
        tcprof.read(AMP, window="wall")


def test_help_is_quick_to_import():
    code = "import sys, tcprof.cli; sys.argv = ['tcprof', '--help']\ntry: tcprof.cli.main()\nexcept SystemExit: pass\n"
    code += "print([name for name in ('pandas', 'plotly', 'scipy', 'torch', 'sqlalchemy') if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.splitlines()[-1] == "[]"


def test_help_lists_the_commands_by_what_they_are_for(run):
    text = run("--help").out
    for group, names in GROUPS.items():
        panel = text.partition(f"─ {group} ─")[2].partition("╰")[0]
        assert {line.split()[1] for line in panel.splitlines()[1:] if line[2:3].strip()} == {*names}
    assert run().out == run("help").out == text


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_all_words_and_examples_of_one_line(command, run):
    text = run("help", command).out
    assert text == run(command, "--help").out
    assert "…" not in text
    assert f"\n tcprof {command}" in text.partition("\n Example")[2]
    if command == "compare":
        assert "tensor_active[step / forward]" in " ".join(text.replace("│", "").split())


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (["ranges", "x", "--limit", "abc"], "'--limit'"),
        (["ranges", "x", "--limit", "-1"], "'--limit'"),
        (["ranges", "x", "--window", "abc"], "'gpu', 'host', 'busy'"),
        (["profile", "--delay", "abc", "x.py"], "'--delay'"),
        (["ranges"], "'RECORDING'"),
        (["ranges", "--limits", "x"], "--limits"),
    ],
)
def test_wrong_arguments_are_explained_in_plain_words(args, word, run):
    done = run(*args)
    assert (done.status, done.out, word in done.err) == (2, "", True)
    assert done.err.startswith("tcprof: ")
    assert done.err.endswith(f"\n  See: tcprof help {args[0]}\n")


def test_an_unknown_command_is_answered_with_one_like_it(run):
    assert "'ranges', 'ranks'" in run("rangs").err
    assert run("help", "rangs").status == 2


def test_help_explains_a_term_of_the_glossary(run):
    assert (
        run("help", "mfu").out
        == "MFU: useful FLOP of the model over the dense peak.\n  XProf: FLOPS utilization (model)\n"
    )
    assert run("help", "range", "instance").out.startswith("range instance: one execution of a range")
    assert run("help", "tensor-active").out == run("help", "tensor", "active").out != ""
    assert "Tensor Active; " in run("help", "no such term").err


def test_the_man_page_is_up_to_date():
    folder = Path(__file__).parents[1] / "docs"
    code = "import runpy; print(runpy.run_path('docs/generate_man.py')['render'](), end='')"
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder.parent)
    assert text.stdout == (folder / "tcprof.1").read_text(encoding="utf-8"), "run: python docs/generate_man.py"


def test_the_cache_says_its_size_and_goes(run, tmp_path, monkeypatch):
    monkeypatch.setenv("TCPROF_CACHE", str(tmp_path / "kept"))
    run("show", AMP)
    assert re.match(r".*kept: 1 analysis, [\d.]+ KiB of at most 2.0 GiB", run("cache").out)
    assert " removed" in run("cache", "--clear").out
    assert ": 0 analyses, 0 B of" in run("cache").out
    monkeypatch.setenv("TCPROF_CACHE", "0")
    assert "is off" in run("cache").out


@pytest.mark.parametrize(("when", "has_colors"), [("auto", False), ("always", True), ("never", False)])
def test_colors_are_as_asked_for(when, has_colors, run):
    assert ("\x1b[" in run("ranges", AMP, "--color", when).out) is has_colors


def test_completion_is_installed_where_it_is_asked_for(tmp_path):
    program = Path(sys.executable).with_name("tcprof")
    done = subprocess.run(
        ["bash", "-c", f"{shlex.quote(str(program))} --install-completion; exit $?"],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "completion installed in" in done.stdout
    assert "tcprof" in (tmp_path / ".bashrc").read_text()


@pytest.mark.parametrize(
    ("args", "named", "written"),
    [
        (["ranges"], "table", "table.txt"),
        (["ranges", "--format", "csv"], "table", "table.csv"),
        (["ranges", "--format", "csv"], "table.v2", "table.v2"),
        (["report"], "page", "page.html"),
        (["save"], "run", "run.tcprof"),
        (["redact"], "copy", "copy.sqlite"),
    ],
)
def test_an_output_without_a_suffix_gets_one(args, named, written, run, tmp_path):
    done = run(args[0], small_trace(tmp_path), *args[1:], "-o", tmp_path / named)
    assert (done.status, done.out.splitlines()[-1]) == (0, str(tmp_path / written))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["small.sqlite", written])
    assert run(args[0], tmp_path / "small.sqlite", *args[1:], "-o", tmp_path).status == 3, "a folder"


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"peak_tflops": -1}, "Give it in TFLOP/s: peak_tflops=989.5."),
        ({"step": "nothing"}, "tcprof.read(...).ranges['path'] lists the ranges."),
        ({"window": "wall"}, "Choose one of: host, gpu, busy."),
    ],
)
def test_an_error_in_python_says_what_to_do_there(options, hint):
    with pytest.raises(tcprof.UsageError) as raised:
        tcprof.read(AMP, **options)
    assert str(raised.value) == f"{raised.value.message}\n{hint}"
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_version(run):
    assert run("--version").out.strip() == f"tcprof {tcprof.__version__}"


@pytest.mark.parametrize(
    ("name", "args"),
    [("ranges.txt", ["ranges", AMP]), ("ranges-host.md", ["ranges", AMP, "--window", "host", "--format", "markdown"])],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_output_is_as_before(name, args, run, golden):
    golden(name, run(*args).out)


@pytest.mark.parametrize("case", ["no metrics", "one kernel", "two gpus", "nothing"])
def test_degenerate_output_is_as_before(case, run, golden, tmp_path):
    builder = TraceBuilder()
    if case != "nothing":
        builder.gpu().range("step", 0, 20_000).kernel("gemm", 2_000, 9_000, launched=1_000)
    if case == "one kernel":
        builder.samples([0, 50, 100], start=0, period=10_000)
    if case == "two gpus":
        builder.gpu(1).kernel("gemm", 3_000, 9_000, launched=1_500, device=1).samples([1, 2, 3], period=10_000, gpu=1)
    done = run("ranges", builder.write(tmp_path))
    golden(f"{case.replace(' ', '-')}.txt", f"{done.out}\n{done.err}")
