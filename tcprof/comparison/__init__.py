"""Two recordings side by side: what changed, and by how much."""

from tcprof.comparison.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]
