"""NVTX ranges: their paths, the activities that belong to them, and the figures of each."""
