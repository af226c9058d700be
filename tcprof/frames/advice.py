"""The frame of advice, as ``tcprof.findings.pricing`` gives it."""

from tcprof.frames.schema import FLOAT, GPU, TEXT, Column, Schema

_OF_STEP = "of a step, or where nothing iterates of all the GPU's work; below 0 it costs time, unknown without a price"

ADVICE = Schema(
    "advice",
    "What to do about the program, with what it is likely to win: one row for each finding, best first.",
    (
        GPU,
        Column(
            "gpus", TEXT, "All GPUs on which that is alike, separated by commas; figures are of gpu.", title="All GPUs"
        ),
        Column("rule", TEXT, "The rule that found it, as in --fail-if 'finding fp32-matmul'.", title="Finding"),
        Column("sentence", TEXT, "What was found."),
        Column("low_pct", FLOAT, f"The least that is expected to be won, {_OF_STEP}."),
        Column("likely_pct", FLOAT, "What is likely to be won, likewise.", title="Likely gain"),
        Column("high_pct", FLOAT, "The most, likewise."),
        Column("low_ns", FLOAT, "The least, as time."),
        Column("likely_ns", FLOAT, "What is likely, as time."),
        Column("high_ns", FLOAT, "The most, as time."),
        Column(
            "step_ns",
            FLOAT,
            "The step that all shares and times are of, as long as it is without profiling: measured, or estimated.",
            title="Step",
        ),
        Column("confidence", TEXT, "high, medium or low.", title="Confidence"),
    ),
)
