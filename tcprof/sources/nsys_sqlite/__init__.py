"""An Nsight Systems export as a read-only object. The only user of SQL; nsys's differences end here."""

from tcprof.sources.nsys_sqlite.trace import Trace

__all__ = ["Trace"]
