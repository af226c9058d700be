"""Export a report in two parts, to leave out the samples of a long start: they can be most of the rows."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy import Table

from tcprof.nsys import schema
from tcprof.nsys.locate import Nsys
from tcprof.nsys.run import Completed, run_quietly

_SAMPLES, _METRIC_NAMES = str(schema.METRICS.name), str(schema.METRIC_NAMES.name)
_MARGIN_NS = 100_000_000
_PAYLOADS = ("--include-json=true", "--include-blobs=true")  # of NCCL's ranges: the sizes of messages
_ALSO_JSON = str(schema.GENERIC_EVENTS.name)  # with them, it may have a text for each sample
_IN_STEPS = (
    f"WHERE eventType = {schema.NVTX_START_END} AND domainId IN (SELECT domainId FROM {schema.NVTX.name} "  # noqa: S608
    f"WHERE eventType = {schema.NVTX_DOMAIN_CREATE} "
    f"AND COALESCE(text, (SELECT value FROM StringIds WHERE id = textId)) = '{schema.ANNOTATION_DOMAIN}')"
)


def export_report(nsys: Nsys, report: Path, made: Path, *, from_steps: bool = False) -> Completed:
    """Write a report's SQLite export, without samples more than 0.1 s before the program's work or after it.

    Work is what the GPU did, and NVTX ranges. All samples are kept where there is none.

    Args:
        from_steps: Whether work begins with the first step that the annotation marks, if there is one.
    """

    def export(path: Path, *options: str) -> Completed:
        path.unlink(missing_ok=True)
        return run_quietly([str(nsys.path), "export", "--type=sqlite", f"--output={path}", *options, str(report)])

    done = export(made, _all_tables_but(_SAMPLES, _ALSO_JSON), *_PAYLOADS)
    if done.status != 0:  # an nsys that does not know one of these options
        done = export(made, _all_tables_but(_SAMPLES))
    with suppress(sqlite3.Error):
        tables = _list_tables(made) if done.status == 0 and made.exists() else set()
        if _SAMPLES in tables or (tables and _METRIC_NAMES not in tables):
            return done
        if work := _find_work(made, tables, from_steps):
            samples = made.with_name(_SAMPLES)
            times = f"--times={work[0] - _MARGIN_NS}/{work[1] + _MARGIN_NS}"
            if export(samples, f"--tables={_SAMPLES}", times).status == 0 and samples.exists():
                _add_samples(made, samples)
                return done
    return export(made)  # an nsys that does not know the options, or says what is wrong with the report


def _all_tables_but(*names: str) -> str:
    """Write nsys's --tables, which takes regular expressions of whole names."""
    begun = {name[:place] for name in names for place in range(len(name))}
    letters = {
        start: "".join(sorted({name[len(start)] for name in names if name.startswith(start)})) for start in begun
    }
    patterns = [f"{start}[^{excluded}].*" for start, excluded in sorted(letters.items())]
    return f"--tables={','.join([*patterns, *(f'{name}..*' for name in names)])}"


def _list_tables(export: Path) -> set[str]:
    with closing(sqlite3.connect(export)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}


def _find_work(export: Path, tables: set[str], from_steps: bool) -> tuple[int, int] | None:
    """Find when the program's work began and ended; None where there is none."""
    with closing(sqlite3.connect(export)) as connection:

        def find(table: Table, condition: str = "") -> tuple[int, int] | None:
            if table.name not in tables:
                return None
            last = f"MAX(COALESCE(end, {schema.TIME.high}))"  # a range that is open lasts as long as the recording
            query = f"SELECT MIN(start), {last} FROM {table.name} {condition}"  # noqa: S608
            begin, end = connection.execute(query).fetchone()
            return (begin, end) if begin is not None else None

        ranges = find(schema.NVTX, f"WHERE eventType IN ({schema.NVTX_PUSH_POP}, {schema.NVTX_START_END})")
        steps = find(schema.NVTX, _IN_STEPS) if from_steps else None
        worked = [span for span in (ranges, *map(find, schema.ACTIVITY_TABLES)) if span]
    begins = [begin for begin, _ in ([steps] if steps else worked)]
    return (min(begins), max(end for _, end in worked)) if worked else None


def _add_samples(export: Path, samples: Path) -> None:
    """Add the samples without what nothing reads, which is 44 % of them.

    That is a second time, and of the type, 8 bytes, all but the 16 bits that tell the GPU and the kind of row.
    """
    types = f"typeId & {schema.TYPE_BITS}"
    columns = ", ".join(column.name for column in schema.METRICS.columns).replace("typeId", f"{types} AS typeId")
    with closing(sqlite3.connect(export, isolation_level=None)) as connection:
        for setting in ("journal_mode = OFF", "synchronous = OFF"):  # made anew if it fails
            connection.execute(f"PRAGMA {setting}")
        connection.execute("ATTACH ? AS apart", (str(samples),))
        if connection.execute("SELECT 1 FROM apart.sqlite_master WHERE name = ?", (_SAMPLES,)).fetchone():
            connection.execute(f"CREATE TABLE main.{_SAMPLES} AS SELECT {columns} FROM apart.{_SAMPLES}")  # noqa: S608
            connection.execute(f"UPDATE {_METRIC_NAMES} SET typeId = {types}")  # noqa: S608
