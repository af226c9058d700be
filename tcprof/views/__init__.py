"""What is said of a recording, a comparison or a machine: documents in which there is no medium."""

from enum import StrEnum

ROWS_SHOWN = 25  # of all GPUs together


class Order(StrEnum):
    """The order of modules that lie beside each other."""

    CALLS = "calls"
    TIME = "time"
    LOST = "lost"
