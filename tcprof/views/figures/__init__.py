"""Figures of plotly, for pages and notebooks."""
