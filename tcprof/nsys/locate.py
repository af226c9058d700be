"""Find nsys on the machine, its version, and what it can do."""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tcprof.errors import NsysError
from tcprof.nsys.metricset import read_chips
from tcprof.nsys.process import Completed, run_quietly

ENVIRONMENT_VARIABLE = "TCPROF_NSYS"
VENDOR_ROOT = Path("/")
VENDOR_PATTERNS = (
    "opt/nvidia/nsight-systems*/*/target-linux-*/nsys",  # NVIDIA's packages
    "usr/local/cuda*/NsightSystems-cli-*/target-linux-*/nsys",
    "usr/local/cuda*/nsight-systems-*/target-linux-*/nsys",
    "usr/lib/nsight-systems/target-linux-*/nsys",  # Debian and Ubuntu
    "usr/lib/*/nsight-systems/target-linux-*/nsys",
    "opt/nvidia/nsight-compute/*/host/target-linux-*/nsys",  # Nsight Compute brings a complete copy
    "usr/local/cuda*/nsight-compute-*/host/target-linux-*/nsys",
)
_ANSWER_S = 120.0  # the first start from a cold network file system is slow
_HINT = (
    "Install NVIDIA Nsight Systems (package nsight-systems-cli in NVIDIA's repositories, nsight-systems in "
    f"Debian and Ubuntu), or set {ENVIRONMENT_VARIABLE}=/path/to/nsys."
)


@dataclass(frozen=True)
class Nsys:
    """An nsys that runs.

    Attributes:
        path: The executable.
        version: For instance (2025, 3, 2, 474).
    """

    path: Path
    version: tuple[int, ...]

    @property
    def version_text(self) -> str:
        """The version as people write it: 2025.3.2."""
        return ".".join(str(part) for part in self.version[:3])


@dataclass(frozen=True)
class GpuSupport:
    """A GPU, as nsys sees it.

    Attributes:
        number: nsys's number for it; None where nsys names none.
        chip: For instance GH100; empty where this nsys does not tell.
        name: For instance NVIDIA H200.
        supported: Whether its metrics can be sampled.
        reason: Why not, in nsys's words; empty if supported, or if nsys gives none.
    """

    number: int | None
    chip: str
    name: str
    supported: bool
    reason: str


@dataclass(frozen=True)
class Capabilities:
    """What an nsys can do on this machine.

    Attributes:
        gpu_metrics_option: The spelling that it knows: --gpu-metrics-devices, up to 2023
        --gpu-metrics-device. metric_set_files: Whether it takes a metric set from a file.
        gpus: The GPUs, those that cannot be sampled included.
    """

    gpu_metrics_option: str
    metric_set_files: bool
    gpus: tuple[GpuSupport, ...]

    @property
    def supported_gpus(self) -> tuple[GpuSupport, ...]:
        """The GPUs whose metrics can be sampled."""
        return tuple(gpu for gpu in self.gpus if gpu.supported)


def find_nsys(explicit: Path | None = None) -> Nsys:
    """Finds the nsys to use.

    Args:
        explicit: The executable to use; no other is looked for.

    Returns:
        The given one, else the one named by TCPROF_NSYS, else the one on PATH, else the newest in the folders
        where NVIDIA and Debian install it.

    Raises:
        NsysError: If there is none, or the named one does not run.
    """
    if explicit is not None:
        return _read_version(explicit)
    if named := os.environ.get(ENVIRONMENT_VARIABLE):
        return _read_version(Path(named).expanduser())
    failures = []
    if on_path := shutil.which("nsys"):
        try:
            return _read_version(Path(on_path))
        except NsysError as error:  # CUDA puts a wrapper on PATH even where Nsight Systems is not installed
            failures.append(str(error))
    installed = []
    for path in _vendor_paths():
        try:
            installed.append(_read_version(path))
        except NsysError as error:
            failures.append(str(error))
    if installed:
        return max(installed, key=lambda nsys: nsys.version)
    if failures:
        raise NsysError("\n".join(failures), hint=_HINT)
    looked = ", ".join(str(VENDOR_ROOT / pattern.partition("/target")[0]) for pattern in VENDOR_PATTERNS)
    raise NsysError(f"nsys, the program of NVIDIA Nsight Systems, was not found on PATH nor in {looked}.", hint=_HINT)


def read_capabilities(nsys: Nsys) -> Capabilities:
    """Asks an nsys what it can do here.

    Raises:
        NsysError: If it gives no answer that can be understood.
    """
    options = _ask(nsys, "--help").output
    plural = re.search(r"--gpu-metrics-devices\b", options) is not None
    option = "--gpu-metrics-devices" if plural else "--gpu-metrics-device"
    devices = _ask(nsys, f"{option}=help")
    if "Possible --gpu-metrics-device" not in devices.output:
        raise NsysError(
            f"nsys {nsys.version_text} does not tell which GPUs it can sample: {devices.last_lines()}",
            hint=_HINT,
        )
    sets = _ask(nsys, "--gpu-metrics-set=help").output
    return Capabilities(option, re.search(r"^\s*file:", sets, re.MULTILINE) is not None, parse_gpus(devices.output))


def parse_gpus(text: str) -> tuple[GpuSupport, ...]:
    """Reads the list of GPUs that ``nsys profile --gpu-metrics-devices=help`` prints.

    Args:
        text: Its output. GPUs that can be sampled are numbered lines such as
            ``0: Hopper GH100 | NVIDIA H200 PCI[0000:00:06.0]`` (older: without the chip); the others follow
            under a heading, each with its reason on the same line or the next.
    """
    gpus: list[GpuSupport] = []
    supported = True
    for line in text.splitlines():
        if re.search(r"GPUs are (not )?supported", line):
            supported = False
        elif match := re.match(r"\s+(?:(\d+)\s*:\s*)?(\S.*?)\s*PCI\[[^\]]*\][\s\-:,(]*(.*?)\)?\s*$", line):
            number, words, reason = match.groups()
            family, bar, name = words.rpartition("|")
            chip = family.split()[-1] if bar and family.split() else ""
            reason = "" if supported else reason
            gpus.append(GpuSupport(int(number) if number else None, chip, name.strip(), supported, reason))
        elif gpus and not supported and re.match(r"\s+\S", line) and not gpus[-1].reason:
            last = gpus.pop()
            gpus.append(GpuSupport(last.number, last.chip, last.name, False, line.strip(" \t-*")))
    return tuple(gpus)


def read_general_metric_set(nsys: Nsys, chip: str) -> str:
    """Reads the metric set that this nsys would use for a chip: the first one that names it.

    Args:
        nsys: The nsys whose sets are meant.
        chip: For instance GH100.

    Raises:
        NsysError: If none of them is for that chip.
    """
    folder = nsys.path.resolve().parent / "GpuMetrics"
    try:
        names = (folder / "index.config").read_text(encoding="utf-8").split()
    except OSError:
        names = sorted(path.stem for path in folder.glob("*.config"))
    for name in names:
        try:
            text = (folder / f"{name}.config").read_text(encoding="utf-8")
        except OSError:
            continue  # named in the index and not there: as good as not named
        if chip in text and chip in read_chips(text):
            return text
    raise NsysError(f"nsys {nsys.version_text} has no metric set for {chip} in {folder}.")


def _vendor_paths() -> Iterator[Path]:
    seen = set()
    for pattern in VENDOR_PATTERNS:
        for path in sorted(VENDOR_ROOT.glob(pattern)):
            if path.resolve() not in seen:
                seen.add(path.resolve())
                yield path


def _read_version(path: Path) -> Nsys:
    done = run_quietly([str(path), "--version"], timeout_s=_ANSWER_S)
    match = re.search(r"\bversion (\d+(?:\.\d+)+)", done.output)
    if done.status != 0 or match is None:
        said = done.last_lines() or "nothing"
        raise NsysError(f"{path} does not run as nsys: exit status {done.status}, and it said: {said}", hint=_HINT)
    return Nsys(path, tuple(int(part) for part in match[1].split(".")))


def _ask(nsys: Nsys, option: str) -> Completed:
    return run_quietly([str(nsys.path), "profile", option], timeout_s=_ANSWER_S)
