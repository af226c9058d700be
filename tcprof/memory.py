"""Memory that was freed, and that the C library keeps."""

import ctypes
import sys


def return_freed_memory() -> None:
    """Give freed memory back to the system where glibc would keep it: of a large recording it is hundreds of megabytes.

    glibc keeps what several threads have freed in pieces, though nothing else is as large as what follows.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None  # musl has none
    if trim is not None:
        trim(0)
