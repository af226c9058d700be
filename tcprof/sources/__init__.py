"""Where recordings are read: each kind of file has a source, which gives frames. ``registry`` finds the right one."""

from tcprof.sources.source import UNNAMED_DOMAIN, Recording, Samples, Source, SourceType, Wrong

__all__ = ["UNNAMED_DOMAIN", "Recording", "Samples", "Source", "SourceType", "Wrong"]
