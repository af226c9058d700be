"""Samples: windows and coverage, what a border cuts, clocks, and intervals of means and medians."""
