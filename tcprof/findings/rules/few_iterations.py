"""Too few iterations to be sure of (`few-iterations`), or none (`no-iterations`).

What and why: gains are of a mean step without the warm-up; where nothing iterates they are of all the work, warm-up
included.

Thresholds: under 5 iterations after warm-up. There is no price.

Do: record more steps, or name them with NVTX ranges.

Not when: the program is one piece of work, and not repeated.
"""

from tcprof.analysis.steps.iterations import FEWEST
from tcprof.findings.pricing.advice import Advice, Rule, Subject
from tcprof.findings.pricing.builders import about_iteration, record_again
from tcprof.findings.pricing.step import Step

RULE = Rule(("few-iterations", "no-iterations"), of_recording=True)
_STEPS = (
    'with torch.cuda.nvtx.range("step"): ...  # around each step',
    '// C++: nvtxRangePush("step"); ...; nvtxRangePop();',
)
_MORE = ("tcprof profile ...  # with more steps",)


def find(step: Step) -> list[Advice]:
    """Fewer steps than a mean should be of."""
    if not step.name:
        said = (
            "Nothing iterates in the recording, so gains are of all its work, warm-up included",
            "With five or more steps after the warm-up, gains are of a step.",
        )
        return [record_again(step, "no-iterations", said, _STEPS, Subject(), "name the steps")]
    if step.count >= FEWEST:
        return []
    said = (f"Only {step.count} iterations are left after the warm-up", "Five or more make gains surer.")
    return [record_again(step, RULE.name, said, _MORE, about_iteration(step))]
