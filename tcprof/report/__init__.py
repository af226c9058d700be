"""Renders analyses and comparisons: terminal text, JSON, CSV, Markdown, HTML. Knows no trace and no nsys."""
