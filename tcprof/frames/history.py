"""Frames of the history: runs in a store, series of figures, and the points of these."""

from tcprof.frames.schema import Bool, Float, Int, Schema, Signed, Text

HISTORY_RUNS = Schema(
    "history_runs",
    "The runs of a store, ordered by commit time, else by recording time, else by when they were added. "
    "A text is empty where unknown; times are ISO 8601 in UTC.",
    (
        Int("run_id", title="Run").means("Number of the run; numbers are never reused."),
        Text("content").means(
            "Identifier that a recording shares with its copies and its saved analysis, and with nothing else."
        ),
        Text("ordered_utc", title="When").means("The time by which runs are ordered."),
        Text("added_utc", title="Added").means("When the run was added."),
        Text("recorded_utc", title="Recorded").means("When its recording began, by the clock of its host."),
        Text("commit").means("The commit that was recorded."),
        Text("commit_utc", title="Committed").means("Its commit time."),
        Text("branch").means("The branch."),
        Text("label").means("Label given by the user."),
        Text("program").means("Name of the script or module."),
        Text("gpu_name", title="GPU").means("The GPUs' model."),
        Int("gpu_count", title="GPUs").means("GPUs with work."),
        Float("power_limit_w", unit="W").means("The GPUs' power limit as given by the user, in watts."),
        Text("config").means("The given configuration, as comma-separated KEY=VALUE."),
        Text("rank").means("The rank that was recorded, and the number of ranks."),
        Text("driver_version", title="Driver").means("NVIDIA driver."),
        Text("cuda_version", title="CUDA").means("Newest CUDA version that the driver supports."),
        Text("torch_version", title="torch").means("Version of torch."),
        Text("tcprof_version", title="tcprof").means("Version of tcprof used."),
        Float("clock_hz", title="SM clock").means("Median SM clock of the samples."),
        Text("file").means("Name of the file that was added."),
        Bool("kept").means("Whether the store has its saved analysis."),
    ),
    key=("run_id",),
)

SERIES = Schema(
    "series",
    "The series of a store: one figure of one part of a program, recorded under the same conditions.",
    (
        Int("series_id", title="Series").means("Number of the series."),
        Text("metric").means("The figure's name in its frame."),
        Text("scope").means(
            "What it covers: step (the steps of one role), range (all its instances), module, or capture (if there "
            "are no steps)."
        ),
        Text("subject").means("Name of the role, or path of the range or module; empty for a capture."),
        Int("gpu").means("The GPU, counted from 0 among those with work."),
        Text("unit").means("Unit of its values: ns, pct or tflops."),
        Text("fingerprint").means(
            "The properties that separate series, as JSON: GPU model and count, power limit, program, configuration "
            "and rank. Driver, torch and clock do not separate series."
        ),
    ),
    key=("series_id",),
)

POINTS = Schema(
    "points",
    "The points of all series, each in the order of its runs.",
    (
        Int("series_id").means("Number of the series, see *series*."),
        Int("run_id").means("Number of the run, see *history_runs*."),
        Signed("value").means("The figure, in the unit of its series."),
        Signed("low").means(
            "Lower end of its 95 % interval within the run; unknown for fewer than 5 steps or instances."
        ),
        Signed("high").means("Its upper end."),
        Int("n").means("Steps or instances that it covers."),
    ),
    key=("series_id", "run_id"),
)

ACCEPTED = Schema(
    "accepted",
    "Accepted changes: from each of these commits on, the new level is the baseline.",
    (
        Text("commit").means("The commit."),
        Text("why").means("Why it was accepted."),
        Text("added_utc").means("When it was accepted."),
    ),
)
