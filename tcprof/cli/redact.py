"""``tcprof redact``."""

from pathlib import Path
from typing import Annotated

import typer

from tcprof.cli.app import app
from tcprof.cli.options import ForceOption, RecordingArgument
from tcprof.cli.output import check_target, print_lines, progress
from tcprof.cli.streams import echo_path
from tcprof.errors import InputError


@app.command(epilog="Example: tcprof redact run.nsys-rep")
def redact(
    recording: RecordingArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="The copy, an SQLite export; by default NAME-redacted.sqlite beside the recording.",
            show_default=False,
        ),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write a copy of a recording that is safe to share.

    A report holds the environment variables and command lines of the processes on the machine, host and user names,
    and the program's output. The copy has GPU work, metrics, CUDA calls and NVTX ranges only. What is left out is
    listed, and the copy is searched for it. NVTX names come from the program itself and are kept.
    """
    from tcprof.nsys.export import find_export
    from tcprof.nsys.locate import find_nsys
    from tcprof.sources.nsys_sqlite import NSYS
    from tcprof.sources.registry import find_type

    copy = output or name_copy(recording)
    check_target(copy, (recording,), force=force, for_recording=True)
    if (found := find_type(recording)) is not NSYS:
        raise InputError(
            f"{recording} is one of the {found.title}; only {NSYS.title} can be redacted.",
            "tcprof does not know what private data such a file holds: look at it before you share it.",
        )
    with progress(f"Reading {recording.name}"):
        source = find_export(recording, find_nsys)
    write_copy(source, copy)
    echo_path(copy)


def name_copy(recording: Path) -> Path:
    """What the copy of a recording is called, if nothing else is asked for."""
    return recording.with_name(f"{recording.stem}-redacted.sqlite")


def write_copy(export: Path, copy: Path) -> None:
    """Write a redacted copy of an export, and say what it leaves out."""
    from tcprof.outputs import replace_file
    from tcprof.redaction.redact import redact as write_redacted
    from tcprof.views.commands import describe_redaction

    with progress(f"Writing {copy.name}"), replace_file(copy, for_recording=True) as target:
        redaction = write_redacted(export, target)
    print_lines(describe_redaction(redaction))
