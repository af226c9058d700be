"""Kernels: their launches are classified, laid under the samples, and fitted; then summed up by kernel."""
