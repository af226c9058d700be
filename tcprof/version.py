"""The version of tcprof."""

__version__ = "0.1.0"
