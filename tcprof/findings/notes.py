"""Notes on the base of the figures: what is left out of them, and why there are none of the kernels."""

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.roofline import GIVEN
from tcprof.analysis.kernels.summary import NOT_SAMPLED
from tcprof.analysis.ranges.nesting import MOST_PATHS, OTHERS
from tcprof.findings.iterations import from_kernel_order
from tcprof.frames import KERNEL_KINDS, LARGEST_UNCOVERED_PCT
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


def describe_kernel_order(analysis: Analysis) -> str:
    """What iterations from the kernels' order are; empty where a range iterates, or nothing does."""
    if not from_kernel_order(analysis):
        return ""
    return (
        "No NVTX range iterates: an iteration is what repeats in the order of the kernels, from the start of its first "
        "kernel to that of the next one's."
    )


def describe_folding(analysis: Analysis) -> str:
    """How names of ranges were folded; empty if each has a path of its own."""
    if analysis.observed.path_count <= MOST_PATHS:
        return ""
    return (
        f"The ranges have {units.format_count(analysis.observed.path_count)} different paths. Names that differ only "
        f"in numbers count as one, with # for the number, and those beyond {units.format_count(MOST_PATHS)} paths as "
        f"“{OTHERS}”. Give ranges of a kind one name, and put the number into their payload."
    )


def describe_outside(analysis: Analysis) -> str:
    """What lies before and after the whole capture, and in no figure; empty if nothing does."""
    rows = analysis.outside[(analysis.outside["before_s"] > 0) | (analysis.outside["after_s"] > 0)]
    rows = rows[rows["gpu"].isin(analysis.activities["gpu"])]  # where nothing ran there is no first and no last
    several = analysis.ranges["gpu"].nunique() > 1
    told = []
    for row in rows.to_dict("records"):
        before = f"the first one {units.format_seconds(row['before_s'])} after the recording began"
        after = f"the last one {units.format_seconds(row['after_s'])} before it ended"
        parts = [part for part, length in ((before, row["before_s"]), (after, row["after_s"])) if length > 0]
        active = units.format_seconds(row["tensor_active_s"])
        length = row["before_s"] + row["after_s"]
        active = units.at_least(active) if 100 * row["sampled_s"] < (100 - LARGEST_UNCOVERED_PCT) * length else active
        if row["tensor_active_s"] > 0:
            parts.append(f"with {active} of tensor-active time outside of them")
        told.append((f"GPU {row['gpu']}: " if several else "") + ", ".join(parts))
    if not told:
        return ""
    return f"All figures are between the first and the last activity on the GPU: {'; '.join(told)}."


def describe_peaks(analysis: Analysis) -> tuple[str, ...]:
    """What HFU and MFU are shares of, with its source; nothing where no FLOP are known."""
    of_kernel = analysis.kernels[analysis.kernels["tensor_kernel"].astype(bool)]
    useful = analysis.kernel_instances["kernel"][analysis.kernel_instances["useful_flop"] > 0]
    executes, is_asked = of_kernel["tensor_flop"] > 0, of_kernel.index.isin(useful)
    kernels = of_kernel[executes | is_asked]
    if kernels.empty:
        return ()
    shares = ["HFU is the FLOP executed on the Tensor Cores"] * bool(executes.any())
    shares += [f"MFU {'' if shares else 'is '}the useful FLOP"] * bool(is_asked.any())
    lead = f"{', '.join(shares)}, of {name_peak(analysis)}"
    if _is_given(kernels):
        return (f"{lead}.",)
    unknown = sorted(
        {text.upper() or "precisions without a name" for text in kernels["precision"][kernels["peak_tflops"].isna()]}
    )
    told = []
    for (tflops, source), of_peak in kernels.groupby(["peak_tflops", "peak_source"], sort=False):
        precisions = ", ".join(dict.fromkeys(text.upper() for text in of_peak["precision"]))
        told.append(f"{tflops:.5g} TFLOP/s in {precisions} ({source})")
    told += [f"none is known here in {', '.join(unknown)}, --peak-tflops gives one"] * bool(unknown)
    each = ", of each kernel that of its precision" if len(told) > 1 else ""
    return (f"{lead}{each}: {'; '.join(told)}.",)


def name_peak(analysis: Analysis) -> str:
    """The peak that HFU and MFU are of."""
    if not _is_given(analysis.kernels):
        return "the dense peak at the boost clock"
    return f"the peak that was given, {analysis.kernels['peak_tflops'].max():.5g} TFLOP/s"


def _is_given(kernels: pd.DataFrame) -> bool:
    return bool((kernels["peak_source"] == GIVEN).any())


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
    if analysis.kernel_instances.empty:
        return "kernels were not fitted, as --no-kernels asks"
    if (analysis.kernels["fit"] == NOT_SAMPLED).all():
        return "no kernel ran while Tensor Active was sampled"
    return ""
