"""Frames and documents as JSON, CSV, Parquet and JUnit."""
