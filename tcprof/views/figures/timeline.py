"""The samples of a recording over lanes of its ranges, as one plotly figure for notebooks."""

from dataclasses import replace

from tcprof.analysis import Analysis
from tcprof.views.figures.curves import sample_panels, shown_gpus, tensor_peak
from tcprof.views.figures.lanes import Lanes, choose_lanes, lane_traces
from tcprof.views.figures.panels import Panel, stack_panels
from tcprof.views.figures.plain import PlotlyFigure

BARS = 4000  # of all GPUs together
_LANE_PIXELS = 21


def figure_timeline(analysis: Analysis) -> PlotlyFigure:
    """Samples over lanes of ranges, on one axis of time; a group of strips for each GPU.

    Long captures are drawn as an envelope, and of very many ranges only the longest: the page says so.
    """
    return stack_panels(_panels(analysis), analysis)


def _panels(analysis: Analysis) -> list[Panel]:
    """The strips of a recording; the first one of each GPU says which it is, where there are several."""
    panels = []
    gpus = shown_gpus(analysis)
    for gpu in gpus:
        lanes = choose_lanes(analysis, gpu, BARS // 2 // len(gpus))
        mine = [
            *sample_panels(analysis, gpu, tensor_peak(analysis)),
            *_lane_panels(lanes, gpu),
        ]
        head = f"<b>GPU {gpu}</b> · " if len(gpus) > 1 else ""
        panels += [replace(panel, title=head + panel.title) for panel in mine[:1]] + mine[1:]
    return panels


def _lane_panels(lanes: Lanes, gpu: int) -> list[Panel]:
    """The ranges as on the CPU, and from their first activity on the GPU to their last."""
    panels = []
    for window, title in (("host", "NVTX ranges on the CPU"), ("gpu", "Their work on the GPU, first activity to last")):
        traces = lane_traces(lanes, window, f"GPU {gpu}, {window} ranges")
        if traces:
            depths = int(max(traces[0]["y"]))
            axis = {"range": [depths + 0.5, 0.5], "showgrid": False, "tickvals": list(range(1, depths + 1))}
            panels.append(Panel(title, _LANE_PIXELS * depths + 4, traces, axis))
    return panels
