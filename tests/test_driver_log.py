"""What the driver says of GPUs while they are recorded: logged, on the recording's clock, over steps, of ranks."""

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import MS, TraceBuilder
from jobs import make_job
from saved_files import bytes_of, table_of
from slow import one_of_each

import tcprof
from tcprof.analysis.unprofiled import measure_unprofiled_power, time_unprofiled_steps
from tcprof.nsys import schema
from tcprof.ranks.job import join_ranks
from tcprof.ranks.reduce import reduce_file
from tcprof.ranks.store import read_job, write_job
from tcprof.record.driver_log import driver_logged, read_driver_log
from tcprof.redaction.redact import redact
from tcprof.sources.nsys_sqlite import NsysExport
from tcprof.sources.nsys_sqlite.export import write_driver_log, write_unprofiled

BEGUN = 1_700_000_000 * 10**9
NVML = """
from types import SimpleNamespace
class NVMLError(Exception): pass
NVML_TEMPERATURE_GPU, NVML_CLOCK_SM = 0, 1
def nvmlInit(): pass
def nvmlDeviceGetCount(): return 3
def nvmlDeviceGetHandleByIndex(number): return number
def nvmlDeviceGetUUID(gpu): return f"GPU-{gpu}a"
NVML_SUCCESS, NVML_FI_DEV_POWER_INSTANT = 0, 186
def nvmlDeviceGetFieldValues(gpu, fields):
    if gpu == 2: raise NVMLError
    return [SimpleNamespace(nvmlReturn=3 * gpu, value=SimpleNamespace(uiVal=612_000)) for field in fields]
def nvmlDeviceGetPowerUsage(gpu): return 500_000 + gpu
def nvmlDeviceGetEnforcedPowerLimit(gpu): raise NVMLError
def nvmlDeviceGetTemperature(gpu, sensor): return 60
def nvmlDeviceGetClockInfo(gpu, clock): return 1395
def nvmlDeviceGetCurrentClocksThrottleReasons(gpu): return 4
"""


def log_of(path: Path) -> pd.DataFrame:
    return NsysExport(path).samples(()).driver_log


def steps(watts: list[int], count: int = 12, **facts: int) -> TraceBuilder:
    """A program whose steps of 50 ms keep a GPU busy, from 0.4 s on."""
    builder, length = TraceBuilder().gpu(), 50 * MS
    for begin in range(400 * MS, 400 * MS + count * length, length):
        builder.range("step", begin, begin + length - MS).kernel("gemm", begin, begin + length, launched=begin)
    return builder.driver_log(watts, **facts)


@pytest.mark.parametrize(
    ("numbers", "uuids"),
    [((), ["0a", "1a", "2a"]), ((1,), ["1a"]), ((2, 0), ["0a", "2a"]), ((1, 7), ["0a", "1a", "2a"])],
)
def test_a_process_logs_each_gpu_asked_for_until_the_block_ends(numbers, uuids, tmp_path, monkeypatch):
    (tmp_path / "pynvml.py").write_text(NVML)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    log, began = tmp_path / "log.csv", time.time_ns()
    with driver_logged(log, numbers):
        until = time.monotonic() + 60
        while not log.exists() or len(log.read_text().splitlines()) < 6:
            assert time.monotonic() < until
            time.sleep(0.05)
    rows = read_driver_log(log)
    assert rows["uuid"].tolist()[:6] == (uuids * 6)[:6]
    power = {"0a": 612_000, "1a": 500_001, "2a": 500_002}
    assert rows["power_mw"].tolist() == rows["uuid"].map(power).tolist()
    assert (rows.loc[0, ["limit_mw", "temperature_c", "clock_mhz", "reasons"]] == [-1, 60, 1395, 4]).all()
    assert rows["utc_ns"].between(began, time.time_ns()).all()


@pytest.mark.parametrize("nvml", ["raise ImportError", "def nvmlInit(): raise OSError"])
def test_without_a_driver_nothing_is_logged(nvml, tmp_path, monkeypatch):
    (tmp_path / "pynvml.py").write_text(nvml)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with driver_logged(tmp_path / "log.csv"):
        pass
    monkeypatch.setattr(sys, "executable", "/nowhere")
    with driver_logged(tmp_path / "log.csv"):
        pass
    assert read_driver_log(tmp_path / "log.csv").empty


def test_a_log_is_put_on_the_recording_s_clock_and_gpus(tmp_path):
    log = tmp_path / "log.csv"
    lines = [(-1, "0a", 5), (0, "0a", 612), (0, "1a", 500), (0, "other", 7), (10**8, "0a", 613), (10**10, "0a", 9)]
    whole = "".join(f"{BEGUN + at},{uuid},{watts}000,-1,60,1395,4\n" for at, uuid, watts in lines)
    log.write_text(f"{whole}{BEGUN},0a,61")
    builder = TraceBuilder().gpu().recorded(10**9, started=BEGUN)
    for number, uuid in ((3, "0a"), (4, "1a")):
        builder.row(schema.GPUS, id=number, name="NVIDIA H200", uuid=uuid)
    path = builder.write(tmp_path)
    write_driver_log(path, read_driver_log(log))
    rows = log_of(path)
    assert rows["gpu"].tolist() == [3, 3, 4]
    assert rows["power_w"].tolist() == [612, 613, 500]
    assert rows["start_ns"].tolist() == [0, 10**8, 0]
    assert rows["end_ns"].tolist()[:2] == [10**8, 2 * 10**8]
    assert rows["power_limit_w"].isna().all()
    assert rows["clock_limit"].astype(str).unique().tolist() == ["power"]


def test_impossible_values_are_unknown_and_counted(tmp_path):
    path = TraceBuilder().gpu().driver_log([600, 10**9, None, 610], temperature=-3, clock=1395).write(tmp_path)
    source = NsysExport(path)
    rows = source.samples(()).driver_log
    assert rows["power_w"].tolist()[::3] == [600, 610]
    assert rows["power_w"].isna().sum() == 2
    assert rows["temperature_c"].isna().all()
    assert {(one.place, one.count) for one in source.wrong()} >= {("TCPROF_DRIVER_LOG.power", 1)}


def test_the_mean_is_over_the_steps_from_when_the_value_is_theirs(tmp_path):
    power = [100] * 5 + [600] * 5 + [100] * 2  # NVML says 100 ms late that the steps began, at 400 ms
    (mean,) = tcprof.read(steps(power).write(tmp_path)).step_summary["power_w"]
    assert mean == 600


@pytest.mark.parametrize(
    ("power", "count"),
    [([], 12), ([600] * 12, 5), ([600] * 6, 12), ([600] * 2, 12)],
    ids=["not recorded", "below 0.2 s", "half not sampled", "two samples"],
)
def test_too_little_gives_no_mean(tmp_path, power, count):
    assert tcprof.read(steps(power, count).write(tmp_path)).step_summary["power_w"].isna().all()


def test_the_page_of_a_recording_says_it(tmp_path, run):
    page = tmp_path / "page.html"
    assert run("report", steps([600] * 12).write(tmp_path), "-o", page).status == 0
    assert "Mean power of GPU 0 over its steps" in page.read_text()
    assert "600\N{NO-BREAK SPACE}W" in page.read_text()
    assert "30\N{NO-BREAK SPACE}J" in page.read_text()


def test_unprofiled_steps_have_their_own_power(tmp_path):
    builder, begun = TraceBuilder().gpu().recorded(10**9, started=BEGUN), BEGUN + 2 * 10**9
    for begin in range(0, 10**9, 100 * MS):
        builder.range("step", begin, begin + 99 * MS, domain="tcprof", start_end=True)
        builder.kernel("gemm", begin, begin + 50 * MS, launched=begin)
    path = builder.row(schema.GPUS, id=0, name="NVIDIA H200", uuid="0a").write(tmp_path)
    times = begun + 80 * MS * np.arange(11)
    write_unprofiled(
        path,
        pd.DataFrame({"process": 1, "training": True, "start_ns": times, "end_ns": times + 80 * MS, "step_count": 1}),
    )
    log = pd.DataFrame({"utc_ns": BEGUN + 100 * MS * np.arange(40), "uuid": "0a"})
    log["power_mw"] = np.where(log["utc_ns"] < begun, 300_000, 500_000)
    write_driver_log(path, log.assign(limit_mw=-1, temperature_c=-1, clock_mhz=-1, reasons=-1))
    analysis = tcprof.read(path).analysis
    assert analysis.step_summary["power_w"].tolist() == [300]
    assert measure_unprofiled_power(analysis, 0) == 500
    assert time_unprofiled_steps(analysis, 0).median() == 80 * MS


@pytest.mark.slow
def test_ranks_have_it_in_their_table_and_in_a_folder(tmp_path, run):
    files = make_job(tmp_path, [[50_000] * 9] * 2, power_w=[612, 690])
    assert "690 W" in run("ranks", *files, "--jobs", 1).out
    assert " tokens per joule" in run("ranks", *files, "--jobs", 1, "--per-step", "4800 tokens").out.replace(
        "\n  ", " "
    )
    job = join_ranks([rank for file in files for rank in reduce_file(str(file))])
    assert job.ranks["power_w"].tolist() == [612, 690]
    write_job(job, tmp_path / "job")
    assert [each.power_w for each in read_job(tmp_path / "job")] == [612, 690]
    recordings = tmp_path / "job" / "rank_recordings.parquet"
    recordings.write_bytes(bytes_of(table_of(recordings.read_bytes()).drop_columns(["power_w"])))
    assert np.isnan([each.power_w for each in read_job(tmp_path / "job")]).all()


def test_a_lower_clock_is_named_with_the_power(tmp_path):
    files = make_job(tmp_path, [[50_000] * 9] * 3 + [[60_000] * 9], power_w=[612, 610, 611, 690])
    reduced = [rank for file in files for rank in reduce_file(str(file))]
    clocks = [each.steps.assign(clock_hz=1.2e9 if each.power_w == 690 else 1.5e9) for each in reduced]
    job = join_ranks([replace(each, steps=steps) for each, steps in zip(reduced, clocks, strict=True)])
    assert job.ranks.loc[3, "cause"].startswith("its SM clock is 1.20 GHz at 690 W; the others' is 1.50 GHz at 611 W")
    without = join_ranks([replace(each, power_w=np.nan) for each in job.recordings])
    assert without.ranks.loc[3, "cause"].startswith("its SM clock is 1.20 GHz; the others' is 1.50 GHz")


@one_of_each(1)(
    ("reasons", "limit"),
    [
        (0, ""),
        (1, ""),
        (4, "power"),
        (0x80, "power"),
        (0x24, "temperature"),
        (0x48, "temperature"),
        (8, "hardware"),
        (2, "setting"),
    ],
)
def test_what_limits_the_clock_of_the_steps_is_named(reasons, limit, tmp_path):
    analysis = tcprof.read(steps([600] * 12, reasons=reasons).write(tmp_path))
    assert analysis.step_summary["clock_limit"].tolist() == [limit]
    assert analysis.step_summary["power_limit_w"].tolist() == [700]
    analysis.save(tmp_path / "x.tcprof")
    again = tcprof.read(tmp_path / "x.tcprof")
    pd.testing.assert_frame_equal(again.driver_log, analysis.driver_log)


def test_what_holds_in_less_than_half_of_the_steps_is_no_limit(tmp_path):
    builder = steps([600] * 6, reasons=4)  # until 0.6 s; the steps end at 1 s
    for at in range(6, 12):
        builder.row(schema.DRIVER_LOG, timestamp=at * 100 * MS, gpu=0, power=600_000, reasons=0)
    assert tcprof.read(builder.write(tmp_path)).step_summary["clock_limit"].tolist() == [""]


def test_a_redacted_copy_has_the_log(tmp_path):
    source, copy = steps([600] * 12, reasons=4).samples([0, 50, 100]).write(tmp_path), tmp_path / "copy.sqlite"
    redact(source, copy)
    pd.testing.assert_frame_equal(log_of(copy), log_of(source))
