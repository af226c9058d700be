"""Copies that are safe to share: what they may hold, what they must not, and the search that proves it."""
