"""Pure functions from a recording's frames to the figures that tcprof shows. The arithmetic that it exists for."""

from tcprof.analysis.analysis import WINDOWS, Analysis, analyze

__all__ = ["WINDOWS", "Analysis", "analyze"]
