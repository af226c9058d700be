"""A GPU without Tensor Cores.

What: chips whose data say that they have no matrix instruction in any precision: Pascal and before, and GTX 16.

Why: who looks for Tensor Cores there looks in vain: no setting makes them work.

Thresholds: none. There is no price: on another GPU all is different.

Do: a GPU of Volta or later.

Not when: the Tensor Cores are not what matters: the rest of the advice holds here, too.
"""

from tcprof.chips.chip import PRECISIONS
from tcprof.findings.pricing.advice import HIGH, Advice, Rule, Subject
from tcprof.findings.pricing.builders import make_advice
from tcprof.findings.pricing.products import lacks_precision
from tcprof.findings.pricing.step import Step
from tcprof.untrusted import one_line

RULE = Rule(("no-tensor-cores",))


def find(step: Step) -> list[Advice]:
    """That the chip has none."""
    if not all(lacks_precision(step, precision) for precision in PRECISIONS):
        return []
    said = (
        f"{one_line(str(step.gpu_row['name']), 60)} has no Tensor Cores",
        "Volta was the first generation with them; the GTX 16 series has none either.",
    )
    return [make_advice(step, RULE.name, said, (), Subject(), confidence=HIGH)]
