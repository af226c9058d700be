"""Mark which module the backward pass is in, where it comes from the nodes of one module to those of another.

PyTorch numbers the nodes of autograd's graph on each thread as the forward pass makes them, and runs those that are
ready from the highest number down. So the numbers at which calls of modules begin and end tell which module made a
node, and a hook on the first node of each tells when the backward pass comes to it. Ranges would have to be closed by
the thread that opened them, which is autograd's; a mark lasts until that thread's next one.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from bisect import bisect_left
from threading import get_ident
from typing import TYPE_CHECKING, Any

from tcprof.annotate.calls import leave_to_python
from tcprof.annotate.steps import BACKWARD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MOST_CALLS = 1 << 17  # of modules that are remembered; the older half is forgotten, so its nodes have no module
_UNNUMBERED = (1 << 64) - 1  # of nodes that add a gradient to a parameter's: they run right after what computed it


class _BackwardState(threading.local):
    """A thread's calls of modules that made nodes, and where its backward pass is."""

    def __init__(self) -> None:
        # The numbers that the next node had where a module began to make some, ascending, and that module's name.
        self.made: list[tuple[int, str]] = []
        self.place = BACKWARD
        self.around: list[tuple[str, list[Any]]] = []  # where outer passes are, with the hooks of the one in each


class Backward:
    """Follows the backward pass of each thread.

    Args:
        mark: Writes a mark; None: nothing is followed.
    """

    def __init__(self, mark: Callable[[str], object] | None) -> None:
        self.next_number: Any = getattr(sys.modules.get("torch.autograd"), "_get_sequence_nr", None)
        self._mark = mark
        self.forget()

    def forget(self) -> None:
        """Start anew."""
        self._thread = _BackwardState()
        self._owner = 0  # the thread whose calls are followed
        self._markers: dict[str, Callable[[object], None]] = {}
        self._marks_all = False
        self.is_on = self._mark is not None and self.next_number is not None

    def mark_by(self, mark: Callable[[str], object] | None, *, all_nodes: bool) -> None:
        """Write marks by another function: before all nodes, or before the first one of each stretch alone."""
        self._mark, self._markers, self._marks_all = mark, {}, all_nodes

    def follow(self) -> None:
        """Follow the modules that this thread calls, unless another thread's were."""
        if self._owner != get_ident():
            self.is_on = self.is_on and not self._owner  # each thread numbers its nodes for itself
            self._owner = get_ident()

    def note(self, name: str) -> None:
        """Note that a module's call begins, or goes on after one in it: nodes made from now on are its own."""
        if self.is_on:
            made = self._thread.made
            made.append((self.next_number(), name))
            if len(made) > _MOST_CALLS:
                del made[: _MOST_CALLS // 2]

    def begin(
        self, outputs: Iterable[Any], keeps_graph: bool = False, makes_graph: bool = False, inputs: Iterable[Any] = ()
    ) -> None:
        """Follow the backward pass of some outputs that begins, perhaps within another one: of a checkpoint.

        One to some ``inputs`` alone may leave out the first node of a module: it is followed where all are marked.
        """
        thread = self._thread
        thread.around.append((thread.place, []))
        if self.is_on:
            is_partial = bool(tuple(inputs)) and not self._marks_all
            nodes = {} if is_partial or _is_compiled() else _find_nodes(outputs)
            # Other threads number theirs alike: autograd's do as they make a graph of the backward pass itself.
            self.is_on = not makes_graph
            if nodes and max(nodes) < self.next_number():
                handles = self._attach(nodes)
                thread.around[-1][1].extend(handles if keeps_graph or makes_graph else [])

    def _attach(self, nodes: dict[int, Any]) -> list[Any]:
        """Hook the first node to run of each stretch that one module made; from the last stretch to the first."""
        calls, handles = self._thread.made, []
        numbers, last = sorted(nodes), ""
        left = len(numbers)  # nodes with lower numbers than those of the stretches that were seen
        while left:
            call = bisect_left(calls, (numbers[left - 1] + 1,)) - 1  # the last that began with this number or before
            first, name = calls[call] if call >= 0 else (0, "")
            name = name or BACKWARD
            begin = bisect_left(numbers, first, 0, left) if call >= 0 else 0
            hooked = numbers[begin:left] if self._marks_all else numbers[left - 1 : left] if name != last else ()
            handles += [nodes[number].register_prehook(self._marker(name)) for number in hooked]
            left, last = begin, name
        return handles

    def end(self, *, goes_on: bool) -> None:
        """End the backward pass; an outer one may go on, on this thread."""
        around = self._thread.around
        place, handles = around.pop()
        for handle in handles:
            handle.remove()
        if goes_on and self._thread.place != place:
            self._marker(place)(None)

    def _marker(self, name: str) -> Callable[[object], None]:
        """Make the function that is called before a node runs, with its gradients."""
        if name not in self._markers:
            mark, thread = self._mark, self._thread

            def begin(_: object) -> None:
                thread.place = name
                if mark is not None and self.is_on:
                    try:
                        mark(name)
                    except Exception:  # the program's backward pass is not ours to stop
                        self.is_on = False

            with contextlib.suppress(Exception):  # of a PyTorch that has no such thing
                leave_to_python(begin, with_calls=True)
            self._markers[name] = begin
        return self._markers[name]


def _is_compiled() -> bool:
    """Tell whether PyTorch compiles the backward pass as it runs: it would have to compile our hooks, too."""
    return bool(getattr(sys.modules.get("torch._dynamo.compiled_autograd"), "compiled_autograd_enabled", False))


def _find_nodes(outputs: Iterable[Any]) -> dict[int, Any]:
    """Find the nodes of the outputs' graph, by their numbers. This takes most of what a backward pass costs."""
    waiting: list[Any] = [getattr(output, "grad_fn", None) or getattr(output, "node", None) for output in outputs]
    waiting = [node for node in waiting if node is not None]
    seen, numbered = {None, *waiting}, {}
    for node in waiting:  # which grows meanwhile
        numbered[node._sequence_nr()] = node
        for following, _ in node.next_functions:
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    numbered.pop(_UNNUMBERED, None)
    return numbered
