"""Words of the findings, and texts from a recording made fit to stand among them."""

import unicodedata

TIME_NAMES = {
    "tensor_kernel": "tensor kernel",
    "memory_bound": "memory-bound",
    "issue_bound": "issue-bound",
    "other_kernel": "other kernel",
    "unresolved_kernel": "unresolved",
    "graph": "CUDA graph",
    "communication": "NCCL",
    "copy": "copy or set",
    "idle": "idle",
}
WINDOW_NAMES = {"gpu": "gpu windows", "host": "host windows", "busy": "busy windows"}
LINE_LENGTH = 60


def one_line(text: str, length: int = LINE_LENGTH) -> str:
    """Any text as one short line, without what would break it or turn it around, and without a long one's middle."""
    most = 20 * length  # looking at more of a name of megabytes would only cost time
    ends = text if len(text) <= 2 * most else text[:most] + text[-most:]
    line = " ".join("".join(_visible(character) for character in ends).split())
    head = length // 2 - 1
    return line if len(line) <= length else f"{line[:head].rstrip()} … {line[head + 3 - length :].lstrip()}"


def _visible(character: str) -> str:
    """Control characters as a space, and those that change the direction of writing as a replacement character."""
    category = unicodedata.category(character)
    return " " if category in ("Cc", "Zl", "Zp") else "�" if category in ("Cf", "Cs", "Co") else character
