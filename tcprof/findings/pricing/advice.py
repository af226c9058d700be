"""What advice is: a finding with a price, evidence, and code to paste."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any, Self

from tcprof import units
from tcprof.findings.finding import Finding

HIGH, MEDIUM, LOW = "high", "medium", "low"
ALL_WORK = "all recorded work, warm-up included"  # what savings are of on a GPU without steps
PER_SAMPLE = "the time per sample"  # what savings of a larger batch are of
NOTABLE_PCT = 1.0  # of a step: what saves less is folded away


class IdleTime(Enum):
    """What a rule's prices have of the idle time, which is in no two prices."""

    NONE = auto()
    FIRST = auto()  # before the others: its cause is known
    LAUNCHES = auto()  # time of launches that are spared, which is not in the price of the rest
    SHARED = auto()  # with the others: the highest is left as it is
    REST = auto()  # what all the others leave


@dataclass(frozen=True)
class Rule:
    """What a rule's findings are called, how they are found, and what their prices are of."""

    names: tuple[str, ...]  # of its findings; the first is its own
    find: Callable[..., "list[Advice]"]  # gives the advice that it has for a ``Step``
    idle: IdleTime = IdleTime.NONE  # what the prices have of the idle time
    # Whether the prices are made of what each GPU waits, so that they are of all GPUs already
    of_all_gpus: bool = False
    of_program: bool = True  # whether it is for the program to change; else a step can be well in spite of it
    of_recording: bool = False  # whether it says how to record; such advice comes last
    of_framework: bool = True  # whether the code that goes with its prices is a framework's
    # Findings that it asks for: ``find(step, found)`` gets the names of those that were found
    after: tuple[str, ...] = ()


def rule(*names: str, **facts: Any) -> Callable[[Callable[..., "list[Advice]"]], Rule]:
    """Makes a function the ``find`` of a rule with these names and facts."""
    return lambda find: Rule(names, find, **facts)


@dataclass(frozen=True)
class Gain:
    """What a change saves of a step; below 0 it costs time, NaN where that is not known."""

    low_pct: float = float("nan")  # the least that is expected, as a share of the step
    likely_pct: float = float("nan")  # what is most likely
    high_pct: float = float("nan")  # the most that is expected
    # The one length of the step that all three are shares of: without profiling, measured or estimated
    step_ns: float = float("nan")
    of: str = field(default="the step", kw_only=True)  # what they are shares of, in words
    # Why nothing is likely to be won, where that is so, in a clause; empty where it is not known
    reason: str = field(default="", kw_only=True)

    def with_shares(self, shares_pct: Sequence[float]) -> Self:
        """Other shares of the same step: the second is likely, the least and the most of all are low and high."""
        return replace(self, low_pct=min(shares_pct), likely_pct=shares_pct[1], high_pct=max(shares_pct))

    def because(self, reason: str) -> Self:
        """The same with a reason, if nothing is won and none is known yet."""
        return replace(self, reason=reason) if self.is_futile and not self.reason else self

    @property
    def shares_pct(self) -> tuple[float, float, float]:
        """Low, likely and high, as shares of the step."""
        return self.low_pct, self.likely_pct, self.high_pct

    @property
    def low_ns(self) -> float:
        """The least that is expected, as time."""
        return self.low_pct / 100 * self.step_ns

    @property
    def likely_ns(self) -> float:
        """What is most likely, as time."""
        return self.likely_pct / 100 * self.step_ns

    @property
    def high_ns(self) -> float:
        """The most that is expected, as time."""
        return self.high_pct / 100 * self.step_ns

    @property
    def figures(self) -> dict[str, float]:
        """Shares, times, and the length that they are of."""
        names = ("low_pct", "likely_pct", "high_pct", "low_ns", "likely_ns", "high_ns", "step_ns")
        return {name: getattr(self, name) for name in names}

    @property
    def is_known(self) -> bool:
        """Whether there is a price at all."""
        return self.likely_pct == self.likely_pct

    @property
    def is_futile(self) -> bool:
        """Whether nothing is likely to be won, or time to be lost."""
        return self.likely_pct <= 0

    @property
    def is_notable(self) -> bool:
        """Whether it is worth a line."""
        return self.likely_pct >= NOTABLE_PCT


UNPRICED = Gain()


@dataclass(frozen=True)
class Option:
    """One way to act on advice: what it is in a few words, the code to write, line by line, and what it wins."""

    title: str
    code: tuple[str, ...]
    gain: Gain = UNPRICED


@dataclass(frozen=True)
class Subject:
    """What advice is about, by names in the recording's frames, that which takes most time first; empty for no such."""

    ranges: tuple[str, ...] = ()  # paths, as in ``tcprof.frames.PATHS``
    modules: tuple[str, ...] = ()  # paths of modules, as in ``tcprof.frames.MODULES``
    kernels: tuple[str, ...] = ()  # names, as in ``tcprof.frames.KERNELS``


@dataclass(frozen=True)
class Advice(Finding):
    """A finding that says what to do, and what that would win."""

    action: str = ""  # what to do, in a few words that begin with a verb
    gpu: int = 0  # number of the GPU that its figures are of
    gpus: tuple[int, ...] = (0,)  # all GPUs that it holds on alike
    about: Subject = Subject()  # what in the recording it is about
    evidence: tuple[str, ...] = ()  # figures that show it, a line each
    options: tuple[Option, ...] = ()  # ways to act on it, that to begin with first
    confidence: str = MEDIUM  # high, medium or low
    raise_confidence: str = ""  # what would raise it, in a whole sentence; empty where nothing is needed

    @property
    def gain(self) -> Gain:
        """What the first option wins."""
        return self.options[0].gain if self.options else UNPRICED

    @property
    def is_shown(self) -> bool:
        """Whether it is shown as a finding: worth a line, or without a price."""
        return self.gain.is_notable or not self.gain.is_known

    def with_gains(self, gains: Sequence[Gain], *evidence: str) -> Self:
        """Other prices of its options, and what shows why."""
        options = (replace(option, gain=gain) for option, gain in zip(self.options, gains, strict=True))
        return replace(self, options=tuple(options), evidence=(*self.evidence, *evidence))


def describe_gain(gain: Gain) -> str:
    """What is saved in words, of how long a step, and the least and the most that are expected."""
    return f"saves about {_amount(gain, gain.likely_pct, gain.low_pct, gain.high_pct)}"


def describe_futile(gain: Gain) -> str:
    """That nothing is saved, or what it costs, and why: what follows on a title."""
    costs = "saves nothing"
    if gain.likely_pct < 0:
        costs = f"costs about {_amount(gain, -gain.likely_pct, -gain.high_pct, -gain.low_pct)}"
    return f"{costs}, since {gain.reason}" if gain.reason else costs


def _amount(gain: Gain, likely_pct: float, low_pct: float, high_pct: float) -> str:
    """A time and the shares of it; a larger batch has no step to compare times with, so only shares of a sample's."""
    likely, low, high = (units.format_rough_pct(pct) for pct in (likely_pct, low_pct, high_pct))
    low = low.removesuffix(" %")
    if gain.of == PER_SAMPLE:
        return f"{likely} of {PER_SAMPLE} (range {low}–{high})"
    time = units.format_ns(likely_pct / 100 * gain.step_ns)
    of_what = "per step" if gain.of == "the step" else f"of {units.format_ns(gain.step_ns)} total"
    return f"{time} {of_what} ({likely}; range {low}–{high})"


def name_advice(advice: Advice) -> str:
    """What to do and what it saves, in one line."""
    if not advice.gain.is_known:
        return advice.action
    return f"{advice.action}: {(describe_futile if advice.gain.is_futile else describe_gain)(advice.gain)}"
