"""The ways through the package: each module hands on a value, and none calls back into one that waits for it.

That imports form no circle is held by test_layers.py; here it is the calls, through functions that are handed over and
through objects. The way from ``tcprof profile`` to nsys is in nsys/test_nsys_plan.py.
"""

import sys

import pytest
import walks
from builders import FIXTURES
from slow import first, slow
from walks import find_calls_back

from tcprof import cli

WAYS = {
    "from a sample to a cell of the page": ("report", "{new}", "-o", "page.html"),
    "from a kernel's name to a table": ("kernels", "{new}"),
    "from two recordings to an exit status": (
        *("compare", "{base}", "{new}", "-o", "page.html"),
        *("--fail-if", "time > +5%"),
    ),
}


@pytest.mark.parametrize(
    ("base", "new"), [("jax_mlp.sqlite", "jax_mlp.sqlite"), *slow([("mlp_fp32.sqlite", "mlp_fp16.sqlite")])]
)
@pytest.mark.parametrize("way", first(2, WAYS))
def test_no_module_calls_back_into_one_that_waits(way, base, new, tmp_path, monkeypatch):
    for name in {base, new}:
        (tmp_path / name).symlink_to(FIXTURES / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tcprof", *(each.format(base=base, new=new) for each in WAYS[way])])
    ends = []

    def run():
        with pytest.raises(SystemExit) as ended:
            cli.main()
        ends.append(ended.value.code)

    assert find_calls_back(run) == []
    assert ends == [0]


# The watching itself, held against modules that call each other.


@pytest.fixture
def modules(monkeypatch):
    """Makes modules from their texts: each knows the others by their names."""
    monkeypatch.setattr(walks, "PACKAGE", "invented")

    def make(**texts):
        spaces = {name: {"__name__": f"invented.{name}"} for name in texts}
        for name, text in texts.items():
            spaces[name].update({f"call_{other}": lambda *a, o=other: spaces[o]["run"](*a) for other in texts})
            exec(text, spaces[name])
        return spaces

    return make


WAITING = "def run(): return call_b({})\ndef own(value=0): return value"
CALLS_BACK = {
    "a function that is handed over": ("own", "def run(handed): return handed()"),
    "a function in another one": ("lambda: 0", "def run(handed): return handed()"),
    "a generator function": (
        "each()",
        "def run(handed): return sum(handed)",
    ),
    "in a generator expression": ("own(value) for value in (1, 2)", "def run(handed): return sum(handed)"),
}


@pytest.mark.parametrize(("handed", "other"), CALLS_BACK.values(), ids=CALLS_BACK)
def test_a_call_back_is_seen(modules, handed, other):
    text = WAITING.format(handed) + "\ndef each():\n    yield 1\n"
    made = modules(a=text, b=other)
    (found,) = find_calls_back(made["a"]["run"])
    assert found.startswith("invented.b.run calls invented.a.")


def test_a_call_back_through_a_third_module_is_seen(modules):
    made = modules(a=WAITING.format("own"), b="def run(x): return call_c(x)", c="def run(x): return x()")
    assert find_calls_back(made["a"]["run"]) == ["invented.c.run calls invented.a.own"]


@pytest.mark.parametrize("handed", ["own()", "[own(value) for value in (1, 2)]", "(value for value in (1, 2))"])
def test_values_that_are_handed_on_are_no_call_back(modules, handed):
    other = (
        "def run(handed): return list(handed) if not isinstance(handed, int) else help(handed)\ndef help(x): return x"
    )
    assert find_calls_back(modules(a=WAITING.format(handed), b=other)["a"]["run"]) == []
    assert (
        find_calls_back(modules(a="def run(n=3): return n and call_b(n - 1)", b="def run(n): return 0")["a"]["run"])
        == []
    )
