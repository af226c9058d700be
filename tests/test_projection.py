"""Which range an activity belongs to, rule by rule, and the paths of ranges."""

from builders import TraceBuilder, assert_rows

import tcprof
from tcprof.analysis.ranges.projection import attribute, build_hierarchy, ranges_of_activities

A, B, C = 1, 2, 3  # threads


def project(builder, folder):
    trace = builder.trace(folder)
    hierarchy = build_hierarchy(trace.ranges())
    activities = trace.activities()
    return hierarchy, attribute(hierarchy, trace.api_calls(), activities, trace.marks()), activities


def owners(builder, folder):
    """For each activity the path of its innermost range in each domain, a + where inherited; or why it has none."""
    hierarchy, attribution, activities = project(builder, folder)
    found = {name: [] for name in activities["name"]}
    assert len(found) == len(activities), "give each activity of a test its own name"
    names = activities["name"].tolist()
    for activity, row, inherited in zip(attribution.activity, attribution.range, attribution.inherited, strict=True):
        path = hierarchy.paths.iloc[hierarchy.path_id[row]]
        text = f"{path['domain']}: {path['path']}" if path["domain"] else path["path"]
        found[names[activity]].append(text + (" +" if inherited else ""))
    for name, cause in zip(names, attribution.cause, strict=True):
        assert bool(found[name]) == (cause == ""), "an activity has a range or a cause, never both"
    of_activity = zip(names, attribution.cause, strict=True)
    return {name: " and ".join(sorted(found[name])) or cause for name, cause in of_activity}


def test_paths_are_the_names_from_the_outermost_range_as_a_tree_is_read(tmp_path):
    builder = TraceBuilder().range("late", 500, 600).range("step", 0, 100).range("step", 100, 200)
    builder.range("backward", 50, 90).range("forward", 10, 50).range("layer", 20, 30)
    builder.range("early in the second step", 100, 105).range("layer", 60, 70)
    hierarchy, _, _ = project(builder, tmp_path)
    expected = """
        path                             name                      depth  parent_id
        step                             step                      1      -1
        step / forward                   forward                   2      0
        step / forward / layer           layer                     3      1
        step / backward                  backward                  2      0
        step / backward / layer          layer                     3      3
        step / early in the second step  early in the second step  2      0
        late                             late                      1      -1
        """
    assert_rows(hierarchy.paths, expected)
    starts = hierarchy.ranges["start_ns"].tolist()
    paths = hierarchy.paths["path"].to_numpy()[hierarchy.path_id].tolist()
    assert sorted(zip(starts, paths, strict=True)) == [
        (0, "step"),
        (10, "step / forward"),
        (20, "step / forward / layer"),
        (50, "step / backward"),
        (60, "step / backward / layer"),
        (100, "step"),
        (100, "step / early in the second step"),
        (500, "late"),
    ]


def test_paths_of_several_threads_and_processes_are_one_tree(tmp_path):
    builder = TraceBuilder().range("step", 100, 200, process=1).range("step", 90, 200, process=2)
    builder.range("inner", 95, 99, process=2).range("loader", 10, 20, thread=B, process=1)
    builder.range("step", 300, 400, thread=C, process=1)
    hierarchy, _, _ = project(builder, tmp_path)
    assert hierarchy.paths["path"].tolist() == ["loader", "step", "step / inner"]
    assert sorted(hierarchy.path_id.tolist()) == [0, 1, 1, 1, 2]


def test_threads_and_domains_nest_each_for_itself(tmp_path):
    builder = TraceBuilder().range("step", 0, 100).range("all_reduce", 10, 90, domain="NCCL")
    builder.range("send", 20, 30, domain="NCCL").range("forward", 20, 80).range("loader", 30, 40, thread=B)
    hierarchy, _, _ = project(builder, tmp_path)
    expected = """
        domain  path               depth
        -       step               1
        -       step / forward     2
        NCCL    all_reduce         1
        NCCL    all_reduce / send  2
        -       loader             1
        """
    assert_rows(hierarchy.paths, expected)


def test_a_name_in_itself_and_a_name_with_the_separator_are_paths_of_their_own(tmp_path):
    builder = TraceBuilder().range("a", 0, 100).range("a", 10, 90).range("a", 20, 30).range("a / a", 200, 210)
    hierarchy, _, _ = project(builder, tmp_path)
    expected = """
        path       name   depth
        a          a      1
        a / a      a      2
        a / a / a  a      3
        a / a      a / a  1
        """
    assert_rows(hierarchy.paths, expected)


def steps_with_prefetch(count, *, before=""):
    """Steps with a forward pass each, and a prefetch from the middle of each to the middle of the next."""
    builder = TraceBuilder()
    for start in range(0, 100 * count, 100):
        builder.range("step", start, start + 100).range("forward", start + 60, start + 90)
        builder.range("prefetch", start + 50, start + 150, start_end=True)
    return builder.range(before, 0, 100 * count + 100) if before else builder


def test_the_text_of_a_deep_path_depends_on_all_its_names(tmp_path):
    texts = []
    for middle in ("one", "another"):
        builder = TraceBuilder()
        for level in range(500):
            builder.range(middle if level == 100 else f"level {level}", level, 1000 - level)
        texts.append(build_hierarchy(builder.trace(tmp_path).ranges()).paths["path"].iloc[-1])
    assert texts[0] != texts[1]
    assert texts[0].split("…")[0] == texts[1].split("…")[0]


def test_a_start_end_range_that_crosses_lies_beside_what_it_crosses(tmp_path):
    hierarchy, _, _ = project(steps_with_prefetch(16, before="epoch"), tmp_path)
    expected = """
        path                    depth
        epoch                   1
        epoch / step            2
        epoch / step / forward  3
        epoch / prefetch        2
        """
    assert_rows(hierarchy.paths, expected)


def test_a_start_end_range_lies_in_what_encloses_it_and_holds_what_it_encloses(tmp_path):
    builder = TraceBuilder().range("request", 0, 100, start_end=True).range("forward", 10, 50)
    builder.range("copy", 20, 30, start_end=True).range("opened in a hook", 200, 210)
    builder.range("step", 205, 305, start_end=True).range("inside", 220, 230).range("closed in a hook", 300, 310)
    hierarchy, _, _ = project(builder, tmp_path)
    assert hierarchy.paths["path"].tolist() == [
        *("request", "request / forward", "request / forward / copy", "opened in a hook", "step", "step / inside"),
        "closed in a hook",
    ]


def test_start_end_ranges_that_cross_each_other_lie_apart(tmp_path):
    builder = TraceBuilder()
    for start in range(0, 160, 10):
        builder.range("request", start, start + 15, start_end=True)
    builder.range("only in the second", 16, 24)
    hierarchy, _, _ = project(builder, tmp_path)
    assert hierarchy.paths["path"].tolist() == ["request", "request / only in the second"]


def test_ranges_that_touch_do_not_nest_and_empty_ones_do(tmp_path):
    builder = TraceBuilder().range("a", 0, 50).range("b", 50, 100).range("empty", 60, 60).range("at the end", 100, 100)
    hierarchy, _, _ = project(builder, tmp_path)
    assert hierarchy.paths["path"].tolist() == ["a", "b", "b / empty", "at the end"]


def test_no_ranges(tmp_path):
    hierarchy, attribution, _ = project(TraceBuilder().kernel("gemm", 20, 30, launched=10), tmp_path)
    assert hierarchy.paths.columns.tolist() == ["domain", "path", "name", "depth", "parent_id"]
    assert len(hierarchy.paths) == len(attribution.activity) == 0
    assert attribution.cause.tolist() == ["its process opened no range"]


def test_an_activity_belongs_to_the_innermost_range_open_at_its_launch_not_at_its_start(tmp_path):
    builder = TraceBuilder().range("step", 0, 100).range("forward", 10, 50).range("backward", 50, 90)
    builder.kernel("first", 500, 600, launched=10).kernel("last", 60, 70, launched=49)
    builder.kernel("border", 70, 80, launched=50).kernel("step only", 80, 90, launched=95)
    builder.copy("host to device", 40, 45, launched=5).kernel("too late", 95, 99, launched=100)
    assert owners(builder, tmp_path) == {
        "first": "step / forward",
        "last": "step / forward",
        "border": "step / backward",
        "step only": "step",
        "host to device": "step",
        "too late": "no range was open",
    }


def test_an_activity_belongs_to_one_range_in_every_domain(tmp_path):
    builder = TraceBuilder().range("step", 0, 100).range("all_reduce", 10, 20, domain="NCCL")
    builder.kernel("both", 15, 16, launched=15).kernel("own only", 30, 31, launched=30)
    builder.kernel("library only", 120, 121, launched=115).range("broadcast", 110, 130, domain="NCCL")
    assert owners(builder, tmp_path) == {
        "both": "NCCL: all_reduce and step",
        "own only": "step",
        "library only": "NCCL: broadcast",
    }


def test_an_activity_belongs_to_all_ranges_open_at_its_launch(tmp_path):
    builder = steps_with_prefetch(2).kernel("before", 500, 501, launched=40)
    builder.kernel("with prefetch", 502, 503, launched=70).kernel("with both", 504, 505, launched=155)
    builder.kernel("last", 506, 507, launched=220).kernel("by a thread without ranges", 508, 509, launched=71, thread=B)
    assert owners(builder, tmp_path) == {
        "before": "step",
        "with prefetch": "prefetch and step / forward",
        "with both": "prefetch and step",
        "last": "prefetch",
        "by a thread without ranges": "prefetch + and step / forward +",
    }
    hierarchy, attribution, activities = project(builder, tmp_path)
    innermost = hierarchy.paths["name"][hierarchy.path_id[ranges_of_activities(attribution, len(activities))]]
    assert innermost.tolist() == ["step", "forward", "step", "prefetch", "forward"]


def test_of_open_ranges_of_one_path_the_one_that_began_last_has_the_launch(tmp_path):
    builder = TraceBuilder().range("request", 0, 50, start_end=True).range("request", 20, 30, start_end=True)
    builder.range("request", 25, 70, start_end=True).kernel("in one", 100, 101, launched=10)
    builder.kernel("in three", 102, 103, launched=27).kernel("in two", 104, 105, launched=40)
    builder.kernel("in the last", 106, 107, launched=60)
    hierarchy, attribution, _ = project(builder, tmp_path)
    assert attribution.activity.tolist() == [0, 1, 1, 2, 3]
    # The second one lies in the first, and crosses the third.
    assert hierarchy.ranges["start_ns"].to_numpy()[attribution.range].tolist() == [0, 25, 20, 25, 25]
    assert attribution.counted.tolist() == [0, 0, 1, 0, 0]


def test_a_thread_without_ranges_inherits_from_the_only_thread_with_one_open(tmp_path):
    """PyTorch's backward pass. That thread need not have launched, and those with closed ranges do not count."""
    builder = TraceBuilder().range("step", 0, 100, thread=A).range("backward", 50, 90, thread=A)
    builder.range("loader", 0, 20, thread=B).kernel("in backward", 60, 61, launched=60, thread=C)
    builder.kernel("in step", 95, 96, launched=95, thread=C).kernel("after all", 100, 101, launched=100, thread=C)
    assert owners(builder, tmp_path) == {
        "in backward": "step / backward +",
        "in step": "step +",
        "after all": "no range was open",
    }


def test_a_thread_that_has_ranges_but_none_open_inherits_too(tmp_path):
    builder = TraceBuilder().range("step", 0, 100, thread=A).range("loader", 0, 20, thread=B)
    builder.kernel("own", 10, 11, launched=10, thread=B).kernel("inherited", 30, 31, launched=30, thread=B)
    assert owners(builder, tmp_path) == {"own": "loader", "inherited": "step +"}


def test_of_several_threads_with_a_range_open_the_one_that_launched_last_before_gives_it(tmp_path):
    builder = TraceBuilder().range("a", 0, 100, thread=A).range("b", 0, 100, thread=B)
    builder.kernel("by a", 10, 11, launched=10, thread=A).kernel("after a", 20, 21, launched=20, thread=C)
    builder.kernel("by b", 30, 31, launched=30, thread=B).kernel("with b", 30, 32, launched=30, thread=C)
    builder.kernel("after b", 40, 41, launched=40, thread=C).kernel("by a again", 50, 51, launched=50, thread=A)
    builder.kernel("after a again", 60, 61, launched=60, thread=C)
    assert owners(builder, tmp_path) == {
        "by a": "a",
        "after a": "a +",
        "by b": "b",
        "with b": "a +",  # b's launch is not before it
        "after b": "b +",
        "by a again": "a",
        "after a again": "a +",
    }


def test_a_thread_that_launched_last_but_has_no_range_open_gives_nothing(tmp_path):
    builder = TraceBuilder().range("a", 0, 100, thread=A).range("b", 0, 20, thread=B).range("c", 0, 100, thread=C)
    builder.kernel("by a", 5, 6, launched=5, thread=A).kernel("by b", 10, 11, launched=10, thread=B)
    builder.kernel("later", 30, 31, launched=30, thread=4)
    assert owners(builder, tmp_path)["later"] == "a +"


def test_several_threads_of_which_none_launched_before_give_nothing(tmp_path):
    builder = TraceBuilder().range("a", 0, 100, thread=A).range("b", 0, 100, thread=B)
    builder.kernel("early", 10, 11, launched=10, thread=C).kernel("by a", 20, 21, launched=20, thread=A)
    builder.kernel("late", 30, 31, launched=30, thread=C)
    assert owners(builder, tmp_path) == {
        "early": "several threads had ranges open, and none had launched work before",
        "by a": "a",
        "late": "a +",
    }


def test_ranges_are_inherited_within_each_domain(tmp_path):
    builder = TraceBuilder().range("step", 0, 100, thread=A).range("all_reduce", 10, 20, thread=C, domain="NCCL")
    builder.kernel("nccl", 15, 16, launched=15, thread=C)
    assert owners(builder, tmp_path) == {"nccl": "NCCL: all_reduce and step +"}


def test_a_launch_in_a_range_of_the_program_inherits_nothing_in_other_domains(tmp_path):
    builder = TraceBuilder().range("step", 0, 100, thread=A).range("load", 0, 100, thread=B, domain="reader")
    builder.kernel("forward", 15, 16, launched=15, thread=A).kernel("backward", 25, 26, launched=25, thread=C)
    assert owners(builder, tmp_path) == {"forward": "step", "backward": "reader: load + and step +"}


def test_causes(tmp_path):
    builder = TraceBuilder().range("step", 0, 100, process=1).kernel("no launch", 10, 20, process=1)
    builder.kernel("other process", 10, 20, launched=5, process=2).kernel("no range", 200, 210, launched=150, process=1)
    builder.kernel("own", 10, 20, launched=5, process=1).graph(10, 90, process=1)
    assert owners(builder, tmp_path) == {
        "no launch": "no launch recorded",
        "other process": "its process opened no range",
        "no range": "no range was open",
        "own": "step",
        "graph": "no launch recorded",
    }


def test_a_launch_of_another_process_with_the_same_number_is_not_taken(tmp_path):
    builder = TraceBuilder().range("step", 0, 100, process=1).range("step", 0, 100, process=2)
    builder.kernel("theirs", 10, 20, launched=5, process=1, correlation=7)
    builder.kernel("ours", 10, 20, process=2, correlation=7)
    assert owners(builder, tmp_path) == {"theirs": "step", "ours": "no launch recorded"}


def test_kernels_without_a_process_in_a_recording_of_several_have_no_launch(tmp_path):
    builder = TraceBuilder().range("step", 0, 100, process=1).kernel("one", 10, 20, launched=5, process=1)
    builder.kernel("two", 10, 20, launched=5, process=2).without("CUPTI_ACTIVITY_KIND_KERNEL.globalPid")
    assert set(owners(builder, tmp_path).values()) == {"no launch recorded"}


def recomputation(builder, thread, *, forward=20_000):
    """A step of training whose forward pass is run again on a thread of autograd's."""
    return (
        builder.range("step", 0, 100_000, domain="tcprof", start_end=True)
        .range("backward", forward, 90_000, domain="tcprof")
        .range("recompute", 30_000, 50_000, thread=thread, domain="tcprof")
        .range("Net.layer", 31_000, 49_000, thread=thread, domain="tcprof")
    )


def test_a_recomputation_lies_in_the_backward_pass_that_waits_for_it(tmp_path):
    builder = (
        recomputation(TraceBuilder().gpu(), B)
        .kernel("again", 60_000, 70_000, thread=B, launched=40_000)
        .kernel("between", 70_000, 75_000, thread=B, launched=55_000)
    )
    assert owners(builder, tmp_path) == {
        "again": "tcprof: step / backward / recompute / Net.layer",
        "between": "tcprof: step / backward +",
    }
    kernels = tcprof.read(builder.write(tmp_path)).ranges.set_index("path")["kernel_count"]
    assert kernels.to_dict() == {
        "": 2,
        "step": 2,
        "step / backward": 2,
        "step / backward / recompute": 1,
        "step / backward / recompute / Net.layer": 1,
    }


def data_parallel(builder, *, name="Net"):
    """A step of training whose model is called as replicas, on two threads of their own."""
    for number, thread in enumerate((B, C)):
        builder.range(name, 12_000 + number, 38_000 + number, thread=thread, domain="tcprof")
        builder.range(f"{name}.fc", 15_000, 30_000, thread=thread, domain="tcprof")
        builder.kernel(f"fc_{number}", 50_000 + 9_000 * number, 55_000 + 9_000 * number, thread=thread, launched=20_000)
    return (
        builder.range("step", 0, 100_000, domain="tcprof", start_end=True)
        .range("forward", 5_000, 45_000, domain="tcprof", start_end=True)
        .range("Net", 10_000, 40_000, domain="tcprof")
    )


def test_replicas_lie_beside_the_call_that_waits_for_them(tmp_path):
    builder = data_parallel(TraceBuilder().gpu())
    path = "tcprof: step / forward / Net / Net.fc"
    assert owners(builder, tmp_path) == {"fc_0": path, "fc_1": path}
    analysis = tcprof.read(builder.write(tmp_path))
    assert analysis.ranges.set_index("path").loc["step / forward / Net", "kernel_count"] == 2
    assert analysis.modules.set_index(["module", "phase"]).loc[("Net.fc", "forward"), "kernel_count"] == 2
