"""Ask an nsys what it can do on this machine."""

import re
from dataclasses import dataclass

from tcprof.errors import NsysError
from tcprof.nsys.locate import ANSWER_S, INSTALL_HINT, METRIC_SETS, Nsys
from tcprof.nsys.metricset import read_chips
from tcprof.nsys.run import Completed, run_quietly


@dataclass(frozen=True)
class GpuSupport:
    """A GPU, as nsys sees it."""

    number: int | None  # nsys's number for it; None where nsys names none
    chip: str  # for instance GH100; empty where this nsys does not say
    name: str  # for instance NVIDIA H200
    supported: bool  # whether its metrics can be sampled
    reason: str  # why not, in nsys's words; empty if supported, or if nsys gives none


@dataclass(frozen=True)
class Capabilities:
    """What an nsys can do on this machine."""

    gpu_metrics_option: str  # the spelling that it knows: --gpu-metrics-devices, up to 2023 --gpu-metrics-device
    metric_set_files: bool  # whether it takes a metric set from a file
    gpus: tuple[GpuSupport, ...]  # the GPUs, those that cannot be sampled included

    @property
    def supported_gpus(self) -> tuple[GpuSupport, ...]:
        """The GPUs whose metrics can be sampled."""
        return tuple(gpu for gpu in self.gpus if gpu.supported)


def read_capabilities(nsys: Nsys) -> Capabilities:
    """Asks an nsys what it can do here.

    Raises:
        NsysError: If it gives no answer that can be understood.
    """
    options = _ask(nsys, "--help").output
    plural = re.search(r"--gpu-metrics-devices\b", options) is not None
    option = "--gpu-metrics-devices" if plural else "--gpu-metrics-device"
    devices = _ask(nsys, f"{option}=help")
    if not re.search(r"Possible --gpu-metrics-device|GPUs are (not )?supported", devices.output):
        raise NsysError(
            f"nsys {nsys.version_text} does not say which GPUs it can sample: {devices.last_lines()}",
            hint=INSTALL_HINT,
        )
    sets = _ask(nsys, "--gpu-metrics-set=help").output
    return Capabilities(option, re.search(r"^\s*file:", sets, re.MULTILINE) is not None, parse_gpus(devices.output))


def parse_gpus(text: str) -> tuple[GpuSupport, ...]:
    """The GPUs that ``nsys profile --gpu-metrics-devices=help`` lists.

    Those that can be sampled are numbered lines such as ``0: Hopper GH100 | NVIDIA H200 PCI[0000:00:06.0]`` (older:
    without the chip); the others follow under a heading, each with its reason on the same line or the next.
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
    """The text of the metric set that this nsys would use for a chip: the first one that names it.

    Raises:
        NsysError: None of them is for that chip.
    """
    folder = nsys.folder / METRIC_SETS
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


def _ask(nsys: Nsys, option: str) -> Completed:
    return run_quietly([*nsys.prefix, str(nsys.path), "profile", option], timeout_s=ANSWER_S)
