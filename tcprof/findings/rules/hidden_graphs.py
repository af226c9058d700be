"""Kernels that the recording hides: CUDA graphs that were recorded as a whole.

What and why: which kernels ran in such a graph, and what would win there, cannot be told; where one is recorded as a
whole it hides 40 to 100 % of the time.

Thresholds: 1 % of the GPU's busy time. There is no price.

Do: `tcprof profile --cuda-graph-trace node`.

Not when: what lies in the graphs is known to be well.
"""

from tcprof import units
from tcprof.analysis.kernels.names import GRAPH
from tcprof.findings.pricing.advice import Advice, Rule
from tcprof.findings.pricing.builders import about_kernels, record_again, time_of
from tcprof.findings.pricing.step import Step

RULE = Rule(("hidden-graphs",), of_recording=True)
LEAST_PCT = 1.0


def find(step: Step) -> list[Advice]:
    """Graphs of which no kernel is known."""
    rows = step.kernels[step.kernels["work"] == GRAPH]
    hidden = time_of(rows)
    if not step.busy_ns > 0 or 100 * hidden / step.busy_ns < LEAST_PCT:
        return []
    said = (
        f"CUDA graphs recorded as a whole hide {units.format_pct(100 * hidden / step.busy_ns)} of the GPU's busy time",
        "Which kernels ran in them, and what would win there, cannot be told.",
    )
    about = about_kernels(step, rows.index)
    return [record_again(step, RULE.name, said, ("tcprof profile --cuda-graph-trace node ...",), about)]
