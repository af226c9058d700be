"""Exports of Nsight Systems, read-only. The only user of SQL; nsys's differences end here."""

from tcprof.sources.nsys_sqlite.export import NsysExport

__all__ = ["NsysExport"]
