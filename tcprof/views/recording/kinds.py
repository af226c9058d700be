"""The kinds of steps, one table for each GPU that has several."""

from tcprof.analysis import Analysis
from tcprof.findings.steps import list_kinds
from tcprof.frames import KINDS
from tcprof.untrusted import one_line
from tcprof.views.recording import make_table
from tcprof.views.tables import Cell, Heading, Row, Table

# The most important first: where a terminal is narrow, the last of these leaves first.
_COLUMNS = (
    *("share_pct", "step_time_ns", "step_count", "tokens_per_second", "tensor_active_mean_pct", "gpu_idle_pct"),
    *("kernel_count", "tensor_kernel_share_pct", "kernel_ns", "dram_pct", "flop_per_byte", "warm_up_count"),
)


def list_kind_tables(analysis: Analysis) -> list[Table]:
    """The kinds of each GPU, the one that figures are of first; only figures that are known."""
    tables = []
    for gpu in analysis.kinds["gpu"].unique().tolist():
        rows = list_kinds(analysis, gpu)
        columns = [KINDS[name] for name in _COLUMNS if rows[name].notna().any()]
        headings = tuple(Heading.of(column, spare=spare) for spare, column in enumerate(columns))
        listed = [
            Row(one_line(row["name"], 60), tuple(Cell.number(row[column.name], column) for column in columns))
            for row in rows.to_dict("records")
        ]
        if listed:
            tables.append(make_table(analysis, gpu, "Kinds of steps on", "Kind", headings, listed))
    return tables
