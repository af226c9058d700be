"""What is known about chips: names and counters of their metrics, FLOP of their Tensor Cores, and their boards.

Each chip is one file in ``data``, and each figure there has a source; ``common.toml`` holds what all chips share. A new
chip is a new file.
"""

from tcprof.chips.chip import NO_MATRIX, PIPES_PER_SM, Board, Chip, Metric, find_chip, lacks, metric_names

__all__ = ["NO_MATRIX", "PIPES_PER_SM", "Board", "Chip", "Metric", "find_chip", "lacks", "metric_names"]
