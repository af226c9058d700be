"""Mutations that take whole kinds of things out of a recording: domains, tables' rows, all work but one kernel.

What is left is a recording that a program or an option of nsys could have made, so that nothing may fail or be odd.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from fuzz.database import Connection, columns_of, recreate, run, tables_of
from tcprof.analysis.modules.tree import PHASES
from tcprof.annotate.steps import DOMAIN
from tcprof.nsys import schema

Mutation = Callable[[Random, Connection], str]
KERNELS, NVTX, SAMPLES = schema.KERNELS.name, schema.NVTX.name, schema.METRICS.name
WORK = tuple(table.name for table in schema.ACTIVITY_TABLES)
_RANGES = f'"eventType" IN ({schema.NVTX_PUSH_POP}, {schema.NVTX_START_END})'
_NAME = 'coalesce("text", (SELECT value FROM "StringIds" WHERE id = "textId"), \'\')'
_IS_OP = f"{_NAME} LIKE '%, op_id = %' OR {_NAME} LIKE '%, seq = %'"
_OURS = (
    f'"domainId" IN (SELECT "domainId" FROM "{NVTX}" WHERE "eventType" = {schema.NVTX_DOMAIN_CREATE} '
    f"AND {_NAME} = '{DOMAIN}')"
)
_PHASES = f"{_NAME} IN ({', '.join(repr(phase) for phase in PHASES)})"


def delete(connection: Connection, *tables: str, keep: str = "0") -> None:
    """Delete the rows of some tables, those that are there, but for those of a condition."""
    for table in set(tables) & set(tables_of(connection)):
        run(connection, f"DELETE FROM {{}} WHERE NOT ifnull({keep}, 0)", table)


def values_of(connection: Connection, table: str, column: str) -> list[Any]:
    """The distinct values of a column; none where the table lacks."""
    found = run(connection, "SELECT DISTINCT {} FROM {}", column, table) if table in tables_of(connection) else ()
    return [value for (value,) in found]


def keep_one(random: Random, connection: Connection, table: str) -> None:
    if rows := values_of(connection, table, "rowid"):
        delete(connection, table, keep=f"rowid = {random.choice(rows)}")


def keep_ranges(connection: Connection, condition: str) -> None:
    """Delete the ranges but those of a condition; the domains stay."""
    if NVTX in tables_of(connection):
        recreate(connection, NVTX, _with_names(connection))
        delete(connection, NVTX, keep=f"(({condition}) OR NOT ({_RANGES}))")


def _with_names(connection: Connection) -> list[tuple[str, str]]:
    """The columns of ranges, with those that conditions name."""
    columns = columns_of(connection, NVTX)
    lacking = [name for name in ("text", "textId", "domainId") if name not in dict(columns)]
    return columns + [(name, "") for name in lacking]


def always(words: str, change: Callable[[Connection], None]) -> Mutation:
    def mutate(_random: Random, connection: Connection) -> str:
        change(connection)
        return words

    mutate.__name__ = words.replace(" ", "_")
    return mutate


def one_kernel(random: Random, connection: Connection) -> str:
    keep_one(random, connection, KERNELS)
    return "one kernel"


def one_launch_alone(random: Random, connection: Connection) -> str:
    keep_one(random, connection, KERNELS)
    delete(connection, *(table for table in WORK if table != KERNELS))
    return "one kernel, no copies"


def one_kind_of_kernel(random: Random, connection: Connection) -> str:
    names = values_of(connection, KERNELS, "demangledName")
    if not names:
        return "no kernels"
    name = random.choice(names)
    run(connection, 'DELETE FROM {} WHERE "demangledName" IS NOT ?', KERNELS, values=(name,))
    return f"kernels named {name} alone"


def one_kind_of_work(random: Random, connection: Connection) -> str:
    kept = random.choice(WORK)
    delete(connection, *(table for table in WORK if table != kept))
    return f"of the work on the GPU {kept} alone"


def one_sample(random: Random, connection: Connection) -> str:
    if times := values_of(connection, SAMPLES, "timestamp"):
        delete(connection, SAMPLES, keep=f'"timestamp" = {int(random.choice(times))}')
    return "one sample"


def one_metric(random: Random, connection: Connection) -> str:
    metrics = values_of(connection, SAMPLES, "metricId")
    if not metrics:
        return "no samples"
    which = random.choice(("=", "<>"))
    delete(connection, SAMPLES, keep=f'"metricId" {which} {int(random.choice(metrics))}')
    return f"samples of metrics {which} one"


def one_range(random: Random, connection: Connection) -> str:
    keep_one(random, connection, NVTX)
    return "one range"


def one_domain_less(random: Random, connection: Connection) -> str:
    keep_ranges(connection, "1")  # now the table has the columns
    domains = [each for (each,) in run(connection, f'SELECT DISTINCT "domainId" FROM {{}} WHERE {_RANGES}', NVTX)]
    if not domains:
        return "no domains"
    domain, which = random.choice(domains), random.choice(("IS", "IS NOT"))
    keep_ranges(connection, f'"domainId" {which} {"NULL" if domain is None else int(domain)}')
    return f"ranges whose domain {which} {domain}"


def phases_alone(random: Random, connection: Connection) -> str:
    ops = random.choice((f" OR {_IS_OP}", ""))
    keep_ranges(connection, f"({_OURS} AND {_PHASES}){ops}")
    return f"phases{' and ops' * bool(ops)} alone"


MUTATIONS: tuple[Mutation, ...] = (
    always("no kernels", lambda connection: delete(connection, KERNELS)),
    one_kernel,
    one_launch_alone,
    one_kind_of_kernel,
    one_kind_of_work,
    always("no work on the GPU", lambda connection: delete(connection, *WORK)),
    always("no calls", lambda connection: delete(connection, schema.API_CALLS.name)),
    one_sample,
    one_metric,
    always("no samples", lambda connection: delete(connection, SAMPLES, schema.GENERIC_EVENTS.name)),
    always("no ranges", lambda connection: delete(connection, NVTX)),
    one_range,
    one_domain_less,
    always("ops alone", lambda connection: keep_ranges(connection, _IS_OP)),
    always("without the ranges of tcprof", lambda connection: keep_ranges(connection, f"NOT ({_OURS})")),
    always("no ops", lambda connection: keep_ranges(connection, f"NOT ({_IS_OP})")),
    phases_alone,
)
