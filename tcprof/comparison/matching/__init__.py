"""The kernels of two sides, matched, and what a change consists of."""
