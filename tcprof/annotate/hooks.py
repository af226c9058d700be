"""Attach the annotation to PyTorch: to its global hooks for modules and optimizers, by wrappers where it has none."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

from tcprof.annotate.backward import Backward
from tcprof.annotate.calls import Calls, hook, leave_to_python, uncompiled
from tcprof.annotate.generators import Generations, Generators
from tcprof.annotate.inlining import surround
from tcprof.annotate.names import Names, attribute_of, is_replica
from tcprof.annotate.ops import OFF
from tcprof.annotate.steps import BACKWARD, NAMES, RECOMPUTE, Optimizers, Steps, is_exhausted
from tcprof.annotate.window import OVER, RECORDED, TIMED, do_nothing

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.nn import Module

    from tcprof.annotate.guard import Guard
    from tcprof.annotate.ops import Ops
    from tcprof.annotate.steps import Ranges
    from tcprof.annotate.window import Window

OPTIMIZERS = "torch.optim.optimizer"  # torch.optim itself hides it
LOADER = "torch.utils.data.dataloader"
CHECKPOINTS = "torch.utils.checkpoint"
SCALERS = ("torch.amp.grad_scaler", "torch.cuda.amp.grad_scaler")


class _CallState(threading.local):
    """The calls, steps and phases that are open on a thread.

    Attributes:
        calls: The modules that are being called, innermost last; whether each has a range. The first is None where
            a checkpointed function is called again.
        recomputes: Whether these run in the backward pass, for activation checkpointing.
        generations: The models that call themselves again and again.
        steps: The step and its phases.
    """

    def __init__(self, ranges: Ranges, optimizers: Optimizers, ended: Callable[[bool], object]) -> None:
        self.calls: list[tuple[Module | None, str, bool]] = []
        self.recomputes = False
        self.generations = Generations(ranges)
        self.steps = Steps(ranges, optimizers, ended)


class Hooks:
    """Annotates what PyTorch runs in this process. An error switches everything off."""

    def __init__(self, torch: Any, window: Window, guard: Guard, ops: Ops, note_groups: Callable[[], object]) -> None:
        self._torch, self._window, self._guard, self._ops = torch, window, guard, ops
        self._push, self._pop, self._note_groups = window.push, window.pop, note_groups
        self._level = OFF
        self._has_calls = True  # whether calls of modules are followed; else steps end with their optimizers
        self._undo: list[Callable[[], object]] = []  # what takes away what is attached
        self._is_compiling: Any = getattr(getattr(torch, "compiler", None), "is_compiling", None)
        begin, end = (guard.protect(function) for function in (self._begin_generation, self._end_generation))
        self._generators = Generators(begin, end, self._is_compiling)
        self._calls = Calls(self._is_compiling, (self._enter, self._leave), guard)
        self._backward = Backward(window.mark)
        self._forget()

    def _forget(self) -> None:
        """Start anew; in a child process what was open belongs to the parent."""
        self._backward.forget()
        self._turn = threading.Lock()
        self._optimizers = Optimizers()
        self._names = Names(NAMES)
        self._trained: set[str] = set()
        # The classes of what the program calls itself.
        self._models: dict[int, type] = {}  # by id: some cannot be hashed
        self._last_model_trains = True
        self._thread = _CallState(self._window, self._optimizers, self._follow_window)

    def want(self, level: str) -> None:
        """Have ranges for ops, too, or not, from now on."""
        self._level = level
        if self._is_compiling is not None and self._window.phase != OVER:
            if self._has_calls:
                models = list(self._models.values()) if self._window.phase == TIMED else ()
                self._calls.attach(self._torch.nn.modules.module, models)
            self._ops.want(level if self._window.phase == RECORDED else OFF)
            self._generators.add_all(self._torch.nn.Module)

    def _follow_window(self, trained: bool) -> None:
        """Go on after a step as the phase wants it, and leave the program once it is over.

        Steps that are timed have as few hooks as may be: none for calls in training, else those of the models alone.
        """
        if self._turn.acquire(blocking=False):  # else another thread's step ends at this moment
            try:
                if self._window.follow():
                    self._begin_phase(trained)
            finally:
                self._turn.release()

    def _begin_phase(self, trained: bool) -> None:
        self._push, self._pop = self._window.push, self._window.pop
        self._backward = Backward(self._window.mark)
        self._has_calls = not (self._window.phase == TIMED and trained)
        self._calls.detach()
        self.want(self._level)
        if self._window.phase == OVER:
            self.remove()

    def remove(self) -> None:
        """Take away all that is attached to PyTorch and to the program's classes."""
        self._ops.close()
        self._generators.close()
        self._calls.detach()
        while self._undo:
            self._undo.pop()()

    def _forget_parent(self) -> None:
        self._ops.leave()  # they are switched on again should the child use the GPU
        self._forget()

    def install(self) -> None:
        """Attach everything; what this PyTorch lacks is reported and left out."""
        if self._is_compiling is None:
            self._guard.tell("nothing is annotated: that needs PyTorch 2.3 or newer")
            return
        optimizers = sys.modules[OPTIMIZERS]
        note, begin, end = (
            hook(function, self._is_compiling, self._guard)
            for function in (self._note_module, self._begin_optimizer, self._end_optimizer)
        )
        self._undo = [
            self._torch.nn.modules.module.register_module_module_registration_hook(note).remove,
            optimizers.register_optimizer_step_pre_hook(begin).remove,
            optimizers.register_optimizer_step_post_hook(end).remove,
        ]
        self._wrap(optimizers.Optimizer, "__init__", after=self._note_optimizer)
        self._wrap(self._torch.autograd, "_engine_run_backward", self._begin_backward, self._end_backward)
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            self._wrap_within(getattr(self._torch.nn.utils, name, None), self._begin_optimizer, self._end_phase)
        graph = self._torch.cuda.CUDAGraph
        self._wrap(graph, "capture_begin", after=self._begin_capture)
        self._wrap(graph, "capture_end", before=self._end_capture)
        self._wrap(graph, "replay", before=self._note_replay)
        for scaler in filter(None, map(sys.modules.get, SCALERS)):
            self._wrap(scaler.GradScaler, "unscale_", self._begin_optimizer, self._end_phase)
            self._wrap(scaler.GradScaler, "step", self._begin_optimizer, self._end_scaled)
        if LOADER in sys.modules:
            self._wrap(sys.modules[LOADER]._BaseDataLoaderIter, "__next__", self._begin_data, self._end_phase)
        for owner, method, attribute in (
            ("_CheckpointFrame", "__init__", "recompute_fn"),
            ("CheckpointFunction", "forward", "run_function"),
        ):
            if hasattr(sys.modules.get(CHECKPOINTS), owner):
                self._wrap(getattr(sys.modules[CHECKPOINTS], owner), method, after=self._follow_checkpoint(attribute))
        os.register_at_fork(after_in_child=self._forget_parent)

    def _wrap(
        self, owner: Any, name: str, before: Callable[..., None] | None = None, after: Callable[..., None] | None = None
    ) -> None:
        """Have a function of PyTorch's preceded and followed by ours, with its own arguments."""
        wrapped = vars(owner).get(name)
        if wrapped is None:  # a class that derives from another has what that has
            return
        ours: Any
        if isinstance(wrapped, staticmethod):
            ours = staticmethod(self._surround(wrapped.__func__, before, after))
        else:
            ours = self._surround(wrapped, before, after)
        setattr(owner, name, ours)

        def undo() -> None:
            if vars(owner).get(name) is ours:
                setattr(owner, name, wrapped)

        self._undo.append(undo)

    def _wrap_within(self, function: Any, before: Callable[..., None], after: Callable[..., None]) -> None:
        """Wrap what a decorated function calls: it stays the object that the program may hold and pickle."""
        for cell in getattr(function, "__closure__", None) or ():
            if cell.cell_contents is function.__wrapped__:
                cell.cell_contents = self._surround(function.__wrapped__, before, after)
                self._undo.append(functools.partial(setattr, cell, "cell_contents", function.__wrapped__))

    def _surround(
        self, wrapped: Any, before: Callable[..., None] | None, after: Callable[..., None] | None
    ) -> Callable[..., Any]:
        begin, end = (self._guard.protect(uncompiled(ours)) if ours else do_nothing for ours in (before, after))

        def enter(*args: Any, **kwargs: Any) -> bool:
            begin(*args, **kwargs)
            return True

        try:
            alike = surround(wrapped, self._is_compiling, enter, end, first_only=False)
        except (ValueError, AttributeError) as error:  # of a PyTorch without source, or a function of someone else's
            self._guard.tell(f"{getattr(wrapped, '__qualname__', wrapped)} is not annotated: {error}")
            return wrapped  # type: ignore[no-any-return]
        with contextlib.suppress(Exception):  # of a PyTorch that has no such thing
            leave_to_python(alike)
            for ours in (enter, end):
                leave_to_python(ours, with_calls=True)
        return alike

    def _enter(self, module: Module) -> None:
        calls = self._thread.calls
        if calls:
            above = calls[-1][1]
            name = self._names.by_id.get(id(module)) or self._names.within(module, above)
            is_new = name != above  # a wrapper has the name of what it wraps
        else:
            name, is_new = self._enter_outermost(module), True
        if is_new:
            self._push(name)
            self._backward.note(name)
        calls.append((module, name, is_new))

    def _enter_outermost(self, module: Module) -> str:
        """Note the call of a module that is in no other's call; return its name."""
        if not self._is_in_backward():
            self._backward.follow()  # else autograd's thread computes again for a checkpoint
            return self._begin_call(module)
        self._thread.recomputes = True
        self._push(RECOMPUTE)
        return self._names.find(module) or self._names.root(module)

    def _is_in_backward(self) -> bool:
        """Tell whether autograd runs this: a checkpoint, which calls modules and the backward pass in it."""
        return bool(self._torch._C._current_graph_task_id() != -1)

    def _begin_call(self, module: Module) -> str:
        name = self._names.called(module)
        if is_replica(module):  # on a thread of its own, within a call of its original that is in a step already
            self._ops.follow()
            self._backward.is_on = False  # threads number their nodes alike
            return name
        if self._names.is_model(name):
            self._models[id(type(module))] = type(module)
            generations = self._thread.generations
            generations.end_between()
            self._last_model_trains = _is_training(module)
            trains = self._trains()
            self._trained.update([name] if trains else [])
            self._begin().begin_call(generations.name or name, trains=trains, evaluates=self._is_tried(module, name))
        return name

    def _is_tried(self, module: Module, name: str) -> bool:
        return name in self._trained and not _is_training(module)

    def _begin_generation(self, module: Module) -> None:
        """Note that a model is to call itself again and again; what it does meanwhile is its own work."""
        thread = self._thread
        is_within = bool(thread.calls) or self._is_in_backward() or thread.generations.holds(module)
        name = "" if is_within else self._names.called(module)
        is_model = self._names.is_model(name)
        thread.generations.enter(module, name if is_model else "")
        self._last_model_trains = _is_training(module) if is_model else self._last_model_trains
        if is_model and not self._trains():  # else its first call tells
            self._begin().begin_generation(name, evaluates=self._is_tried(module, name))
            thread.generations.begin_between()

    def _end_generation(self, module: Module) -> None:
        if self._thread.generations.is_innermost(module) and self._thread.generations.leave():
            self._unwind()
            self._thread.generations.begin_between()

    def _trains(self) -> bool:
        return bool(self._optimizers.expected) and self._last_model_trains and self._torch.is_grad_enabled()

    def _leave(self, module: Module) -> None:
        calls = self._thread.calls
        if not calls or (calls[-1][0] is not module and not any(module is called for called, _, _ in calls)):
            return  # entered before the annotation was on, or in the backward pass
        left = None
        while left is not module:  # usually the last; those above it lost their hooks on the way
            left, name, has_range = calls.pop()
            if has_range:
                self._pop()
                self._backward.note(calls[-1][1] if calls else "")
        if not calls and not self._end_recomputation() and self._names.is_model(name):
            self._thread.steps.end_call()
            self._thread.generations.begin_between()

    def _follow_checkpoint(self, attribute: str) -> Callable[..., None]:
        """Make what gives the function that a checkpoint will call again a range around that whole call."""

        def follow(checkpoint: Any, *_: Any, **__: Any) -> None:
            calls, run = self._thread.calls, getattr(checkpoint, attribute)
            name = calls[-1][1] if calls else ""
            begin, end = self._guard.protect(self._begin_again), self._guard.protect(self._end_again)

            def run_again(*args: Any, **kwargs: Any) -> Any:
                begun = not self._is_compiling() and begin(name)
                try:
                    return run(*args, **kwargs)
                finally:  # an early stop raises
                    if begun:
                        end()

            setattr(checkpoint, attribute, run_again)

        return follow

    def _begin_again(self, name: str) -> bool:
        """Open the ranges of a checkpointed function called in a module of that name; return whether it does."""
        thread = self._thread
        if thread.calls or thread.recomputes or not self._is_in_backward():
            return False
        thread.recomputes = True
        self._push(RECOMPUTE)
        thread.calls.append((None, name, bool(name)))
        if name:
            self._push(name)
            self._backward.note(name)
        return True

    def _end_again(self) -> None:
        self._unwind()
        self._backward.note("")

    def _end_recomputation(self) -> bool:
        """End the recomputation that the outermost call was, if it was one; return whether it was."""
        did_recompute, self._thread.recomputes = self._thread.recomputes, False
        if did_recompute:
            self._pop()
        return did_recompute

    def _unwind(self) -> None:
        """Forget calls that never returned to us: the program has removed the hooks meanwhile."""
        while self._thread.calls:
            if self._thread.calls.pop()[2]:
                self._pop()
        self._end_recomputation()

    def _begin(self) -> Steps:
        self._ops.follow()
        return self._thread.steps

    def _note_module(self, module: Module) -> None:
        """Note that a module holds another one: it may be a model."""
        self._generators.add(type(module))

    def _note_optimizer(self, optimizer: Any = None, *_: Any, **__: Any) -> None:
        if optimizer is not None:  # else the call was wrong
            self._note_groups()  # they are formed by now, and may be gone when the program ends
            self._optimizers.add(id(optimizer))
            weakref.finalize(optimizer, self._optimizers.discard, id(optimizer))

    def _begin_data(self, batches: Any = None, *_: Any, **__: Any) -> None:
        self._unwind()
        self._begin().begin_data(trains=self._trains() and not is_exhausted(batches))

    def _begin_backward(self, outputs: Any = (), *args: Any, accumulate_grad: bool = False, **_: Any) -> None:
        if not self._is_in_backward():
            self._begin().begin_backward(ends_forward=accumulate_grad)  # torch.autograd.grad does not
        self._backward.begin(() if self._ops.are_wanted else outputs, *args[1:4])

    def _end_backward(self, *_: Any, accumulate_grad: bool = False, **__: Any) -> None:
        is_within = self._is_in_backward()
        self._backward.end(goes_on=is_within)
        if not is_within:
            self._thread.steps.end_backward(for_training=accumulate_grad and self._last_model_trains)
            self._end_with_optimizers()

    def _begin_optimizer(self, *_: Any, **__: Any) -> None:
        self._unwind()
        self._begin().begin_optimizer()

    def _end_optimizer(self, optimizer: Any) -> None:
        self._thread.steps.end_phase()
        self._thread.steps.count_optimizer(id(optimizer))
        self._end_with_optimizers()

    def _end_with_optimizers(self) -> None:
        if not self._has_calls:
            self._thread.steps.end_with_optimizers()

    def _end_scaled(self, _scaler: Any = None, optimizer: Any = None, *_: Any, **__: Any) -> None:
        self._thread.steps.end_phase()
        if optimizer is not None:  # else the call was wrong
            self._thread.steps.count_scaled(id(optimizer))
            self._end_with_optimizers()

    def _begin_capture(self, *_: Any, **__: Any) -> None:
        """Keep the ranges of a stream's capture, beginning with those that this thread has open."""
        thread = self._thread
        phases = [(name, False) for name in (thread.steps.phase, BACKWARD * self._is_in_backward()) if name]
        phases += [(RECOMPUTE, True)] if thread.recomputes else []
        is_captured = self._torch.cuda.is_current_stream_capturing()  # else it could not begin
        calls = [(name, True) for _, name, has_range in thread.calls if has_range]
        if is_captured and self._window.begin_capture([*phases, *calls]):
            self._follow_capture(is_open=True)

    def _end_capture(self, *_: Any, **__: Any) -> None:
        if self._window.end_capture():
            self._follow_capture(is_open=False)

    def _follow_capture(self, *, is_open: bool) -> None:
        self._push, self._pop = self._window.push, self._window.pop
        self._backward.mark_by(self._window.mark, all_nodes=is_open)

    def _note_replay(self, *_: Any, **__: Any) -> None:
        self._window.note_replay()

    def _end_phase(self, *_: Any, **__: Any) -> None:
        self._thread.steps.end_phase()

    def close(self) -> None:
        """End what this thread has open."""
        self._ops.close()
        self._generators.close()
        self._calls.detach()
        self._unwind()
        self._thread.generations.close()
        self._thread.steps.close()
        self._window.close()


def _is_training(module: Module) -> bool:
    return attribute_of(module, "training") is not False
