"""A job of many real files, through processes and through Dask: ``python benchmarks/job_files.py RANK.tcprof 1024``.

Each file is a saved analysis of a recorded rank, with a rank and a content of its own. ``tcprof ranks`` reads them with
two processes, on the four worker processes of a Dask cluster, and some of them in one process; all must print the same.
CPU seconds are those of all processes that read, and the caller's memory is its own, without its workers'.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import psutil
from distributed import LocalCluster

ABOUT = "tcprof.json"
FEW, SERIAL, WORKERS = 4, 64, 4


def write_ranks(source: Path, folder: Path, count: int) -> None:
    """Copies of a saved analysis, each of a rank of one job."""
    with zipfile.ZipFile(source) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist() if info.filename.endswith(".parquet")]
        about = json.loads(archive.read(ABOUT))
    for rank in range(count):
        recording = about["recording"]
        facts = {name: fact for name, fact in recording["identity"].items() if not name.startswith("rank_")}
        identity = {**facts, f"rank_{rank}": f"of {count}"}
        own = {**about, "recording": {**recording, "content": f"{rank:064x}", "identity": identity}}
        with zipfile.ZipFile(folder / f"rank{rank}.tcprof", "w") as archive:
            archive.writestr(zipfile.ZipInfo(ABOUT), json.dumps(own))
            for info, content in members:
                archive.writestr(info, content)


def measure(files: list[Path], options: list[str], workers: list[int]) -> tuple[float, float, float, str]:
    """Seconds from start to end, CPU seconds of all processes, peak memory of the caller in MB, and what it printed."""
    before = [cpu_of(worker) for worker in workers]
    begin, peak = time.perf_counter(), 0.0
    with tempfile.TemporaryFile("w+") as out:
        command = [sys.executable, "-m", "tcprof", "ranks", *map(str, files), *options, "--format", "json"]
        used = os.times()
        caller = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        while caller.poll() is None:
            peak = max(peak, peak_memory(caller.pid))
            time.sleep(0.05)
        after = os.times()
        out.seek(0)
        printed = out.read()
    cpu = after.children_user + after.children_system - used.children_user - used.children_system
    cpu += sum(cpu_of(worker) - spent for worker, spent in zip(workers, before, strict=True))
    return time.perf_counter() - begin, cpu, peak, printed


def cpu_of(process: int) -> float:
    """CPU seconds that a process has spent."""
    times = psutil.Process(process).cpu_times()
    return float(times.user + times.system)


def peak_memory(process: int) -> float:
    """The most memory that a process has had, in MB; 0 once it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return max((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), default=0.0)


def main() -> None:
    """A line of a Markdown table for each way and number of files."""
    source, count = Path(sys.argv[1]), int(sys.argv[2])
    print("| files | each | read by | wall | CPU | CPU a file | caller's memory |")
    print("|---:|---:|---|---:|---:|---:|---:|")
    with (
        tempfile.TemporaryDirectory() as name,
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
    ):
        write_ranks(source, Path(name), count)
        every = [Path(name) / f"rank{rank}.tcprof" for rank in range(count)]
        workers = [psutil.Process(nanny.pid).pid for nanny in cluster.workers.values()]
        ways: dict[str, tuple[list[str], list[int]]] = {
            "this process": (["--jobs", "1"], []),
            "2 processes": (["--jobs", "2"], []),
            f"Dask, {WORKERS} workers": (["--dask", cluster.scheduler_address], workers),
        }
        for files in (every[:FEW], every[:SERIAL], every):
            printed = set()
            for way, (options, of_cluster) in ways.items():
                if len(files) > SERIAL and options == ["--jobs", "1"]:
                    continue
                wall, cpu, memory, out = measure(files, options, of_cluster)
                printed.add(out)
                size = f"{files[0].stat().st_size / 1e6:.2f} MB"
                spent = f"{cpu:.1f} s | {cpu / len(files):.2f} s | {memory:.0f} MB"
                print(f"| {len(files):,} | {size} | {way} | {wall:.1f} s | {spent} |", flush=True)
            print(f"{len(files):,} files: {len(printed)} different outputs", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
