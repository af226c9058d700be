"""How pages are made: plotly's script, colours, and the browser."""

import base64
import hashlib
import re
import webbrowser
import zlib

import pytest
from builders import FIXTURES, TraceBuilder

from tcprof.render.html.page import FILE, VERSION, pack_bundle, read_bundle

pytestmark = pytest.mark.usefixtures("shared_reads")


@pytest.fixture
def recording(tmp_path):
    builder = TraceBuilder().gpu().range("step", 0, 20_000).kernel("gemm", 2_000, 9_000, launched=1_000)
    return builder.samples([0, 50, 100]).write(tmp_path)


def test_the_bundle_is_the_version_that_it_says(recording):
    assert re.search(r"v(\d+\.\d+\.\d+)", read_bundle()[:200])[1] == VERSION
    assert "MIT" in read_bundle()[:300]


def test_plotly_is_in_the_page_beside_it_or_on_the_network(run, recording, tmp_path):
    pages = {}
    for source in ("embed", "directory", "cdn"):
        page = tmp_path / source / "page.html"
        page.parent.mkdir()
        assert run("report", recording, "-o", page, "--plotlyjs", source).status == 0
        pages[source] = page.read_text()
        assert (page.parent / FILE).exists() == (source == "directory")
    assert zlib.decompress(base64.b64decode(pack_bundle())).decode() == read_bundle()
    assert pack_bundle() in pages["embed"]
    assert "This file is complete" in pages["embed"]
    assert f'data-src="{FILE}"' in pages["directory"]
    digest = base64.b64encode(hashlib.sha384(read_bundle().encode()).digest()).decode()
    assert f'data-src="https://cdn.plot.ly/{FILE}" data-integrity="sha384-{digest}"' in pages["cdn"]
    for source in ("directory", "cdn"):
        assert "This file is complete" not in pages[source]
        assert len(pages[source]) < len(pages["embed"]) - len(pack_bundle()) + 1000


@pytest.mark.slow
def test_colours_may_be_chosen(run, recording, tmp_path):
    for theme, expected in (("auto", '<html lang="en">'), ("dark", '<html lang="en" data-theme="dark">')):
        run("report", recording, "-o", tmp_path / "page.html", "--theme", theme)
        assert expected in (tmp_path / "page.html").read_text()


def test_the_page_may_be_opened(run, recording, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    page = tmp_path / "page.html"
    assert run("report", recording, "-o", page, "--open").status == 0
    assert opened == [page.as_uri()]


FP32, TF32, FP16 = (FIXTURES / f"mlp_{name}.sqlite" for name in ("fp32", "tf32", "fp16"))
JOBS = FIXTURES / "jobs"


@pytest.mark.parametrize(
    ("command", "verdicts"),
    [
        (["report", FP16], ["The Tensor Cores were busy"]),
        (["compare", FP32, FP16], ["mlp_fp16 is faster"]),
        (["compare", FP32, TF32, FP16], ["mlp_tf32 is faster", "mlp_fp16 is faster"]),
        (["compare", JOBS / "base", JOBS / "more-work"], ["more-work is faster"]),
        (["ranks", JOBS / "more-work"], ["2 ranks", "Rank 1"]),
        (["show", JOBS / "more-work"], ["2 ranks", "Rank 1"]),
        (["report", JOBS / "more-work"], ["2 ranks", "Rank 1"]),
    ],
)
def test_beside_a_page_its_verdict_and_path_are_printed(command, verdicts, run, tmp_path):
    page = tmp_path / "page.html"
    done = run(*command, "-o", page)
    assert (done.status, done.out) == (0, f"{page}\n")
    assert not any(word in done.err for word in ("Checks:", "note:", "──"))
    for verdict in verdicts:
        assert verdict in done.err


def test_show_says_first_how_to_record_tensor_active(run, tmp_path):
    builder = TraceBuilder().gpu().range("step", 0, 9_000).kernel("gemm", 2_000, 9_000, launched=1_500)
    lines = run("show", builder.write(tmp_path), "--no-cache").out.splitlines()
    assert "tcprof profile" in lines[1]
    assert not any("See: Samples" in line for line in lines)
