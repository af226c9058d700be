"""An Nsight Systems export as a read-only object. The only user of SQL; nsys's differences end here."""

from tcprof.trace.trace import Trace

__all__ = ["Trace"]
