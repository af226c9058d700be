"""How Sphinx builds the site: ``make docs``. The gallery's pages are made of the fixtures as it is built."""

import subprocess
import sys
from pathlib import Path

from sphinx.application import Sphinx

from tcprof.version import __version__

ROOT = Path(__file__).parent.parent
EXTRA = ROOT / "build" / "site"  # what the site has beside its pages
REPORTS = ("llama", "resnet", "net_amp", "jax_mlp", "findings/fp64-matmul")
COMPARED = {"transformer_compiled": "transformer_eager", "mlp_fp16": "mlp_fp32"}  # each with its baseline

project = "tcprof"
version = release = __version__
copyright = ""
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
autodoc_typehints = "description"
html_theme = "furo"
html_static_path = ["_static"]
html_js_files = [("copy.js", {"defer": "defer"})]
html_css_files = ["site.css"]
html_title = f"tcprof {__version__}"
html_show_copyright = html_show_sphinx = html_copy_source = False
html_show_search_summary = False  # it fetches pages, which browsers refuse of files
EXTRA.mkdir(parents=True, exist_ok=True)
html_extra_path = [str(EXTRA)]


def make_gallery(app: Sphinx) -> None:
    """Write the pages of fixtures, which the site has beside its own."""
    folder = EXTRA / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    for name in REPORTS:
        write_page(folder / f"{Path(name).name}.html", "report", f"{name}.sqlite")
    for new, base in COMPARED.items():
        write_page(folder / f"{base}-{new}.html", "compare", f"{base}.sqlite", f"{new}.sqlite")


def write_page(page: Path, command: str, *recordings: str) -> None:
    """Have tcprof write a page, with plotly's script in one file beside all of them."""
    files = [ROOT / "fixtures" / name for name in recordings]
    options = ["-o", page, "--plotlyjs", "directory", "--force"]
    subprocess.run([sys.executable, "-m", "tcprof", command, *files, *options], check=True, capture_output=True)


def lead_to_pages(app: Sphinx, docname: str, source: list[str]) -> None:
    """Have links to what lies outside of this folder lead to the pages that include it."""
    source[0] = source[0].replace("](../fixtures/README.md", "](fixtures.md")


def setup(app: Sphinx) -> None:
    """Have the gallery made before the pages."""
    app.connect("builder-inited", make_gallery)
    app.connect("source-read", lead_to_pages)
