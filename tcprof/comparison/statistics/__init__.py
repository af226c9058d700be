"""How sure a difference is: medians, intervals, what runs differ by, and verdicts."""
