"""``tcprof ranks``, and jobs in a folder that other commands take."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tcprof.cli import app
from tcprof.cli.options import TABLE, WIDE, Asked, CliOption, limit_to, paths_argument, takes
from tcprof.cli.output import find_reports, print_document, print_lines, print_path, progress, progress_of, write_page
from tcprof.errors import UsageError
from tcprof.render.html import USUAL, PageOptions

if TYPE_CHECKING:
    from tcprof.comparison import Side
    from tcprof.ranks.job import Failure, Job, PerStep
    from tcprof.ranks.reduce import ReducedRank

RECORDINGS = paths_argument(
    *("recordings", "DIR|FILE..."),
    "The recordings or saved analyses of a job, each of one or more ranks; or folders with them.",
)
READING = (
    CliOption("rank_from", str | None, metavar="REGEX").means(
        "Pattern of the rank in file names, such as 'rank(\\d+)', for recordings that do not name their rank."
    )
    | CliOption("jobs", int | None, min=1, show_default="all cores").means("Number of processes.")
    | CliOption("dask", str | None, metavar="ADDRESS", envvar="DASK_SCHEDULER_ADDRESS").means(
        "The Dask scheduler whose workers read the recordings: an address, a scheduler file, or local. The workers "
        "must be able to reach the files."
    )
)
PER_STEP = CliOption("per_step", str | None, metavar="TEXT").means(
    "Work per step of the whole job, such as '4096 tokens' or '256 images', for throughput."
)
SAVE = CliOption("save", Path | None, metavar="FOLDER").means(
    "Also write the job's frames, one Parquet file each; 'tcprof ranks FOLDER' reads them."
)
_FEW = 16  # ranks that are listed
LIMIT = limit_to(_FEW, "Number of ranks to show, the slowest first; 0 for all.")


@app.command(epilog="Examples:\n\ntcprof ranks run/\n\ntcprof ranks job-*.tcprof -o job.html")
@takes(RECORDINGS, READING, PER_STEP, SAVE, LIMIT, TABLE, WIDE)
def ranks(asked: Asked) -> None:
    """Show which rank of a job is the straggler, and why.

    It also says how much time the job would save without that delay. Rank numbers come from the variables that the
    launcher set, never from the order of the files. tcprof reduces each recording to its steps before it combines them;
    saved analyses (.tcprof) of 1,024 ranks take a few hundred megabytes of memory. '-o NAME.html' writes a page with
    every rank in every step.
    """
    chosen, job = show_job(asked, asked.recordings, asked.limit or None)
    if asked.save is not None:
        from tcprof.ranks.store import write_job

        write_job(job, asked.save)
        print_path(asked.save, chosen)


def show_job(asked: Asked, paths: Sequence[Path], limit: int | None = _FEW) -> tuple[str, "Job"]:
    """Show the job of some recordings, or write its page; returns the format and the job."""
    from tcprof.views.job import view_job

    chosen, file, page = asked.choose_outputs(*paths, has_page=True)
    job = _join(paths, asked)
    print_document(view_job(job, limit), chosen, file, wide=asked.wide)
    if page is not None:
        _write_page(job, page, paths)
        print_path(page, chosen)
    return chosen, job


def report_job(folder: Path, page: Path, options: PageOptions) -> None:
    """Write the page of the job whose recordings lie in a folder, and print its verdict."""
    from tcprof.ranks.verdict import judge_job

    job = _join([folder])
    _write_page(job, page, [folder], options)
    print_lines(judge_job(job)[:2])


def as_jobs(paths: Sequence[Path], sides: Sequence["Side"] = ()) -> list["Job"]:
    """Read the sides as jobs, if one of them is: a job's folder, or recordings that are each of another rank."""
    from tcprof.ranks.job import join_ranks
    from tcprof.ranks.reduce import reduce_analysis
    from tcprof.sources.registry import is_job

    if any(is_job(path) for path in paths):
        return [_join([path]) for path in paths]
    if not any(map(_has_ranks, sides)):
        return []
    return [join_ranks([rank for analysis in side.recordings for rank in reduce_analysis(analysis)]) for side in sides]


def _has_ranks(side: "Side") -> bool:
    ranks = [analysis.recording.identity.rank for analysis in side.recordings]
    return len(ranks) > 1 and len({rank.rank for rank in ranks if rank}) == len(ranks)


def _write_page(job: "Job", page: Path, paths: Sequence[Path], options: PageOptions = USUAL) -> None:
    """Write the page of a job, with links to the reports on its ranks, beside it or beside the recordings."""
    from tcprof.ranks.gather import find_files
    from tcprof.sources.registry import is_job
    from tcprof.views.job import view_job

    files = find_files(path for path in paths if not is_job(path))
    count = Counter(stem for _, stem in {(file.parent, file.stem) for file in files})  # of a recording, saved or not
    links = {file.stem: find_reports(page, file, [file.name])[0] for file in files if count[file.stem] == 1}
    ranks = [(links.get(Path(rank.file).stem, ""), rank.gpu) for rank in job.recordings]
    reports = [link and f"{link}#gpu={gpu}" for link, gpu in ranks]
    write_page(view_job(job, links=reports if any(reports) else ()), page, options)


def _parse_per_step(text: str | None) -> "PerStep | None":
    from tcprof.ranks.job import PerStep

    if text is None:
        return None
    match = re.fullmatch(r"\s*([1-9][\d,_]{0,17})\s+([^\W\d_][\w -]{0,30})\s*", text)
    if match is None:
        raise UsageError(f"--per-step {text!r} is not a number with a unit.", "Write --per-step '4096 tokens'.")
    return PerStep(int(match[1].replace(",", "").replace("_", "")), match[2].strip())


def _join(paths: Sequence[Path], asked: Asked | None = None) -> "Job":
    """Read the ranks of jobs in folders, and of recordings, and join them."""
    from tcprof.ranks.job import join_ranks

    names = ("rank_from", "jobs", "dask", "per_step")
    rank_from, jobs, dask, per_step = (getattr(asked, name, None) for name in names)
    amount = _parse_per_step(per_step)
    return join_ranks(*_read(paths, rank_from, jobs, dask), amount)


def _read(
    paths: Sequence[Path], rank_from: str | None, jobs: int | None, dask: str | None
) -> tuple[list["ReducedRank"], list["Failure"]]:
    from tcprof.ranks import gather
    from tcprof.ranks.store import read_job
    from tcprof.sources.registry import is_job

    stored = [rank for path in paths if is_job(path) for rank in read_job(path)]
    files = gather.find_files(path for path in paths if not is_job(path))
    if rank_from is None and not dask:
        with progress("Reading the rank numbers"):
            gather.check_ranks(files)
    workers = max(1, min(jobs or os.cpu_count() or 1, len(files)))
    start = gather.start_processes(workers)
    if dask:
        start, workers = gather.connect_dask(dask)
    with progress_of("Reading", len(files)) as on_done:
        reduced, failures = gather.gather(files, start, workers, rank_from, on_done)
    return [*stored, *reduced], failures
