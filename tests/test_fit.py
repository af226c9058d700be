"""The fit against runs whose counts are known: exact where samples can tell, wide where they cannot."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest
from builders import MS, US, count_at
from scipy.sparse import csr_array

from tcprof.analysis.intervals import StepFunction
from tcprof.analysis.kernels import design as design_module
from tcprof.analysis.kernels import fit as fit_module
from tcprof.analysis.kernels.design import Launches, alike_rows, build_design
from tcprof.analysis.kernels.fit import Fit
from tcprof.analysis.kernels.noise import Noise
from tcprof.analysis.samples.sampling import read_rounded

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

PEAK = 4 * 132 * 1.98  # tensor cycles of all pipes in a ns
KHZ10, KHZ20, KHZ200 = 100 * US, 50 * US, 5 * US
DURATIONS_US, ACTIVE = (2, 5, 12, 40, 120, 300), (0.3, 0, 0.6, 0, 0.8, 0.05)


@dataclass(frozen=True)
class Run:
    """Launches, what each counts, and in which shares over its duration."""

    launches: Launches
    count: Floats
    shape: Floats

    def sampled(self, period: int, offset: int = 0) -> StepFunction:
        borders = np.arange(self.launches.start.min() - period + offset, self.launches.end.max() + period, period)
        counted = count_at(borders, self.launches.start, self.launches.end, self.count, self.shape)
        return StepFunction(borders[:-1], borders[1:], np.diff(counted).astype(np.float64))

    def mean(self, values: Floats) -> Floats:
        return np.bincount(self.launches.kind, values) / np.bincount(self.launches.kind)

    def points(self, counts: Floats) -> Floats:
        """A class's count per launch as Tensor Active, in percent."""
        return 100 * counts / PEAK / self.mean(self.launches.end - self.launches.start)


def run_of(
    seed: int,
    duration_us: tuple[float, ...] = DURATIONS_US,
    active: tuple[float, ...] = ACTIVE,
    *,
    number: int = 1500,
    idle: float = 0.05,
    streams: int = 1,
    in_turn: bool = False,
) -> Run:
    """Kernels in random order or in turn; they slow down at their ends and last up to a few percent more or less.

    Pauses are of about 1 µs, but for a share ``idle`` of 5 to 60 µs; without it there are none at all.
    """
    rng, classes = np.random.default_rng(seed), len(duration_us)
    starts, ends, kinds = [], [], []
    for _ in range(streams):
        kind = np.arange(number) % classes if in_turn else rng.permuted(np.arange(number) % classes)
        last = (US * np.array(duration_us)[kind] * rng.normal(1, 0.02, number)).astype(np.int64)
        pause = np.where(
            rng.random(number) < idle, rng.integers(5_000, 60_000, number), rng.integers(500, 1500, number)
        )
        ends.append(np.cumsum(last + pause * (idle > 0)))
        starts.append(ends[-1] - last)
        kinds.append(kind)
    order = np.argsort(np.concatenate(starts), kind="stable")
    start, end, kind = (np.concatenate(column)[order] for column in (starts, ends, kinds))
    shape = np.array([0.4, 1, 1, 1, 1, 1, 0.4]) * rng.uniform(0.7, 1.3, (classes, 7))
    count = np.round(US * np.array(duration_us) * active / np.float64(streams) * PEAK)
    return Run(launches_of(start, end, kind), count[kind], (shape / shape.sum(1, keepdims=True))[kind])


def launches_of(start: Ints, end: Ints, kind: Ints) -> Launches:
    return Launches(start, end, kind, np.ones(len(kind)), np.zeros(int(kind.max()) + 1, dtype=bool), 0 * kind)


def fit(launches: Launches, samples: StepFunction, *counter: Floats | float) -> Fit:
    return fit_module.fit(launches, build_design(launches, samples), samples.value, *counter)


def fitted(run: Run, samples: StepFunction) -> Fit:
    return fit(run.launches, samples, 0 * samples.value, 0 * samples.value, PEAK)


def fitted_rounded(run: Run, samples: StepFunction) -> Fit:
    """The fit on whole percentages: the nearest, but 1 for anything above 0."""
    length = samples.end - samples.start
    percent = np.round(100 * samples.value / length / PEAK)
    value, error, shift = read_rounded(np.where(samples.value > 0, np.maximum(percent, 1), 0))
    scale = length * PEAK / 100
    return fit(run.launches, replace(samples, value=value * scale), error * scale, shift * scale, PEAK)


def half_interval(run: Run, found: Fit) -> Floats:
    return run.points(1.96 * np.sqrt(np.diag(found.covariance)) + np.abs(found.bias))


def assert_right(run: Run, counts: Floats, share: float) -> None:
    """Every class's counts are right to a share of the truth; those that count nothing, to 0.2 % of the total."""
    found, true = (np.bincount(run.launches.kind, values) for values in (counts, run.count))
    assert found[true > 0] == pytest.approx(true[true > 0], rel=share)
    assert found[true == 0].sum() < 0.002 * true.sum()


@pytest.mark.parametrize("period", [KHZ10, KHZ20, KHZ200])
def test_counts_are_exact_where_the_gpu_is_idle_at_times(period):
    run = run_of(1)
    found = fitted(run, run.sampled(period))
    assert_right(run, found.per_launch, 0.005)
    assert_right(run, found.value[run.launches.kind], 0.005)


def test_kernels_that_run_at_once_are_distinguished():
    run = run_of(1, streams=2)
    assert_right(run, fitted(run, run.sampled(KHZ10)).per_launch, 0.01)


def test_counts_are_right_without_idle_where_the_order_varies():
    run = run_of(2, idle=0)
    assert_right(run, fitted(run, run.sampled(KHZ10)).per_launch, 0.01)


@pytest.mark.parametrize("offset", [0, 1, 33_333, 77_777])
def test_where_samples_begin_does_not_matter(offset):
    run = run_of(3)
    assert_right(run, fitted(run, run.sampled(KHZ10, offset)).per_launch, 0.005)


def test_one_class_without_idle_is_known():
    run = run_of(4, (30,), (0.5,), number=300, idle=0)
    found = fitted(run, run.sampled(KHZ10))
    assert found.value == pytest.approx(run.count[:1], rel=0.001)
    assert half_interval(run, found) < 0.5


def test_kernels_beside_each_other_are_distinguished_by_the_borders_between_them():
    run = run_of(5, (4, 7), (0.6, 0), number=1000, in_turn=True, idle=0.3)
    assert_right(run, fitted(run, run.sampled(KHZ10)).per_launch, 0.005)


@pytest.mark.parametrize("period", [KHZ20, KHZ200])
def test_whole_percentages_are_right_to_two_points_for_kernels_that_are_not_short(period):
    run = run_of(6)
    wrong = run.points(run.mean(fitted_rounded(run, run.sampled(period)).per_launch) - run.mean(run.count))
    assert np.abs(wrong[2:]).max() < 2


def test_launches_of_a_pool_count_by_their_weight():
    run = run_of(7, (50, 20), (0.5, 0), number=600)
    own = run.launches.kind == 0
    weight = np.where(own, np.random.default_rng(0).uniform(0.5, 1.5, 600), 1)
    pool = replace(run, launches=replace(run.launches, weight=weight), count=np.round(run.count * weight))
    found = fitted(pool, pool.sampled(KHZ20))
    assert found.value[0] == pytest.approx(run.count[own][0], rel=0.005)
    assert found.per_launch[own] == pytest.approx(pool.count[own], rel=0.05)


@pytest.mark.parametrize("seed", range(8, 12))
def test_a_few_odd_launches_are_counted_and_make_the_interval_wider(seed):
    """One launch of a hundred counts three times as much, as a larger batch would."""
    run = run_of(seed, (12, 40, 25), (0.2, 0.1, 0), number=2000, idle=0.2)
    odd = replace(run, count=np.where(np.random.default_rng(0).random(2000) < 0.01, 3 * run.count, run.count))
    found = fitted(run, odd.sampled(KHZ10))
    counted, true = run.mean(found.per_launch), run.mean(odd.count)
    assert counted == pytest.approx(true, rel=0.015, abs=100)
    assert (np.abs(run.points(counted - true)) <= half_interval(run, found)).all()


def test_launches_count_what_was_sampled_in_each_stretch_between_idle_borders():
    run, rng = run_of(9, (4, 12, 40), (0.5, 0, 0.6), number=400, streams=2, idle=0.5), np.random.default_rng(0)
    varied = replace(run, count=np.round(run.count * rng.uniform(0.9, 1.1, len(run.count))))
    samples = varied.sampled(KHZ20)
    found, design = fitted(varied, samples), build_design(varied.launches, samples)
    sampled = np.bincount(design.stretch, samples.value[design.row])
    assert len(sampled) > 50
    assert np.bincount(design.launch_stretch, found.per_launch) == pytest.approx(sampled, abs=2)
    assert found.sampled == sampled.sum() == varied.count.sum()


def test_no_launch_counts_more_than_the_pipes_can():
    """Of pairs of kernels the last counts all that it can: more than its first kernel would hold, scaled alike."""
    start = np.add.outer(300 * US * np.arange(60), [0, 20 * US]) + np.random.default_rng(0).integers(
        0, 60 * US, (60, 1)
    )
    pairs = launches_of(start.ravel(), start.ravel() + 20 * US, np.tile([0, 1], 60))
    count = np.tile([10_000.0, 1_000.0], 60)
    count[-2:] = 20_000
    samples = Run(pairs, count, np.ones((120, 1))).sampled(100 * US)
    exact = np.zeros(len(samples.value))
    found = fit(pairs, samples, exact, exact, 1.0)
    assert found.value == pytest.approx([10_000, 1_000], rel=0.1)
    assert found.per_launch[-2:] == pytest.approx([20_000, 20_000])


def test_gaps_between_samples_do_not_disturb_the_rest():
    run = run_of(10, (12, 40), (0.6, 0.2), number=400)
    every = run.sampled(KHZ20)
    kept = np.random.default_rng(0).random(len(every.value)) < 0.8
    found = fitted(run, StepFunction(every.start[kept], every.end[kept], every.value[kept]))
    assert found.value == pytest.approx(run.mean(run.count), rel=0.005)
    assert found.sampled < 0.9 * run.count.sum()


def test_without_any_count_nothing_is_found():
    run = run_of(11, number=100)
    samples = run.sampled(KHZ20)
    found = fitted(run, replace(samples, value=np.zeros(len(samples.value))))
    assert (found.value.tolist(), found.per_launch.tolist()) == ([0] * 6, [0] * 100)
    assert (found.sampled, found.covariance.any()) == (0, False)


@pytest.mark.parametrize("start", [-10 * MS, 10_000 * MS])
def test_samples_elsewhere_say_nothing(start):
    run = run_of(12, number=50)
    found = fitted(run, StepFunction(np.array([start]), np.array([start + KHZ20]), np.array([1e6])))
    assert found.per_launch.tolist() == [0] * 50
    assert found.sampled == 0


def test_another_counter_is_fitted_alike_whatever_its_unit():
    """As SM Active in percent times ns: scaled samples give scaled counts."""
    run = run_of(13, active=(0.8, 0.5, 0.7, 0.2, 0.9, 0.4), number=600)
    samples, scale = run.sampled(KHZ20), 100 / PEAK
    one, exact = fitted(run, samples), np.zeros(len(samples.value))
    other = fit(run.launches, replace(samples, value=samples.value * scale), exact, exact, 100.0)
    assert_right(run, one.per_launch, 0.005)
    assert other.value == pytest.approx(one.value * scale)
    assert other.per_launch == pytest.approx(one.per_launch * scale)
    assert np.sqrt(np.diag(other.covariance)) == pytest.approx(np.sqrt(np.diag(one.covariance)) * scale)


def test_a_shift_of_all_samples_shifts_the_counts_alike():
    run = run_of(14, (30,), (0.5,), number=300, idle=0)
    samples = run.sampled(KHZ10)
    exact, shift = np.zeros(len(samples.value)), np.full(len(samples.value), 0.01 * KHZ10 * PEAK)
    found = fit(run.launches, samples, exact, shift, PEAK)
    assert run.points(found.bias) == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize("period", [KHZ10, KHZ20])
@pytest.mark.parametrize("in_turn", [False, True])
@pytest.mark.parametrize("fitting", [fitted, fitted_rounded])
def test_intervals_hold_the_truth(period, in_turn, fitting):
    """Nine of ten, to two points; twenty kernels of 2 to 300 µs, two of five without tensor activity."""
    held, narrow = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        duration = np.exp(rng.uniform(np.log(2), np.log(300), 20))
        active = np.where(rng.random(20) < 0.4, 0, rng.uniform(0.01, 0.9, 20))
        run = run_of(seed, tuple(duration), tuple(active), number=400, in_turn=in_turn)
        found = fitting(run, run.sampled(period, int(rng.integers(period))))
        wrong = np.abs(run.points(run.mean(found.per_launch) - run.mean(run.count)))
        held += (wrong <= half_interval(run, found) + 2).tolist()
        narrow += (half_interval(run, found) < 5).tolist()
    assert np.mean(held) >= 0.9
    assert np.mean(narrow) >= 0.5, "intervals that say nothing hold any truth"


def test_of_kernels_that_no_border_tells_apart_little_is_known():
    place, last = US * np.array([120, 350, 353]), US * np.array([180, 3, 3])
    start, kind = np.add.outer(400 * US * np.arange(100), place).ravel(), np.tile([0, 1, 2], 100)
    count = np.array([0.9, 0.6, 0])[kind] * last[kind] * PEAK
    run = Run(launches_of(start, start + last[kind], kind), count, np.ones((300, 1)))
    found = fitted(run, run.sampled(KHZ10, 80 * US))
    right, points, half = run.points(run.mean(count)), run.points(found.value), half_interval(run, found)
    assert points[0] == pytest.approx(90, abs=half[0] + 2)
    assert points[1] + points[2] == pytest.approx(60, abs=2)
    assert half[1:].min() > np.abs(points - right).max()


def test_what_a_kernel_counts_as_it_begins_may_be_of_the_one_before():
    """A batch normalization computes its indices in a µs, and nothing more; no border lies in that one."""
    last = US * np.array([70, 97])
    begin = 200 * US * np.arange(40) + US * np.array([0, 7, 19, 31, 44])[np.arange(40) % 5]
    start = np.add.outer(begin[-(begin + 95 * US) % KHZ20 > 2 * US], US * np.array([22, 94])).ravel()
    kind = np.arange(len(start)) % 2
    shape = np.array([np.full(100, 0.01), np.arange(100) == 0])[kind]
    run = Run(launches_of(start, start + last[kind], kind), np.array([1_048_576.0, 16_384.0])[kind], shape)
    found = fitted(run, run.sampled(KHZ20))
    wrong = np.abs(found.value - run.mean(run.count))
    assert wrong.min() > 10_000
    assert (wrong <= 1.96 * np.sqrt(np.diag(found.covariance))).all()
    assert half_interval(run, found).max() < 0.1


def test_a_low_sample_with_idle_time_says_nothing_about_its_short_kernels():
    start = np.sort(np.concatenate([40 * US + 100 * US * np.arange(100), 43 * US + 100 * US * np.arange(100)]))
    launches, exact = launches_of(start, start + 3 * US, np.arange(200) % 2), np.zeros(100)
    samples = StepFunction(100 * US * np.arange(100), 100 * US * np.arange(1, 101), np.full(100, 0.6 * 3 * US))
    found = fit(launches, samples, exact, exact, 1.0)
    assert np.min(1.96 * np.sqrt(np.diag(found.covariance))) > 0.2 * 3 * US


def test_a_gap_in_the_samples_gives_the_launches_beside_it_no_more():
    start = US * np.add.outer(200 * np.arange(100), [30, 70]).ravel()
    launches = launches_of(start, start + 40 * US, np.zeros(200, np.int64))
    run = Run(launches, np.full(200, 20_000.0), np.ones((200, 1)))
    whole = run.sampled(KHZ20)
    kept = np.arange(len(whole.value)) % 8 != 0
    found = fitted(run, StepFunction(whole.start[kept], whole.end[kept], whole.value[kept]))
    assert found.per_launch == pytest.approx(run.count, rel=0.01)


@pytest.mark.parametrize(("rows", "run"), [(1, 1), (40, 1), (40, 6), (40, 40)])
def test_half_of_a_product_with_the_inverse_covariance_makes_the_whole(rows, run):
    rng = np.random.default_rng(1)
    coupling = np.append(0, rng.uniform(0, 1, rows - 1) * (rng.uniform(size=rows - 1) < 0.8))
    diagonal = coupling + np.append(coupling[1:], 0) + rng.uniform(1e-3, 1, rows)
    covariance = np.diag(diagonal) - np.diag(coupling[1:], 1) - np.diag(coupling[1:], -1)
    columns = ((np.arange(rows) // run)[:, None] + [0, 3, 5]) % 9  # the same in all rows of a run
    shares = np.zeros((rows, 9))
    np.put_along_axis(shares, columns, rng.uniform(0, 1, (rows, 3)), axis=1)
    alike = alike_rows(csr_array(shares))
    assert alike.sum() == rows - -(-rows // run)
    noise, sparse, tied = Noise(diagonal, coupling), csr_array(shares), alike & (coupling > 0)
    for half in (noise.half_product(sparse, tied, False).toarray(), noise.half_product(sparse, tied, True)):
        assert half + half.T == pytest.approx(shares.T @ np.linalg.inv(covariance) @ shares, rel=1e-12)


@pytest.fixture
def short_sample(monkeypatch):
    monkeypatch.setattr(design_module, "ROWS_OF_SAMPLE", 500)
    monkeypatch.setattr(design_module, "LEAST_LAUNCHES", 60)


@pytest.mark.parametrize("make", [fitted, fitted_rounded])
@pytest.mark.parametrize("idle", [0.05, 0])
def test_a_sample_of_the_recording_gives_what_all_of_it_does(make, idle, monkeypatch):
    run = run_of(3, number=12_000, idle=idle)
    samples = run.sampled(KHZ20)
    every = make(run, samples)
    monkeypatch.setattr(design_module, "ROWS_OF_SAMPLE", len(samples.value) // 10)
    some = make(run, samples)
    counts = run.mean(run.count)
    assert some.value == pytest.approx(every.value, rel=0.03, abs=0.003 * counts.max())
    assert (np.abs(run.points(some.value - counts)) <= half_interval(run, some) + 0.05).all()
    assert (half_interval(run, some) < 6 * half_interval(run, every) + 0.1).all()
    if make is fitted:
        assert some.per_launch.sum() == pytest.approx(run.count.sum(), rel=1e-3)


@pytest.mark.usefixtures("short_sample")
def test_the_sample_lies_all_over_the_recording_and_has_launches_of_each_class():
    run = run_of(4, (2, 12, 40), (0.3, 0, 0.6), number=6000, in_turn=True)
    rare = run.launches.kind.copy()
    rare[[*range(0, 6000, 300)]] = 3  # 20 launches of it
    launches = launches_of(run.launches.start, run.launches.end, rare)
    design = build_design(launches, run.sampled(KHZ20))
    rows, some = design.sampled_rows, design.sample
    assert len(rows) < 0.7 * len(design.row)
    assert np.ptp(np.histogram(rows, 10, (0, len(design.row)))[0]) < 0.7 * len(rows) / 10
    parts = np.bincount(design.part_kind, design.part_ns)
    assert (some.class_ns.sum(axis=0) / parts)[:3].min() > 59
    assert (some.class_ns.sum(axis=0) / parts)[3] == pytest.approx(20, rel=0.1)
    assert np.isin(design.cluster[rows], design.cluster[np.setdiff1d(np.arange(len(design.row)), rows)]).sum() == 0
    assert some.shares.toarray() == pytest.approx(design.shares[rows].toarray())
    for cuts, every in ((some.begins, design.begins), (some.ends, design.ends)):
        assert set(zip(rows[cuts.row], cuts.share, strict=True)) <= set(zip(every.row, every.share, strict=True))


def test_a_class_that_counts_more_outside_of_the_sample_has_a_wider_interval(monkeypatch):
    """The sample is the first half; then launches of one class of six count more."""
    run = run_of(5, number=12_000)
    later = (run.launches.kind == 2) & (np.arange(12_000) >= 6000)
    run = replace(run, count=np.where(later, 1.4 * run.count, run.count))
    first = property(lambda design: np.arange(len(design.row) // 2))
    monkeypatch.setattr(design_module.Design, "sampled_rows", first)
    found = fitted(run, run.sampled(KHZ20))
    off = np.abs(run.points(found.value - run.mean(run.count)))
    assert off[2] > 5
    assert (off <= half_interval(run, found) + 0.05).all()
    assert (half_interval(run, found)[[0, 1, 3, 4, 5]] < 2).all()
