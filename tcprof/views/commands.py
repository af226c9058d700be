"""What doctor, workloads, chips, profile and redact say."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tcprof import units
from tcprof.chips import read_boards
from tcprof.untrusted import printable
from tcprof.views.document import Checklist, Commands, Document, Notes
from tcprof.views.tables import Cell, Heading, Row, Table

if TYPE_CHECKING:
    from tcprof.analysis import Analysis
    from tcprof.record.diagnosis import MachineCheck
    from tcprof.record.plan import Plan
    from tcprof.record.recording import RecordedRun
    from tcprof.redaction.copy_check import PrivateNames
    from tcprof.redaction.private_texts import PrivateMatch
    from tcprof.redaction.redact import Redaction
    from tcprof.workloads import Workload

SIGNALLED = 128  # an exit status above it is that plus the signal's number
_NAMES_SHOWN = 8
_EXCERPT = 60  # characters of a name
_SPARE = {"int8_tflops": 1, "fp64_tflops": 2, "boost_clock_hz": 3, "sm_count": 4}  # see ``Heading``
_DETAILS = ("gpu_names", "chips", "bf16_tflops", "fp16_in_fp16_tflops", "fp8_in_fp16_tflops", "source")
_OF_BOARDS = (
    "Dense peaks as NVIDIA states them, at the boost clock and with FP32 accumulation; – where no source states them "
    "or sources differ. --wide, JSON and CSV have all columns: BF16, FP16 accumulation, names and sources.",
    "A GPU gets a board's peaks if its full name, SM count and clock match. For others, --peak-tflops "
    "sets a peak; docs/chips.md shows how to add a board.",
)


def is_ready(checks: "Sequence[MachineCheck]") -> bool:
    """Tell whether a recording is possible."""
    return all(check.status != "fail" for check in checks)


def view_checks(checks: "Sequence[MachineCheck]") -> Document:
    """Show the checks of a machine, and whether it can record."""
    failed = [check.name for check in checks if check.status == "fail"]
    verdict = (
        f"Not ready to record. Failed: {', '.join(failed)}." if failed else "Ready to record: tcprof profile SCRIPT"
    )
    data = {"ready": is_ready(checks), "checks": [vars(check) for check in checks]}
    return Document("doctor", (Checklist(tuple(checks)), Notes((verdict,))), data=data)


def view_workloads(folder: Path, workloads: "Sequence[Workload]") -> Document:
    """Show the scripts of a folder: name, what each does and shows, and the command that records it."""
    items = tuple(
        (workload.name, tuple(filter(None, (workload.summary, workload.point))), workload.command)
        for workload in workloads
    )
    data = {"folder": str(folder), "workloads": [vars(workload) for workload in workloads]}
    return Document("workloads", (Notes((f"{folder}:",)), Commands(items)), data=data)


def view_boards() -> Document:
    """Show the known boards: SMs, clock, memory and dense peaks of each."""
    import pandas as pd

    from tcprof.frames import BOARDS

    rows = BOARDS.conform(
        pd.DataFrame(
            {
                "board": name,
                "gpu_names": "; ".join(board.names),
                "chips": ", ".join(chips),
                "sm_count": board.sm_count,
                "boost_clock_hz": board.boost_clock_hz,
                "dram_bandwidth": board.bandwidth_bytes_per_s,
                **{f"{precision}_tflops": tflops for precision, tflops in board.peak_tflops.items()},
                "source": board.source,
            }
            for name, (chips, board) in read_boards().items()
        )
    )
    columns = BOARDS.columns[1:]
    headings = tuple(
        Heading.of(column, brief=column.name not in _DETAILS, spare=_SPARE.get(column.name, 0)) for column in columns
    )
    listed = tuple(
        Row(row["board"], tuple(Cell.word(row[c.name]) if c.is_text else Cell.number(row[c.name], c) for c in columns))
        for row in rows.to_dict("records")
    )
    table = Table("boards", "Boards", "Board", headings, listed)
    return Document("chips", (table, Notes(_OF_BOARDS)), data={"boards": rows}, rows=rows)


def describe_plan(plan: "Plan") -> str:
    """Describe a plan in one sentence: nsys, GPUs, metrics, frequency, and how much the samples will take."""
    nsys = f"nsys {plan.nsys.version_text}"
    if not plan.gpus:
        return f"{nsys}; no GPU metrics"
    names = ", ".join(f"GPU {gpu.number} {gpu.name}" for gpu in plan.gpus)
    if plan.metric_set is None:
        metrics = "nsys's own metrics, whole percentages,"
    else:
        metrics = "exact tensor cycles" if plan.options.metrics == "tcprof" else f"metrics of {plan.metric_set.name}"
    rate = units.format_hz(plan.options.frequency_hz)
    size = units.format_bytes(plan.bytes_per_s)
    return f"{nsys}; {names}: {metrics} at {rate}, about {size} of export per second"


def describe_end(run: "RecordedRun", program: Sequence[str]) -> tuple[str, ...]:
    """Say what nsys or the program complained of, and why the program did not end with status 0, if that is known."""
    from tcprof.record.program import explain_output  # here, since this package can be had on Linux only

    explained = explain_output(run.output, run.program_status, program)
    if not run.program_status:
        return explained
    if run.was_stopped:
        return (*explained, f"the program was stopped; its exit status is {run.program_status}.")
    if run.program_status > SIGNALLED:
        return (
            *explained,
            f"the program was killed by signal {run.program_status - SIGNALLED}. What CUDA had not yet passed to nsys "
            f"is lost: record a --capture-range that ends earlier.",
        )
    return (*explained, f"the program ended with exit status {run.program_status}.")


def describe_capture(analysis: "Analysis", capture_range: str) -> tuple[str, ...]:
    """Say what a capture range lacks; nothing where all of the program was recorded."""
    if capture_range == "none" or not analysis.kernel_instances.empty:
        return ()
    return (
        f"{analysis.recording.file} holds no GPU work: the program ran none during the capture range, or only in "
        f"forked workers, which nsys traces only with --trace-fork-before-exec=true. Send it requests during the "
        f"range, and wait for their answers before it ends.",
    )


def describe_redaction(redaction: "Redaction") -> list[str]:
    """List what was left out, what the copy was searched for, and the names to look at, in printable lines."""
    texts = f"{units.format_things(redaction.searched, 'text')} that it removed, and for " if redaction.searched else ""
    searched = f"tcprof searched the copy for {texts}paths in home folders, e-mail addresses and IPv4 addresses."
    suspects = [*_about("NVTX", "ranges", redaction.names.nvtx), *_about("kernel", "kernels", redaction.names.kernels)]
    kept = "Names of NVTX ranges, marks and domains, and of kernels, come from the program and are kept."
    return [*_list_removed(redaction), searched, *(suspects or ["Nothing was found."]), kept]


def _list_removed(redaction: "Redaction") -> list[str]:
    counts = {str(kind): f"{count:,}" for kind, count in redaction.removed.items()}
    if redaction.tables:
        counts["whole tables"] = f"{len(redaction.tables):,}"
    if redaction.columns:
        counts["unknown columns"] = f"{len(redaction.columns):,}"
    if not counts:
        return ["Nothing had to be removed."]
    labels, numbers = max(map(len, counts)), max(map(len, counts.values()))
    lines = [f"  {label:<{labels}}  {count:>{numbers}}" for label, count in counts.items()]
    places = {"whole tables": redaction.tables, "unknown columns": redaction.columns}
    for number, label in enumerate(counts):
        if names := places.get(label):
            lines[number] += f": {_list_names(names)}"
    return ["Left out:", *lines]


def _list_names(names: tuple[str, ...]) -> str:
    more = len(names) - _NAMES_SHOWN
    ordered = sorted(names, key=lambda name: name.startswith("ENUM_"))  # nsys's constants say least
    return ", ".join([*map(printable, ordered[:_NAMES_SHOWN]), *([f"{more} more"] if more > 0 else [])])


def _about(what: str, command: str, suspects: "PrivateNames") -> list[str]:
    if not suspects.count:
        return []
    examples = ", ".join(f"“{_excerpt(text)}”" for text in suspects.examples)
    return [
        f"Kept, but look before you share: {what} names contain one of these: {suspects.count:,}, "
        f"{'for example' if suspects.count > len(suspects.examples) else 'namely'} {examples}. "
        f"See them all with: tcprof {command} COPY"
    ]


def _excerpt(private: "PrivateMatch") -> str:
    text = private.text
    first = max(0, min(text.index(private.part) - _EXCERPT // 4, len(text) - _EXCERPT))
    stretch = printable(text[first : first + _EXCERPT])
    return f"{'…' if first else ''}{stretch}{'…' if first + _EXCERPT < len(text) else ''}"
