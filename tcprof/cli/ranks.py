"""``tcprof ranks``."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tcprof.cli import app
from tcprof.cli.options import ForceOption, OutputOption, TableFormatOption, WideOption, choose_outputs
from tcprof.cli.output import find_reports, print_document, print_lines, progress, progress_of, tell_path
from tcprof.errors import UsageError
from tcprof.render.html import USUAL, PageOptions

if TYPE_CHECKING:
    from tcprof.comparison import Side
    from tcprof.ranks.job import Failure, Job, PerStep
    from tcprof.ranks.reduce import ReducedRank

RANKS_SHOWN = 16
RecordingsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="DIR|FILE...",
        help="The recordings or saved analyses of a job, one or several ranks each; or folders with them.",
    ),
]
RankFromOption = Annotated[
    str | None,
    typer.Option(
        "--rank-from",
        metavar="REGEX",
        help="Pattern of the rank in file names, such as 'rank(\\d+)', for recordings that do not name their rank.",
    ),
]
JobsOption = Annotated[int | None, typer.Option("--jobs", min=1, help="Number of processes.", show_default="all cores")]
DaskOption = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Read on the workers of this Dask scheduler, which must reach the recordings: an address, a scheduler "
        "file, or local.",
        envvar="DASK_SCHEDULER_ADDRESS",
    ),
]
PerStepOption = Annotated[
    str | None,
    typer.Option(
        "--per-step",
        metavar="TEXT",
        help="What one step of the whole job processes, such as '4096 tokens' or '256 images'; gives throughput.",
    ),
]
SaveOption = Annotated[
    Path | None,
    typer.Option(
        "--save",
        metavar="FOLDER",
        help="Also write the job's frames, one Parquet file each; 'tcprof ranks FOLDER' reads them.",
    ),
]


@app.command(epilog="Examples:\n\ntcprof ranks run/\n\ntcprof ranks job-*.tcprof -o job.html")
def ranks(
    recordings: RecordingsArgument,
    rank_from: RankFromOption = None,
    jobs: JobsOption = None,
    dask: DaskOption = None,
    per_step: PerStepOption = None,
    save: SaveOption = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, help="Number of ranks to show, the slowest first; 0 for all.")
    ] = RANKS_SHOWN,
    output_format: TableFormatOption = None,
    output: OutputOption = None,
    wide: WideOption = False,
    force: ForceOption = False,
) -> None:
    """Show which rank of a job holds the others up, and why.

    It also says what the job would save without that delay. Rank numbers come from the variables that the launcher set,
    never from the order of the files. Each recording is reduced where it is stored; saved analyses (.tcprof) of 1,024
    ranks take a few hundred megabytes. '-o NAME.html' writes a page with every rank in every step.
    """
    chosen, job = show_job(
        recordings, output_format, output, limit or None, (rank_from, jobs, dask), per_step, wide=wide, force=force
    )
    if save is not None:
        from tcprof.ranks.store import write_job

        write_job(job, save)
        tell_path(save, chosen)


def show_job(
    recordings: Sequence[Path],
    output_format: str | None,
    output: Path | None,
    limit: int | None = RANKS_SHOWN,
    reading: tuple[str | None, int | None, str | None] = (None, None, None),
    per_step: str | None = None,
    *,
    wide: bool,
    force: bool,
) -> tuple[str, "Job"]:
    """Show the job of some recordings, or write its page; returns the format and the job."""
    from tcprof.ranks.job import join_ranks
    from tcprof.views.job import view_job

    chosen, file, page = choose_outputs(output_format, output, tuple(recordings), force=force)
    amount = _parse_per_step(per_step)
    job = join_ranks(*_read(recordings, *reading), amount)
    print_document(view_job(job, limit), chosen, file, wide=wide)
    if page is not None:
        _write_page(job, page, recordings)
        tell_path(page, chosen)
    return chosen, job


def report_job(folder: Path, page: Path, options: PageOptions) -> None:
    """Write the page of the job whose recordings lie in a folder, and print its verdict."""
    from tcprof.ranks.job import join_ranks
    from tcprof.ranks.verdict import judge_job

    job = join_ranks(*_read([folder], None, None, None))
    _write_page(job, page, [folder], options)
    print_lines(judge_job(job)[:2])


def as_jobs(paths: Sequence[Path], sides: Sequence["Side"] = ()) -> list["Job"]:
    """The sides as jobs, if one of them is: a job's folder, or recordings that are each of another rank."""
    from tcprof.ranks.job import join_ranks
    from tcprof.ranks.reduce import reduce_analysis
    from tcprof.sources.registry import is_job

    if any(is_job(path) for path in paths):
        return [join_ranks(*_read([path], None, None, None)) for path in paths]
    if not any(map(_has_ranks, sides)):
        return []
    return [join_ranks([rank for each in side.recordings for rank in reduce_analysis(each)]) for side in sides]


def _has_ranks(side: "Side") -> bool:
    known = [each.recording.identity.rank for each in side.recordings]
    return len(known) > 1 and len({rank.rank for rank in known if rank}) == len(known)


def _write_page(job: "Job", page: Path, given: Sequence[Path], options: PageOptions = USUAL) -> None:
    """Write the page of a job, with links to the reports on its ranks that lie beside it or beside the recordings."""
    from tcprof.ranks.gather import find_files
    from tcprof.render.html.page import write_page
    from tcprof.sources.registry import is_job
    from tcprof.views.job import view_job

    with progress(f"Writing {page.name}"):
        files = find_files(each for each in given if not is_job(each))
        links = {file.name: find_reports(page, file, [file.name])[0] for file in files}
        of_ranks = [links.get(name, "") for name in job.ranks.sort_values("rank")["file"]]
        write_page(view_job(job, links=of_ranks if any(of_ranks) else ()), page, options)


def _parse_per_step(text: str | None) -> "PerStep | None":
    from tcprof.ranks.job import PerStep

    if text is None:
        return None
    match = re.fullmatch(r"\s*([1-9][\d,_]{0,17})\s+([^\W\d_][\w -]{0,30})\s*", text)
    if match is None:
        raise UsageError(
            f"--per-step {text!r} is not a number and what it counts.", "Such as --per-step '4096 tokens'."
        )
    return PerStep(int(match[1].replace(",", "").replace("_", "")), match[2].strip())


def _read(
    given: Sequence[Path], rank_from: str | None, jobs: int | None, dask: str | None
) -> tuple[list["ReducedRank"], list["Failure"]]:
    """The ranks of jobs in folders, and of recordings; and what gave none."""
    from tcprof.ranks import executors
    from tcprof.ranks.gather import check_ranks, find_files, gather
    from tcprof.ranks.store import read_job
    from tcprof.sources.registry import is_job

    stored = [rank for each in given if is_job(each) for rank in read_job(each)]
    files = find_files(each for each in given if not is_job(each))
    if rank_from is None and not dask:
        with progress("Reading which ranks these are"):
            check_ranks(files)
    workers = max(1, min(jobs or os.cpu_count() or 1, len(files)))
    start = executors.processes(workers)
    if dask:
        start, workers = executors.dask(dask)
    with progress_of("Reading", len(files)) as on_done:
        reduced, failures = gather(files, start, workers, rank_from, on_done)
    return [*stored, *reduced], failures
