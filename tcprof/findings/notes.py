"""Notes on the base of the figures: what is left out of them, and why there are none of the kernels."""

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.summary import NOT_SAMPLED
from tcprof.frames import KERNEL_KINDS
from tcprof.untrusted import one_line


def name_iterations(analysis: Analysis) -> str:
    """The path that iterates, with how many are like it; empty where none does."""
    paths = sorted(set(analysis.iterations["path"]))
    if not paths:
        return ""
    return f"“{one_line(paths[0], 90)}”" + (f" and {len(paths) - 1} like it" if len(paths) > 1 else "")


def describe_warm_up(analysis: Analysis) -> str:
    """What is left out of the figures per range as warm-up; empty if nothing is."""
    by_gpu = analysis.iterations.groupby("gpu")["warm_up"].agg(["sum", "size"]).astype(int)
    if not by_gpu["sum"].any():
        return ""
    name = name_iterations(analysis)
    if len(by_gpu.drop_duplicates()) == 1:
        out, total = (units.format_count(count) for count in by_gpu.iloc[0])
        one = out == "1"
        which = f"the first {'' if one else f'{out} '}of {total} iterations of {name} {'is' if one else 'are'}"
    else:
        parts = [f"GPU {gpu}: {out} of {total}" for gpu, out, total in by_gpu.itertuples()]
        which = f"the first iterations of {name} ({'; '.join(parts)}) are"
    return (
        f"Warm-up: {which} left out of the figures per range; only ranges around them and the whole capture have them. "
        "--warm-up all counts them everywhere."
    )


def describe_outside(analysis: Analysis) -> str:
    """What was sampled outside of the whole capture; empty if nothing was."""
    rows = analysis.outside[analysis.outside["sampled_s"] > 0]
    told = [
        f"{units.format_seconds(sampled)} with {units.format_seconds(active)} of tensor-active time"
        for sampled, active in zip(rows["sampled_s"], rows["tensor_active_s"], strict=True)
    ]
    if not told:
        return ""
    if analysis.ranges["gpu"].nunique() > 1:
        told = [f"GPU {gpu}: {text}" for gpu, text in zip(rows["gpu"], told, strict=True)]
    return f"Sampled outside of the whole capture, and in no figure: {'; '.join(told)}."


def as_sentence(clause: str) -> str:
    """A clause as a sentence of its own."""
    return f"{clause[:1].upper()}{clause[1:]}."


def has_kernels(analysis: Analysis) -> bool:
    """Whether kernels were recorded, or graphs as a whole."""
    return bool(analysis.activities["kind"].isin(KERNEL_KINDS).any())


def why_no_kernels(analysis: Analysis) -> str:
    """Why kernels have no figures, as a clause; empty if they have some."""
    if not has_kernels(analysis):
        return "the recording has no kernels"
    if analysis.launched.empty:
        return "kernels were not fitted, as the recording is large or --no-kernels was given: --kernels does it"
    if (analysis.kernels["fit"] == NOT_SAMPLED).all():
        return "no kernel ran while Tensor Active was sampled"
    return ""
