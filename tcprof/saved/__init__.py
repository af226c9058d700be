"""Saved analyses: all that a command needs of a recording, in one small file. The format is in docs/format.md."""

from tcprof.saved.reading import load
from tcprof.saved.writing import save

__all__ = ["load", "save"]
