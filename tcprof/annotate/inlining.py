"""Puts calls of ours into functions of PyTorch and of the program, without a frame of ours around them.

A function is compiled anew, from its own source at its own lines, with a call at its begin and one at its end. So
calls nest as deeply as without, tracebacks and the lines that warnings name are the same, and torch.profiler knows a
module by ``self`` in its call. What has no source, or another one by now, is left as it is.
"""

from __future__ import annotations
import __future__

import ast
import copy
import dis
import functools
import inspect
import linecache
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FACTORY = "_tcprof_factory"
_IS_COMPILING, _ENTER, _LEAVE = _OURS = ("_tcprof_is_compiling", "_tcprof_enter", "_tcprof_leave")
_BODY = f"""
if {_IS_COMPILING}() or not {_ENTER}():
  pass
  return None
try:
  pass
finally:
  {_LEAVE}()
"""
_FEATURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
_SHOWING = {"locals", "vars", "dir", "eval", "exec"}  # a function that calls one of these could see what was put in

_SKIPPED = {"PUSH_NULL", "PRECALL", "CACHE", "EXTENDED_ARG", "NOP", "COPY_FREE_VARS"}
_ALIKE = {"LOAD_METHOD": "LOAD_ATTR", "CALL_METHOD": "CALL_FUNCTION"}
_JUMPS = {*dis.hasjrel, *dis.hasjabs}


def surround(
    function: FunctionType,
    is_compiling: Callable[[], bool],
    enter: Callable[..., object],
    leave: Callable[..., object],
    *,
    first_only: bool = True,
) -> FunctionType:
    """Make the same function, but that it calls ``enter`` first, and if that returns true ``leave`` at the very end.

    Args:
        is_compiling: PyTorch's function that tells whether torch.compile traces the caller, which sees nothing of ours.
        first_only: Whether both get the first argument alone; else ``leave`` gets None for those that are rebound.

    Raises:
        ValueError: It has no source that it was compiled from.
    """
    code = function.__code__
    tree = _parse(function)
    if _list_work(_compile(tree, function)) != _list_work(code) or _SHOWING & {*code.co_names}:
        raise ValueError(f"{code.co_name} has no source that can be used")
    _put_in(tree, first_only=first_only)
    made = _compile(tree, function, _OURS)
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))  # noqa: B905 - Python 3.8 has no strict
    cells.update({_IS_COMPILING: CellType(is_compiling), _ENTER: CellType(enter), _LEAVE: CellType(leave)})
    closure = tuple(cells[name] for name in made.co_freevars)
    alike = FunctionType(made, function.__globals__, function.__name__, function.__defaults__, closure)
    alike.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(alike, function)
    del alike.__wrapped__  # type: ignore[attr-defined]
    alike.__dict__.update(function.__dict__)
    return alike


def _parse(function: FunctionType) -> ast.FunctionDef:
    """Parse the definition of a function, in which each node has its place in the file."""
    first = function.__code__.co_firstlineno
    lines = inspect.getblock(linecache.getlines(function.__code__.co_filename, function.__globals__)[first - 1 :])
    is_indented = bool(lines) and lines[0][:1].isspace()
    try:
        (tree,) = ast.parse("".join(["if 1:\n", *lines] if is_indented else lines)).body
    except SyntaxError as error:
        raise ValueError(error) from error
    tree = tree.body[0] if isinstance(tree, ast.If) else tree
    if not isinstance(tree, ast.FunctionDef):
        raise ValueError(f"{function.__code__.co_name} is defined by no statement")
    ast.increment_lineno(tree, first - 1 - is_indented)
    return tree


def _put_in(tree: ast.FunctionDef, *, first_only: bool) -> None:
    """Put the calls into the body of a definition."""
    plain = ast.parse(_BODY).body
    outside, within = cast("tuple[ast.If, ast.Try]", plain)
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    for call in (node for statement in plain for node in ast.walk(statement) if isinstance(node, ast.Call)):
        name = cast("ast.Name", call.func).id
        if name != _IS_COMPILING:
            _pass_on(tree.args, call, first_only=first_only, bound=bound if first_only or name == _LEAVE else set())
    for statement in plain:
        for node in ast.walk(statement):
            ast.copy_location(node, tree.body[0])
    outside.body[:1], within.body, tree.body = copy.deepcopy(tree.body), tree.body, plain


def _pass_on(args: ast.arguments, call: ast.Call, *, first_only: bool, bound: set[str]) -> None:
    """Have a call pass the arguments on; None for what is bound anew, since that may be unbound then, too."""
    positional = [*args.posonlyargs, *args.args][: 1 if first_only else None]
    call.args = [ast.Constant(None) if arg.arg in bound else _load(arg) for arg in positional]
    if first_only and (bound & {arg.arg for arg in positional} or not (positional or args.vararg)):
        raise ValueError("its first argument is lost")
    if args.vararg and not (first_only and positional) and args.vararg.arg not in bound:
        rest: ast.expr = _load(args.vararg)
        if first_only:
            rest = ast.Subscript(rest, ast.parse("_[:1]", mode="eval").body.slice, ast.Load())  # type: ignore[attr-defined]
        call.args.append(ast.Starred(rest, ast.Load()))
    if not first_only:
        call.keywords = [ast.keyword(arg.arg, _load(arg)) for arg in args.kwonlyargs if arg.arg not in bound]
        if args.kwarg and args.kwarg.arg not in bound:
            call.keywords.append(ast.keyword(None, _load(args.kwarg)))


def _load(argument: ast.arg) -> ast.Name:
    return ast.Name(argument.arg, ast.Load())


def _compile(tree: ast.FunctionDef, function: FunctionType, ours: Sequence[str] = ()) -> CodeType:
    """Compile a definition, with the names from outside that the function has, and ours."""
    code = function.__code__
    qualname = getattr(code, "co_qualname", function.__qualname__)
    above = qualname.split(".")[:-1][-1:]
    owner = [] if above == ["<locals>"] else above  # by which names in it are mangled
    shell = f"def {_FACTORY}({', '.join([*code.co_freevars, *ours])}):\n  pass"
    (factory,) = ast.parse(shell).body
    cast("ast.FunctionDef", factory).body = [copy.deepcopy(tree)]
    body: list[ast.stmt] = [factory]
    if owner:
        (around,) = ast.parse(f"class {owner[0]}:\n  pass").body
        cast("ast.ClassDef", around).body, body = body, [around]
    whole = compile(
        ast.Module(body=body, type_ignores=[]), code.co_filename, "exec", code.co_flags & _FEATURES, dont_inherit=True
    )
    made = _find(whole, code.co_name, code.co_firstlineno)
    if made is None:
        raise ValueError(f"{code.co_name} is not what its source defines")
    prefix = ".".join([*owner, _FACTORY, "<locals>", ""])
    return _rename(made, prefix, qualname[: len(qualname) - len(code.co_name)])


def _list_work(code: CodeType) -> list[Any]:
    """List what a code does, and on which lines, however it gets the methods that it calls.

    That depends on what the module imports, which a function's own source does not tell.
    """
    work: list[Any] = [line for _, line in dis.findlinestarts(code)]
    for instruction in dis.get_instructions(code):
        if instruction.opname not in _SKIPPED:
            value = None if instruction.opcode in _JUMPS else instruction.argval
            work.append((_ALIKE.get(instruction.opname, instruction.opname), type(value)))
            work.append(_list_work(value) if isinstance(value, CodeType) else value)
    return work


def _find(code: CodeType, name: str, line: int) -> CodeType | None:
    """Find the code of a function within another code."""
    inner = [item for item in code.co_consts if isinstance(item, CodeType)]
    matches = (
        item if (item.co_name, item.co_firstlineno) == (name, line) else _find(item, name, line) for item in inner
    )
    return next(filter(None, matches), None)


def _rename(code: CodeType, prefix: str, qualifier: str) -> CodeType:
    """Give what is defined in a code its full name."""

    def named(value: Any) -> Any:
        if isinstance(value, CodeType):
            return _rename(value, prefix, qualifier)
        return qualifier + value[len(prefix) :] if isinstance(value, str) and value.startswith(prefix) else value

    qualname = {"co_qualname": named(code.co_qualname)} if hasattr(code, "co_qualname") else {}
    return code.replace(co_consts=tuple(map(named, code.co_consts)), **qualname)
