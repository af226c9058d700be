"""Tensor Active of many reports, by ``nsys recipe``."""
