"""Which module the backward pass is in: a mark where it comes from the nodes of one module to those of another.

PyTorch numbers the nodes of autograd's graph on each thread as the forward pass makes them, and runs those that are
ready from the highest number down. So the numbers at which calls of modules begin and end tell which module made a
node, and a hook on the first node of each tells when the backward pass comes to it. Ranges would have to be closed by
the thread that opened them, which is autograd's; a mark lasts until that thread's next one.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from bisect import bisect_right
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tcprof.annotate.calls import leave_to_python
from tcprof.annotate.steps import BACKWARD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MOST_CALLS = 1 << 17  # of modules that are remembered; the older half is forgotten, so its nodes have no module
_UNNUMBERED = (1 << 64) - 1  # of nodes that add a gradient to a parameter's: they run right after what computed it


class _Thread(threading.local):
    """What a thread has made, and where its backward pass is."""

    def __init__(self) -> None:
        self.numbers: list[int] = []  # the first node that a module made may have this number, in ascending order
        self.names: list[str] = []  # that module's name
        self.place = BACKWARD
        self.around: list[tuple[str, list[Any]]] = []  # where outer passes are, with the hooks of the one in each


class Backward:
    """Follows the backward pass of each thread.

    Args:
        mark: Writes a mark; None: nothing is followed.
    """

    def __init__(self, mark: Callable[[str], object] | None) -> None:
        self._next_number: Callable[[], int] | None = getattr(
            sys.modules.get("torch.autograd"), "_get_sequence_nr", None
        )
        self._mark = mark
        self.forget()

    def forget(self) -> None:
        """Start anew."""
        self._thread = _Thread()
        self._owner = 0  # the thread whose calls are followed
        self._markers: dict[str, Callable[[object], None]] = {}
        self.is_on = self._mark is not None and self._next_number is not None

    def note(self, name: str, *, recomputes: bool = False) -> None:
        """A module's call begins, or goes on after one in it: what is made from now on is its own."""
        if not self.is_on or self._next_number is None:
            return
        if not recomputes:  # else autograd's thread computes again for a checkpoint
            self._owner = self._owner or threading.get_ident()
            self.is_on = self._owner == threading.get_ident()  # each thread numbers its nodes for itself
        number, thread = self._next_number(), self._thread
        if thread.numbers and thread.numbers[-1] == number:  # nothing was made meanwhile
            thread.names[-1] = name
            return
        if len(thread.numbers) == _MOST_CALLS:
            del thread.numbers[: _MOST_CALLS // 2], thread.names[: _MOST_CALLS // 2]
        thread.numbers.append(number)
        thread.names.append(name)

    def begin(
        self, outputs: Iterable[Any], keeps_graph: bool = False, makes_graph: bool = False, inputs: Iterable[Any] = ()
    ) -> None:
        """The backward pass of some outputs begins, perhaps within another one: of a checkpoint.

        One to some ``inputs`` alone is not followed: it may leave out the first node of a module.
        """
        thread = self._thread
        thread.around.append((thread.place, []))
        if self.is_on and self._next_number is not None:
            numbered = [] if tuple(inputs) or _is_compiled() else _find_nodes(outputs)
            # Other threads number theirs alike: autograd's do as they make a graph of the backward pass itself.
            self.is_on = not makes_graph
            if numbered and numbered[0][0] < self._next_number():
                handles = self._attach(numbered)
                thread.around[-1][1].extend(handles if keeps_graph or makes_graph else [])

    def _attach(self, numbered: list[tuple[int, Any]]) -> list[Any]:
        runs = groupby(numbered, lambda each: self._made_by(each[0]))
        return [next(nodes)[1].register_prehook(self._marker(name)) for name, nodes in runs]

    def _made_by(self, number: int) -> str:
        call = bisect_right(self._thread.numbers, number) - 1
        return (self._thread.names[call] if call >= 0 else "") or BACKWARD

    def end(self, *, goes_on: bool) -> None:
        """It has ended; an outer one may go on, on this thread."""
        around = self._thread.around
        place, handles = around.pop()
        for handle in handles:
            handle.remove()
        if goes_on and self._thread.place != place:
            self._marker(place)(None)

    def _marker(self, name: str) -> Callable[[object], None]:
        """Called before a node runs, with its gradients."""
        if name not in self._markers:
            mark, own = self._mark, self._thread

            def begin(_: object) -> None:
                own.place = name
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
    """Whether PyTorch compiles the backward pass as it runs: it would have to compile our hooks, too."""
    return bool(getattr(sys.modules.get("torch._dynamo.compiled_autograd"), "compiled_autograd_enabled", False))


def _find_nodes(outputs: Iterable[Any]) -> list[tuple[int, Any]]:
    """The numbered nodes of the graph that outputs are of, highest number first."""
    waiting: list[Any] = [getattr(each, "grad_fn", None) or getattr(each, "node", None) for each in outputs]
    numbers: dict[Any, int] = {None: _UNNUMBERED}
    while waiting:
        node = waiting.pop()
        if node not in numbers:
            numbers[node] = node._sequence_nr()
            waiting += [each for each, _ in node.next_functions]
    numbered = [(number, node) for node, number in numbers.items() if number != _UNNUMBERED]
    return sorted(numbered, key=lambda each: -each[0])
