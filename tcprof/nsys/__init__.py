"""Nsight Systems as it is installed: where it is, what it can do, what it says, how it imports and exports."""

NEWEST_SCHEMA, NEWEST_NSYS = (3, 25), "2026.2"  # that tcprof was tried with
