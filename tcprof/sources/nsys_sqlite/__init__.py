"""Exports of Nsight Systems, read-only. The only user of SQL; nsys's differences end here."""

from tcprof.sources.nsys_sqlite.export import NsysExport
from tcprof.sources.nsys_sqlite.recognition import NSYS

__all__ = ["NSYS", "NsysExport"]
