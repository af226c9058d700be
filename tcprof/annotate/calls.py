"""The calls of modules, which all go through ``torch.nn.Module.__call__``, or through PyTorch's global hooks.

The method is replaced by one that does the same, since global hooks cost more than what they are for: while there is
one, PyTorch takes a slower way through each call. They are taken where the method is not PyTorch's own.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, Any, cast

from tcprof.annotate.inlining import surround

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FunctionType

    from torch.nn import Module

    from tcprof.annotate.guard import Guard

    Callback = Callable[[Module], None]

METHOD, ALIAS = "__call__", "_wrapped_call_impl"  # two names of one function
COMPILE_WARNING = r"Using `torch.compile\(module\)` when there are global hooks"  # it would call ours twice: see Names


class Calls:
    """Calls of modules that are preceded and followed by ours.

    Args:
        is_compiling: PyTorch's function that tells whether torch.compile traces the caller: nothing is followed there.
        both: Called with the module before each call; and after it, whether that returns or raises.
    """

    def __init__(self, is_compiling: Any, both: tuple[Callback, Callback], guard: Guard) -> None:
        self._enter, self._leave = both
        self._is_compiling, self._guard = is_compiling, guard
        self._detach: list[Callable[[], None]] = []

    def attach(self, modules: Any, classes: Iterable[type] = ()) -> None:
        """Follow calls from now on.

        Args:
            modules: ``torch.nn.modules.module``.
            classes: Those of the modules that are followed; all if there are none, or one has a way of its own.
        """
        if not self._detach:
            module = modules.Module
            original = vars(module).get(ALIAS)
            chosen = [cls for cls in classes if getattr(cls, METHOD, None) is original]
            if original is not None and vars(module).get(METHOD) is original:
                for cls in chosen if chosen and len(chosen) == len(list(classes)) else [module]:
                    self._detach += self._wrap(cls, original)
            self._detach += [] if self._detach else self._hook(modules)

    def detach(self) -> None:
        """Stop following calls."""
        while self._detach:
            self._detach.pop()()

    def _wrap(self, module: type, original: FunctionType) -> list[Callable[[], None]]:
        """Put another function in the method's place; return what restores it, nothing where that cannot be done."""
        is_wanted = [True]  # someone else may wrap the method, and so keep it when the annotation ends
        both = self._both(is_wanted)
        try:
            followed = surround(original, self._is_compiling, *both)
            leave_to_python(followed)
            for callback in both:
                leave_to_python(callback, with_calls=True)
        except Exception:  # of a PyTorch that has no such thing, or no source
            return []
        is_inherited = ALIAS not in vars(module)
        for name in (METHOD, ALIAS):  # it is pickled by the latter
            setattr(module, name, followed)

        def detach() -> None:
            is_wanted.clear()
            for name in (METHOD, ALIAS):
                if vars(module).get(name) is followed and is_inherited:
                    delattr(module, name)
                elif vars(module).get(name) is followed:
                    setattr(module, name, original)

        return [detach]

    def _both(self, is_wanted: list[bool]) -> tuple[Callable[[Module], bool], Callback]:
        """Make what precedes a call, and returns whether it is followed; and what follows it."""
        guard = self._guard
        begin, end = uncompiled(self._enter), uncompiled(self._leave)

        def enter(module: Module) -> bool:
            if not (is_wanted and guard.is_on):
                return False
            try:
                begin(module)
            except RecursionError:  # nothing can be called here: the program is as deep as Python allows
                return False
            except Exception as error:  # the program is not ours to stop
                undo(module)
                guard.leave_out(module, error)
                return False
            return True

        def leave(module: Module) -> None:
            if guard.is_on:
                try:
                    end(module)
                except RecursionError:
                    return
                except Exception as error:
                    undo(module)
                    guard.leave_out(module, error)

        def undo(module: Module) -> None:
            """End what was begun before a signal's handler, or an error, broke off ours."""
            with contextlib.suppress(Exception):
                end(module)

        return enter, leave

    def _hook(self, modules: Any) -> list[Callable[[], None]]:
        warnings.filterwarnings("ignore", message=COMPILE_WARNING, category=UserWarning)
        enter, leave = (hook(uncompiled(ours), self._is_compiling, self._guard) for ours in (self._enter, self._leave))
        handles = (
            modules.register_module_forward_pre_hook(enter),
            modules.register_module_forward_hook(leave, always_call=True),
        )
        return [handle.remove for handle in handles]


def leave_to_python(function: Callable[..., Any], *, with_calls: bool = False) -> None:
    """Have torch.compile begin at what a function calls, as with PyTorch's own, or not even there.

    Else all modules would share the function's cache of compiled code, of which PyTorch keeps eight versions. This is
    ``torch._dynamo.eval_frame.skip_code``, without the import of that.
    """
    from torch._C._dynamo import eval_frame

    code = cast("FunctionType", function).__code__
    if hasattr(eval_frame, "skip_code"):  # before PyTorch 2.7
        eval_frame.skip_code(code)
    else:
        action = eval_frame._FrameAction
        strategy = eval_frame._FrameExecStrategy(action.SKIP, action.SKIP if with_calls else action.DEFAULT)
        eval_frame.set_code_exec_strategy(code, strategy)


def uncompiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function whose calls torch.compile leaves alone in PyTorch before 2.7, too, whose code cannot say so."""
    with contextlib.suppress(Exception):  # of a PyTorch that has no such thing
        from torch._C._dynamo import eval_frame

        if not hasattr(eval_frame, "skip_code"):
            return function
        follow = eval_frame.set_eval_frame

        def alone(*args: Any, **kwargs: Any) -> Any:
            compiler = follow(None)
            try:
                return function(*args, **kwargs)
            finally:
                follow(compiler)

        leave_to_python(alone)
        return alone
    return function


def hook(function: Callable[..., None], is_compiling: Callable[[], bool], guard: Guard) -> Callable[..., None]:
    """Make a hook of PyTorch's, whose first argument alone matters; nothing where torch.compile traces it."""

    def hooked(subject: Any, *_rest: Any) -> None:
        if is_compiling() or not guard.is_on:
            return
        try:
            function(subject)
        except Exception as error:  # the program is not ours to stop
            guard.leave_out(subject, error)

    return hooked
