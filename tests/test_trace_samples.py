"""Samples: their intervals, gaps and lost stretches, wrapped counters, and Tensor Active from cycles."""

import json

import numpy as np
import pytest
from builders import CLOCK, TENSOR_ACTIVE, TraceBuilder, assert_rows, read_back_signed, type_id
from hypothesis import given
from hypothesis import strategies as st

from tcprof.frames import SAMPLES
from tcprof.nsys import schema
from tcprof.sources.nsys_sqlite.readings import split_by_metric, unwrap


def test_a_sample_lasts_from_its_time_stamp_to_the_next_one(tmp_path):
    samples = TraceBuilder().samples([0, 50, 100], times=[-30, 70, 172]).trace(tmp_path).samples()
    expected = """
        gpu  start_ns  end_ns  tensor_active_pct  tensor_cycles
        0    -30       70      0                  –
        0    70        172     50                 –
        0    172       273     100                –
        """
    assert_rows(samples.frame, expected)  # the last one lasts for the median period
    assert samples.frame.columns.tolist() == SAMPLES.names
    assert (samples.tensor_source, samples.shared_pipe, samples.lost_ns) == ("rounded", False, 0)


def test_a_step_of_more_than_one_and_a_half_periods_is_a_gap(tmp_path):
    times = [0, 100, 200, 350, 450, 550, 701, 801]
    frame = TraceBuilder().samples([1, 2, 3, 4, 5, 6, 7, 8], times=times).trace(tmp_path).samples().frame
    expected = """
        start_ns  end_ns  tensor_active_pct
        0         100     1
        100       200     2
        200       350     3
        350       450     4
        450       550     5
        550       650     6
        701       801     7
        801       901     8
        """
    assert_rows(frame, expected)


def test_rows_in_any_order_and_twice(tmp_path):
    builder = TraceBuilder().samples([3, 1, 2, 2], times=[200, 0, 100, 100])
    builder.samples([30, 10, 20], times=[200, 0, 100], metric="GR Active [Throughput %]")
    expected = """
        start_ns  end_ns  tensor_active_pct  gr_active_pct
        0         100     1                  10
        100       200     2                  20
        200       300     3                  30
        """
    assert_rows(builder.trace(tmp_path).samples().frame, expected)


@given(st.data())
def test_readings_are_those_of_their_metric_in_any_order_of_rows(data):
    """In nsys's order, of one GPU or two, with one row changed, or in none at all."""
    count, gpus = data.draw(st.integers(1, 24)), data.draw(st.sampled_from([[0], [0, 1], [0, 512]]))
    order = data.draw(st.permutations(range(data.draw(st.integers(1, 5)))))
    metrics = np.resize(order, count)
    kinds = np.resize(np.repeat(gpus, data.draw(st.integers(1, 6))), count)
    if data.draw(st.booleans()):
        metrics[data.draw(st.integers(0, count - 1))] = data.draw(st.integers(0, 5))
    shuffled = data.draw(st.one_of(st.just(list(range(count))), st.permutations(range(count))))
    rows = {"typeId": kinds[shuffled] + (7 << 48), "metricId": metrics[shuffled], "value": np.arange(count)}
    keys = {gpu << 16 | metric for gpu in (0, 1) for metric in data.draw(st.sets(st.integers(0, 5)))}
    found = {
        key: values.tolist() for key, (_, values) in split_by_metric(rows | {"timestamp": rows["value"]}, keys).items()
    }
    expected: dict[int, list[int]] = {}
    for row, (kind, metric) in enumerate(zip(kinds[shuffled].tolist(), metrics[shuffled].tolist(), strict=True)):
        if kind << 16 | metric in keys:
            expected.setdefault(kind << 16 | metric, []).append(row)
    assert found == expected


def test_one_sample_has_no_length_and_is_left_out(tmp_path):
    builder = TraceBuilder().cycles([7], sm=[100]).samples([9], metric="GR Active [Throughput %]")
    samples = builder.samples([50, 60], gpu=1).trace(tmp_path).samples(("tensor_active_pct", "gr_active_pct"))
    assert samples.frame["gpu"].tolist() == [1, 1]


def test_samples_that_touch_a_lost_stretch_are_left_out_on_its_gpu_only(tmp_path):
    builder = TraceBuilder().samples([1, 2, 3, 4, 5], period=100).samples([1, 2, 3, 4, 5], period=100, gpu=1)
    samples = builder.lost(150, 300).trace(tmp_path).samples()
    expected = """
        gpu  start_ns  end_ns
        0    0         100
        0    300       400
        0    400       500
        1    0         100
        1    100       200
        1    200       300
        1    300       400
        1    400       500
        """
    assert_rows(samples.frame, expected)
    assert samples.lost_ns == 150


def test_two_gpus_may_number_their_metrics_differently(tmp_path):
    builder = TraceBuilder().samples([1, 2], metric_id=3)
    builder.samples([10, 20], metric="GR Active [Throughput %]", metric_id=5).samples([3, 4], gpu=1, metric_id=5)
    builder.samples([30, 40], gpu=1, metric="SMs Active [Throughput %]", metric_id=3)
    frame = builder.trace(tmp_path).samples().frame
    expected = """
        gpu  start_ns  tensor_active_pct  gr_active_pct  sm_active_pct
        0    0         1                  10             –
        0    10_000    2                  20             –
        1    0         3                  –              30
        1    10_000    4                  –              40
        """
    assert_rows(frame, expected)


@pytest.mark.parametrize(
    ("metric", "shared"),
    [
        ("Tensor Active [Throughput %]", False),
        ("Tensor Active", False),
        ("SM Tensor Pipe Active [Throughput %]", False),
        ("Tensor Active / FP16 Active [Throughput %]", True),
        ("Tensor Active / FP16 Active", True),
        ("SM FP16+Tensor Pipe Throughput [Throughput %]", True),
    ],
)
def test_the_names_of_tensor_active(tmp_path, metric, shared):
    samples = TraceBuilder().samples([7, 8], metric=metric).trace(tmp_path).samples()
    assert samples.frame["tensor_active_pct"].tolist() == [7, 8]
    assert samples.shared_pipe is shared


def test_the_total_is_read_and_not_a_part_of_it(tmp_path):
    builder = TraceBuilder().samples([1, 1], metric="SM Tensor Pipe Active (HMMA ops) [Throughput %]")
    builder.samples([9, 9], metric="SM Tensor Pipe Active [Throughput %]")
    builder.samples([2, 2], metric="SM Tensor Pipe Active FP64 [Throughput %]")
    assert builder.trace(tmp_path).samples().frame["tensor_active_pct"].tolist() == [9, 9]


def test_all_columns_of_samples(tmp_path):
    names = {
        "tensor_active_pct": TENSOR_ACTIVE,
        "gr_active_pct": "GR Active [Throughput %]",
        "sm_active_pct": "SMs Active [Throughput %]",
        "sm_issue_pct": "SM Issue [Throughput %]",
        "dram_read_pct": "DRAM Read Bandwidth [Throughput %]",
        "dram_write_pct": "DRAM Write Bandwidth [Throughput %]",
        "gpc_clock_hz": CLOCK,
    }
    builder = TraceBuilder()
    for number, name in enumerate(names.values(), start=1):
        builder.samples([number * 100_000, number], metric=name)
    frame = builder.trace(tmp_path).samples().frame
    assert [frame[column].tolist()[1] for column in names] == [1, 2, 3, 4, 5, 6, 7]


def test_metrics_at_different_times_are_unknown_where_they_are_absent(tmp_path):
    builder = TraceBuilder().samples([1, 2, 3], times=[0, 100, 200])
    builder.samples([9], times=[100], metric="GR Active [Throughput %]")
    expected = """
        start_ns  tensor_active_pct  gr_active_pct
        0         1                  –
        100       2                  9
        200       3                  –
        """
    assert_rows(builder.trace(tmp_path).samples().frame, expected)


@given(
    st.integers(1, 5).flatmap(
        lambda width: st.tuples(
            st.just(width),
            st.lists(st.integers(0, 256**width - 1), min_size=1, max_size=20),
            st.integers(0, 256 ** (width - 1) * 127),
        )
    )
)
def test_unwrap_restores_counts_that_were_read_with_a_sign(case):
    """Wherever what was read tells the width: one count that is large and not negative, or far below zero."""
    width, counts, witness = case
    counts = [*counts, max(counts), 256**width // 2, witness]  # the count at the border reads as the least there is
    stored = read_back_signed(counts, width)
    assert unwrap(np.array(stored)).tolist() == counts


def test_unwrap_where_the_readings_do_not_tell_the_width():
    """Counts that are all just below 2^16 or 0 read as -1 and 0, as those just below 2^8 do: the least is taken."""
    assert read_back_signed([2**16 - 1, 0]) == read_back_signed([2**8 - 1, 0]) == [-1, 0]
    assert unwrap(np.array([-1, 0])).tolist() == [255, 0]


@pytest.mark.parametrize("largest", [2**8 - 1, 2**16 - 5, 2**24 - 1, 11_000_000, 2**32 - 9, 2**40 - 2])
def test_tensor_cycles_that_were_wrapped(tmp_path, largest):
    cycles = [0, largest // 2, largest // 3, largest * 9 // 16, largest]
    builder = TraceBuilder().gpu(sm_count=132)
    builder.cycles(read_back_signed(cycles), sm=read_back_signed([largest] * 5, width=6))
    trace = builder.trace(tmp_path)
    samples = trace.samples()
    assert trace.wrong() == ()
    assert samples.frame["tensor_cycles"].tolist() == cycles
    assert samples.frame["tensor_active_pct"].tolist() == pytest.approx([25 * c / largest for c in cycles])


def test_cycles_of_which_the_export_kept_the_last_byte_are_left_out_and_told(tmp_path):
    """132 SMs at 2 GHz have 13.2 million cycles in 50 us. The clock stands for them."""
    period, clock, cycles = 50_000, [2_000_000_000] * 4, [13_200_000, 13_200_100, 13_200_200, 13_200_010]
    cut = [(count + 128) % 256 - 128 for count in cycles]
    tensor = [13_200_000, 26_400_000, 0, 6_600_000]
    builder = TraceBuilder().gpu(sm_count=132).cycles(tensor, sm=cut, clock_hz=clock, period=period)
    trace = builder.trace(tmp_path)
    assert trace.samples().frame["tensor_active_pct"].tolist() == pytest.approx([25, 50, 0, 12.5])
    assert [wrong.count for wrong in trace.wrong() if "one byte" in wrong.what] == [4]
    whole = TraceBuilder().gpu(sm_count=132).cycles(tensor, sm=cycles, clock_hz=clock, period=period).trace(tmp_path)
    assert whole.samples().frame["tensor_active_pct"].tolist() == pytest.approx([25, 50, 0, 12.5], rel=1e-4)
    assert not [wrong for wrong in whole.wrong() if "one byte" in wrong.what]


def test_a_clock_of_more_than_2_to_the_31_hertz(tmp_path):
    clock = [1_980_000_000, 2_400_000_000, 2_520_000_000]
    builder = TraceBuilder().samples([1, 2, 3]).samples(read_back_signed(clock), metric=CLOCK)
    assert builder.trace(tmp_path).samples().frame["gpc_clock_hz"].tolist() == clock


def test_percentages_from_cycles_and_the_sms_own_cycles(tmp_path):
    """Of 4 pipes for each SM cycle: 4000 of 4 x 2000 are 50 %. The rounded percentages beside them are not used."""
    builder = TraceBuilder().gpu(sm_count=2).samples([51, 1, 0])
    samples = builder.cycles([4_000, 2, 0], sm=[2_000, 2_000, 2_000], clock_hz=[10**9] * 3).trace(tmp_path).samples()
    expected = """
        tensor_active_pct  tensor_cycles
        50                 4_000
        0.025              2
        0                  0
        """
    assert_rows(samples.frame, expected)
    assert samples.tensor_source == "cycles"


def test_percentages_from_cycles_and_the_clock(tmp_path):
    """10 µs at 1 GHz are 10,000 cycles; of 2 SMs with 4 pipes each 80,000."""
    samples = (
        TraceBuilder().gpu(sm_count=2).cycles([40_000, 8, 0], clock_hz=[10**9, 10**9, 10**9]).trace(tmp_path).samples()
    )
    assert samples.frame["tensor_active_pct"].tolist() == pytest.approx([50, 0.01, 0])
    assert samples.tensor_source == "cycles"


def test_percentages_from_cycles_are_at_most_100_and_unknown_without_sm_cycles(tmp_path):
    """A sample and its clock are not read in the same instant."""
    frame = TraceBuilder().gpu().cycles([8_100, 8_000, 5], sm=[2_000, 2_000, 0]).trace(tmp_path).samples().frame
    assert frame["tensor_active_pct"].tolist()[:2] == [100, 100]
    assert np.isnan(frame["tensor_active_pct"].tolist()[2])
    assert frame["tensor_cycles"].tolist() == [8_100, 8_000, 5]


def test_cycles_without_any_clock_leave_the_rounded_percentages(tmp_path):
    samples = TraceBuilder().gpu().samples([7, 8]).cycles([10, 20]).trace(tmp_path).samples()
    assert samples.frame["tensor_active_pct"].tolist() == [7, 8]
    assert samples.tensor_source == "rounded"


@pytest.mark.parametrize("cycles", [True, False])
def test_only_the_columns_asked_for_are_read(tmp_path, cycles):
    builder = TraceBuilder().gpu().samples([7, 8]).samples([1, 2], metric="GR Active [Throughput %]")
    if cycles:
        builder.cycles([4_000, 0], sm=[2_000, 2_000])
    frame = builder.trace(tmp_path).samples(["tensor_active_pct"]).frame
    assert frame["tensor_active_pct"].tolist() == ([50, 0] if cycles else [7, 8])
    assert frame["gr_active_pct"].isna().all()


def test_no_samples(tmp_path):
    samples = TraceBuilder().gpu().samples([1, 2]).without("GPU_METRICS").trace(tmp_path).samples()
    assert len(samples.frame) == 0
    assert samples.frame.columns.tolist() == SAMPLES.names
    assert samples.tensor_source == "none"


def test_samples_as_json(tmp_path):
    builder = TraceBuilder()
    builder.json_samples({"Tensor Active": [0, 50], "GR Active": [100, 99], "GPC Clock Frequency": [10**9, 2 * 10**9]})
    samples = builder.json_samples({"Tensor Active / FP16 Active": [7, 8]}, gpu=1, start=5).trace(tmp_path).samples()
    expected = """
        gpu  start_ns  end_ns  tensor_active_pct  gr_active_pct  gpc_clock_hz
        0    0         10_000  0                  100            1_000_000_000
        0    10_000    20_000  50                 99             2_000_000_000
        1    5         10_005  7                  –              –
        1    10_005    20_005  8                  –              –
        """
    assert_rows(samples.frame, expected)
    assert samples.tensor_source == "rounded"
    assert samples.shared_pipe


def test_json_of_other_events_is_not_read(tmp_path):
    builder = TraceBuilder().row(schema.GENERIC_TYPES, typeId=type_id(0, 7), data=json.dumps({"Fields": []}))
    builder.row(schema.GENERIC_TYPES, typeId=type_id(1), data="no json").row(schema.GENERIC_TYPES, typeId=3, data=None)
    builder.json_row(0, '{"Tensor Active": "5"}')
    assert len(builder.trace(tmp_path).samples().frame) == 0


def test_a_chips_own_names_come_first(tmp_path):
    """On Turing the shared pipe is what there is; a name of another chip is read where nothing else is."""
    shared, alone = "Tensor Active / FP16 Active [Throughput %]", "Tensor Active [Throughput %]"
    for chip, expected in (("TU102", 7), ("GH100", 1), (None, 1)):
        builder = TraceBuilder().gpu(chip=chip).samples([1, 1], metric=alone).samples([7, 7], metric=shared)
        samples = builder.trace(tmp_path).samples()
        assert samples.frame["tensor_active_pct"].tolist() == [expected] * 2
        assert samples.shared_pipe is (chip == "TU102")


def test_rows_of_other_kinds_do_not_mix_with_samples(tmp_path):
    builder = TraceBuilder().samples([1, 2, 3], metric_id=0)
    for kind in (1, 3):
        builder.row(schema.METRIC_NAMES, typeId=type_id(0, kind), metricId=0, metricName=TENSOR_ACTIVE)
        builder.row(schema.METRICS, timestamp=5_000, typeId=type_id(0, kind), metricId=0, value=99)
    assert builder.trace(tmp_path).samples().frame["tensor_active_pct"].tolist() == [1, 2, 3]
