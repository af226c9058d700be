"""Nsight Systems as it is installed: where it is, what it can do, what it says, how it imports and exports."""
