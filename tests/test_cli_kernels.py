"""``tcprof kernels`` as a user meets it."""

import csv
import io
import json
import re

import pytest
from builders import AMP, FIXTURES, TraceBuilder
from commands import Outcome

pytestmark = pytest.mark.usefixtures("shared_reads")


def names_only(*names: str) -> TraceBuilder:
    builder = TraceBuilder().gpu()
    for number, name in enumerate(names):
        builder.kernel(name, 100_000 * number, 100_000 * number + 50_000)
    return builder


def csv_rows(done: Outcome) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(done.out)))


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("kernels.txt", []),
        ("kernels-by-path.txt", ["--by", "path", "--filter", "xmma", "--limit", 0]),
        ("kernels-markdown.txt", ["--format", "markdown", "--limit", 5]),
    ],
)
def test_output_is_as_before(name, args, run, golden):
    done = run("kernels", AMP, *args)
    assert done.status == 0
    golden(name, done.out)


def test_kernels_are_selected_by_name_and_distinguished_by_path(run):
    every = csv_rows(run("kernels", AMP, "--format", "csv", "--filter", "^nvjet.*TNT"))
    assert {row["name"][:6] for row in every} == {"nvjet_"}
    split = csv_rows(run("kernels", AMP, "--format", "csv", "--filter", "^nvjet.*TNT", "--by", "path"))
    assert {row["path"] for row in split} >= {"epoch 0 / step / forward", "epoch 1 / step / forward"}
    assert sum(int(row["launch_count"]) for row in split) == sum(int(row["launch_count"]) for row in every)


def test_a_limit_is_said_and_is_for_each_gpu(run, tmp_path):
    builder = names_only("a", "b", "c").gpu(1).kernel("d", 0, 10, device=1).kernel("e", 20, 50, device=1)
    done = run("kernels", builder.write(tmp_path), "--limit", 1)
    shown = [line.split()[0] for line in done.out.splitlines() if line]
    assert [name for name in shown if name in "abcde"] == ["a", "e"]
    text = " ".join(done.out.split())
    assert re.findall(r"(\d) more not .*?tcprof kernels --limit 0", text) == ["2", "1"]
    assert "more not shown" not in run("kernels", tmp_path / "trace.sqlite", "--limit", 0).out


@pytest.mark.parametrize("file_format", ["text", "json"])
def test_a_name_that_no_kernel_has_is_refused_with_those_that_it_has(file_format, run, tmp_path):
    path = names_only("gemm").write(tmp_path)
    done = run("kernels", path, "--filter", "no such kernel", "--format", file_format)
    assert (done.status, done.out) == (3, "")
    assert re.fullmatch(r"tcprof: .*'no such kernel'\.\n  .* gemm\.\n", done.err)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--by", "stream"], "Invalid value for '--by'"),
        (["--filter", "("], "not a regular expression"),
        (["--gpu", 7], "The recording has no GPU 7"),
        (["--limit", -1], "Invalid value for '--limit'"),
        (["--format", "xml"], "Invalid value for '--format'"),
    ],
)
def test_wrong_options_are_explained(args, said, run, tmp_path):
    done = run("kernels", names_only("gemm").write(tmp_path), *args)
    assert done.status == 2
    assert said in " ".join(done.err.split())
    assert "Traceback" not in done.err + done.out


@pytest.mark.parametrize("builder", [TraceBuilder().gpu(), TraceBuilder().gpu().samples([1, 2, 3])])
def test_without_kernels_there_are_no_rows(builder, run, tmp_path):
    path = builder.write(tmp_path)
    assert run("kernels", path).status == 0
    assert csv_rows(run("kernels", path, "--format", "csv")) == []
    assert json.loads(run("kernels", path, "--format", "json").out)["rows"] == []


@pytest.mark.parametrize(("command", "what"), [("kernels", "kernel"), ("ranges", "range"), ("timeline", "range")])
def test_a_filter_that_finds_nothing_says_what_there_is(command, what, run):
    done = run(command, AMP, "--filter", "no such name")
    assert done.status == 3
    assert f" {what} matches 'no such name'.\n" in done.err


def gemms() -> TraceBuilder:
    """Two kernels of one function, of which ``gemm<2>`` takes longest in its second launch, in a range."""
    builder = TraceBuilder().gpu()
    for number, (name, duration) in enumerate([("<1>", 90), ("<2>", 5_000), ("<1>", 80), ("<2>", 400), ("<2>", 6_000)]):
        start = 100_000 * number
        builder.kernel(f"void gemm{name}(int)", start + 50, start + 50 + duration, launched=start + 10)
        builder.range(f"part {number}", start, start + 40)
    return builder.kernel("void other(int)", 600_050, 600_090, launched=600_010)


def test_ncu_looks_into_the_launch_of_median_duration(run, tmp_path):
    path = gemms().write(tmp_path)
    done = run("kernels", path, "--ncu", "gemm")
    assert done.status == 0
    assert done.out.splitlines() == [
        "# launch 2 of that name, of median duration (5.00 µs), in part 1",
        "ncu --set full --kernel-name gemm --launch-skip 1 --launch-count 1 PROGRAM",
    ]
    assert "--kernel-name other --launch-count" in run("kernels", path, "--ncu", "other").out
    assert run("kernels", path, "--ncu", "none such").status == 3
    assert run("kernels", path, "--ncu", "gemm", "--filter", "other").status == 3
    assert run("kernels", path, "--ncu", "gemm", "--format", "json").status == 2
    assert "'(' is not a regular expression" in run("kernels", path, "--ncu", "(").err


def test_ncu_counts_launches_of_a_process(run, tmp_path):
    builder = gemms()
    builder.kernel("void gemm<3>(int)", 700_050, 790_000, launched=700_010, process=7)
    assert "--kernel-name gemm --launch-count" in run("kernels", builder.write(tmp_path), "--ncu", "<3>").out


def test_kernels_without_tensor_cores(run):
    path = FIXTURES / "llama.sqlite"
    listed = json.loads(run("kernels", path, "--without-tensor-cores", "--format", "json").out)["rows"]
    every = json.loads(run("kernels", path, "--format", "json").out)["rows"]
    assert listed == [row for row in every if not row["tensor_kernel"]]
    assert f"{len(listed)} of {len(every)} kernels" in run("kernels", path, "--without-tensor-cores").out
