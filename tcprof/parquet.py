"""Whether a Parquet file may be read: what anyone may have written can end the process, or fill the memory."""

from typing import Any

MOST_BYTES = (
    1 << 28
)  # of a file's rows in memory, whatever its size; beyond them they are at most so many times as large
MOST_EXPANSION = 1000
_NUMBER_BYTES = 8
_ENCODINGS = {"PLAIN", "RLE", "BIT_PACKED", "RLE_DICTIONARY", "PLAIN_DICTIONARY", "DELTA_BINARY_PACKED",
              "BYTE_STREAM_SPLIT"}  # others can make long texts of a few bytes  # fmt: skip


def find_unsafe(file: Any, size: int) -> str:
    """Explain why an open Parquet file of so many bytes must not be read; empty where it may be."""
    metadata = file.metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    if wrong := _find_too_large(metadata, sum(group.total_byte_size for group in groups), size):
        return wrong
    for number in range(len(groups)):  # the first row: a damaged footer raises here, and ends the process in `column`
        next(file.iter_batches(1, [number], use_threads=False), None)
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    if wrong := _find_too_large(metadata, sum(chunk.total_uncompressed_size for chunk in chunks), size):
        return wrong
    if not {encoding for chunk in chunks for encoding in chunk.encodings} <= _ENCODINGS:
        return "its columns have an encoding that tcprof does not read"
    return ""


def _find_too_large(metadata: Any, needed: int, size: int) -> str:
    needed += metadata.num_rows * metadata.num_columns * _NUMBER_BYTES
    fits = 0 <= metadata.num_rows <= needed <= max(MOST_BYTES, MOST_EXPANSION * size)
    return "" if fits else f"its {size} bytes would take {needed} bytes of memory"
