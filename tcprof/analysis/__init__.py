"""Pure functions from a recording's frames to the figures that tcprof shows. The arithmetic that it exists for.

An argument that is called like a frame, such as ``activities``, is that one of ``tcprof.frames``.
"""

from tcprof.analysis.analysis import WINDOWS, Analysis, analyze

__all__ = ["WINDOWS", "Analysis", "analyze"]
