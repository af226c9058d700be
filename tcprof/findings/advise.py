"""Advice: what to do first, and what it is likely to win.

Each rule in ``rules`` looks at a step of one GPU and says what it finds, with its price. Prices are of exposed time,
and no more than the CPU's own time leaves; see ``Step``. No idle time is in two prices (``deduplicate_idle``), several
GPUs win what the slowest wins (``multi_gpu``), and what is alike on several is one finding (``merge_gpus``).
"""

from dataclasses import replace
from weakref import WeakKeyDictionary

from tcprof.analysis import Analysis
from tcprof.findings.pricing.advice import Advice, Option
from tcprof.findings.pricing.communication import measure_steps
from tcprof.findings.pricing.deduplicate_idle import share_idle_time
from tcprof.findings.pricing.merge_gpus import join_alike
from tcprof.findings.pricing.multi_gpu import price_together
from tcprof.findings.pricing.no_findings import find_all_well
from tcprof.findings.pricing.step import Step
from tcprof.findings.rules import RULES, load_rule

# A page of several sides asks for the advice on each once for every other side.
_KNOWN: WeakKeyDictionary[Analysis, tuple[Advice, ...]] = WeakKeyDictionary()


def advise(analysis: Analysis) -> tuple[Advice, ...]:
    """The advice on a recording: what is likely to win most first, then what has no price.

    Args:
        analysis: The recording, with its kernels fitted.
    """
    if analysis not in _KNOWN:
        _KNOWN[analysis] = _find(analysis)
    return _KNOWN[analysis]


def _find(analysis: Analysis) -> tuple[Advice, ...]:
    if analysis.kernel_instances.empty:
        return ()
    steps = measure_steps(analysis)
    own = {gpu: share_idle_time(step, _apply_rules(step)) for gpu, step in steps.items()}
    found: list[Advice] = []
    for gpu, of_gpu in price_together(steps, own).items():
        found += [_fit_to(steps[gpu], each) for each in (*find_all_well(steps[gpu], of_gpu), *of_gpu)]
    steps.clear()  # each has all of them beside it: else their launches would be kept until cycles are looked for
    return tuple(sorted(join_alike(sorted(found, key=_order)), key=_order))


def _apply_rules(step: Step) -> list[Advice]:
    return [advice for name in RULES for advice in load_rule(name).find(step)]


def _fit_to(step: Step, advice: Advice) -> Advice:
    """Advice without code that wins nothing, or that a program of another language or no framework has no use for."""
    is_of_use = step.is_of_framework or not advice.gain.is_known
    return replace(advice, options=tuple(_without_futile_code(option, is_of_use) for option in advice.options))


def _without_futile_code(option: Option, is_of_use: bool) -> Option:
    return option if is_of_use and not option.gain.is_futile else replace(option, code=())


def _order(advice: Advice) -> tuple[bool, float]:
    return not advice.gain.is_known, -advice.gain.likely_pct if advice.gain.is_known else 0.0
