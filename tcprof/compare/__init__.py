"""Two recordings side by side: what changed, and by how much."""

from tcprof.compare.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]
