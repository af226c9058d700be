"""Saved analyses: all that a command needs of a recording, in one small file. The format is in docs/format.md."""

from tcprof.saved.contents import save
from tcprof.saved.reading import load

__all__ = ["load", "save"]
