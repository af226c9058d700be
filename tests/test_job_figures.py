"""What a job achieves as a whole: FLOP/s, MFU and throughput; and its process groups: stages of a pipeline."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from builders import FIXTURES
from jobs import make_job, reduce_once
from slow import first_of

import tcprof
from tcprof.identity import Identity, Rank
from tcprof.ranks.job import join_ranks
from tcprof.ranks.reduce import ReducedRank, reduce_file
from tcprof.ranks.store import read_job, write_job
from tcprof.ranks.verdict import judge_job
from tcprof.record.recording import read_processes

pytestmark = pytest.mark.usefixtures("shared_ranks")
EQUAL = [[1000] * 8] * 4
RESNET = FIXTURES / "resnet.sqlite"  # recorded with the sizes of operands


def reduce_job(folder: Path, **options) -> list[ReducedRank]:
    return [rank for file in make_job(folder, EQUAL, **options) for rank in reduce_once(str(file))]


def with_rates(each: ReducedRank, tflops: float, mfu: float) -> ReducedRank:
    flop = tflops * 1e3 * each.steps["step_time_ns"]
    return replace(each, steps=each.steps.assign(tensor_flop=flop, useful_flop=flop, mfu_pct=mfu))


def test_useful_flop_of_a_rank_are_those_of_its_recording():
    steps = reduce_file(str(RESNET))[0].steps
    row = tcprof.read(RESNET).ranges.set_index("path").loc["step"]
    assert steps["useful_flop"].tolist() == pytest.approx([row["useful_flop"] / row["instance_count"]] * len(steps))
    over_windows = row["mfu_pct"] * row["window_ns"] / row["instance_count"]  # in percent of ns at the peak
    assert (steps["mfu_pct"] * steps["step_time_ns"]).tolist() == pytest.approx([over_windows] * len(steps))


def test_the_mfu_of_a_job_is_of_the_sum_of_the_peaks(tmp_path):
    reduced = reduce_job(tmp_path)
    rates = [(300, 30), (300, 30), (100, 50), (100, 50)]  # peaks of 1000 and of 200 TFLOP/s
    job = join_ranks([with_rates(each, *rate) for each, rate in zip(reduced, rates, strict=True)])
    whole = job.whole.iloc[0]
    assert job.ranks["mfu_pct"].tolist() == pytest.approx([30, 30, 50, 50])
    assert (whole["rank_count"], whole["tensor_tflops"], whole["useful_tflops"]) == pytest.approx((4, 800, 800))
    assert whole["mfu_pct"] == pytest.approx(100 * 800 / 2400)
    assert "Tensor FLOP/s of all ranks 800 TFLOP/s, MFU 33.3 %" in judge_job(job)[0]


def test_what_one_rank_does_not_know_is_unknown_of_the_job(tmp_path):
    reduced = [with_rates(each, 300, 30) for each in reduce_job(tmp_path)]
    reduced[2] = replace(reduced[2], steps=reduced[2].steps.assign(tensor_flop=np.nan, useful_flop=np.nan))
    whole = join_ranks(reduced).whole.iloc[0]
    assert whole[["tensor_tflops", "useful_tflops", "mfu_pct"]].isna().all()


def test_throughput_is_what_a_step_processes_over_its_time(run, tmp_path):
    make_job(tmp_path, EQUAL)
    without, given = (
        run("ranks", tmp_path, "--jobs", "1", "--format", "json", *more)
        for more in ([], ["--per-step", "4,800 tokens"])
    )
    assert json.loads(without.out)["job"][0]["throughput"] is None
    found = json.loads(given.out)
    assert found["job"][0]["throughput"] == pytest.approx(4800 / 1.2e-3)
    assert "throughput 4,000,000 tokens/s" in found["verdict"][0]
    assert found["job"][0]["per_joule"] is None
    assert not {"MFU", "throughput", "–"} & set(json.loads(without.out)["verdict"][0].replace(",", "").split())
    assert "--per-step '4096 tokens'" in " ".join(run("ranks", tmp_path, "--jobs", "1").out.split())


@first_of(2)("text", ["tokens", "0 tokens", "-3 tokens", "4096", "1e3 tokens", "5 <b>"])
def test_an_amount_without_a_number_or_unit_is_refused(text, run, tmp_path):
    make_job(tmp_path, EQUAL)
    done = run("ranks", tmp_path, "--per-step", text)
    assert done.status == 2
    assert "--per-step '4096 tokens'" in done.err


def stage(rank: int, groups: str) -> int | None:
    return Rank(rank, 16, groups=groups).stage


def test_a_stage_is_the_position_in_the_smallest_group_of_a_pipeline():
    assert stage(4, "dp 4-6/2;pp 0-12/4") == 1
    assert stage(5, "PIPELINE_MODEL_PARALLEL_GROUP 1,5;MODEL_PIPELINE_AND_TENSOR 0-7") == 1
    assert stage(5, "pipe 5") == 0
    for without in ("", "dp 0-7;tp 4,5", "cppp 0-7", "pp 0-3"):
        assert stage(5, without) is None


def test_stages_are_not_compared_even_with_equal_collectives(tmp_path):
    files = make_job(tmp_path, [[1000] * 8] * 3 + [[1500] * 8])
    reduced = [rank for file in files for rank in reduce_file(str(file))]
    assert join_ranks(reduced).ranks["straggler"].any()
    staged = [replace(each, stage=float(number // 3)) for number, each in enumerate(reduced)]
    job = join_ranks(staged)
    assert job.ranks["group"].tolist() == [0, 0, 0, 1]
    assert not job.ranks["straggler"].any()
    assert judge_job(job)[1].startswith("Stage 0 (3 ranks): No rank is a straggler")
    write_job(job, tmp_path / "job")
    assert [each.stage for each in read_job(tmp_path / "job")] == [0, 0, 0, 1]


def test_stages_that_only_some_ranks_know_are_not_used(tmp_path):
    first, *others = reduce_job(tmp_path)
    job = join_ranks([replace(first, stage=0.0), *others])
    assert job.ranks["group"].tolist() == [0] * 4


@pytest.mark.parametrize("groups", ["dp 0-3", "dp 0-6/2;tp 0,1", "mesh.pp-0 1,0"])
def test_groups_are_kept(groups):
    identity = Identity(ranks=(Rank(0, 8, groups=groups),))
    assert Identity.from_facts(identity.facts()) == identity


PROGRAM = """
import os, sys, torch, tcprof.annotate
import torch.distributed as dist
import torch.multiprocessing as mp

def work(rank, size):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size))
    tcprof.annotate.start()
    dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=rank, world_size=size)
    {groups}
    {optimizer}
    dist.barrier()
    {destroy}

if __name__ == "__main__":
    mp.spawn(work, args=(4,), nprocs=4)
"""
MESH = 'dist.device_mesh.init_device_mesh("cpu", (2, 2), mesh_dim_names=("pp", "dp"))'
NEW = 'dist.new_group([0, 2], group_desc="PIPELINE_PARALLEL"), dist.new_group([1, 3], group_desc="PIPELINE_PARALLEL")'
OPTIMIZER, DESTROY = "torch.optim.SGD(torch.nn.Linear(2, 2).parameters())", "dist.destroy_process_group()"
IN_MESH = ["dp 0-1;pp 0,2", "dp 0-1;pp 1,3", "dp 2-3;pp 0,2", "dp 2-3;pp 1,3"]
PROGRAMS = {
    "a mesh, destroyed at the end": (MESH, OPTIMIZER, DESTROY, IN_MESH),
    "a mesh, without training": (MESH, "", "", IN_MESH),
    "named groups": (NEW, OPTIMIZER, DESTROY, ["PIPELINE_PARALLEL 0,2", "PIPELINE_PARALLEL 1,3"] * 2),
    "data parallel": ("", OPTIMIZER, DESTROY, [""] * 4),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_groups_of_real_processes(name, tmp_path):
    pytest.importorskip("torch.distributed", reason="needs torch: pip install 'tcprof[workloads]'")
    groups, optimizer, destroy, expected = PROGRAMS[name]
    script, folder = tmp_path / "program.py", tmp_path / "processes"
    script.write_text(PROGRAM.format(groups=groups, optimizer=optimizer, destroy=destroy))
    folder.mkdir()
    environment = {**os.environ, "TCPROF_PROCESSES": str(folder), "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(
        [sys.executable, script, tmp_path / "meeting"], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "tcprof" not in done.stderr
    found = read_processes(folder).ranks
    assert [each.groups for each in found] == expected
    is_pipeline = "p" in "".join(expected).lower()
    assert [each.stage for each in found] == ([0, 0, 1, 1] if is_pipeline else [None] * 4)
