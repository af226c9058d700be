"""Where recordings are read: each kind of file has a source, which gives frames. ``registry`` finds the right one."""

from tcprof.sources.source import UNNAMED_DOMAIN, InvalidValues, Recording, Samples, Source, SourceType

__all__ = ["UNNAMED_DOMAIN", "InvalidValues", "Recording", "Samples", "Source", "SourceType"]
