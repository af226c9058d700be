"""An nsys for tests: it says what the real one says, and leaves what the real one leaves.

The environment variable FAKE_NSYS chooses what happens, and FAKE_NSYS_REASON why no GPU can be sampled. Messages
and exit statuses are those of nsys 2023.4.4 and 2025.3.2, or, where they need a GPU in a certain state, those that
people have published.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MODE = os.environ.get("FAKE_NSYS", "ok")
OLD = MODE == "old"
DEVICE_OPTION = "--gpu-metrics-device" if OLD else "--gpu-metrics-devices"
SET_HELP = """Possible --gpu-metrics-set values are:
\tgh100        : General Metrics for NVIDIA GH100 (any frequency)
"""
DEVICE_HELP = """Possible --gpu-metrics-devices values are:
\t0: Hopper GH100 | NVIDIA H200 PCI[0000:00:06.0]
\tall: Select all supported GPUs
\tcuda-visible: Select GPUs that match CUDA_VISIBLE_DEVICES
\tnone: Disable GPU Metrics [Default]
"""
SECOND_HELP = """Possible --gpu-metrics-devices values are:
\t0: Hopper GH100 | NVIDIA H200 PCI[0000:00:07.0]
\tall: Select all supported GPUs
Some GPUs are not supported:
\tHopper GH100 | NVIDIA H200 PCI[0000:00:06.0] - Already under profiling
"""
CLOSED_HELP = """None of the installed GPUs are supported:
\tHopper GH100 | NVIDIA H200 PCI[0000:00:06.0] - {reason}
See the user guide: https://docs.nvidia.com/nsight-systems/UserGuide/index.html#gpu-metrics
"""
NO_DEVICES_HELP = "Possible --gpu-metrics-device values are:\n\tNVIDIA GPUs not found, feature is not available\n"
USAGE = """
usage: nsys profile [<args>] [application] [<application args>]
Try 'nsys profile --help' for more information.
"""
ILLEGAL = "Illegal --gpu-metrics-devices argument: all.\n"
REFUSALS = {  # mode: what nsys says instead of recording
    "privilege": ILLEGAL + "Insufficient privilege, see https://developer.nvidia.com/ERR_NVGPUCTRPERM.\n" + USAGE,
    "busy": ILLEGAL + "Already under profiling\n" + USAGE,
    "mig": ILLEGAL + "MIG instances found. Please, specify GPUs explicitly.\n" + USAGE,
    "vgpu": ILLEGAL + "Profiling permission on a vGPU was not granted\n" + USAGE,
    "confidential": ILLEGAL + "GPU metrics collection disabled due to Confidential Compute mode.\n" + USAGE,
    "unsupported": "Illegal --gpu-metrics-device arguments.\nNone of the installed GPUs are supported. See "
    "the user guide: "
    "https://docs.nvidia.com/nsight-systems/UserGuide/index.html#gms-introduction\n" + USAGE,
    "no_gpu": "Illegal --gpu-metrics-device argument: 3.\nNo such GPU: 3.\n" + USAGE,
    "spelling": "unrecognised option '--gpu-metrics-devices=all'\n" + USAGE,
    "twice": "option '--trace' cannot be specified more than once\n" + USAGE,
    "no_program": "Executable not found in current directory or standard search paths\n",
    "strange": "the moon is in the wrong quarter\n",
}
REPORT = b"NVIDIA Tegra Profiler Report 2025@3@2@474-253236389321v0\n"
EXPORT_REFUSALS = {
    "newer": "Exportation error: Report was created in Nsight Systems version (2026.2.1.1), newer than your "
    "current version (2025.3.2.474).\n",
    "protobuf": "Exportation error: Cannot parse protobuf message.\n",
    "damaged": "Exportation error: Section Table Reference magic number mismatch.\n",
    "locked": "Exportation error: database is locked\n",
    "strange": "Exportation error: the moon is in the wrong quarter\n",
}


def main() -> int:
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        return say_version()
    command, rest = arguments[0], arguments[1:]
    if command == "export":
        return export(rest)
    if command in ("start", "stop") and rest[0] != "--help":
        return control(command, rest)
    if command == "shutdown":
        return 0 if MODE == "outlives" else 1
    if rest and (rest[0] == "--help" or rest[0].endswith("=help")):
        return say_help(rest[0])
    return profile(rest)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def say_version() -> int:
    if MODE == "wrapper":  # CUDA's /usr/local/cuda/bin/nsys where Nsight Systems is not installed
        sys.stderr.write("Error: Nsight Systems 2025.3.2 hasn't been installed with CUDA Toolkit 13.0\n")
        return 1
    version = (
        "2023.4.4.54-234433681190v0" if OLD else os.environ.get("FAKE_NSYS_VERSION", "2025.3.2.474-253236389321v0")
    )
    say(f"NVIDIA Nsight Systems version {version}")
    return 0


def held_once(name: str) -> str:
    """Another nsys asks at the same time: the first one that comes after it finds the GPU held."""
    mark = Path(os.environ.get(name, "/nonexistent"))
    if not mark.exists():
        return ""
    mark.unlink()
    return "Already under profiling"


def say_help(option: str) -> int:
    if option == "--help":
        say(f"\nusage: nsys profile [<args>]\n\n\t{DEVICE_OPTION}=\n\n\t   Collect GPU Metrics.\n")
    elif option == f"{DEVICE_OPTION}=help":
        reason = os.environ.get("FAKE_NSYS_REASON") or held_once("FAKE_NSYS_HELD")
        usual = SECOND_HELP if MODE == "second of two" else DEVICE_HELP
        say(CLOSED_HELP.format(reason=reason) if reason else NO_DEVICES_HELP if OLD else usual)
    elif option == "--gpu-metrics-set=help":
        say(SET_HELP + ("" if OLD else "\tfile:<file name> : use metric set from a given file\n"))
    else:
        sys.stderr.write(f"unrecognised option '{option}'\n{USAGE}")
        return 1
    return 0


def profile(arguments: list[str]) -> int:
    if MODE in REFUSALS:
        sys.stderr.write(REFUSALS[MODE])
        return 1
    options = [argument for argument in arguments if argument.startswith("--")]
    if arguments[len(options)] != "sleep" and held_once("FAKE_NSYS_HELD_AT_START"):  # not a trial of a metric set
        sys.stderr.write(REFUSALS["busy"])
        return 1
    base = Path(next(o.partition("=")[2] for o in options if o.startswith("--output=")).replace("%%", "%"))
    session = next((o.partition("=")[2] for o in options if o.startswith("--session-new=")), "")
    if session:
        control("start", [f"--session={session}", f"--output={base}"])
    status = run_program(arguments[len(options) :])
    if session:
        state = Path(tempfile.gettempdir(), session)
        recorded = state.read_text()
        state.unlink()
        if not recorded:  # nothing is recorded any more
            return status
        base = Path(recorded)
    say("Generating '/tmp/nsys-report-40b7.qdstrm'")
    if MODE == "qdstrm":
        base.with_name(base.name + ".qdstrm").write_bytes(b"U3w[END]NVIDIA Nsight Systems Stream 2025.3.2.474")
        sys.stderr.write(
            "Importer error status: An unknown error occurred.\n"
            "Unable to retrieve the importer version: skipping importation of the QDSTRM file.\n"
        )
        say(f"Generated:\n    {base}.qdstrm")
    elif MODE == "elsewhere":
        stray = base.parent / "stray" / "nsys-report-5db7.nsys-rep"
        stray.parent.mkdir()
        stray.write_bytes(b"a report")
        sys.stderr.write(f"Failed to create '{base}.nsys-rep': No such file or directory.\n")
        say(f"Generated:\n    {stray}")
    elif MODE.startswith("captures"):  # of a server: their number follows, and which of them is damaged
        _, count, *damaged = MODE.split()
        names = (
            [f"{base}.{number}.nsys-rep" for number in range(1, int(count) + 1)]
            if count != "1"
            else [f"{base}.nsys-rep"]
        )
        for number, name in enumerate(names, start=1):
            Path(name).write_bytes(b"damaged" if str(number) in damaged else REPORT)
        say("Generated:\n    " + "\n    ".join(names))
    elif MODE == "no_range":
        say("Generated:")
    else:
        suffix = ".qdrep" if MODE == "qdrep" else ".nsys-rep"
        base.with_name(base.name + suffix).write_bytes(REPORT)
        say(f"[1/1] [0%      ] {base.name}\r[1/1] [====100%] {base.name}\nGenerated:\n    {base}{suffix}")
    return status


def control(command: str, options: list[str]) -> int:
    """A capture of a session begins, or ends with its report: ``profile`` begins the first."""
    session, output = (
        next((o.partition("=")[2] for o in options if o.startswith(f"--{name}=")), "") for name in ("session", "output")
    )
    state = Path(tempfile.gettempdir(), session)
    if command == "start" and MODE == "no_start" and state.exists():
        sys.stderr.write("Configuring is not allowed in this state.\n")
        return 1
    if command == "start":
        state.write_text(output)
    elif not (state.exists() and state.read_text()):  # the program has ended, or nothing is recorded
        return 1
    else:
        Path(f"{state.read_text()}.nsys-rep".replace("%%", "%")).write_bytes(REPORT)
        state.write_text("")
    return 0


def run_program(program: list[str]) -> int:
    if MODE != "patient":
        return subprocess.run(program, check=False).returncode
    stopped = []
    signal.signal(signal.SIGINT, lambda *_: stopped.append(1))
    say("recording")
    until = time.monotonic() + 20
    while not stopped and time.monotonic() < until:
        time.sleep(0.02)
    return 130 if stopped else 0


def export(arguments: list[str]) -> int:
    output = Path(next(a.partition("=")[2] for a in arguments if a.startswith("--output=")))
    if MODE in EXPORT_REFUSALS or Path(arguments[-1]).read_bytes() == b"damaged":
        sys.stderr.write(EXPORT_REFUSALS.get(MODE, EXPORT_REFUSALS["damaged"]))
        return 1
    if MODE == "hollow":
        output.write_bytes(bytes(8192))
        return 0
    shutil.copy(os.environ["FAKE_NSYS_EXPORT"], output)
    sys.stderr.write("Processing 551 events: [1%   ]\rProcessing 551 events: [===100%]\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
