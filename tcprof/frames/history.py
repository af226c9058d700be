"""Frames of the history: runs in a store, series of figures, and the points of these."""

from tcprof.frames.schema import Bool, Float, Int, Schema, Signed, Text

HISTORY_RUNS = Schema(
    "history_runs",
    "The runs of a store, ordered by commit time, else by recording time, else by when they were added. "
    "A text is empty where unknown; times are ISO 8601 in UTC.",
    (
        Int("run_id", "Number of the run; numbers are never reused.", title="Run"),
        Text(
            "content",
            "Identifier that a recording shares with its copies and its saved analysis, and with nothing else.",
        ),
        Text("ordered_utc", "The time by which runs are ordered.", title="When"),
        Text("added_utc", "When the run was added.", title="Added"),
        Text("recorded_utc", "When its recording began, by the clock of its host.", title="Recorded"),
        Text("commit", "The commit that was recorded."),
        Text("commit_utc", "Its commit time.", title="Committed"),
        Text("branch", "The branch."),
        Text("label", "Label given by the user."),
        Text("program", "Name of the script or module."),
        Text("gpu_name", "The GPUs' model.", title="GPU"),
        Int("gpu_count", "GPUs with work.", title="GPUs"),
        Float("power_limit_w", "The GPUs' power limit as given by the user, in watts.", unit="W"),
        Text("config", "The given configuration, as comma-separated KEY=VALUE."),
        Text("rank", "The rank that was recorded, and the number of ranks."),
        Text("driver_version", "NVIDIA driver.", title="Driver"),
        Text("cuda_version", "Newest CUDA version that the driver supports.", title="CUDA"),
        Text("torch_version", "Version of torch.", title="torch"),
        Text("tcprof_version", "Version of tcprof used.", title="tcprof"),
        Float("clock_hz", "Median SM clock of the samples.", title="SM clock"),
        Text("file", "Name of the file that was added."),
        Bool("kept", "Whether the store has its saved analysis."),
    ),
    key=("run_id",),
)

SERIES = Schema(
    "series",
    "The series of a store: one figure of one part of a program, recorded under the same conditions.",
    (
        Int("series_id", "Number of the series.", title="Series"),
        Text("metric", "The figure's name in its frame."),
        Text(
            "scope",
            "What it covers: step (the steps of one role), range (all its instances), module, or capture (if there "
            "are no steps).",
        ),
        Text("subject", "Name of the role, or path of the range or module; empty for a capture."),
        Int("gpu", "The GPU, counted from 0 among those with work."),
        Text("unit", "Unit of its values: ns, pct or tflops."),
        Text(
            "fingerprint",
            "The properties that separate series, as JSON: GPU model and count, power limit, program, configuration "
            "and rank. Driver, torch and clock do not separate series.",
        ),
    ),
    key=("series_id",),
)

POINTS = Schema(
    "points",
    "The points of all series, each in the order of its runs.",
    (
        Int("series_id", "Number of the series, see *series*."),
        Int("run_id", "Number of the run, see *history_runs*."),
        Signed("value", "The figure, in the unit of its series."),
        Signed("low", "Lower end of its 95 % interval within the run; unknown for fewer than 5 steps or instances."),
        Signed("high", "Its upper end."),
        Int("n", "Steps or instances that it covers."),
    ),
    key=("series_id", "run_id"),
)

ACCEPTED = Schema(
    "accepted",
    "Accepted changes: from each of these commits on, the new level is the baseline.",
    (Text("commit", "The commit."), Text("why", "Why it was accepted."), Text("added_utc", "When it was accepted.")),
)
