"""The version of tcprof."""

__version__ = "0.2.0"
MADE_BY = f"Made by tcprof {__version__}."  # what texts end with, for later ones to know them by
