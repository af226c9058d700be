"""Fill the table of docs/chips.md from tcprof/chips/data: ``python docs/generate_chips.py``."""

import math
import re
from pathlib import Path

from tcprof import units
from tcprof.chips import read_boards
from tcprof.chips.chip import IN_FP16, PRECISIONS

PAGE = Path(__file__).parent / "chips.md"
_BLOCK = re.compile(r"(<!-- boards -->\n).*?(<!-- /boards -->)", re.DOTALL)
_HEAD = ("board", "name in recordings", "SMs", "GHz", "GB/s", *(name.upper() for name in PRECISIONS), "source")


def render(page: str) -> str:
    """The page with its table filled anew."""
    lines = [f"| {' | '.join(_HEAD)} |", f"|{'---|' * len(_HEAD)}"]
    sources: list[str] = []
    for name, (_, board) in read_boards().items():
        sources += [board.source] if board.source not in sources else []
        peaks = []
        for precision in PRECISIONS:
            both = [board.peak_tflops.get(key, math.nan) for key in (precision, precision + IN_FP16)]
            peaks.append(_number(both[0]) + (f" ({_number(both[1])})" if both[1] > 0 else ""))
        figures = (board.sm_count, board.boost_clock_hz * 1e-9, board.bandwidth_bytes_per_s * 1e-9)
        names = ", ".join(f"`{each}`" for each in board.names)
        cells = (name, names, *map(_number, figures), *peaks, str(sources.index(board.source) + 1))
        lines.append(f"| {' | '.join(cells)} |")
    listed = "\n".join(f"{number}. {source}" for number, source in enumerate(sources, 1))
    table = "\n".join(lines)
    return _BLOCK.sub(lambda block: f"{block[1]}{table}\n\n{listed}\n{block[2]}", page)


def _number(value: float) -> str:
    return units.UNKNOWN if math.isnan(value) else f"{value:.6g}"


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
