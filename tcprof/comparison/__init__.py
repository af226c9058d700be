"""Two sides, of one or more recordings each: what changed, by how much, and how sure that is."""

from tcprof.comparison.comparison import Comparison, compare
from tcprof.comparison.matching.sides import Side

__all__ = ["Comparison", "Side", "compare"]
