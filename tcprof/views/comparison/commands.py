"""What the page of a comparison does not hold, and the commands that make it: each side's report, other baselines."""

import shlex
from collections.abc import Sequence

from tcprof.comparison import Side
from tcprof.untrusted import one_line
from tcprof.views.comparison.series import ShownSide
from tcprof.views.document import Commands, Notes, Section

_MOST_REPORTS = 3  # of a side
_LONGEST = 160
_NOTE = (
    "Every figure of this page is against one baseline, with its own statistics. The report on one recording has its "
    "timeline, kernels and advice; one that lies beside this page is linked from its head."
)


def list_commands(sides: Sequence[ShownSide], reports: Sequence[Sequence[str]], choosable: bool) -> list[Section]:
    """The reports that are not there yet, and the comparisons with each other side as the baseline.

    Args:
        reports: For each side and recording of it the link to its report; empty where there is none.
        choosable: Whether the page has these comparisons itself.
    """
    items = []
    for shown, links in zip(sides, reports, strict=True):
        missing = [each for each, link in zip(shown.side.recordings, links, strict=True) if not link]
        items += [
            (shown.name, ("The report on its recording.",), _command("report", [each.recording.file]))
            for each in missing[:_MOST_REPORTS]
        ]
    names = [_argument(shown.side) for shown in sides]
    for place in () if choosable else range(1, len(sides)):
        others = [name for other, name in enumerate(names) if other != place]
        command = _command("compare", [names[place], *others]) + " -o comparison.html"
        items.append((sides[place].name, ("This comparison with it as the baseline.",), command))
    if not items:
        return []
    title = "Reports on each side" if choosable else "Reports on each side, and other baselines"
    return [Section("commands", title, (Notes((_NOTE,)), Commands(tuple(items))), linked="Reports")]


def _argument(side: Side) -> str:
    """What a command calls a side: its file, or of several recordings what they were given as."""
    return side.first.recording.file if len(side.recordings) == 1 else side.name


def _command(name: str, arguments: Sequence[str]) -> str:
    return " ".join(["tcprof", name, *(shlex.quote(one_line(each, _LONGEST)) for each in arguments)])
