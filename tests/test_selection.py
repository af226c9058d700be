"""What a page's address calls ranges, kernels and modules."""

from urllib.parse import unquote

import pandas as pd
from report_inputs import HOSTILE

from tcprof.views.paths import kernel_names, link, module_names, range_names


def paths(*rows):
    return pd.DataFrame(rows, columns=["path", "domain"])


def test_names_are_those_that_are_read():
    assert range_names(paths(("step", ""), ("step / forward", ""))) == ["step", "step / forward"]


def test_names_differ_even_where_what_is_read_does_not():
    long = "x" * 300
    names = range_names(paths(("a", ""), ("a", "ops"), (f"{long}1{long}", ""), (f"{long}2{long}", "")))
    assert len(set(names)) == 4
    assert all(len(name) <= 130 for name in names)
    assert names[0].startswith("a~")


def test_hostile_names_are_one_line_and_encoded():
    for name in range_names(paths(*((name, "") for name in HOSTILE))):
        text = link("range", name, 2)
        assert not set("<>\"'& \n") & set(text.removesuffix("&gpu=2"))
        assert unquote(text).removesuffix("&gpu=2") == f"range={name}"


def test_a_kernel_has_one_name_on_all_gpus_and_each_shape_its_own():
    rows = [
        (gpu, name, shape) for gpu in (0, 1) for name, shape in (("gemm", "1 · 2"), ("gemm", "1 · 4"), ("copy", ""))
    ]
    names = kernel_names(pd.DataFrame(rows, columns=["gpu", "name", "launch_geometry"]))
    assert names == 2 * ["gemm 1 · 2", "gemm 1 · 4", "copy"]


def test_phases_of_a_module_share_its_name():
    modules = pd.DataFrame({"module": ["Net", "Net", "Net.0"], "gpu": 0})
    assert module_names(modules) == ["Net", "Net", "Net.0"]
