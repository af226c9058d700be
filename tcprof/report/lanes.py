"""NVTX ranges as bars in lanes, one lane for each depth, and labels that plotly takes for nothing but text."""

import unicodedata
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from tcprof import units
from tcprof.analysis import Analysis

MOST_DEPTHS = 10
LABEL_LENGTH = 60
UNKNOWN_COLOR = "#A7AEB8"
BAR_TEXT = "#0D1218"  # reads on every colour below
TENSOR_SCALE = ((0.0, "#CBD8E6"), (0.4, "#F2C27B"), (0.75, "#E8862E"), (1.0, "#CF5A0C"))
BAR_OUTLINE = "rgba(90,100,115,0.6)"
LANE_HEIGHT = 0.84
_KINDS = {
    "host": ("host_start_ns", "host_end_ns", "on the CPU"),
    "gpu": ("gpu_start_ns", "gpu_end_ns", "on the GPU"),
}


@dataclass(frozen=True)
class Lanes:
    """Ranges that are drawn for one GPU.

    Attributes:
        host: Instances drawn by their time on the CPU, the longest ones.
        gpu: Instances drawn from their first activity on the GPU to their last.
        depths: Number of lanes of each.
        hidden: Bars that are not drawn: too short among too many, or nested too deep.
    """

    host: pd.DataFrame
    gpu: pd.DataFrame
    depths: dict[str, int]
    hidden: int


def label(text: str, length: int = LABEL_LENGTH) -> str:
    """Any text as one short line that plotly shows as it is: nothing in it is markup."""
    return one_line(text, length).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def one_line(text: str, length: int = LABEL_LENGTH) -> str:
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


def choose_lanes(analysis: Analysis, gpu: int, most: int) -> Lanes:
    """The longest instances on one GPU, with their paths.

    Args:
        analysis: The analysis.
        gpu: Number of the GPU.
        most: Bars to draw for the CPU, and as many for the GPU.
    """
    instances = analysis.instances[analysis.instances["gpu"] == gpu]
    named = instances.join(analysis.paths[["path", "name", "depth"]], on="path_id")
    chosen, hidden = {}, 0
    for kind, (start, end, _) in _KINDS.items():
        timed = named[named[start].notna()]
        timed = timed.assign(length=timed[end] - timed[start])
        shallow = timed[timed["depth"] <= MOST_DEPTHS]
        chosen[kind] = shallow.nlargest(most, "length").sort_values(start, ignore_index=True)
        hidden += len(timed) - len(chosen[kind])
    depths = {kind: int(rows["depth"].max()) if len(rows) else 0 for kind, rows in chosen.items()}
    return Lanes(chosen["host"], chosen["gpu"], depths, hidden)


def lane_traces(lanes: Lanes, kind: str, name: str, highest: float) -> list[go.Bar]:
    """One bar for each instance, coloured by its Tensor Active.

    Args:
        lanes: The ranges.
        kind: ``host`` or ``gpu``.
        name: The trace's name.
        highest: Tensor Active that has the last colour of the scale.
    """
    rows: pd.DataFrame = getattr(lanes, kind)
    start, _, where = _KINDS[kind]
    bar = go.Bar(
        orientation="h",
        base=rows[start].to_numpy(np.float64) * 1e-9,
        x=rows["length"].to_numpy(np.float64) * 1e-9,
        y=rows["depth"].to_numpy(np.int32),
        width=LANE_HEIGHT,
        text=[label(text, 40) for text in rows["name"]],
        textposition="inside",
        insidetextanchor="middle",
        insidetextfont={"color": BAR_TEXT},
        constraintext="inside",  # with the layout's uniformtext: a name that does not fit is not shown
        textangle=0,
        hovertext=[_describe(row, start, where) for row in rows.to_dict("records")],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={
            "color": _colors(rows["tensor_active_mean_pct"].to_numpy(np.float64), highest),
            "line": {"width": 0.5 if len(rows) < 400 else 0.2, "color": BAR_OUTLINE},
        },
        name=name,
        showlegend=False,
    )
    return [bar] if len(rows) else []


def _colors(values: npt.NDArray[np.float64], highest: float) -> list[str]:
    """Colours of the scale; plotly's own would leave it guessing whether text on them should be dark or light."""
    stops = np.array([stop for stop, _ in TENSOR_SCALE])
    channels = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for _, color in TENSOR_SCALE])
    place = np.clip(np.nan_to_num(values) / (highest or 1.0), 0, 1)
    mixed = np.column_stack([np.interp(place, stops, channel) for channel in channels.T]).round().astype(int)
    texts = ["#{:02x}{:02x}{:02x}".format(*rgb) for rgb in mixed.tolist()]
    return [UNKNOWN_COLOR if unknown else text for text, unknown in zip(texts, np.isnan(values), strict=True)]


def _describe(row: dict[str, object], start: str, where: str) -> str:
    """What the pointer shows over a bar."""
    numbers = {name: float(str(row[name])) for name in (start, "length", "tensor_active_mean_pct", "coverage_pct")}
    return (
        f"<b>{label(str(row['path']), 80)}</b><br>{where} from {units.format_ns(numbers[start])}, "
        f"for {units.format_ns(numbers['length'])}<br>Tensor Active mean "
        f"{units.format_pct(numbers['tensor_active_mean_pct'])}, coverage {units.format_pct(numbers['coverage_pct'])}, "
        f"{units.format_count(float(str(row['kernel_count'])))} kernels"
    )
