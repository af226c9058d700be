"""The whole analysis of random recordings against plain loops over the definitions, nanosecond by nanosecond.

How a sample that a border cuts is shared depends on the fit. So figures are compared exactly where nothing was fitted,
and samples are shared by the time under kernels. With the fit, all that does not depend on it must be the same, what
does must lie in its bounds, and windows that cut no sample must have exactly what was sampled.
"""

import itertools
import random
from collections import Counter, defaultdict
from functools import cache

import numpy as np
import pytest
from builders import TraceBuilder
from slow import first

from tcprof.analysis import WINDOWS, analyze
from tcprof.analysis.steps import counted_steps
from tcprof.analysis.steps.roles import StepContents

END = 400
KEY = ["gpu", "domain", "path"]
UNKNOWN = float("nan")
# Each has something of everything; that more of them agree is slow.
SEEDS = first(1, range(30))


@pytest.fixture(autouse=True, scope="module")
def one_role():
    """All steps have one role here, and none is slow: random recordings have no order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StepContents, "name_roles", lambda self: np.full(len(self.steps), "step", dtype=object))
        patch.setattr(counted_steps, "find_slow_steps", lambda held, *_: np.full(len(held.steps), "", dtype=object))
        yield


def random_recording(seed):
    """Ranges, launches and samples as plain lists; push/pop ranges nest, start/end ranges need not."""
    rng = random.Random(seed)
    processes, gpus = rng.choice([1, 1, 2]), rng.choice([1, 1, 2])
    ranges, activities, samples = [], [], []
    for process in range(1, processes + 1):
        for thread in range(1, rng.randint(2, 4)):
            for domain in rng.choice([[""], [""], ["", "lib"]]):
                nest(rng, ranges, (process, thread, domain), 0, END, rng.randint(1, 4))
        for _ in range(rng.choice([0, 0, 1, 1, 2, 6])):
            start = rng.randrange(END)
            name = rng.choice(["prefetch", "a", "request"])
            ranges.append((process, rng.randint(1, 2), "", name, start, start + rng.randint(1, 150), True))
    for number in range(rng.randint(0, 40)):
        process = rng.choice([*range(1, processes + 1), 9]) if rng.random() < 0.1 else rng.randint(1, processes)
        launched = None if rng.random() < 0.1 else rng.randrange(END)
        start = (launched or rng.randrange(END)) + rng.randint(0, 40)
        kind = rng.choice(["kernel", "kernel", "kernel", "memcpy", "memset", "graph"])
        place = (process, rng.randint(1, 4), rng.randrange(gpus))
        activities.append((kind, *place, launched, start, start + rng.randint(0, 30), number))
    for gpu in range(gpus):
        time = rng.randint(-30, 60)
        for _ in range(rng.randint(10, 40)):
            samples.append((gpu, time, rng.choice([0, 0, 1, 30, 71, 100])))
            time += 10 if rng.random() < 0.85 else rng.choice([12, 15, 16, 60])
    return tuple(sorted(set(ranges))), activities, samples


def nest(rng, ranges, lane, low, high, depth):
    time = low + rng.randint(0, 20)
    while depth and time < high:
        end = min(high, time + rng.randint(0, 120))
        ranges.append((*lane, rng.choice("abc"), time, end, False))
        nest(rng, ranges, lane, time, end, depth - 1)
        time = end + rng.randint(0, 40)
        if end == high:
            break


def build(ranges, activities, samples):
    builder = TraceBuilder().gpu(0).gpu(1).recorded(duration=END)
    for process, thread, domain, name, start, end, start_end in ranges:
        builder.range(name, start, end, process=process, thread=thread, domain=domain, start_end=start_end)
    for kind, process, thread, gpu, launched, start, end, number in activities:
        how = {"process": process, "thread": thread, "device": gpu, "launched": launched, "correlation": number + 1}
        how["stream"] = number + 1  # as all may overlap
        if kind == "kernel":
            builder.kernel(f"k{number}", start, end, **how)
        elif kind == "memcpy":
            builder.copy("host to device", start, end, **how)
        elif kind == "memset":
            builder.memset(start, end, **how)
        else:
            builder.graph(start, end, **how)
    for gpu in {sample[0] for sample in samples}:
        mine = [sample for sample in samples if sample[0] == gpu]
        builder.samples([value for _, _, value in mine], times=[time for _, time, _ in mine], gpu=gpu)
    return builder


# The definitions, with loops. A range is an index into the tuple of ranges.


def order(row, index):
    return (row[4], -row[5], index)


@cache
def left_of(ranges, index):
    """The time in which other ranges can lie in a range: of a start/end range without push/pop ranges that cross it."""
    *lane, _, start, end, start_end = ranges[index]
    low, high = start, end
    stack = [row for row in ranges if list(row[:3]) == lane and not row[6]] if start_end else []
    for _, _, _, _, begin, finish, _ in stack:
        if begin < start < finish < end:
            low = max(low, finish)
        if start < begin < end < finish:
            high = min(high, begin)
    return low, max(low, high)


def place(ranges, index):
    low, high = left_of(ranges, index)
    return (low, -high, index)


@cache
def parent(ranges, index):
    """The innermost range that encloses the whole of another."""
    row = ranges[index]
    found = []
    for i, other in enumerate(ranges):
        low, high = left_of(ranges, i)
        encloses = low <= row[4] < high and row[5] <= high
        if i != index and other[:3] == row[:3] and encloses and place(ranges, i) < order(row, index):
            found.append(i)
    return max(found, key=lambda i: place(ranges, i), default=None)


def chain(ranges, index):
    """The range and all that it lies in, innermost first."""
    found = []
    while index is not None:
        found.append(index)
        index = parent(ranges, index)
    return found


@cache
def path_of(ranges, index):
    return tuple(ranges[i][3] for i in reversed(chain(ranges, index)))


def innermost(ranges, process, thread, domain, time):
    """The innermost range that is open at a time."""
    mine = [i for i, row in enumerate(ranges) if row[:3] == (process, thread, domain)]
    is_open = [i for i in mine if left_of(ranges, i)[0] <= time < left_of(ranges, i)[1]]
    return max(is_open, key=lambda i: place(ranges, i), default=None)


def all_around(ranges, index, time):
    """Every path with a range open at a time on an innermost range's lane, with that which counts: one for each."""
    lane = ranges[index][:3]
    leaves = [index]
    for i in sorted(range(len(ranges)), key=lambda i: order(ranges[i], i), reverse=True):
        row = ranges[i]
        if row[:3] == lane and row[6] and row[4] <= time < row[5]:
            leaves.append(i)
    found = {}
    for leaf in leaves:
        for i in chain(ranges, leaf):
            found.setdefault(path_of(ranges, i), i)
    return found.values()


def owner(ranges, activities, activity, domain):
    """The innermost range of an activity, and whether it is inherited."""
    _, process, thread, _, launched, *_ = activity
    if launched is None:
        return None, False
    own = innermost(ranges, process, thread, domain, launched)
    if own is not None:
        return own, False
    if innermost(ranges, process, thread, "", launched) is not None:
        return None, False  # in a range of the program's own: that is where it belongs
    threads = sorted({row[1] for row in ranges if row[0] == process and row[2] == domain})
    claims = {}
    for other in threads:
        found = innermost(ranges, process, other, domain, launched)
        if found is not None:
            times = [a[4] for a in activities if a[1] == process and a[2] == other and a[4] is not None]
            claims[other] = (max((t for t in times if t < launched), default=None), found)
    if len(claims) == 1:
        return next(iter(claims.values()))[1], True
    launchers = [claim for claim in claims.values() if claim[0] is not None]
    if not launchers:
        return None, False
    latest = max(claim[0] for claim in launchers)
    return next(claim[1] for claim in claims.values() if claim[0] == latest), True


def gpus_of(ranges, activities, inside, every):
    """For each range the GPUs that it is shown on."""
    used = [{activity[3] for activity, _ in inside[i]} for i in range(len(ranges))]
    for i in range(len(ranges)):
        for outer in chain(ranges, i):
            used[outer] = used[outer] | {activity[3] for activity, _ in inside[i]}
    shown = {}
    for i in sorted(range(len(ranges)), key=lambda i: len(chain(ranges, i))):
        row = ranges[i]
        of_thread = [j for j, other in enumerate(ranges) if other[:2] == row[:2]]
        of_path = [j for j in of_thread if ranges[j][2] == row[2] and path_of(ranges, j) == path_of(ranges, i)]
        by_path, by_thread = (set().union(*(used[j] for j in rows)) for rows in (of_path, of_thread))
        by_process = {activity[3] for activity in activities if activity[1] == row[0]}
        outer = parent(ranges, i)
        around = shown[outer] if outer is not None else by_thread or by_process or every
        shown[i] = used[i] or around & by_path or around
    return shown


def value_at(samples, gpu):
    """Tensor Active for each nanosecond that lies under a sample."""
    mine = [(time, value) for number, time, value in samples if number == gpu]
    steps = sorted(b[0] - a[0] for a, b in itertools.pairwise(mine))
    period = int(np.median(steps))
    values = {}
    for i, (time, value) in enumerate(mine):
        step = mine[i + 1][0] - time if i + 1 < len(mine) else period
        length = step if step <= 1.5 * period else period
        values |= dict.fromkeys(range(time, time + length), (i, value, length))
    return values


def running(activities, gpu):
    """How many kernels and graphs run in each nanosecond."""
    mine = [activity for activity in activities if activity[3] == gpu and activity[0] in ("kernel", "graph")]
    return Counter(t for activity in mine for t in range(activity[5], activity[6]))


def share(values, weights):
    """Tensor Active of each nanosecond: what a sample holds goes to those of weight, and none holds more than 100 %."""
    times = defaultdict(list)
    for t, sample in values.items():
        times[sample].append(t)
    shared = {}
    for (_, value, _), inside in times.items():
        left = fill(shared, value * len(inside), {t: weights[t] for t in inside if weights[t]})
        fill(shared, left, {t: 1 for t in inside if not weights[t]})
    return shared


def fill(shared, amount, weights):
    """Give each nanosecond of an amount by its weight, but none more than 100; and back what is left."""
    for t in sorted(weights, key=weights.get, reverse=True):  # those that may be full first
        shared[t] = min(100, amount * weights[t] / sum(weights[other] for other in weights if other not in shared))
        amount -= shared[t]
    return amount


def figures(window, values, shared):
    """Figures over a set of nanoseconds: peak and percentile of the samples, the mean of what they share."""
    under = [values[t] for t in window if t in values]
    result = {"window_ns": len(window), "coverage_pct": 100 * len(under) / len(window) if window else UNKNOWN}
    if not window or 2 * len(under) < len(window):
        names = ("mean_pct", "peak_pct", "p95_pct", "s")
        return result | {f"tensor_active_{name}": UNKNOWN for name in names}
    overlap = defaultdict(int)
    for sample in under:
        overlap[sample] += 1
    half = [value for (_, value, length), n in overlap.items() if 2 * n >= length]
    ordered = sorted(value for _, value, _ in under)
    total = sum(shared[t] for t in window if t in values)
    mean = total / len(under)
    peak = max(half) if half and max(half) >= mean * (1 - 1e-9) else UNKNOWN
    percentile = ordered[-(-95 * len(ordered) // 100) - 1]
    return result | {
        "tensor_active_mean_pct": mean,
        "tensor_active_peak_pct": peak,
        "tensor_active_p95_pct": UNKNOWN if peak is UNKNOWN else min(percentile, peak),
        "tensor_active_s": total / 100 * 1e-9,
    }


def bounds(window, values, _):
    """Tensor-active time that no share of the samples can leave: what lies whole in a window is all its own."""
    inside = Counter(values[t] for t in window if t in values)
    least = sum(max(0, value * length - 100 * (length - n)) for (_, value, length), n in inside.items())
    most = sum(min(100 * n, value * length) for (_, value, length), n in inside.items())
    return {"least_s": least / 100 * 1e-9, "most_s": most / 100 * 1e-9, "covered_ns": inside.total()}


def expected_rows(ranges, activities, samples, window, measure=figures):
    """For each GPU, domain and path the counts of its instances, and what is measured over their windows."""
    inside = defaultdict(list)  # range -> activities, with whether they are inherited
    for activity in activities:
        for domain in {row[2] for row in ranges}:
            found, inherited = owner(ranges, activities, activity, domain)
            for index in all_around(ranges, found, activity[4]) if found is not None else ():
                inside[index].append((activity, inherited))
    every = {sample[0] for sample in samples} | {activity[3] for activity in activities}
    instances = defaultdict(list)
    for index, gpus in gpus_of(ranges, activities, inside, every).items():
        for gpu in gpus:
            instances[gpu, ranges[index][2], " / ".join(path_of(ranges, index))].append(index)
    rows = {}
    values = {gpu: value_at(samples, gpu) for gpu in every}
    shared = {gpu: share(values[gpu], running(activities, gpu)) for gpu in every}
    for key, found in instances.items():
        counts, spans = summarize(key[0], [(ranges[i], inside[i]) for i in found])
        rows[key] = counts | measure(spans[window], values[key[0]], shared[key[0]])
    return rows


def summarize(gpu, instances):
    """Counts and times of instances on a GPU, and their windows."""
    spans = {"host": set(), "gpu": set(), "busy": set()}
    mine = []
    for row, inside in instances:
        here = [(activity, inherited) for activity, inherited in inside if activity[3] == gpu]
        mine += here
        spans["host"] |= set(range(row[4], row[5]))
        for activity, _ in here:
            spans["busy"] |= set(range(activity[5], activity[6]))
        if here:
            spans["gpu"] |= set(range(min(a[5] for a, _ in here), max(a[6] for a, _ in here)))
    kernels = [activity for activity, _ in mine if activity[0] in ("kernel", "graph")]
    counts = {
        "instance_count": len(instances),
        "activity_count": len(mine),
        "inherited_count": sum(inherited for _, inherited in mine),
        "kernel_count": len(kernels),
        "kernel_ns": sum(activity[6] - activity[5] for activity in kernels),
        "host_ns": sum(row[5] - row[4] for row, _ in instances),
        "gpu_window_ns": len(spans["gpu"]) if mine else UNKNOWN,
        "busy_ns": len(spans["busy"]) if mine else UNKNOWN,
    }
    return counts, spans


def as_rows(frame, names):
    return dict(zip(frame[KEY].itertuples(index=False, name=None), frame[names].to_dict("records"), strict=True))


@pytest.fixture(scope="module", params=SEEDS)
def case(request, tmp_path_factory):
    """A random recording, and its analyses without and with the fit."""
    recording = random_recording(request.param)
    trace = build(*recording).trace(tmp_path_factory.mktemp("random"))
    return recording, *(
        {window: analyze(trace, window, kernels=kernels, warm_up="all") for window in WINDOWS}
        for kernels in (False, True)
    )


def assert_paths(analysis, expected):
    """The rows of paths are these, with these figures."""
    paths = analysis.ranges[analysis.ranges["depth"] > 0]
    assert sorted(expected) == sorted(paths[KEY].itertuples(index=False, name=None))
    if expected:
        found = as_rows(paths, list(next(iter(expected.values()))))
        for key, row in expected.items():
            least = {name: 1e-20 if name.endswith("_s") else 1e-12 for name in row}  # of which a figure is 0
            same = {n: pytest.approx(value, rel=1e-9, abs=least[n], nan_ok=True) for n, value in row.items()}
            assert found[key] == same, (analysis.window, key)


def test_figures_of_random_recordings(case):
    recording, shared_by_time, _ = case
    for window, analysis in shared_by_time.items():
        assert_paths(analysis, expected_rows(*recording, window))


def test_the_fit_shares_cut_samples_and_changes_nothing_else(case):
    recording, _, fitted = case
    of_split = ("tensor_active_mean_pct", "tensor_active_s")
    for window, analysis in fitted.items():
        every = expected_rows(*recording, window)
        assert_paths(analysis, {key: {n: row[n] for n in row if n not in of_split} for key, row in every.items()})
        found = as_rows(analysis.ranges, list(of_split))
        for key, row in expected_rows(*recording, window, bounds).items():
            mean, active = found[key].values()
            assert np.isnan(mean) == np.isnan(active) == np.isnan(every[key]["tensor_active_s"])
            if not np.isnan(active):
                assert row["least_s"] - 1e-16 <= active <= row["most_s"] + 1e-16, (window, key)
                assert mean == pytest.approx(active * 1e11 / row["covered_ns"], abs=1e-9)


def on_borders(ranges, activities, samples):
    """The recording with ranges that begin and end where samples do, on every GPU at the same times."""
    mine = [(time, value) for gpu, time, value in samples if gpu == 0]
    values = value_at(samples, 0)
    borders = {time for time, _ in mine} | {t + 1 for t in values if t + 1 not in values}

    def moved(time):
        return max((border for border in borders if border <= time), default=time)

    ranges = sorted({(*row[:4], moved(row[4]), moved(row[5]), row[6]) for row in ranges})
    others = {sample[0] for sample in samples} - {0}
    samples = [sample for sample in samples if sample[0] == 0]
    return tuple(ranges), activities, samples + [(gpu, time, 100 - value) for gpu in others for time, value in mine]


@pytest.mark.parametrize("seed", SEEDS)
def test_windows_that_cut_no_sample_have_what_was_sampled_whatever_the_fit(seed, tmp_path):
    recording = on_borders(*random_recording(seed))

    def whole(window, values, _):
        return figures(window, values, {t: value for t, (_, value, _) in values.items()})

    analysis = analyze(build(*recording).trace(tmp_path), "host", warm_up="all")
    assert_paths(analysis, expected_rows(*recording, "host", whole))


def test_the_capture_of_random_recordings(case):
    (_, activities, samples), shared_by_time, _ = case
    ranges = shared_by_time["gpu"].ranges
    found = as_rows(ranges[ranges["depth"] == 0], ["activity_count", "busy_ns", "gpu_window_ns", "window_ns"])
    tensor = as_rows(ranges[ranges["depth"] == 0], ["tensor_active_mean_pct", "tensor_active_peak_pct"])
    for gpu in {sample[0] for sample in samples}:
        values = value_at(samples, gpu)
        mine = [activity for activity in activities if activity[3] == gpu]
        window = set(range(min(values), max(values) + 1))
        if mine:
            window = set(range(min(activity[5] for activity in mine), max(activity[6] for activity in mine)))
        busy = {t for activity in mine for t in range(activity[5], activity[6])}
        assert found[gpu, "", ""] == pytest.approx(
            {
                "activity_count": len(mine),
                "busy_ns": len(busy) if mine else UNKNOWN,
                "gpu_window_ns": max(a[6] for a in mine) - min(a[5] for a in mine) if mine else UNKNOWN,
                "window_ns": len(window),
            },
            nan_ok=True,
        )
        expected = figures(window, values, share(values, running(activities, gpu)))
        assert tensor[gpu, "", ""] == pytest.approx({name: expected[name] for name in tensor[gpu, "", ""]}, nan_ok=True)


@pytest.mark.parametrize("kernels", [False, True])
def test_the_capture_and_what_lies_outside_are_all_that_was_sampled(case, kernels):
    (_, _, samples), *analyses = case
    for analysis in analyses[kernels].values():
        ranges = analysis.ranges
        inside = as_rows(ranges[ranges["depth"] == 0], ["tensor_active_s"])
        outside = analysis.outside.set_index("gpu")["tensor_active_s"]
        for gpu in {sample[0] for sample in samples}:
            active = inside[gpu, "", ""]["tensor_active_s"]
            if not np.isnan(active):
                sampled = sum(value for _, value, _ in value_at(samples, gpu).values()) / 100 * 1e-9
                assert active + outside.get(gpu, 0) == pytest.approx(sampled, rel=1e-9, abs=1e-16)


@pytest.mark.parametrize("kernels", [False, True])
def test_instances_that_share_no_time_add_up_to_their_path(case, kernels):
    _, *analyses = case
    for window, analysis in analyses[kernels].items():
        instances = analysis.instances.merge(analysis.paths[["domain", "path"]], left_on="path_id", right_index=True)
        length = {
            "host": instances["host_end_ns"] - instances["host_start_ns"],
            "gpu": instances["gpu_end_ns"] - instances["gpu_start_ns"],
            "busy": instances["busy_ns"],
        }[window]
        sums = instances.assign(length=length.fillna(0)).groupby(KEY, observed=True)
        length, active = sums["length"].sum(), sums["tensor_active_s"].apply(lambda of: of.sum(skipna=False))
        found = as_rows(analysis.ranges, ["window_ns", "tensor_active_s"])
        for key in length.index:
            if length[key] == found[key]["window_ns"] and not np.isnan(active[key]):
                assert found[key]["tensor_active_s"] == pytest.approx(active[key], rel=1e-9, abs=1e-16)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("kernels", [False, True])
def test_invariants_of_random_recordings(case, window, kernels):
    analysis = case[1 + kernels][window]
    ranges, activities = analysis.ranges, analysis.activities
    percentages = ranges[[name for name in ranges if name.endswith("_pct")]]
    assert ((percentages.isna()) | ((percentages >= 0) & (percentages <= 100 + 1e-9))).all(axis=None)
    assert not (ranges["tensor_active_low_pct"] > ranges["tensor_active_mean_pct"] + 1e-9).any()
    assert not (ranges["tensor_active_high_pct"] < ranges["tensor_active_mean_pct"] - 1e-9).any()
    assert (ranges["kernel_count"] <= ranges["activity_count"]).all()
    assert (ranges["inherited_count"] <= ranges["activity_count"]).all()
    assert not (ranges["busy_ns"] > ranges["gpu_window_ns"]).any()
    for (gpu, domain), rows in ranges[ranges["depth"] > 0].groupby(["gpu", "domain"]):
        kernel_ns = dict(zip(rows["path"], rows["kernel_ns"], strict=True))
        below = defaultdict(int)
        for path, depth in zip(rows["path"], rows["depth"], strict=True):
            below[path.rpartition(" / ")[0] if depth > 1 else ""] += kernel_ns[path]
        in_all = activities[(activities["gpu"] == gpu) & activities["kind"].isin(["kernel", "graph"])]
        kernel_ns[""] = int((in_all["end_ns"] - in_all["start_ns"]).sum())
        # What lies in a path counts once in it, and once a level where no ranges cross.
        for path, depth in zip(rows["path"], rows["depth"], strict=True):
            around = path.rpartition(" / ")[0] if depth > 1 else ""
            assert kernel_ns[path] <= kernel_ns[around]
        if not any(row[6] for row in case[0][0]):
            assert all(below[path] <= kernel_ns[path] for path in below), (gpu, domain)
