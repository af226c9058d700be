"""How sure a difference is: medians, intervals, run-to-run variation, and verdicts."""
