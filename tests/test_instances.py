"""Instances of ranges: what is launched in them, and in the ranges in them."""

import numpy as np
from builders import TraceBuilder, assert_rows

from tcprof.analysis.ranges.instances import busy_time, instance_windows, list_instances
from tcprof.analysis.ranges.projection import attribute, build_hierarchy

A, B = 1, 2


def listed(builder, folder):
    trace = builder.trace(folder)
    hierarchy, activities = build_hierarchy(trace.ranges()), trace.activities()
    attribution = attribute(hierarchy, trace.api_calls(), activities, trace.marks())
    instances, work = list_instances(hierarchy, attribution, activities, [0])
    names = hierarchy.paths["path"].to_numpy()[instances["path_id"]]
    return instances.assign(path=names), work


def test_an_activity_counts_for_every_range_that_its_own_lies_in(tmp_path):
    builder = TraceBuilder().range("epoch", 0, 1000).range("step", 0, 100).range("forward", 10, 50)
    builder.kernel("deep", 60, 70, launched=20).kernel("inherited", 70, 80, launched=30, thread=B)
    builder.copy("host to device", 65, 75, launched=21).kernel("shallow", 200, 210, launched=150).kernel("none", 0, 1)
    instances, work = listed(builder, tmp_path)
    expected = """
        path                    depth  parent  activity_count  inherited_count  kernel_count  kernel_ns  gpu_start_ns  gpu_end_ns
        epoch                   1      -1      4               1                3             30         60            210
        epoch / step            2      0       3               1                2             20         60            80
        epoch / step / forward  3      1       3               1                2             20         60            80
        """  # noqa: E501
    assert_rows(instances, expected)
    group = np.arange(3)
    assert busy_time(instances, work, group, 3).tolist() == [30, 20, 20]
    busy = instance_windows(instances, work, "busy")
    assert list(zip(busy.group.tolist(), busy.start.tolist(), busy.end.tolist(), strict=True)) == [
        (0, 60, 80),
        (0, 200, 210),
        (1, 60, 80),
        (2, 60, 80),
    ]


def test_two_gpus_and_two_domains(tmp_path):
    builder = TraceBuilder().gpu(0).gpu(1).range("step", 0, 100).range("all_reduce", 0, 100, domain="NCCL")
    builder.kernel("one", 10, 20, launched=5).kernel("two", 30, 40, launched=6, device=1)
    builder.kernel("three", 50, 60, launched=7, device=1)
    instances, work = listed(builder, tmp_path)
    expected = """
        gpu  path        activity_count  gpu_start_ns  gpu_end_ns
        0    step        1               10            20
        0    all_reduce  1               10            20
        1    step        2               30            60
        1    all_reduce  2               30            60
        """
    assert_rows(instances.sort_values(["gpu", "path"], ascending=[True, False]), expected)
    assert len(work.instance) == 6


def shown(builder, folder):
    """For each path the GPUs that its instances are shown on, with how many they are and what they launched."""
    instances, _ = listed(builder, folder)
    counts = instances.groupby(["path", "gpu"])["activity_count"].agg(["size", "sum"])
    return {key: tuple(row) for key, row in zip(counts.index, counts.to_numpy().tolist(), strict=True)}


def test_a_range_is_shown_on_the_gpus_that_it_used(tmp_path):
    """One process with a thread for each GPU; and one thread that uses both, a part of a step for each."""
    builder = TraceBuilder().gpu(0).gpu(1)
    for start in (0, 100):
        builder.range("step", start, start + 50, thread=A).kernel("k", 0, 9, launched=start + 10, thread=A)
        builder.range("step", start, start + 50, thread=B)
        builder.kernel("k", 0, 9, launched=start + 10, thread=B, device=1)
        builder.range("both", start, start + 50, thread=3)
        for gpu in (0, 1):
            builder.range(f"part {gpu}", start + 20 * gpu, start + 20 * gpu + 10, thread=3)
            builder.kernel("k", 0, 9, launched=start + 20 * gpu + 5, thread=3, device=gpu)
    assert shown(builder, tmp_path) == {
        ("step", 0): (2, 2),
        ("step", 1): (2, 2),
        ("both", 0): (2, 2),
        ("both", 1): (2, 2),
        ("both / part 0", 0): (2, 2),
        ("both / part 1", 1): (2, 2),
    }


def test_a_range_without_work_is_shown_where_its_path_thread_or_process_had_some(tmp_path):
    builder = TraceBuilder().gpu(0).gpu(1).range("step", 0, 50, thread=A).range("log", 10, 20, thread=A)
    builder.kernel("k", 0, 9, launched=40, thread=A).range("load", 60, 70, thread=A).range("step", 0, 50, thread=B)
    builder.kernel("k", 0, 9, launched=40, thread=B, device=1).range("step", 100, 150, thread=B)
    builder.range("evaluate", 200, 250, thread=B).range("other gpu", 210, 220, thread=B)
    builder.kernel("k", 0, 9, launched=215, thread=B).range("read", 0, 50, thread=3)
    builder.range("elsewhere", 0, 50, process=7)
    assert shown(builder, tmp_path) == {
        ("step", 0): (1, 1),
        ("step / log", 0): (1, 0),
        ("load", 0): (1, 0),  # as thread A used no other
        ("step", 1): (2, 1),  # the second one too, as this thread's steps did
        ("evaluate", 0): (1, 1),
        ("evaluate / other gpu", 0): (1, 1),
        ("read", 0): (1, 0),  # its thread used none, but its process both
        ("read", 1): (1, 0),
        ("elsewhere", 0): (1, 0),  # its process used none: where something was recorded
    }


def test_a_launch_in_ranges_that_cross_counts_once_in_what_they_lie_in(tmp_path):
    builder = TraceBuilder().range("epoch", 0, 1000).range("step", 0, 100).range("step", 100, 200)
    builder.range("prefetch", 50, 150, start_end=True).kernel("one", 0, 10, launched=40)
    builder.kernel("two", 20, 30, launched=60).kernel("three", 40, 50, launched=110)
    builder.kernel("four", 60, 70, launched=160)
    instances, work = listed(builder, tmp_path)
    expected = """
        path              host_start_ns  parent  kernel_count  kernel_ns  gpu_start_ns  gpu_end_ns
        epoch             0              -1      4             40         0             70
        epoch / step      0              0       2             20         0             30
        epoch / prefetch  50             0       2             20         20            50
        epoch / step      100            0       2             20         40            70
        """
    assert_rows(instances, expected)
    assert busy_time(instances, work, np.arange(4), 4).tolist() == [40, 20, 20, 20]


def test_without_activities(tmp_path):
    instances, work = listed(TraceBuilder().gpu(0).range("step", 0, 100), tmp_path)
    assert_rows(instances, "gpu  path  activity_count  gpu_start_ns\n 0    step  0               –")
    assert len(instance_windows(instances, work, "busy").group) == 0
    assert len(instance_windows(instances, work, "gpu").group) == 0
    assert instance_windows(instances, work, "host").end.tolist() == [100]
