"""What the page's timeline is drawn from: the packed arrays are the recording's, and small."""

import base64
import json
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import TraceBuilder
from hypothesis import given
from hypothesis import strategies as st
from report_inputs import MS, make_analysis, make_empty, make_samples, read_hostile

import tcprof
from tcprof import units
from tcprof.analysis.drawing import flop_rate
from tcprof.analysis.gaps import find_savings, list_gaps
from tcprof.frames import SAMPLES
from tcprof.render.html import timeline as timeline_data
from tcprof.render.html.timeline import lanes as timeline_lanes
from tcprof.render.html.timeline import pack_timeline, packing
from tcprof.render.html.timeline.packing import ArrayStore
from tcprof.views.recording.inspector import list_kernel_facts, list_module_facts, list_path_facts

pytestmark = pytest.mark.usefixtures("shared_reads")


def unpack(text):
    """The header, and a function that gives the whole numbers of an array; as the page's script does it."""
    content = zlib.decompress(base64.b64decode(text))
    begin = 4 + int.from_bytes(content[:4], "little")
    header = json.loads(content[4:begin])

    def read(reference):
        entry = header["arrays"][reference["array"]]
        count, width = entry["length"], entry["bytes"]
        octets = np.frombuffer(content, np.uint8, width * count, begin + entry["at"]).reshape(width, count)
        offsets = sum(octets[plane].astype(np.int64) << (8 * plane) for plane in range(width))
        offsets = entry["factor"] * offsets
        return entry["base"] + (offsets if entry["least"] is None else np.cumsum(entry["least"] + offsets))

    return header, read


def pack(analysis):
    return pack_timeline(analysis, list_gaps(analysis))


def packed(analysis):
    return unpack(pack(analysis).packed)


def curve(analysis, metric, gpu=0):
    """Starts, and the arrays of values of a curve."""
    header, read = packed(analysis)
    for track in header["gpus"][gpu]["tracks"]:
        for each in track["curves"]:
            if each["metric"] == metric:
                codes = [read(reference).astype(float) for reference in each["values"]]
                return read(track["start"]), [np.where(code > 0, (code - 1) * each["step"], np.nan) for code in codes]
    return None


def bars(analysis, kind, gpu=0):
    header, read = packed(analysis)
    found = header["gpus"][gpu]["lanes"][kind]
    frame = pd.DataFrame({name: read(found[name]) for name in ("start", "end", "row", "id", "merged")})
    for name, reference in found["percents"].items():
        entry = header["arrays"][reference["array"]]
        frame[name] = np.where(read(reference) == entry["unknown"], np.nan, entry["scale"] * read(reference))
    return frame.rename(columns={"end": "length"})  # which is added to the start


FIXTURE = Path(__file__).parent.parent / "fixtures" / "transformer_compiled.sqlite"


class TestPacking:
    @given(st.lists(st.integers(-(2**60), 2**60), max_size=40), st.lists(st.integers(0, 300), max_size=9))
    def test_numbers_come_back(self, any_numbers, small):
        store = ArrayStore()
        wanted = [np.array(any_numbers, dtype=np.int64), np.array(small, dtype=np.int64)]
        places = [store.add(values) for values in wanted]
        places.append(store.add(np.sort(wanted[0]), differences=True))
        places.append(store.add(wanted[1], differences=True))
        header, read = unpack(store.pack({"name": "</script>\ud800"}))
        assert header["name"].startswith("</script>")
        for place, values in zip(places, [*wanted, np.sort(wanted[0]), wanted[1]], strict=True):
            assert read(place).tolist() == values.tolist()

    def test_small_numbers_take_a_byte_each(self):
        store = ArrayStore()
        store.add(np.arange(1_000_000, 1_000_200))
        store.add(np.array([0, 255, 256]))
        store.add(np.array([100, 25_600, 300]))  # as percentages that are whole, in steps of 0.01 %
        header, read = unpack(store.pack({}))
        assert [entry["bytes"] for entry in header["arrays"]] == [1, 2, 1]
        assert read({"array": 2}).tolist() == [100, 25_600, 300]


class TestSamples:
    def test_every_sample_is_kept(self):
        values = [0.0, 12.34, 99.99, 100.0]
        start, (found,) = curve(make_analysis(samples=make_samples(values)), "Tensor Active")
        assert start.tolist() == [0, 50_000, 100_000, 150_000]
        assert found == pytest.approx(values, abs=0.005)

    def test_unknown_values_stay_unknown(self):
        samples = make_samples([1.0, 2.0, 3.0])
        samples.loc[1, "tensor_active_pct"] = np.nan
        _, (found,) = curve(make_analysis(samples=samples), "Tensor Active")
        assert np.isnan(found).tolist() == [False, True, False]

    def test_gaps_are_kept(self):
        header, read = packed(make_analysis(samples=make_samples([1.0] * 20, gap_after=10)))
        track = header["gpus"][0]["tracks"][0]
        assert read(track["breaks"]).tolist() == [9, 19]
        assert read(track["ends"]).tolist() == [500_000, 1_500_000]

    def test_too_many_become_bins_with_their_extremes(self, monkeypatch):
        monkeypatch.setattr(timeline_data, "MOST_VALUES", 6000)
        values = np.zeros(50_000)
        values[33_333] = 88.0
        analysis = make_analysis(samples=make_samples(values))
        start, (mean, low, high) = curve(analysis, "Tensor Active")
        assert len(start) == 1000
        assert (np.nanmax(high), np.nanmax(low)) == (88, 0)
        assert mean.sum() * 50 == pytest.approx(88, rel=0.01)
        assert "bins of 2.50 ms" in pack(analysis).notes[0]

    def test_without_samples_there_are_lanes(self):
        header, _ = packed(make_analysis(samples=SAMPLES.empty(), tensor_source="none"))
        assert header["gpus"][0]["tracks"] == []
        assert header["gpus"][0]["strips"] == []

    def test_nothing_at_all(self):
        assert pack(make_empty()) is None


class TestLanes:
    def test_ranges_stand_by_depth_and_start(self):
        analysis = make_analysis()
        host = bars(analysis, "host")
        assert host["start"].is_monotonic_increasing
        steps = host[host["id"] == 0]
        assert (steps["row"] == 0).all()
        assert (host[host["id"] > 0]["row"] == 1).all()
        wanted = analysis.instances[analysis.instances["path_id"] == 0].sort_values("host_start_ns")
        assert steps["start"].tolist() == wanted["host_start_ns"].tolist()
        assert steps["length"].tolist() == [3 * MS] * 6
        assert steps["tensor_active_mean_pct"].tolist() == pytest.approx(wanted["tensor_active_mean_pct"].tolist())
        assert host[host["id"] == 2]["tensor_active_mean_pct"].isna().all()

    def test_ranges_without_work_have_no_window(self):
        analysis = make_analysis()
        analysis.instances.loc[analysis.instances["path_id"] == 1, ["gpu_start_ns", "gpu_end_ns"]] = np.nan
        assert len(bars(analysis, "host")) == 18
        assert sorted(set(bars(analysis, "windows")["id"])) == [0, 2]

    def test_kernels_are_named_by_the_rows_of_the_kernel_table(self, tmp_path):
        analysis = read_hostile(tmp_path)
        header, _ = packed(analysis)
        work = bars(analysis, "work")
        fitted = analysis.kernel_instances.set_index("activity")["kernel"].reindex(range(len(analysis.activities)))
        ordered = analysis.activities.assign(kernel=fitted).sort_values("start_ns", kind="stable")
        assert work["id"].tolist() == ordered["kernel"].tolist()
        assert len(analysis.kernels) == len(header["works"]["names"])
        assert header["works"]["geometry"] == analysis.kernels["launch_geometry"].tolist()

    @pytest.mark.slow
    def test_of_too_many_bars_short_ones_are_merged_and_none_is_left_out(self, monkeypatch):
        analysis = make_analysis()
        whole = {kind: bars(analysis, kind) for kind in ("host", "windows", "work")}
        monkeypatch.setattr(timeline_data, "MOST_BARS", 30)
        for kind, before in whole.items():
            after = bars(analysis, kind)
            assert len(after) <= 10 < len(before)
            assert after["merged"].sum() == len(before)
            for column in ("merged", "length"):
                assert after.groupby("id")[column].sum().equals(before.groupby("id")[column].sum())
        merged = sum(after[after > 1].sum() for after in (bars(analysis, kind)["merged"] for kind in whole))
        assert f"{merged} short bars are merged" in pack(analysis).notes[1]


class TestFlopRate:
    def test_against_naive_version(self):
        report = tcprof.read(FIXTURE)
        samples = report.samples.iloc[::7]
        start, end = samples["start_ns"].to_numpy(), samples["end_ns"].to_numpy()
        found = flop_rate(report.analysis, 0, start, end)
        work = report.activities.iloc[report.kernel_instances["activity"]].reset_index(drop=True)
        length = (work["end_ns"] - work["start_ns"]).clip(lower=1)
        flop = report.kernel_instances["tensor_flop"]
        assert np.isfinite(found).any()
        for low, high, value in zip(start, end, found, strict=True):
            overlap = (work["end_ns"].clip(upper=high) - work["start_ns"].clip(lower=low)).clip(lower=0)
            if (overlap[flop.isna()] >= 1).any():
                assert np.isnan(value)
            else:
                assert value == pytest.approx((flop * overlap / length).sum() / (high - low) * 1e9, rel=1e-6, abs=1e6)

    def test_unknown_without_a_fit(self):
        analysis = make_analysis()
        assert np.isnan(flop_rate(analysis, 0, np.array([0]), np.array([10]))).all()


def test_a_page_of_a_fixture_is_small():
    assert len(pack(tcprof.read(FIXTURE).analysis).packed) < 100_000


def test_ops_lie_below_all_other_ranges(tmp_path):
    """They are many and short; the default domain is above, then others by name."""
    builder = TraceBuilder().gpu().recorded(1_000_000)
    for domain, name in (("tcprof", "step"), ("", "aten::mm, seq = 1, op_id = 1"), ("", "mine"), ("NCCL", "reduce")):
        builder.range(name, 0, 900_000, domain=domain)
    builder.kernel("k", 100_000, 200_000, launched=10)
    paths = tcprof.read(builder.write(tmp_path)).paths
    ordered = paths.assign(place=timeline_lanes._places(paths)).sort_values("place")["path"].tolist()
    assert ordered == ["mine", "reduce", "step", "aten::mm"]


class TestDetails:
    def packed_floats(self, read, reference):
        return read(reference).astype(np.uint32).view(np.float32)

    def test_launches_are_those_of_the_recording(self):
        analysis = tcprof.read(FIXTURE).analysis
        header, read = packed(analysis)
        launches = header["gpus"][0]["details"]["launched"]
        work = analysis.activities.sort_values("start_ns", kind="stable")
        launched = analysis.api_calls.set_index(["process", "correlation"])["start_ns"]
        expected = launched.loc[list(zip(work["process"], work["correlation"], strict=True))].to_numpy()
        assert header["arrays"][launches["array"]]["scale"] == 1e-9
        assert read(launches).tolist() == expected.tolist()

    def test_gaps_are_those_of_the_frame_and_end_with_a_bar(self):
        report = tcprof.read(FIXTURE.with_name("llama.sqlite"))
        header, read = packed(report.analysis)
        gpu = header["gpus"][0]
        gaps = gpu["details"]["gaps"]
        start, length = read(gaps["start"]), read(gaps["end"])
        assert (start.tolist(), read(gaps["number"]).tolist()) == tuple(
            report.gaps[["start_ns", "number"]].T.to_numpy().tolist()
        )
        assert set((start + length).tolist()) <= set(read(gpu["lanes"]["work"]["start"]).tolist())
        assert read(gaps["saves"]) == pytest.approx(find_savings(report.gaps, report.gap_sums).to_numpy(), abs=0.5)
        assert [header["causes"][at] for at in read(gaps["cause"])] == report.gaps["cause"].tolist()
        assert gaps["costliest"] == report.gap_sums["longest_gap"].iloc[0]

    def test_many_gaps_are_the_longest(self, monkeypatch):
        monkeypatch.setattr(packing, "_MOST_GAPS", 100)
        report = tcprof.read(FIXTURE.with_name("llama.sqlite"))
        header, read = packed(report.analysis)
        gaps = header["gpus"][0]["details"]["gaps"]
        length = report.gaps["end_ns"] - report.gaps["start_ns"]
        assert sorted(read(gaps["end"])) == sorted(length.nlargest(100))

    def test_facts_of_paths_and_kernels_are_those_of_the_frames(self):
        analysis = tcprof.read(FIXTURE).analysis
        paths, (of_all, of_each) = list_path_facts(analysis, 0), list_kernel_facts(analysis, 0, 1e6)
        rows = analysis.ranges[analysis.ranges["path_id"] >= 0].set_index("path_id").sort_index()
        assert paths["GPU window, total"] == [units.format_ns(value) for value in rows["gpu_window_ns"]]
        assert of_all["Time, total"] == [units.format_ns(value) for value in analysis.kernels["total_ns"]]
        step_ns = analysis.steps.loc[analysis.steps["counted"], "kernel_ns"].mean()
        shares = [0.0 if text[0] == "<" else float(text.split()[0]) for text in of_all["Share of the step"]]
        assert sum(shares) == pytest.approx(100 * step_ns / 1e6, rel=1e-3)
        peak = analysis.kernels["tensor_peak_pct"].iloc[0]
        assert of_each["Tensor FLOP/s"][0].endswith(f"({units.format_pct(peak)} of peak)")

    def test_facts_of_folded_modules_stand_behind_those_of_all(self):
        analysis = tcprof.read(FIXTURE.with_name("llama.sqlite")).analysis
        facts, folded = list_module_facts(analysis, 0)
        rows = analysis.modules[analysis.modules["phase"] == "all"].set_index("module_id")
        times = (rows["kernel_ns"] / rows["step_count"]).drop(-1)
        texts, first = facts["Kernel time per step"], times.index.max() + 1
        assert [texts[module] for module in times.index] == [units.format_ns(value) for value in times]
        assert texts[first:] == [units.format_ns(times[list(ids)].sum()) for ids in folded]

    def test_kernels_of_modules_add_up_to_the_modules(self):
        analysis = tcprof.read(FIXTURE.with_name("llama.sqlite")).analysis
        header, read = packed(analysis)
        modules = header["gpus"][0]["details"]["modules"]
        own = modules["own"]
        seconds = (
            pd.Series(1e9 * self.packed_floats(read, own["seconds"]), dtype=float).groupby(read(own["module"])).sum()
        )
        whole = {}
        for module, ns in seconds.items():
            while module >= 0:
                whole[module] = whole.get(module, 0.0) + ns
                module = modules["parents"][module]
        rows = analysis.modules[(analysis.modules["phase"] == "all") & (analysis.modules["module_id"] >= 0)]
        expected = rows.set_index("module_id")["kernel_ns"]
        assert [whole.get(module, 0.0) for module in expected.index] == pytest.approx(expected.tolist(), rel=1e-6)
        assert len(expected) > 50
