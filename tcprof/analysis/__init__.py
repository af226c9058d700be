"""Pure functions from a recording's frames to figures; arguments are called like the frames in ``tcprof.frames``."""

from tcprof.analysis.analysis import WINDOWS, Analysis, analyze

__all__ = ["WINDOWS", "Analysis", "analyze"]
