"""Find what prevents a recording on this machine, and what to do about it: each check with evidence and remedy."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tcprof.errors import NsysError
from tcprof.nsys.capabilities import Capabilities, GpuSupport, are_free, read_capabilities
from tcprof.nsys.locate import INSTALL_HINT, Nsys, Survey, find_importer, survey_nsys
from tcprof.nsys.run import COUNTERS_CLOSED, SAMPLER_HELD, explain
from tcprof.record.machine import Machine, read_machine

Status = Literal["pass", "warn", "fail"]
WITHOUT_METRICS = "'tcprof profile --gpus none' records ranges and kernels without GPU metrics."
WITHOUT_GPU = "'tcprof profile --gpus none' records ranges without a GPU."
_OLDEST = (2022,)


@dataclass(frozen=True)
class MachineCheck:
    """One question about this machine, answered."""

    name: str  # what was looked at, in one or two words
    status: Status  # pass; warn, where a recording works but less well than it could; or fail
    evidence: str  # what was found
    remedy: str = ""  # what to do; empty where nothing is to be done


@dataclass(frozen=True)
class Diagnosis:
    """The result of checking whether programs can be recorded here."""

    checks: tuple[MachineCheck, ...]  # the checks, in the order in which things are needed
    nsys: Nsys | None = None  # the nsys to use; None without one
    capabilities: Capabilities | None = None  # what it can do; None where it could not be asked

    @property
    def failures(self) -> tuple[MachineCheck, ...]:
        """List the checks that failed; a recording is possible where there are none."""
        return tuple(check for check in self.checks if check.status == "fail")


def diagnose(explicit: Path | None = None, *, gpus: str = "all", prefix: tuple[str, ...] = ()) -> Diagnosis:
    """Check what every recording needs: nsys, its importer, a GPU that it can sample, and permission."""
    machine = read_machine()
    survey = survey_nsys(explicit)
    nsys = replace(survey.programs[0], prefix=prefix) if survey.programs else None
    checks = [MachineCheck("nsys", *_check_nsys(survey))]
    if nsys is not None:
        checks.append(MachineCheck("importer", *_check_importer(survey)))
    if gpus == "none":
        return Diagnosis(tuple(checks), nsys, Capabilities("", metric_set_files=False, gpus=()))
    if not machine.has_gpu or nsys is None:
        return Diagnosis((*checks, MachineCheck("GPU", *_check_presence(machine))), nsys)
    try:
        capabilities = read_capabilities(nsys, gpus)
    except NsysError as error:
        return Diagnosis((*checks, MachineCheck("GPU", "fail", error.message, error.hint)), nsys)
    return Diagnosis((*checks, *_check_gpus(machine, _leave_out_held(capabilities.gpus, gpus))), nsys, capabilities)


def _check_nsys(survey: Survey) -> tuple[Status, str, str]:
    if not survey.programs:
        evidence = "; ".join(survey.failures) or "not on PATH, nor where NVIDIA and Debian install it"
        return "fail", evidence, INSTALL_HINT
    nsys, *rest = survey.programs
    evidence = f"{nsys.version_text} at {nsys.path}"
    if rest:
        evidence += f"; also {', '.join(f'{other.version_text} at {other.path}' for other in rest)}"
    if nsys.version < _OLDEST:
        return "warn", evidence, f"It is older than 2022. {INSTALL_HINT}"
    if not nsys.is_on_path:
        own_use = f"tcprof finds it there. To run it yourself: export PATH={nsys.path.parent}:$PATH"
        return "warn", f"not on PATH; {evidence}", own_use
    return "pass", evidence, ""


def _check_importer(survey: Survey) -> tuple[Status, str, str]:
    """Check the importer of the nsys that records; a newer nsys's importer serves as well, after the recording."""
    nsys, *rest = survey.programs
    importer = find_importer(nsys)
    if importer is None:
        evidence, remedy = f"{nsys.path} comes without one", "Install the full Nsight Systems."
    elif importer.problem:
        evidence, remedy = f"{importer.path}: {importer.problem}", importer.remedy
    else:
        return "pass", f"{importer.path} runs", ""
    for other in rest:
        substitute = find_importer(other) if other.version >= nsys.version else None  # an older one cannot read it
        if substitute is not None and not substitute.problem:
            return "warn", f"{evidence}; {substitute.path} is used instead", remedy
    return "fail", f"{evidence}, so recordings cannot be converted into reports", remedy


def _check_presence(machine: Machine) -> tuple[Status, str, str]:
    if machine.has_gpu:
        return "pass", f"driver {machine.driver or 'of the host'}; nsys decides whether the GPU can be sampled", ""
    if machine.driver:
        evidence = f"driver {machine.driver}, but no /dev/nvidia0: no GPU is passed to this process"
        remedy = "Start the container with --gpus all, or ask the scheduler for a GPU."
    else:
        evidence = "none: no NVIDIA driver is loaded, and there is no /dev/nvidia0"
        remedy = "Record on a machine with an NVIDIA GPU; exports and saved analyses can be read anywhere."
    return "fail", evidence, f"{remedy} {WITHOUT_GPU}"


def _leave_out_held(gpus: tuple[GpuSupport, ...], wanted: str) -> tuple[GpuSupport, ...]:
    """Leave out GPUs that another profiler holds, if all wanted ones are free: other ranks sample the rest."""
    if not are_free(gpus, wanted):
        return gpus
    return tuple(gpu for gpu in gpus if not gpu.is_held)


def _check_gpus(machine: Machine, gpus: tuple[GpuSupport, ...]) -> list[MachineCheck]:
    """Check whether nsys can sample the GPUs; where not, its reason decides which check fails."""
    closed = [gpu for gpu in gpus if not gpu.supported and explain(gpu.reason) is COUNTERS_CLOSED]
    held = [gpu for gpu in gpus if gpu.is_held]
    return [
        MachineCheck("GPU", *_check_support(machine, [gpu for gpu in gpus if gpu not in closed + held], closed + held)),
        MachineCheck("counters", *_check_permission(machine, closed)),
        MachineCheck("sampler", *_check_sampler(machine, held)),
    ]


def _check_support(machine: Machine, judged: list[GpuSupport], unreadable: list[GpuSupport]) -> tuple[Status, str, str]:
    """Check whether this nsys knows the GPUs; those that it knows and may not read fail another check."""
    can = [gpu for gpu in judged if gpu.supported] + [replace(gpu, supported=True) for gpu in unreadable]
    cannot = [gpu for gpu in judged if not gpu.supported]
    evidence = "; ".join(_describe(gpu) for gpu in (*can, *cannot))
    if can:
        remedy = _explain_reason(cannot[0]) if cannot else ""
        return "warn" if cannot else "pass", f"{evidence}; driver {machine.driver or 'unknown'}", remedy
    if not cannot:
        remedy = "Check that 'nvidia-smi' lists a GPU, in this container too."
        return "fail", "nsys finds none", f"{remedy} {WITHOUT_METRICS}"
    return "fail", evidence, f"{_explain_reason(cannot[0])} {WITHOUT_METRICS}"


def _describe(gpu: GpuSupport) -> str:
    name = " ".join(part for part in (f"{gpu.number}:" if gpu.number is not None else "", gpu.name, gpu.chip) if part)
    return name if gpu.supported else f"{name} can't be sampled ({gpu.reason or 'nsys gives no reason'})"


def _explain_reason(gpu: GpuSupport) -> str:
    problem = explain(gpu.reason)
    return problem.remedy if problem else "A newer nsys may support this GPU; GPUs before Turing have no such counters."


def _check_permission(machine: Machine, closed: list[GpuSupport]) -> tuple[Status, str, str]:
    place = f"in a {machine.container} container" if machine.container else "outside of a container"
    who = f"{'root' if machine.is_root else 'not root'}, {place}"
    if closed:
        remedy = COUNTERS_CLOSED.remedy_in_container if machine.container else COUNTERS_CLOSED.remedy
        return "fail", f"closed to this user ({who}): {closed[0].reason}", f"{remedy} {WITHOUT_METRICS}"
    setting = {None: "not known", False: "0, open to all users", True: "1, for administrators only"}[machine.admin_only]
    return "pass", f"permitted; RmProfilingAdminOnly is {setting}; {who}", ""


def _check_sampler(machine: Machine, held: list[GpuSupport]) -> tuple[Status, str, str]:
    seen = ", ".join(machine.holders)
    if held:
        return "fail", f"{held[0].reason}: {seen or 'by a program that is not visible here'}", SAMPLER_HELD.remedy
    if seen:
        return "warn", f"free, but these may take it: {seen}", SAMPLER_HELD.remedy
    return "pass", "free: no other profiler or DCGM is running here", ""
