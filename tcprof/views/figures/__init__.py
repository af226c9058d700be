"""Figures of plotly, for pages and notebooks: frames in, figures out.

Backgrounds are transparent and colours are those that read on light and dark, so that a page needs to change only
the colour of the text.
"""
