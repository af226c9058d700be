"""Two sequences aligned: which element of one takes the place of which element of the other."""

from collections.abc import Callable

import numpy as np

from tcprof.arrays import Floats, Ints

WINDOW = 2000  # elements that are aligned at once: time and memory grow with the square


def align(base: Ints, new: Ints, similarity: Callable[[Ints, Ints], Floats]) -> tuple[Ints, Ints]:
    """The pairs of elements, in the order of both sequences, whose similarities have the largest sum.

    As Needleman and Wunsch (1970), with gaps that cost nothing. Long sequences are aligned in windows that each begin
    behind the last pair of the one before, so that time grows only in proportion to their length.

    Args:
        similarity: Given different codes of each, the matrix of their similarities; two of similarity 0 are no pair.

    Returns:
        Positions in ``base`` and in ``new``, ascending.
    """
    if len(base) == len(new) and (base == new).all():
        return np.arange(len(base)), np.arange(len(new))
    parts: list[tuple[Ints, Ints]] = []
    first, second = 0, 0
    while first < len(base) and second < len(new):
        ends = min(first + WINDOW, len(base)), min(second + WINDOW, len(new))
        pairs = _align_window(base[first : ends[0]], new[second : ends[1]], similarity)
        if ends != (len(base), len(new)):  # what pairs near the end of a window, more context could change
            inside = (pairs[0] < 3 * WINDOW // 4) & (pairs[1] < 3 * WINDOW // 4)
            pairs = pairs[0][inside], pairs[1][inside]
            ends = (
                first + (int(pairs[0][-1]) + 1 if inside.any() else 3 * WINDOW // 4),
                second + (int(pairs[1][-1]) + 1 if inside.any() else 3 * WINDOW // 4),
            )
        parts.append((pairs[0] + first, pairs[1] + second))
        first, second = ends
    if not parts:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _align_window(base: Ints, new: Ints, similarity: Callable[[Ints, Ints], Floats]) -> tuple[Ints, Ints]:
    """Align all of two sequences; one step of numpy for each row of the table of best sums."""
    base_codes, rows = np.unique(base, return_inverse=True)
    new_codes, columns = np.unique(new, return_inverse=True)
    score = similarity(base_codes, new_codes)
    best = np.zeros((len(base) + 1, len(new) + 1))
    for i, row in enumerate(rows.tolist()):
        paired = best[i, :-1] + score[row][columns]
        np.maximum.accumulate(np.maximum(best[i, 1:], paired), out=best[i + 1, 1:])
    pairs: list[tuple[int, int]] = []
    i, j = len(base), len(new)
    while i and j:
        if best[i, j] == best[i - 1, j]:
            i -= 1
        elif best[i, j] == best[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    found = np.array(pairs[::-1], dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]
