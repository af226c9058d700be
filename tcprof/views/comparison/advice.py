"""What became of the advice on the baseline, what the step won in the end, and what there is to do now."""

from collections.abc import Sequence

from tcprof import units
from tcprof.comparison import Comparison
from tcprof.findings.compared.advice import ComparedAdvice, describe_won
from tcprof.views.document import Notes, Section
from tcprof.views.tables import Heading, Row, Table, word_cell

_HEADINGS = (
    Heading("finding", words=True),
    Heading("predicted", words=True),
    Heading("now", words=True),
)
_NOTE = (
    "Each prediction is of its advice alone; the time is what all that differs between the sides won together. “tcprof "
    "advise” explains each by its name."
)


def view_advice(
    comparison: Comparison, advice: Sequence[ComparedAdvice], gpu: int, number: int, of_side: str
) -> tuple[Section, ...]:
    """The advice on the baseline and whether it is gone, and what is new; nothing where there is none.

    Args:
        number: Number of the side among those compared with the baseline.
    """
    rows = tuple(
        Row(each.rule, tuple(map(word_cell, (each.sentence, each.predicted or units.UNKNOWN, each.now))))
        for each in advice
        if each.gpu == gpu
    )
    if not rows:
        return ()
    caption = f"Advice on the baseline, whether it is gone, and what is new{of_side}"
    table = Table(f"advice-{number}-{gpu}", "", "advice", _HEADINGS, rows, gpu=gpu, caption=caption)
    notes = Notes(tuple(filter(None, (describe_won(comparison, gpu), _NOTE))))
    return (Section(f"advised-{number}-{gpu}", "What became of the advice, and what is new", (table, notes), "Advice"),)
