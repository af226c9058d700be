"""plotly's own script on the pages: its basic bundle, from npm's ``plotly.js-basic-dist-min``.

It has all that the pages draw, lines, points and bars, and is a quarter of the whole that plotly for Python brings.
The cartesian bundle, with boxes and heat maps, took a browser twice as long to start.
"""

import base64
import hashlib
from importlib.resources import files
from pathlib import Path

from markupsafe import Markup

from tcprof.outputs import replace_file
from tcprof.render.html.options import PlotlyScript

VERSION = "4.1.1"
FILE = f"plotly-basic-{VERSION}.min.js"
_ADDRESS = f"https://cdn.plot.ly/{FILE}"


def read_bundle() -> str:
    """The script."""
    return (files("tcprof.render.html") / "assets" / "plotly" / FILE).read_text(encoding="utf-8")


def script_element(source: PlotlyScript) -> Markup:
    """The element that a page has for the script; one from the network is checked by its hash."""
    if source is PlotlyScript.EMBED:
        return Markup("<script>\n{}\n</script>").format(Markup(read_bundle()))
    digest = base64.b64encode(hashlib.sha384(read_bundle().encode()).digest()).decode()
    address = FILE if source is PlotlyScript.DIRECTORY else _ADDRESS
    checked = Markup(' integrity="sha384-{}" crossorigin="anonymous"').format(digest)
    return Markup('<script src="{}"{}></script>').format(address, checked if source is PlotlyScript.CDN else "")


def script_sources(source: PlotlyScript) -> str:
    """What the page's content security policy allows as scripts, besides those inside it."""
    return {PlotlyScript.EMBED: "", PlotlyScript.DIRECTORY: " 'self' file:", PlotlyScript.CDN: f" {_ADDRESS}"}[source]


def provide_script(page: Path, source: PlotlyScript) -> None:
    """Put the script beside a page that looks for it there; one that is there already is kept."""
    beside = page.with_name(FILE)
    if source is PlotlyScript.DIRECTORY and not beside.exists():
        with replace_file(beside) as path:
            path.write_text(read_bundle(), encoding="utf-8")
