"""How rules make advice: alike in what it is about, in how its evidence is told, and in how its price is made."""

from collections.abc import Sequence

import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.names import short_name
from tcprof.findings.finding import Severity
from tcprof.findings.pricing.advice import LOW, UNPRICED, Advice, Option, Subject
from tcprof.findings.pricing.step import Levels, Step
from tcprof.findings.pricing.subject import about_kernels
from tcprof.untrusted import one_line

Priced = tuple[str, Sequence[str], Levels]  # title, code, and the exposed time of kernels that an option saves
_SHOWN = 3
_COUNTED = 0.9  # of kernels' time, so that what these move stands for all
TRY = "Try it, and compare with 'tcprof compare'."


def make_advice(
    step: Step,
    rule: str,
    said: tuple[str, str],
    options: Sequence[Option],
    about: Subject,
    evidence: Sequence[str] = (),
    confidence: str = LOW,
    raise_confidence: str = "",
) -> Advice:
    """Advice on a step, with the price of its first option.

    Args:
        said: What was found, and what that means.
        options: Ways to act on it, that to begin with first.
        about: What in the recording it is about.
    """
    return Advice(
        rule=rule,
        severity=Severity.ADVICE,
        sentence=said[0],
        consequence=said[1],
        gpu=step.gpu,
        gpus=(step.gpu,),
        gain=options[0].gain if options else UNPRICED,
        about=about,
        evidence=tuple(evidence),
        options=tuple(options),
        confidence=confidence,
        raise_confidence=raise_confidence,
    )


def advise_on_kernels(
    step: Step,
    rule: str,
    said: tuple[str, str],
    rows: pd.DataFrame,
    options: Sequence[Priced],
    about: Subject | None = None,
    evidence: Sequence[str] = (),
    confidence: str = LOW,
    raise_confidence: str = TRY,
    cpu: Levels = (1.0, 1.0, 1.0),
    spared_ns: Levels = (0.0, 0.0, 0.0),
) -> Advice:
    """Advice whose options save time of kernels; those that take most are its evidence.

    Args:
        said: What was found, and what that means.
        rows: The kernels, as ``Step.kernels``.
        options: What can be done; that to begin with first.
        about: What it is about, where that is not all launches of the kernels.
        evidence: Figures that come before the kernels, a line each.
        cpu: As for ``Step.price_kernels``.
    """
    priced = [Option(title, tuple(code), step.price_kernels(saved, cpu, spared_ns)) for title, code, saved in options]
    about = about_kernels(step, rows.index) if about is None else about
    evidence = (*evidence, *list_kernels(rows))
    return make_advice(step, rule, said, priced, about, evidence, confidence, raise_confidence)


def save(shares: Sequence[float], time_ns: float) -> Levels:
    """Shares of a time: low, likely and high."""
    return shares[0] * time_ns, shares[1] * time_ns, shares[2] * time_ns


def hide(step: Step, shares: Sequence[float], time_ns: float) -> Levels:
    """The same of what is to run beside the rest of the step: of more than that is long nothing is saved."""
    return save(shares, min(time_ns, max(0.0, step.length_ns - time_ns)))


def kernels_of(step: Step, launches: pd.DataFrame) -> pd.DataFrame:
    """The kernels of some launches, as ``Step.kernels``, with the exposed time of these launches alone.

    Args:
        launches: Some rows of ``Step.launches``.
    """
    sums = launches.groupby("kernel")["exposed_ns"].agg(["sum", "size"]) / step.count
    rows = step.analysis.kernels.loc[sums.index].assign(exposed_ns=sums["sum"], launches=sums["size"])
    return rows.sort_values("exposed_ns", ascending=False)


def time_of(rows: pd.DataFrame) -> float:
    """Exposed time of kernels together."""
    return float(rows["exposed_ns"].sum())


def describe_bytes(step: Step, rows: pd.DataFrame) -> tuple[str, ...]:
    """What kernels move, and how long that takes at the memory's bandwidth; nothing where it was not counted."""
    of_launch = (rows["dram_read_bytes"] + rows["dram_write_bytes"]) / rows["launch_count"]
    counted = of_launch.notna()
    if time_of(rows[counted]) < _COUNTED * time_of(rows) or not step.gpu_row["dram_bandwidth"] > 0:
        return ()
    moved = float((of_launch * rows["launches"])[counted].sum())
    time = units.format_ns(1e9 * moved / step.gpu_row["dram_bandwidth"])
    return (f"they move {units.format_bytes(moved)}, which take {time} at the memory's bandwidth",)


def list_kernels(rows: pd.DataFrame, told: Sequence[str] = ()) -> tuple[str, ...]:
    """The kernels that take most, a line each, with what else is told of each row."""
    lines = []
    more = (*(f"; {each}" for each in told), *[""] * _SHOWN)
    shown = rows[["name", "path", "launches", "exposed_ns"]].head(_SHOWN).to_dict("records")
    for row, of_row in zip(shown, more, strict=False):
        where = f", mostly in “{one_line(row['path'], 60)}”" if row["path"] else ""
        launches = units.format_things(row["launches"], "launch", "launches")
        lines.append(f"{short_name(row['name'])}: {units.format_ns(row['exposed_ns'])} in {launches}{where}{of_row}")
    rest = len(rows) - _SHOWN
    if rest > 0:
        time = units.format_ns(rows["exposed_ns"][_SHOWN:].sum())
        lines.append(f"{units.format_things(rest, 'more kernel')}: {time}")
    return tuple(lines)
