"""What is known about a recording: its file, GPUs and recorder, and what its figures are taken from and over."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.unprofiled import measure_unprofiled_power, time_unprofiled_steps
from tcprof.findings import Findings, describe_folding, describe_kernel_order, describe_outside, describe_warm_up
from tcprof.findings.finding import WINDOW_NAMES
from tcprof.findings.judge import first_line
from tcprof.frames import STEP_SUMMARY
from tcprof.untrusted import one_line
from tcprof.version import __version__
from tcprof.views.document import Document, Notes, Part
from tcprof.views.tables import Heading, Row, Table

WINDOW_MEANINGS = {
    "gpu": f"{WINDOW_NAMES['gpu']}: from a range's first activity on the GPU to its last",
    "host": f"{WINDOW_NAMES['host']}: the range as timed on the CPU",
    "busy": f"{WINDOW_NAMES['busy']}: the time in which at least one of the range's activities ran",
}
SOURCE_MEANINGS = {
    "cycles": "exact tensor cycles",
    "rounded": "rounded samples: whole percentages",
    "none": "no samples",
}
SOURCE_NOTES = {
    "cycles": "Tensor Active comes from exact tensor cycles.",
    "rounded": "Rounded samples: Tensor Active comes from whole percentages, and anything above 0 reads at least 1, "
    "so small means are too high; the interval of a mean includes that error.",
    "none": "The recording has no samples of Tensor Active.",
}
_LONGEST_FILE = 120


def name_gpus(analysis: Analysis) -> list[str]:
    """Name the GPUs, equal ones counted: "2 × NVIDIA H200"."""
    names = analysis.gpus["name"].value_counts(sort=False)
    return [f"{count} × " * (count > 1) + (one_line(str(name)) or "unknown GPU") for name, count in names.items()]


def gpu_title(analysis: Analysis, gpu: int) -> str:
    """Name a GPU by its number and its name."""
    names = analysis.gpus.loc[analysis.gpus["gpu"] == gpu, "name"]
    name = one_line(str(names.iloc[0])) if len(names) else ""
    return f"GPU {gpu}" if name in ("", f"GPU {gpu}") else f"GPU {gpu}, {name}"


def gpu_title_of_several(gpu: int, *analyses: Analysis) -> str:
    """Say which GPU something is about; empty where each analysis has only one."""
    several = [analysis for analysis in analyses if analysis.ranges["gpu"].nunique() > 1]
    return gpu_title(several[0], gpu) if several else ""


def describe_recording(analysis: Analysis) -> str:
    """Describe the recording in a line: file, GPUs, recorder, frequency and length."""
    recording, rounded = analysis.recording, "rounded " * (analysis.tensor_source == "rounded")
    facts = [
        _describe_rank(analysis),
        ", ".join(name_gpus(analysis)) or "GPU unknown",
        f"nsys {recording.nsys_version}" if recording.nsys_version else "",  # a trace of torch.profiler has none
        f"{rounded}samples at {units.format_hz(recording.frequency_hz)}" if recording.frequency_hz > 0 else "",
        units.format_ns(recording.duration_ns) if recording.duration_ns > 0 else "",
    ]
    return f"{one_line(recording.file, _LONGEST_FILE)}: {', '.join(filter(None, facts))}"


def _describe_rank(analysis: Analysis) -> str:
    """Say which of several processes a recording is of, if it is of one."""
    rank = analysis.recording.identity.rank
    return f"rank {rank.rank} of {rank.world_size}" if rank and rank.world_size > 1 else ""


def head(analysis: Analysis, findings: Findings) -> Notes:
    """Say what all output on a recording begins with: what was recorded, and of each GPU the same figures."""
    several = len(findings.gpus) > 1
    lines = (f"{f'GPU {gpu.gpu}: ' * several}{first_line(analysis, gpu)}" for gpu in findings.gpus)
    return Notes((describe_recording(analysis), *lines))


def describe_source(analysis: Analysis) -> str:
    """Say what the figures are taken from and over."""
    return f"Tensor Active from {SOURCE_MEANINGS[analysis.tensor_source]}; over {WINDOW_MEANINGS[analysis.window]}."


def describe_base(analysis: Analysis) -> tuple[str, ...]:
    """Say what a step is where no range is one; what is left out of the figures: warm-up, and what lies outside."""
    describe = (describe_kernel_order, describe_folding, describe_warm_up, describe_outside)
    return tuple(filter(None, (describe_part(analysis) for describe_part in describe)))


def count_notes(count: int) -> str:
    """Say that there are so many notes, and how to see them."""
    return f"{units.format_things(count, 'note')} (--notes)"


def list_notes(remarks: Sequence[str], notes: Sequence[str], in_full: bool) -> Notes:
    """List what the figures are over, below them: in full, or else a line that counts this and the remarks."""
    if in_full:
        return Notes(tuple(notes))
    count = len(remarks) + len(notes)
    return Notes((count_notes(count),) if count else ())


def describe_date(analysis: Analysis) -> str:
    """GPUs, time and length of a recording in one line."""
    started, length_ns = analysis.recording.started_utc, analysis.recording.duration_ns
    facts = [f"recorded {started}" if started else "", f"{units.format_ns(length_ns)} long" if length_ns > 0 else ""]
    return " · ".join(filter(None, (*name_gpus(analysis), *facts)))


def recording_data(analysis: Analysis) -> dict[str, Any]:
    """Collect what is known about a recording, for JSON; unknown is None."""
    recording = analysis.recording
    return {
        "file": recording.file,
        "nsys_version": recording.nsys_version or None,
        "schema_version": recording.schema_version or None,
        "driver_version": recording.driver_version or None,
        "cuda_version": recording.cuda_version or None,
        "started_utc": recording.started_utc or None,
        "duration_ns": recording.duration_ns,
        "frequency_hz": recording.frequency_hz,
        "window": analysis.window,
        "tensor_source": analysis.tensor_source,
        "warm_up": describe_warm_up(analysis) or None,
        "outside": analysis.outside,
        "content": recording.content or None,
        "identity": recording.identity.data(),
        "gpus": analysis.gpus,
    }


def make_document(
    analysis: Analysis,
    findings: Findings,
    kind: str,
    parts: tuple[Part, ...],
    frames: Mapping[str, pd.DataFrame],
    **further: Any,
) -> Document:
    """Make a document about a recording, with frames of it for JSON; ``further`` adds to, or replaces, what it has."""
    data = document_data(analysis, findings, frames)
    fields = {"faults": findings.faults, "warnings": findings.warnings, "remarks": findings.remarks, "data": data}
    return Document(kind, parts, **{**fields, **further})


def make_table(
    analysis: Analysis,
    gpu: int,
    what: str,
    first: str,
    headings: tuple[Heading, ...],
    rows: Sequence[Row],
    **further: Any,
) -> Table:
    """Make a table about one GPU of a recording; ``what`` it holds begins its caption; the first word is its name."""
    name, caption = what.split()[0].lower(), f"{what} {gpu_title(analysis, gpu)}"
    title = gpu_title_of_several(gpu, analysis)
    return Table(f"{name}-{gpu}", title, first, headings, tuple(rows), gpu=gpu, caption=caption, **further)


def split_by_gpu(rows: pd.DataFrame) -> list[tuple[int, pd.DataFrame]]:
    """Split the rows of each GPU, by its number."""
    return [(int(str(gpu)), gpu_rows) for gpu, gpu_rows in rows.groupby("gpu", sort=True)]


def document_data(analysis: Analysis, findings: Findings, frames: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """Collect the data of a document about a recording: what is known of it and what it says, around frames of it."""
    return {
        "recording": recording_data(analysis),
        "first_lines": [first_line(analysis, gpu) for gpu in findings.gpus],
        "step_summary": analysis.step_summary,
        "verdict": findings.verdict,
        "checks": [vars(check) for check in findings.checks],
        **frames,
        "faults": findings.faults,
        "warnings": findings.warnings,
    }


def list_provenance(analysis: Analysis) -> list[tuple[str, str]]:
    """List where the figures come from: names and values."""
    recording = analysis.recording
    sampled = analysis.samples["tensor_active_pct"].notna().sum()
    return [
        ("File", one_line(recording.file, _LONGEST_FILE)),
        *_list_run(analysis),
        *((f"GPU {gpu['gpu']}", _describe_gpu(gpu)) for gpu in analysis.gpus.to_dict("records")),
        *_list_power(analysis),
        ("NVIDIA driver", recording.driver_version or units.UNKNOWN),
        ("Nsight Systems", recording.nsys_version or units.UNKNOWN),
        ("Export schema", recording.schema_version or units.UNKNOWN),
        ("Recorded at", recording.started_utc or units.UNKNOWN),
        ("Length of the recording", units.format_ns(recording.duration_ns)),
        ("Requested sampling frequency", units.format_hz(recording.frequency_hz)),
        ("Samples", f"{units.format_count(len(analysis.samples))}, {units.format_count(sampled)} with Tensor Active"),
        ("Activities on the GPU", units.format_count(len(analysis.activities))),
        ("Tensor Active from", SOURCE_MEANINGS[analysis.tensor_source]),
        ("Windows", WINDOW_MEANINGS[analysis.window]),
        ("tcprof", __version__),
    ]


def _list_power(analysis: Analysis) -> list[tuple[str, str]]:
    """List the mean power of each GPU over its steps, and the energy per step, where they were recorded."""
    power, energy = STEP_SUMMARY["power_w"], STEP_SUMMARY["energy_j"]
    facts = []
    for row in analysis.step_summary.to_dict("records"):
        gpu, unprofiled_w = row["gpu"], measure_unprofiled_power(analysis, row["gpu"])
        unprofiled_j = unprofiled_w * time_unprofiled_steps(analysis, gpu).median() / 1e9
        facts += [
            (f"Mean power of GPU {gpu} over its steps", power.format(row["power_w"])),
            (f"Energy per step of GPU {gpu}", energy.format(row["energy_j"])),
            (f"Mean power of GPU {gpu} over unprofiled steps", power.format(unprofiled_w)),
            (f"Energy per unprofiled step of GPU {gpu}", energy.format(unprofiled_j)),
        ]
    return [(name, text) for name, text in facts if text != units.UNKNOWN]


def _list_run(analysis: Analysis) -> list[tuple[str, str]]:
    recording, identity = analysis.recording, analysis.recording.identity
    facts = {
        "Program": one_line(identity.program),
        "Process": _describe_rank(analysis),
        "Host (alias)": identity.host,
        "PyTorch": identity.torch_version,
        "CUDA version of the driver": recording.cuda_version,
    }
    return [(name, text) for name, text in facts.items() if text]


def _describe_gpu(gpu: Mapping[Any, Any]) -> str:
    facts = (
        f"{one_line(gpu['name'])}" + (f" ({one_line(gpu['chip'])})" if gpu["chip"] else ""),
        f"{units.format_count(gpu['sm_count'])} SMs" if gpu["sm_count"] > 0 else "",
        f"SM clock up to {units.format_hz(gpu['clock_hz'])}" if gpu["clock_hz"] > 0 else "",
        units.format_bytes(gpu["memory_bytes"]) if gpu["memory_bytes"] > 0 else "",
    )
    return ", ".join(filter(None, facts))
