"""Many ranks, one job: waiting, own time, which is the straggler and why; and when that cannot be known."""

import gzip
import json
import os
import re
import signal
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from builders import FIXTURES, assert_rows, small_trace
from jobs import NCCL, TRANSFER, US, make_job, noisy, reduce_once
from slow import first, first_of

from tcprof import read, units
from tcprof.errors import InputError
from tcprof.frames import RANK_STEPS
from tcprof.identity import Rank
from tcprof.nsys.report import REPORT_MAGIC
from tcprof.ranks.compare import compare_jobs
from tcprof.ranks.gather import check_ranks, connect_dask, find_files, gather, start_processes
from tcprof.ranks.job import Job, join_ranks
from tcprof.ranks.reduce import reduce_file
from tcprof.ranks.store import read_job, write_job
from tcprof.ranks.stragglers import Profiling, Times, find_pace, find_stragglers, price_ranks
from tcprof.ranks.verdict import judge_job
from tcprof.sources.registry import JOB_FILE
from tcprof.units import format_ns

pytestmark = pytest.mark.usefixtures("shared_ranks")
EQUAL = [[1000] * 8] * 4
UNRESOLVED = float("nan")


def join(files: list[Path]) -> Job:
    return join_ranks([rank for file in files for rank in reduce_once(str(file))])


def test_ranks_wait_for_the_slowest(tmp_path):
    job = join(make_job(tmp_path, [[1000] * 7, [1300] * 7, [1000] * 7]))
    assert_rows(
        job.ranks[["rank", "step_count", "step_time_ns", "wait_ns", "own_ns", "last_pct", "excess_ns", "saves_ns"]],
        """
        rank  step_count  step_time_ns  wait_ns  own_ns   last_pct  excess_ns  saves_ns
        0     6           1500000       300000   1200000  0         -150000    0
        1     6           1500000       0        1500000  100       300000     300000
        2     6           1500000       300000   1200000  0         -150000    0
        """,
    )
    assert job.ranks["straggler"].tolist() == [False, True, False]


def test_the_parts_of_a_step_add_up_to_its_time(tmp_path):
    rng = np.random.default_rng(3)
    job = join(make_job(tmp_path, rng.integers(800, 1200, (4, 9)).tolist(), input_us=[0, 50, 0, 200]))
    parts = job.rank_steps[["compute_ns", "communication_ns", "copy_ns", "idle_ns", "between_ns"]].sum(axis=1)
    pd.testing.assert_series_equal(parts, job.rank_steps["step_time_ns"], check_names=False)
    assert job.rank_steps.columns.tolist() == RANK_STEPS.names


def test_what_is_in_no_module_is_called_by_its_phase_once():
    (rank,) = reduce_file(str(FIXTURES / "llama.sqlite"))
    modules = set(rank.parts["module"])
    assert {"(optimizer).AdamW.step", "Llama.norm forward"} <= modules
    assert not [name for name in modules if name.startswith("(") and " " in name]


CAUSES = {
    "it has more work: 33.3 % more kernel launches": {"launches": [4, 4, 6, 4]},
    "the same kernels take 30.0 % longer, matrix kernels most": {},
}


@pytest.mark.parametrize("cause", CAUSES)
def test_why_a_rank_computes_longer(cause, tmp_path):
    job = join(make_job(tmp_path, [[1000] * 7, [1000] * 7, [1300] * 7, [1000] * 7], **CAUSES[cause]))
    assert job.ranks.loc[2, "cause"].startswith(cause)
    assert re.match(r"Rank 2 .* 300 µs \(20\.0 %\) ", judge_job(job)[1])


@pytest.mark.parametrize(("names_input", "cause"), [(True, "input"), (False, "CPU, mostly in step .*input")])
def test_a_rank_that_waits_for_its_input(names_input, cause, tmp_path):
    job = join(make_job(tmp_path, EQUAL, input_us=[0, 400, 0, 0], names_input=names_input))
    assert job.ranks["straggler"].tolist() == [False, True, False, False]
    assert re.fullmatch(rf".*{cause}.* \(\+400 µs .*\)", job.ranks.loc[1, "cause"])


@pytest.mark.parametrize(
    ("unprofiled_us", "said", "is_accused"),
    [(2500, "", True), (1300, "profiling may account for up to ", True), (900, "but profiling may account", False)],
)
def test_what_profiling_adds_to_a_straggler_is_said(unprofiled_us, said, is_accused, tmp_path):
    ranks = [rank for path in make_job(tmp_path, EQUAL, input_us=[0, 400, 0, 0]) for rank in reduce_once(str(path))]
    job = join_ranks([replace(rank, unprofiled_ns=1e3 * unprofiled_us) for rank in ranks])
    assert f"{format_ns(1e3 * unprofiled_us)} unprofiled (" in judge_job(job)[0]
    assert np.isnan(join_ranks([replace(ranks[0], unprofiled_ns=np.nan), *ranks[1:]]).whole.loc[0, "unprofiled_ns"])
    assert said in judge_job(job)[1]
    assert ("profiling" in judge_job(job)[1]) == bool(said)
    assert job.ranks["straggler"].any() == is_accused
    write_job(job, tmp_path / "job")
    assert judge_job(join_ranks(read_job(tmp_path / "job"))) == judge_job(job)


def test_a_price_is_of_the_unprofiled_step() -> None:
    """What recording adds is no GPU work, so it cannot be saved; a job compared with itself is judged by that step."""
    ranks = read_job(FIXTURES / "jobs" / "h200x4-llama-more-work")
    job, recorded = join_ranks(ranks), join_ranks([replace(rank, unprofiled_ns=np.nan) for rank in ranks])
    assert recorded.whole.loc[0, "step_time_ns"] - job.whole.loc[0, "unprofiled_ns"] > 2e6
    slow, before = (each.ranks.loc[1] for each in (job, recorded))
    added_ns = (job.ranks["step_time_ns"] - job.ranks["unprofiled_ns"]).median()
    assert before["saves_high_ns"] - slow["saves_high_ns"] == pytest.approx(added_ns)
    share = units.format_pct(100 * slow["saves_ns"] / slow["unprofiled_ns"])
    assert f"the unprofiled step would take {format_ns(slow['saves_ns'])} ({share}) less" in judge_job(job)[1]
    assert "the step would take" in judge_job(recorded)[1]
    rows = compare_jobs(job, job).set_index("quantity")
    assert rows.index[0] == "unprofiled_ns"
    assert rows.loc["unprofiled_ns", "base"] == job.ranks["unprofiled_ns"].mean()
    assert "unprofiled_ns" not in set(compare_jobs(job, recorded)["quantity"])


@pytest.mark.parametrize("job", ["h200x4-more-work", "h200-neighbour"])
def test_profiling_makes_no_kernel_longer(job):
    ranks = read_job(FIXTURES / "jobs" / job)
    slowed = join_ranks([replace(rank, unprofiled_ns=0.5 * rank.steps["step_time_ns"].mean()) for rank in ranks]).ranks
    assert slowed["cause"].tolist() == join_ranks(ranks).ranks["cause"].tolist() != [""] * len(ranks)
    assert slowed.loc[1, "profiling_ns"] < 0.2 * slowed.loc[1, "excess_ns"]


def test_a_wait_hides_no_cpu_time():
    """Two equal ranks whose CPU sets the pace: the one that waits for the other in collectives works as long."""
    own, cpu, step = (np.full((2, 8), value) for value in (1000.0, 980.0, 1000.0))
    own[1] = 400.0
    assert find_stragglers(own).stands_out.tolist() == [True, False]
    assert find_stragglers(find_pace(own, np.array([[980.0], [1200.0]]) + 0 * cpu, step)).value.tolist() == [0.0, 0.0]


def test_ranks_of_other_collectives_are_groups_of_their_own(tmp_path):
    other = NCCL.replace("AllReduce", "AllGather")
    job = join(make_job(tmp_path, [[1000] * 7] * 2 + [[1500] * 7] * 2, names=[NCCL, NCCL, other, other]))
    assert job.ranks["group"].tolist() == [0, 0, 1, 1]
    assert not job.ranks["straggler"].any(), "stages of a pipeline have other work"


def test_without_matching_collectives_nobody_is_accused(tmp_path):
    sent = NCCL.replace("AllReduce_Sum_f32_RING_LL", "SendRecv")
    job = join(make_job(tmp_path, [[1000] * 7, [1500] * 7], names=[sent, sent]))
    assert not job.ranks["straggler"].any()
    assert re.match("Cannot .*collectives", judge_job(job)[1])


def test_few_steps_decide_nothing(tmp_path):
    reduced = [rank for file in make_job(tmp_path, [[1000] * 7, [1500] * 7]) for rank in reduce_once(str(file))]
    job = join_ranks([replace(rank, steps=rank.steps.head(4)) for rank in reduced])
    assert not job.ranks["straggler"].any()
    assert re.match(r"Cannot .* 4 steps", judge_job(job)[1])


def test_clocks_agree_by_the_ends_of_collectives(tmp_path):
    clocks = join(make_job(tmp_path, EQUAL, skew_us=70)).clocks
    assert clocks["offset_ns"].tolist() == [0, 70 * US, 140 * US, 210 * US]
    assert clocks["error_ns"].tolist() == [0] * 4


def test_what_is_left_out_of_a_job_is_said(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    files = make_job(tmp_path / "a", EQUAL)
    copy = tmp_path / "b" / "copy.sqlite"
    copy.write_bytes(files[1].read_bytes())
    foreign = make_job(tmp_path / "c", [[900] * 8], job="another")
    job = join([*files[:3], copy, *foreign])
    assert job.ranks["rank"].tolist() == [0, 1, 2]
    parts = (("another job", "r0.sqlite"), ("r1.sqlite", "same recording", "copy.sqlite"), ("1 of 4 ranks", "3"))
    for warning, words in zip(job.warnings, parts, strict=True):
        assert all(word in warning for word in words)


@pytest.mark.slow
def test_another_recording_of_a_rank_is_no_copy(tmp_path):
    files = make_job(tmp_path / "a", EQUAL)
    again = make_job(tmp_path / "b", [[1001] * 8] * 4)[1].rename(tmp_path / "again.sqlite")
    (warning,) = join([*files, again]).warnings
    assert re.search(r"r1\.sqlite .*same rank.* again\.sqlite", warning)


def test_other_numbers_of_steps_are_told(tmp_path):
    files = make_job(tmp_path / "a", EQUAL)
    longer = make_job(tmp_path / "b", [[1000] * 14] * 4)[3]
    job = join([*files[:3], longer])
    assert job.ranks["step_count"].tolist() == [7] * 4
    (warning,) = job.warnings
    assert re.findall(r"\d+", warning) == ["7", "13", "7"]


def test_the_order_of_names_is_never_taken_for_the_rank(tmp_path):
    file = make_job(tmp_path, EQUAL)[0]
    reduced = reduce_file(str(file))
    unknown = [replace(each, rank=None) for each in reduced]
    with pytest.raises(InputError, match=r"r0.sqlite does not say which rank it belongs to") as error:
        join_ranks(unknown)
    assert "--rank-from" in error.value.hint


def write_traces(folder: Path, *ranks: list[dict[str, Any]], name: str = "merged.json", **about: Any) -> Path:
    path = folder / name
    path.write_text(
        json.dumps({"schemaVersion": 1, **about, "traceEvents": [event for each in ranks for event in each]})
    )
    return path


def rank_events(process: int | str, gpu: int | str, kernel_us: int) -> list[dict[str, Any]]:
    """Eight steps of a rank that launch a kernel and a collective."""
    events: list[dict[str, Any]] = []
    for step in range(8):
        at, host = 1000 + 1000 * step, {"ph": "X", "pid": process, "tid": process}
        events.append({**host, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": at, "dur": 990})
        for number, (name, dur) in enumerate((("gemm", kernel_us), (NCCL, 400 - kernel_us))):
            number += 2 * step + 1
            call = {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 10 * number % 20, "dur": 5}
            args = {"correlation": number, "stream": 7} | ({"device": gpu} if isinstance(gpu, int) else {})
            start = at + 50 + (number % 2 == 0) * (kernel_us + 10)
            work = {
                "ph": "X",
                "cat": "kernel",
                "name": name,
                "pid": gpu,
                "tid": 7,
                "ts": start,
                "dur": dur,
                "args": args,
            }
            events += [{**call, "args": {"correlation": number}}, work]
    return events


@pytest.mark.parametrize(
    ("places", "numbers"),
    [
        ([(100, 0), (101, 1)], [0, 1]),
        ([(100, 0), (101, 0)], [0, 1]),
        ([("[TP03] 100", "[TP03] 0"), ("[TP02] 99", "[TP02] 1")], [2, 3]),
        ([("[TP00-PP01] 99", "[TP00-PP01] 0"), ("[TP00-PP00] 100", "[TP00-PP00] 1")], [0, 1]),
    ],
)
@first_of(1)("about", [{}, {"distributedInfo": {"rank": 0, "world_size": 2}}])
def test_each_process_of_merged_traces_is_a_rank(places, numbers, about, tmp_path, run):
    ranks = [rank_events(*place, kernel_us=200 + 60 * number) for number, place in enumerate(places)]
    done = run("ranks", write_traces(tmp_path, *ranks, **about), "--format", "json")
    data = json.loads(done.out)
    assert sorted(row["rank"] for row in data["ranks"]) == numbers
    assert any("merged.json" in warning and "process" in warning for warning in data["warnings"])
    assert not [warning for warning in data["warnings"] if "same recording" in warning]


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (["trace_rank0.json", "trace_rank1.json"], [0, 1]),
        (["run-Rank_3.json", "run-Rank_2.json"], [2, 3]),
        (["a.json", "b.json"], None),
        (["trace_rank0.json", "b.json"], None),
    ],
)
def test_names_give_the_rank_where_nothing_else_does(names, numbers, tmp_path, run):
    for number, name in enumerate(names):
        write_traces(tmp_path, rank_events(100, 0, 200 + 60 * number), name=name)
    done = run("ranks", tmp_path, "--format", "json", "--save", tmp_path / "job")
    assert done.status == (3 if numbers is None else 0)
    for shown in (done, run("ranks", tmp_path / "job", "--format", "json")) if numbers else ():
        data = json.loads(shown.out)
        assert sorted(row["rank"] for row in data["ranks"]) == numbers
        assert any("name" in warning for warning in data["warnings"])


class Dying(Executor):
    def __init__(self, deadly: set[str]) -> None:
        self.deadly = deadly
        self.is_broken = False

    def submit(self, fn, /, *args, **kwargs):
        if self.is_broken:
            raise BrokenExecutor("dead")
        future: Future = Future()
        if Path(args[0]).name in self.deadly:
            self.is_broken = True
            future.set_exception(BrokenExecutor("dead"))
        else:
            future.set_result(fn(*args))
        return future


def test_a_worker_that_dies_takes_only_its_own_recording_with_it(tmp_path):
    files = make_job(tmp_path, EQUAL)
    reduced, failures = gather(files, lambda: Dying({"r2.sqlite"}), at_once=2)
    assert [each.file for each in reduced] == ["r0.sqlite", "r1.sqlite", "r3.sqlite"]
    assert [each.file for each in failures] == ["r2.sqlite"]
    assert "worker" in failures[0].reason


def test_processes_give_what_one_process_gives(tmp_path, monkeypatch):
    monkeypatch.setattr("tcprof.ranks.gather.reduce_file", reduce_file)
    files = make_job(tmp_path, EQUAL[:2])
    jobs = [join_ranks(gather(files, start_processes(count), count)[0]) for count in (1, 2)]
    pd.testing.assert_frame_equal(jobs[0].ranks, jobs[1].ranks)
    pd.testing.assert_frame_equal(jobs[0].rank_steps, jobs[1].rank_steps)


def test_a_damaged_recording_is_a_row_with_its_reason(run, tmp_path):
    make_job(tmp_path, EQUAL)[2].write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    result = run("ranks", tmp_path, "--format", "json", "--jobs", 1)
    data = json.loads(result.out)
    assert [row["rank"] for row in data["ranks"]] == [0, 1, 3]
    assert [failure["file"] for failure in data["failures"]] == ["r2.sqlite"]
    assert [re.findall(r"\d", warning) for warning in data["warnings"]] == [["1", "4", "2"]]


def test_ranks_may_lie_in_folders_of_their_own(tmp_path):
    for name in ("node0", "node1", "empty"):
        (tmp_path / name).mkdir()
    files = make_job(tmp_path / "node0", EQUAL)
    files[3].rename(moved := tmp_path / "node1" / "r3.sqlite")
    assert find_files([tmp_path]) == [*files[:3], moved]


def test_a_job_in_a_folder_is_the_same_job(run, tmp_path):
    (tmp_path / "recordings").mkdir()
    make_job(tmp_path / "recordings", [[1000] * 8, [1400] * 8], input_us=[0, 30])
    first = run("ranks", tmp_path / "recordings", "--jobs", 1, "--save", tmp_path / "job", "--format", "json")
    again = run("ranks", tmp_path / "job", "--format", "json")
    assert json.loads(first.out) == json.loads(again.out)
    assert pd.read_parquet(tmp_path / "job" / "ranks.parquet")["straggler"].tolist() == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize("part", ["rank_steps", "collectives", "rank_recordings"])
def test_a_damaged_job_is_refused(part, run, tmp_path):
    write_job(join(make_job(tmp_path, EQUAL)), tmp_path / "job")
    path = tmp_path / "job" / f"{part}.parquet"
    frame = pd.read_parquet(path)
    for content in (frame.assign(rank=-7), frame.assign(rank="x"), pd.concat([frame, frame])):
        content.to_parquet(path)
        result = run("ranks", tmp_path / "job")
        assert (result.status, result.out) == (3, "")
        assert f"{part}.parquet" in result.err


def test_two_jobs_are_compared_by_the_steps_of_all_ranks(run, tmp_path):
    make_job(tmp_path / "a", [[1000] * 12, [1000] * 12, [1000] * 12])
    make_job(tmp_path / "b", [[1000] * 12, [2000] * 12, [1000] * 12])
    done = run("compare", tmp_path / "a", tmp_path / "b", "--format", "json")
    assert done.status == 0
    found = json.loads(done.out)
    rows = {row["quantity"]: row for row in found["job_comparison"]}
    assert rows["step_time_ns"]["verdict"] == "higher"
    assert rows["step_time_ns"]["ratio"] == pytest.approx(2200 / 1200, rel=0.001)
    assert rows["wait_ns"]["base"] == 0
    assert rows["wait_ns"]["new"] == pytest.approx(1000e3 * 2 / 3, rel=0.001)
    assert re.match(r"b .*1\.83x .*1\.20 ms → 2\.20 ms", found["verdict"][0])
    assert any(line.startswith("b: Rank 1 ") for line in found["verdict"])


def test_a_job_is_never_compared_as_repeats_of_one_run(run, tmp_path):
    make_job(tmp_path / "a", [[1000] * 12] * 2)
    done = run("compare", tmp_path / "a", FIXTURES / "mlp_fp16.sqlite")
    assert done.status == 3
    assert "mlp_fp16.sqlite" in done.err


def test_two_jobs_have_a_page_with_each_rank_and_what_holds_them_up(run, tmp_path):
    make_job(tmp_path / "a", [[1000] * 12] * 2)
    make_job(tmp_path / "b<i>", [[1000] * 12, [2000] * 12, [1000] * 12])
    page = tmp_path / "jobs.html"
    done = run("compare", tmp_path / "a", tmp_path / "b<i>", "-o", page, "--format", "json")
    assert done.status == 0
    text = page.read_text(encoding="utf-8")
    for said in json.loads(done.out)["verdict"]:
        assert said.partition(": ")[2].replace("'", "&#39;") in re.sub(r"\N{NO-BREAK SPACE}", " ", text)
    assert "<i>" not in text.replace('<i class="', "").replace("<i style", "").split("<main>")[1].split("<script")[0]
    rows = re.findall(r'<bdi class="name">rank (\d)</bdi>.*?</tr>', text, re.DOTALL)
    assert sorted(rows) == ["0", "1", "2"]
    assert "slow in b&lt;i&gt;" in text
    assert done.err.strip().endswith(str(page)) or str(page) in done.err


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.003, 0.006])
@pytest.mark.parametrize("ranks", [2, 3, 8, 64])
def test_few_jobs_without_a_straggler_have_one(ranks, spread):
    rng = np.random.default_rng(ranks)
    accused = sum(find_stragglers(noisy(rng, ranks, spread=spread)).stands_out.any() for _ in range(400))
    assert accused <= 14


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 8, 64])
def test_a_rank_that_is_3_percent_slower_is_found_alone(ranks):
    rng = np.random.default_rng(100 + ranks)
    for _ in range(10):
        found = find_stragglers(noisy(rng, ranks, slower=0.03))
        assert np.flatnonzero(found.stands_out).tolist() == [ranks // 2]


def test_a_rank_that_is_slower_in_every_step_is_found_though_some_are_slower_still():
    """As on two H200s: 3 to 4 ms of 63 more work in each step, and 5 to 10 in two stretches of some steps."""
    more = np.array([3.4, 3.2, 3.9, 3.0, 3.5, 3.9, 3.7, 4.2, 3.7, 3.4, 3.0, 3.5, 8.1, 10.5, 7.5, 5.8, 3.8, 4.4, 3.7])
    own = np.full((2, 38), 59e6)
    own[1] += 1e6 * np.concatenate([more, 3.2 + 0 * more + (more > 5) * 2.5])
    assert find_stragglers(own).stands_out.tolist() == [False, True]


def test_slow_ranks_do_not_hide_each_other(tmp_path):
    kinds = [rank for file in make_job(tmp_path, [[1000] * 7, [1300] * 7]) for rank in reduce_once(str(file))]
    chosen = [kinds[number >= 20] for number in range(32)]
    job = join_ranks([replace(rank, rank=Rank(number, 32), content="") for number, rank in enumerate(chosen)])
    assert job.ranks["straggler"].tolist() == [False] * 20 + [True] * 12
    assert set(job.ranks["cause"][20:]) == {job.ranks["cause"][20]}
    assert "30.0 % longer" in job.ranks["cause"][20]
    verdict = judge_job(job)
    assert len(verdict) == 1 + 8 + 2
    numbers = [re.findall(r"\d+(?:\.\d)? [nµ]s", line) for line in verdict[-3:]]
    assert (numbers[0][-3:], numbers[1:]) == (["0 ns", "0 ns", "30.0 ns"], [[], ["300 µs"] * 3])
    assert verdict[-2].startswith("4 ")
    assert verdict[-2].endswith("28, 29, 30, 31.")


def price(
    own: np.ndarray, cpu: np.ndarray, busy: np.ndarray, held: np.ndarray | None = None
) -> tuple[float, float, float]:
    """Of the last rank."""
    times = Times(own, cpu, busy, np.zeros_like(own) if held is None else held)
    prices = price_ranks(times, find_stragglers(own), Profiling(0.0, np.zeros(len(own))))
    return prices.value[-1], prices.low[-1], prices.high[-1]


@pytest.mark.parametrize("ranks", [2, 8, 64])
def test_a_price_holds_what_steps_save_where_the_gpu_sets_the_pace(ranks):
    held = []
    for seed in range(20):
        own = noisy(np.random.default_rng(seed), ranks, slower=0.1)[
            np.r_[: ranks // 2, ranks // 2 + 1 : ranks, ranks // 2]
        ]
        alone = own.max(axis=0).mean() - np.vstack([own[:-1], own[-1:] / 1.1]).max(axis=0).mean()
        value, low, high = price(own, 0.3 * own, 0.99 * own)
        assert low <= value <= high <= 2 * value
        held.append(low <= alone <= high)
    assert sum(held) >= 18


def test_a_rank_whose_cpu_sets_the_pace_would_not_be_faster_without_waiting():
    own = np.array([[30.0, 31.0] * 10, [50.0, 51.0] * 10]) * 1e6
    busy = np.full_like(own, 25e6)
    assert price(own, np.full_like(own, 20e6), own) == pytest.approx((20e6, 20e6, 20e6), rel=0.06)
    value, low, high = price(own, np.array([[40e6] * 20, [20e6] * 20]), busy)
    assert (value, low) == pytest.approx((10.5e6, 10.2e6), rel=0.05)
    assert high == pytest.approx(25.5e6, rel=0.02)
    assert np.isnan(price(own, np.array([[46e6] * 20, [20e6] * 20]), busy)[0])


def test_a_price_is_unresolved_where_the_pace_of_the_cpu_is_unknown():
    own = np.array([[30.0, 31.0] * 10, [50.0, 51.0] * 10]) * 1e6
    value, low, high = price(own, np.full_like(own, np.nan), 0.5 * own)
    assert np.isnan(value)
    assert (low, high) == (0, pytest.approx(35.25e6, rel=0.02))


def test_the_cpu_works_where_it_does_not_wait(tmp_path):
    job = join(make_job(tmp_path, [[1000] * 7, [1300] * 7]))
    assert job.ranks["cpu_ns"].tolist() == pytest.approx([62] * 2, abs=5)


def test_another_program_on_the_gpu_is_named(tmp_path):
    """Its own kernels wait for their turn: samples show the GPU busy although nothing of the program runs."""
    files = make_job(tmp_path, EQUAL, input_us=[0, 400, 0, 0], names_input=False, other_work=1)
    job = join(files)
    assert job.ranks["untraced_ns"].tolist() == pytest.approx([0, 390 * US, 0, 0], abs=30 * US)
    assert re.fullmatch(r"another program .* \(\+400 µs .*\)", job.ranks.loc[1, "cause"])


@pytest.fixture(scope="module")
def cluster():
    """A scheduler with two worker processes, as one machine may have."""
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as started:
        yield started
        for client in list(distributed.Client._instances):
            client.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_dask_gives_what_one_process_gives(cluster, tmp_path):
    files = make_job(tmp_path, EQUAL)
    start, workers = connect_dask(cluster.scheduler_address)
    assert workers == 2
    reduced, failures = gather(files, start, workers)
    assert failures == []
    pd.testing.assert_frame_equal(join_ranks(reduced).ranks, join(files).ranks)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_worker_is_killed_in_the_middle(cluster, tmp_path):
    files = make_job(tmp_path, [[1000] * 8] * 6)
    start, workers = connect_dask(cluster.scheduler_address)
    victims = [nanny.pid for nanny in cluster.workers.values()]

    def kill_one(done: int) -> None:
        if done == 2:
            os.kill(victims[0], signal.SIGKILL)

    reduced, failures = gather(files, start, workers, on_done=kill_one)
    assert failures == []
    assert [each.file for each in reduced] == [file.name for file in files]


QUIET = (
    "base fsdp h200-base h200-equal h200-fsdp h200-llama-fsdp h200-llama-tensor-parallel h200x4-base h200x4-llama "
    "h200x4-llama-fsdp h200x4-shared"
)


@pytest.mark.parametrize("job", first(3, QUIET.split()))
def test_recorded_jobs_without_a_straggler(job):
    assert not join_ranks(read_job(FIXTURES / "jobs" / job)).ranks["straggler"].any()


@first_of(4)(
    ("job", "cause", "saves_ms", "gained_ms"),
    [
        ("h200x4-more-work", r"more work: 17\.3 % more FLOP", 6.15, 7.5),
        ("h200x4-fsdp-more-work", r"more work: 17\.4 % more FLOP", UNRESOLVED, 6.6),
        ("h200x4-llama-more-work", r"more work: 5\.6 % more FLOP", 4.48, 3.6),
        ("h200x4-llama-input", r"waits for input \(\+13\.0 ms", 12.9, 10.7),
        ("h200x4-shared-more-work", r"more work: 5\.6 % more FLOP", UNRESOLVED, None),
        ("h200-neighbour", r"28\.5 % longer .*another program", 21.85, 23.4),
        ("h200-llama-neighbour", r"97\.4 % longer at 1\.52 GHz .*another program", 90.2, 90.2),
        ("h200-more-work", r"more work: 17\.3 % more FLOP", 6.80, 8.2),
        ("h200-input", "waits for the CPU", 8.10, 9.5),
        ("more-work", r"more work: 19\.7 % more FLOP, .* GPT", UNRESOLVED, 3.9),
        ("input", "waits for the CPU, mostly in step ", 14.22, 12.0),
        ("neighbour", "waits for the CPU", UNRESOLVED, 13.5),
    ],
)
def test_recorded_jobs(job, cause, saves_ms, gained_ms):
    recorded = join_ranks(read_job(FIXTURES / "jobs" / job))
    (slow,) = recorded.ranks[recorded.ranks["straggler"]].to_dict("records")
    number = 2 if job == "h200x4-llama-input" else 1
    assert (slow["rank"], judge_job(recorded)[1][:7]) == (number, f"Rank {number} ")
    assert re.search(cause, slow["cause"])
    assert slow["saves_ns"] == pytest.approx(saves_ms * 1e6, rel=0.001, nan_ok=True)
    assert gained_ms is None or slow["saves_low_ns"] < gained_ms * 1e6 < slow["saves_high_ns"], "of an unprofiled step"


def test_collectives_are_summed_by_kernel(tmp_path):
    (row,) = join(make_job(tmp_path, EQUAL, input_us=[0, 400, 0, 0])).kinds.to_dict("records")
    assert np.isnan([row["data_bytes"], row["bus_bandwidth"], row["link_pct"]]).all()
    assert (row["name"], row["launch_count"]) == (NCCL, 1)
    assert row["transfer_ns"] == pytest.approx(TRANSFER, abs=US)
    assert row["wait_ns"] == pytest.approx(300 * US, rel=0.1), "three of four ranks wait for the input of one"
    assert row["duration_ns"] == row["wait_ns"] + row["transfer_ns"]


@pytest.mark.parametrize(
    ("kind", "counted", "crossing"), [("AllReduce", 1, 1.5), ("AllGather", 4, 0.75), ("ReduceScatter", 4, 0.75)]
)
def test_bandwidths_are_those_of_nccl_tests(kind, counted, crossing, tmp_path):
    names = [f"ncclDevKernel_{kind}_RING_LL(ncclDevKernelArgsStorage<4096ul>)"] * 4
    files = make_job(tmp_path, EQUAL, names=names, message=3_000_000)
    (row,) = join(files).kinds.to_dict("records")
    assert row["data_bytes"] == counted * 3_000_000
    assert row["algorithm_bandwidth"] == pytest.approx(row["data_bytes"] / row["transfer_ns"] * 1e9)
    assert row["bus_bandwidth"] == pytest.approx(crossing * row["algorithm_bandwidth"])
    assert np.isnan(join(files[:3]).kinds["bus_bandwidth"]).all(), "how many ranks take part is not known"
    recorded = join_ranks(read_job(FIXTURES / "jobs" / "h200-llama-fsdp")).kinds
    assert (recorded["bus_bandwidth"] / 1e9).tolist() == pytest.approx([228, 216], abs=0.5)
    assert recorded["link_pct"].tolist() == pytest.approx([50.6, 47.9], abs=0.1)


@pytest.mark.parametrize(
    ("job", "ranks"),
    [("base", ""), ("h200-neighbour", ""), ("h200x4-shared", "0, 1, 2, 3"), ("h200x4-shared-more-work", "0, 1, 2, 3")],
)
def test_a_program_on_the_gpus_of_several_ranks_is_warned_of(job, ranks):
    warnings = [line for line in join_ranks(read_job(FIXTURES / "jobs" / job)).warnings if "Another program" in line]
    assert bool(warnings) == bool(ranks)
    assert all(f"ranks {ranks}, which" in line for line in warnings)


def save_small(folder: Path, name: str) -> Path:
    """A saved analysis, as 'tcprof save' makes it of a recording that does not know its rank."""
    read(small_trace(folder)).save(folder / name)
    (folder / "small.sqlite").unlink()
    return folder / name


def write_report(folder: Path, name: str) -> Path:
    small_trace(folder, f"{name}.sqlite")
    (folder / name).write_bytes(REPORT_MAGIC)
    (folder / name).rename(report := folder / f"{name}.nsys-rep")
    os.utime(report, (0, 0))
    return report


def write_kineto(folder: Path, name: str, **about: Any) -> Path:
    """A trace of torch.profiler; ``about`` follows its events, as programs write what they add."""
    text = json.dumps({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "cpu_op"}], **about}).encode()
    (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return folder / name


KINDS: dict[str, Callable[[Path, str], Path]] = {
    ".sqlite": small_trace,
    ".tcprof": save_small,
    ".json": write_kineto,
    ".json.gz": write_kineto,
    "": write_report,
}


@pytest.mark.parametrize("suffix", KINDS)
@pytest.mark.parametrize("command", ["show", "ranks"])
def test_recordings_of_no_rank_are_refused_before_any_is_analyzed(suffix, command, run, tmp_path, monkeypatch):
    for name in ("a", "b"):
        KINDS[suffix](tmp_path, name + suffix)
    monkeypatch.setattr("tcprof.ranks.gather.gather", lambda *_: pytest.fail("nothing is to be analyzed"))
    done = run(command, tmp_path)
    assert done.status == 3
    assert "tcprof show" in done.err


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_trace_may_say_its_rank_after_its_events(name, tmp_path):
    check_ranks([write_kineto(tmp_path, name, distributedInfo={"rank": 1, "world_size": 2})])
    check_ranks([*make_job(tmp_path, [[1000] * 8] * 2)])


def empty(folder: Path) -> str:
    return "it has nothing"


def recordings(folder: Path) -> str:
    for name in ("b.sqlite", "a.sqlite"):
        small_trace(folder, name)
    return f"2 recordings (a.sqlite, b.sqlite) 'tcprof ranks {folder}' {folder / 'a.sqlite'}"


def traces(folder: Path) -> str:
    return f"1 recording (a.json) {write_kineto(folder, 'a.json')}"


def job(folder: Path) -> str:
    (folder / JOB_FILE).touch()
    return f"saved job tcprof ranks {folder}"


def jobs(folder: Path) -> str:
    (folder / "x").mkdir()
    job(folder / "x")
    return f"1 saved job (x) tcprof ranks {folder / 'x'}"


def node(folder: Path) -> str:
    (folder / "x").mkdir()
    return f"1 folder (x) {small_trace(folder / 'x')}"


def others(folder: Path) -> str:
    for name in ("a.log", "b.log", "c"):
        (folder / name).touch()
    return "2 .log, 1 plain file"


@pytest.mark.parametrize("fill", [empty, recordings, traces, job, jobs, node, others])
@pytest.mark.parametrize("command", ["modules", "advise", "save", "redact", "export -o frames"])
def test_a_folder_in_place_of_a_recording_is_described(fill, command, run, tmp_path):
    expected = fill(tmp_path)
    done = run(*command.split(), tmp_path)
    assert done.status == 3
    for word in expected.split():
        assert word in done.err


def test_other_folders_beside_those_of_a_job_are_passed_over(run, tmp_path):
    make_job(tmp_path / "node0", EQUAL)
    others(tmp_path / "node0")
    (tmp_path / "logs").mkdir()
    others(tmp_path / "logs")
    assert len(find_files([tmp_path])) == len(EQUAL)
