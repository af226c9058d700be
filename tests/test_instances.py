"""Instances of ranges: what is launched in them, and in the ranges in them."""

import numpy as np
from builders import TraceBuilder, assert_rows

from tcprof.analysis.instances import busy_time, instance_windows, list_instances
from tcprof.analysis.projection import attribute, build_hierarchy

A, B = 1, 2


def listed(builder, folder):
    trace = builder.trace(folder)
    hierarchy, activities = build_hierarchy(trace.ranges()), trace.activities()
    instances, work = list_instances(hierarchy, attribute(hierarchy, trace.launches(), activities), activities, [0])
    names = hierarchy.paths["path"].to_numpy()[instances["path_id"]]
    return instances.assign(path=names), work


def test_an_activity_counts_for_every_range_that_its_own_lies_in(tmp_path):
    builder = (
        TraceBuilder()
        .range("epoch", 0, 1000)
        .range("step", 0, 100)
        .range("forward", 10, 50)
        .kernel("deep", 60, 70, launched=20)
        .kernel("inherited", 70, 80, launched=30, thread=B)
        .copy("host to device", 65, 75, launched=21)
        .kernel("shallow", 200, 210, launched=150)
        .kernel("none", 0, 1)
    )
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
    builder = (
        TraceBuilder()
        .gpu(0)
        .gpu(1)
        .range("step", 0, 100)
        .range("all_reduce", 0, 100, domain="NCCL")
        .kernel("one", 10, 20, launched=5)
        .kernel("two", 30, 40, launched=6, device=1)
        .kernel("three", 50, 60, launched=7, device=1)
    )
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


def test_without_activities(tmp_path):
    instances, work = listed(TraceBuilder().gpu(0).range("step", 0, 100), tmp_path)
    assert_rows(instances, "gpu  path  activity_count  gpu_start_ns\n 0    step  0               –")
    assert len(instance_windows(instances, work, "busy").group) == 0
    assert len(instance_windows(instances, work, "gpu").group) == 0
    assert instance_windows(instances, work, "host").end.tolist() == [100]
