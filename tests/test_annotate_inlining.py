"""The annotation's calls lie in functions of the program, which stay what they are: no frame is around them."""

import importlib.util
import inspect
import linecache
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tcprof.annotate.inlining import surround

SOURCE = '''
from __future__ import annotations
import contextvars, functools
def decorate(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        contextvars.copy_context()
        return function(*args, **kwargs)
    return inner
class Base:
    def generate(self, x): return [x]
class Model(Base):
    __hidden = 7
    def generate(self, x, /, y: Absent = 2, *rest, k=3, **more):
        """Doc."""
        def inner():
            nonlocal y
            y += 1
            return [self.__hidden + each for each in (lambda: range(y))()]
        text = """
 a"""
        result = super().generate(x)
        if x == "bad":
            raise ValueError(x)
        return result, inner(), rest, k, more, text, inner.__qualname__
    @decorate
    def decorated(self, x): return x
    def rebinds(self, x):
        self = x
        return self
    def looks(self, x): return locals()
    def plain(self, x): return x
    small = lambda self, x: x
def backward(outputs, *args, flag=False, **more):
    del outputs
    return args, flag, more
'''


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("program", path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def never() -> bool:
    return False


def lines_of(call: Callable[..., Any], *args: object) -> list[tuple[str, int | None]]:
    try:
        call(*args)
    except (ValueError, TypeError) as error:
        return [(each.name, each.lineno) for each in traceback.extract_tb(error.__traceback__)]
    return []


@pytest.mark.parametrize("name", ["generate", "decorated"])
def test_a_method_stays_what_it_is(module, name):
    log: list[Any] = []
    own, model = vars(module.Model)[name], module.Model()
    followed = surround(own, never, lambda *given: log.extend(given) or True, lambda *given: log.extend(given))
    args = ("a", 5, 6) if name == "generate" else ("a",)
    assert followed(model, *args) == own(model, *args)
    assert log == [model, model]
    for what in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__", "__dict__"):
        assert getattr(followed, what) == getattr(own, what)
    assert inspect.signature(followed) == inspect.signature(own)
    for wrong in ((model, "bad"), (), (model,)):
        assert lines_of(followed, *wrong) == lines_of(own, *wrong)


def test_what_is_bound_anew_is_not_passed_to_the_end(module):
    log: list[Any] = []
    followed = surround(
        module.backward,
        never,
        lambda *args, **more: log.append((args, more)) or True,
        lambda *args, **more: log.append((args, more)),
        first_only=False,
    )
    assert followed(1, 2, flag=True, q=3) == module.backward(1, 2, flag=True, q=3)
    assert log == [((1, 2), {"flag": True, "q": 3}), ((None, 2), {"flag": True, "q": 3})]


@pytest.mark.parametrize("name", ["rebinds", "looks", "small"])
def test_what_cannot_be_followed_unseen_is_refused(module, name):
    with pytest.raises(ValueError, match=r"source|argument|statement"):
        surround(vars(module.Model)[name], never, never, never)


def test_a_file_that_has_changed_since_is_not_run(module):
    path = Path(module.__file__)
    path.write_text(SOURCE.replace("def plain(self, x): return x", "def plain(self, x): return 1"), encoding="utf-8")
    linecache.clearcache()
    with pytest.raises(ValueError, match="source"):
        surround(module.Model.plain, never, never, never)


def test_nothing_is_called_while_pytorch_compiles(module):
    log: list[Any] = []
    assert surround(module.Model.plain, lambda: True, log.append, log.append)(None, 3) == 3
    assert log == []
