"""What a reader may choose of a table, and what holds where nothing is chosen; light, as commands read it to start."""

from enum import StrEnum

ROWS_SHOWN = 40  # of all GPUs together


class Order(StrEnum):
    """The order of modules that lie beside each other."""

    CALLS = "calls"
    TIME = "time"
    LOST = "lost"
