"""What is said of a comparison: the document of the command, and that of the page, from the same tables."""

from tcprof.views.comparison.document import view_comparison

__all__ = ["view_comparison"]
