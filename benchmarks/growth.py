"""A drawing of how seconds grow with the size of a recording, for ``speed.py``."""

from pathlib import Path

import plotly.graph_objects as go
from plotly.subplots import make_subplots

# Of Okabe and Ito: all eyes tell them apart.
COLOURS = "#000000", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"
WIDTH, HEIGHT = 1000, 420  # pixels: a page's width, two panels beside each other


class Growth:
    """Seconds by size, in one panel for each kind of size.

    Args:
        panels: What the sizes of each panel count.
    """

    def __init__(self, *panels: str) -> None:
        self._panels = panels
        self._seconds: dict[tuple[str, str], dict[int, float]] = {}

    def add(self, panel: str, what: str, size: int, seconds: float) -> None:
        """Take down what a command took; one that was stopped has no point."""
        points = self._seconds.setdefault((panel, what), {})
        if seconds != float("inf"):
            points[size] = seconds

    def write(self, target: Path) -> None:
        """Draw both axes in powers of ten: what grows as its input does rises as the dotted line does."""
        figure = make_subplots(cols=len(self._panels), shared_yaxes=True, horizontal_spacing=0.05)
        colours = dict(zip(dict.fromkeys(what for _, what in self._seconds), COLOURS, strict=False))
        named: set[str] = set()
        for (panel, what), points in self._seconds.items():
            line = {"color": colours[what], "dash": "solid" if what.startswith("tcprof") else "dash"}
            self._draw(figure, panel, what, points, line, what not in named)
            named.add(what)
        for panel in self._panels:
            sizes = [size for (at, _), points in self._seconds.items() if at == panel for size in points] or [1]
            linear = {min(sizes): 1, max(sizes): max(sizes) / min(sizes)}
            line = {"color": "#888888", "dash": "dot", "width": 1}
            self._draw(figure, panel, "as the size", linear, line, panel == self._panels[0], mode="lines")
            figure.update_xaxes(title=panel, type="log", dtick=1, col=1 + self._panels.index(panel))
        figure.update_yaxes(type="log", dtick=1)
        figure.update_yaxes(title="seconds, from start to end", col=1)
        figure.update_layout(template="plotly_white", width=WIDTH, height=HEIGHT, margin={"t": 20, "r": 10, "b": 50})
        figure.write_image(target)

    def _draw(
        self,
        figure: go.Figure,
        panel: str,
        what: str,
        points: dict[int, float],
        line: dict[str, object],
        named: bool,
        mode: str = "lines+markers",
    ) -> None:
        shown = {"mode": mode, "name": what, "legendgroup": what, "showlegend": named, "line": line}
        sizes = sorted(points)
        curve = go.Scatter(x=sizes, y=[points[size] for size in sizes], **shown)
        figure.add_trace(curve, row=1, col=1 + self._panels.index(panel))
