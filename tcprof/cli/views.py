"""The commands that show a recording in one view or another."""

from typing import Literal

from tcprof.cli import app
from tcprof.cli.options import (
    EVERY,
    NAMES,
    PEAK,
    PRINT,
    RECORDING,
    ROWS,
    WARM_UP,
    WIDE,
    WINDOW,
    Asked,
    CliOption,
    limit_to,
    select_rows,
    takes,
)
from tcprof.cli.streams import echo
from tcprof.errors import InputError, UsageError
from tcprof.views import ROWS_SHOWN, Order

SCREEN_LIMIT = CliOption("limit", int | None, min=1).means(
    "Number of rows in each table; by default up to 5, so that everything fits in 30 lines."
)
FIT = CliOption("kernels", bool, True, "--kernels/--no-kernels").means(
    "Fit the kernels' figures to the samples, to get the share of tensor kernels; --no-kernels reads large recordings "
    "faster."
)
KERNELS = CliOption("by", Literal["kernel", "path"], "kernel").means(
    "One row per kernel and launch geometry, or per kernel, launch geometry and path."
) | CliOption("without_tensor_cores", bool, False).means(
    "Only kernels that do not use the Tensor Cores, with their total."
)
MODULES = CliOption("sort", Order, Order.CALLS).means(
    "Order of sibling modules: by first call, by time, or by time above ideal."
) | CliOption("fold", bool, True, "--fold/--no-fold").means("Show similar layers as one row.")
TIMELINE = CliOption("step", str | None, metavar="NAME").means(
    "The range that is one step; by default, the outermost with 5 or more instances and the most GPU time."
) | CliOption("gaps", bool, False).means("Show the GPU's idle time by cause and range, then its longest gaps.")
KERNEL_LIMIT = limit_to(15, "Number of kernels to show, longest first; 0 for all.")
MODULE_LIMIT = limit_to(ROWS_SHOWN, "Number of rows to show, most time first; 0 for all.")
NCU = CliOption("ncu", str | None, metavar="REGEX").means(
    "Print only the Nsight Compute command that profiles the longest matching kernel."
)


@app.command(epilog="Example:\n\ntcprof show run.nsys-rep")
@takes(RECORDING, SCREEN_LIMIT, WINDOW, WARM_UP, PRINT, WIDE)
def show(asked: Asked) -> None:
    """Show a recording, or a job in a folder, on one screen.

    For a recording, it shows the verdict, what to do first, and where most time is lost; for a job, what 'tcprof
    ranks' shows.
    """
    from tcprof.sources.registry import is_folder
    from tcprof.views.recording.show import view_recording

    if is_folder(asked.recording):
        from tcprof.cli.ranks import show_job

        show_job(asked, [asked.recording])
        return
    report = asked.read()
    asked.show(view_recording(report.analysis, report.findings, report.advice, asked.limit, asked.notes))


@app.command(epilog="Example:\n\ntcprof advise run.nsys-rep")
@takes(RECORDING, WARM_UP, PRINT)
def advise(asked: Asked) -> None:
    """Say what to do first, and how much time it saves.

    Each finding comes with its likely, smallest and largest saving per step, and code to paste; --notes adds the
    evidence. Findings that save under 1 % of a step are only named, at the end.
    """
    from tcprof.views.recording.advice import view_advice

    report = asked.read()
    asked.show(view_advice(report.analysis, report.findings, report.advice, asked.notes))


@app.command(epilog="Example:\n\ntcprof ranges run.nsys-rep --filter forward --format csv")
@takes(FIT, RECORDING, WINDOW, WARM_UP, PEAK, ROWS, limit_to(ROWS_SHOWN), EVERY, PRINT, WIDE)
def ranges(asked: Asked) -> None:
    """Show Tensor Active of every NVTX range and of the whole capture.

    A row covers all instances of a range with the same path, with the 95 % interval of their mean. Tensor-active time
    is Tensor Active integrated over the window, so values can be added up; "Tensor kernel share" is a share of the
    kernel time. JSON and CSV have all rows and columns.
    """
    from tcprof.views.recording.ranges import view_ranges

    report = asked.read(metrics=("tensor_active_pct",), kernels=asked.kernels)
    rows, findings = asked.select(report.ranges), report.findings.select_gpu(asked.gpu)
    asked.show(view_ranges(report.analysis, findings, rows, asked.most, asked.folds, asked.notes))


@app.command(epilog="Example:\n\ntcprof kernels run.nsys-rep --filter nvjet --by path")
@takes(KERNELS, RECORDING, NCU, NAMES, KERNEL_LIMIT, WARM_UP, PEAK, PRINT, WIDE)
def kernels(asked: Asked) -> None:
    """Show Tensor Active of every kernel.

    Samples last longer than most kernels, so tcprof fits each kernel's figures to them, and checks the result against
    the kernel's name. JSON and CSV have all rows and columns.
    """
    from tcprof.findings.ncu import find_command
    from tcprof.views.recording.kernels import view_kernels

    if asked.ncu is not None and (asked.output_format or asked.output):
        raise UsageError(
            "--ncu prints a command, which has no other format and cannot go to a file.", "Leave out --format and -o."
        )
    report = asked.read()
    if asked.ncu is not None:
        matching = select_rows(asked.select(report.kernels, "name"), None, asked.ncu, None, "name")
        echo("".join(f"{line}\n" for line in find_command(report.analysis, matching)))
        return
    by_path = asked.by == "path"
    rows = asked.select(report.kernels_by_path if by_path else report.kernels, "name")
    choice = (rows, by_path, asked.most, asked.notes, asked.without_tensor_cores)
    asked.show(view_kernels(report.analysis, report.findings, *choice))


@app.command(epilog="Example:\n\ntcprof modules run.nsys-rep --sort lost")
@takes(MODULES, RECORDING, ROWS, MODULE_LIMIT, WARM_UP, PEAK, PRINT, WIDE)
def modules(asked: Asked) -> None:
    """Show how the modules of a PyTorch program use the Tensor Cores.

    A row covers a module and its submodules, forward and backward. Times are sums over its kernels, per step;
    Tensor Active is the mean over these kernels' own time, fitted to the samples. Time above ideal is the kernel time
    minus the time that the FLOP would take at the chip's peak. JSON and CSV have all rows and columns.
    """
    from tcprof.views.recording.modules import NONE, view_modules

    report = asked.read()
    if report.modules.empty:
        raise InputError(f"{asked.recording}: {NONE}", report.recording.remedies.modules)
    rows = asked.select(report.modules, "module")
    asked.show(view_modules(report.analysis, report.findings, rows, asked.most, asked.sort, asked.fold, asked.notes))


@app.command(epilog="Example:\n\ntcprof timeline run.nsys-rep --filter backward --step step")
@takes(TIMELINE, RECORDING, ROWS, WARM_UP, limit_to(ROWS_SHOWN), EVERY, PRINT, WIDE)
def timeline(asked: Asked) -> None:
    """Show where every nanosecond of the GPU's time went.

    Each moment between a range's first activity and its last counts as a tensor kernel, another kernel (memory-bound,
    FP32 on CUDA cores, issue-bound, a small grid or none of these), communication, a copy or memset, or idle. --notes
    adds the time accounting, which lists what could not be attributed.
    """
    from tcprof.views.recording.time import view_gaps, view_timeline

    report = asked.read(step=asked.step)
    if asked.gaps:
        from tcprof.analysis.gaps import Gaps

        chosen = Gaps(*(select_rows(rows, asked.gpu, asked.pattern, None) for rows in (report.gaps, report.gap_sums)))
        asked.show(view_gaps(report.analysis, report.findings, chosen, asked.most, asked.notes))
        return
    rows, gpu = asked.select(report.timeline), asked.gpu
    asked.show(view_timeline(report.analysis, report.findings, rows, gpu, asked.most, asked.folds, asked.notes))
