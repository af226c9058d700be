"""What is known about chips: one file of ``data`` for each, every figure with a source; ``common.toml`` is for all."""

from tcprof.chips.chip import NO_MATRIX, PIPES_PER_SM, Board, Chip, Metric, find_chip, lacks, metric_names, read_boards

__all__ = ["NO_MATRIX", "PIPES_PER_SM", "Board", "Chip", "Metric", "find_chip", "lacks", "metric_names", "read_boards"]
