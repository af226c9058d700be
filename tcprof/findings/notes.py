"""Notes on the figures: what they are over, what is left out of them, what their samples do not resolve, and why."""

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.folding import FOLDED_KERNELS, MOST_KERNELS
from tcprof.analysis.kernels.names import parse_name
from tcprof.analysis.kernels.roofline import GIVEN
from tcprof.analysis.kernels.verdicts import NOT_SAMPLED, RESOLVED_POINTS, RESOLVED_SHARE, is_resolved
from tcprof.analysis.modules.tree import ALL, PHASES
from tcprof.analysis.ranges.nesting import MOST_PATHS, OTHER
from tcprof.analysis.steps.marked_steps import counted_paths
from tcprof.annotate.steps import BACKWARD, RECOMPUTE
from tcprof.arrays import rows_of_gpu
from tcprof.findings.cautions import find_contradictions
from tcprof.findings.finding import WINDOW_NAMES
from tcprof.findings.steps import from_kernel_order, share_of_compilation
from tcprof.frames import IN_NO_MODULE, LARGEST_UNCOVERED_PCT, OPS_DOMAIN, RANGES
from tcprof.untrusted import one_line

UNRESOLVED = "~"
_ACTIVE = ("tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct")
_ABOUT_UNRESOLVED = (
    f"{UNRESOLVED} uncertain: the 95 % interval extends more than {RESOLVED_POINTS:g} points and "
    f"{100 * RESOLVED_SHARE:g} % from the value (see JSON)"
)
_ALIKE = 2.0  # percent by which executed FLOP may differ from useful ones without a reason that is worth telling
_AGAIN = "Activation checkpointing accounts for {share} of the FLOP executed there. "
_MORE_EXECUTED = (
    "{again}The {else_}FLOP executed beyond the useful ones may be padding to whole tiles, FP32 matrix "
    "multiplications split into several in TF32 or BF16, or recomputation without a range."
)
_LESS_EXECUTED = (
    "Values over 100 % may come from kernels that skip masked positions (useful FLOP count all of them) or from "
    "algorithms that need fewer FLOP, such as some for convolutions."
)
_WITHOUT_OPS = "Backward kernels are not attributed to modules."
_OPS_OF_NO_MODULE = (
    "Backward kernels are not attributed to modules, although PyTorch's ops were recorded: the forward ops ran "
    "outside modules, or on threads without module ranges, such as nn.DataParallel's replicas in older recordings."
)


def name_steps(analysis: Analysis) -> str:
    """The path that iterates, with how many are like it; empty where none does."""
    paths = counted_paths(analysis.steps)
    if not paths:
        return ""
    return f"“{one_line(paths[0], 90)}”" + (
        f" (and {units.format_things(len(paths) - 1, 'similar path')})" if len(paths) > 1 else ""
    )


def describe_warm_up(analysis: Analysis) -> str:
    """What is left out of the figures per range as warm-up or slow, and of those per step; empty if nothing is."""
    steps = analysis.steps
    skipped, slow = int((steps["kind"] > 0).sum()), int((steps["slow"] != "").sum())
    first = steps[steps["kind"] == 0]
    by_gpu = first.groupby("gpu")["warm_up"].agg(["sum", "size"]).astype(int)
    excluded = ""
    if skipped:
        count = units.format_things(skipped, "step")
        excluded = (
            f"Figures per step cover steps of one role, such as training: {count} of other roles "
            f"{'is' if skipped == 1 else 'are'} excluded."
        )
    if slow:
        excluded += f" {units.format_things(slow, 'slow step is', 'slow steps are')} excluded, also from range figures."
    excluded = excluded.strip()
    if (share := share_of_compilation(analysis)) > 0:
        excluded = (
            f"XLA's compilation, which tries out kernels, counts as warm-up: {units.format_pct(share)} of the "
            f"kernel time. {excluded}"
        ).strip()
    if not by_gpu["sum"].any():
        return excluded
    name = name_steps(analysis)
    if len(by_gpu.drop_duplicates()) == 1:
        out, total = (units.format_count(count) for count in by_gpu.iloc[0])
        one = out == "1"
        which = f"the first {'' if one else f'{out} '}of {total} steps of {name} {'is' if one else 'are'}"
    else:
        parts = [f"GPU {gpu}: {out} of {total}" for gpu, out, total in by_gpu.itertuples()]
        which = f"the first steps of {name} ({'; '.join(parts)}) are"
    warm_up = (
        f"Warm-up: {which} excluded from figures per range; the ranges around them and the whole capture include "
        "them. --warm-up all counts them everywhere."
    )
    return f"{warm_up} {excluded}".strip()


def describe_kernel_order(analysis: Analysis) -> str:
    """What steps from the kernels' order are; empty where a range iterates, or nothing does."""
    if not from_kernel_order(analysis):
        return ""
    return (
        "Steps are detected from the kernels, since no NVTX range repeats: each extends from the start of its first "
        "kernel to the next step's."
    )


def describe_folding(analysis: Analysis) -> str:
    """Say how kernels and names of ranges were folded; empty if each has a row of its own."""
    kernels, paths = analysis.observed.kernel_count, analysis.observed.path_count
    most = units.format_count(MOST_KERNELS)
    of_kernels = (
        f"Of {units.format_count(kernels)} kernels with different names or grids, all but the {most} longest count as "
        f"“{FOLDED_KERNELS}”."
    )
    of_ranges = (
        f"The ranges have {units.format_count(paths)} different paths. Names that differ only in numbers count as "
        f"one, with # for the number; paths beyond {units.format_count(MOST_PATHS)} count as “{OTHER}”. Give ranges "
        f"of one kind the same name, and put the number into their payload."
    )
    return " ".join([of_kernels] * (kernels > MOST_KERNELS) + [of_ranges] * (paths > MOST_PATHS))


def describe_outside(analysis: Analysis) -> str:
    """What lies before and after the whole capture, and in no figure; empty if nothing does."""
    rows = analysis.outside[(analysis.outside["before_s"] > 0) | (analysis.outside["after_s"] > 0)]
    used = analysis.ranges["gpu"][analysis.ranges["activity_count"] > 0]
    rows = rows[rows["gpu"].isin(used)]  # where nothing ran there is no first and no last
    several = analysis.ranges["gpu"].nunique() > 1
    texts = []
    for row in rows.to_dict("records"):
        before = f"the first {units.format_seconds(row['before_s'])}"
        after = f"the last {units.format_seconds(row['after_s'])}"
        parts = [part for part, length in ((before, row["before_s"]), (after, row["after_s"])) if length > 0]
        active = units.format_seconds(row["tensor_active_s"])
        length = row["before_s"] + row["after_s"]
        active = units.at_least(active) if 100 * row["sampled_s"] < (100 - LARGEST_UNCOVERED_PCT) * length else active
        left_out = f"{' and '.join(parts)} of the recording"
        left_out += f", with {active} of tensor-active time" * (row["tensor_active_s"] > 0)
        texts.append((f"GPU {row['gpu']}: " if several else "") + left_out)
    if not texts:
        return ""
    return f"All figures are from the first to the last activity on the GPU. Excluded: {'; '.join(texts)}."


def describe_peaks(analysis: Analysis) -> tuple[str, ...]:
    """What HFU and MFU are shares of, with its source; nothing where no FLOP are known."""
    of_kernel = analysis.kernels[analysis.kernels["tensor_kernel"].astype(bool)]
    useful = analysis.column("kernel_instances", "useful_flop") > 0
    asked = analysis.column("kernel_instances", "kernel")[useful] if useful.any() else ()
    executes, is_asked = of_kernel["tensor_flop"] > 0, of_kernel.index.isin(asked)
    kernels = of_kernel[executes | is_asked]
    if kernels.empty:
        return ()
    shares = [
        *["HFU is the FLOP executed on the Tensor Cores"] * bool(executes.any()),
        *["MFU is the useful FLOP"] * bool(is_asked.any()),
    ]
    lead = f"{', '.join(shares)}, {'both ' * (len(shares) > 1)}as a share of {name_peak(analysis)}"
    if _is_given(kernels):
        return (f"{lead}.",)
    unknown = sorted(
        {text.upper() or "precisions without a name" for text in kernels["precision"][kernels["peak_tflops"].isna()]}
    )
    peaks = []
    for (tflops, source), of_peak in kernels.groupby(["peak_tflops", "peak_source"], sort=False):
        precisions = ", ".join(dict.fromkeys(text.upper() for text in of_peak["precision"]))
        peaks.append(f"{tflops:.5g} TFLOP/s in {precisions} ({source})")
    peaks += [f"no peak is known for {', '.join(unknown)}; --peak-tflops sets one"] * bool(unknown)
    unit = " in each kernel's precision" if len(peaks) > 1 else ""
    return (f"{lead}{unit}: {'; '.join(peaks)}.",)


def name_peak(analysis: Analysis) -> str:
    """The peak that HFU and MFU are of."""
    if not _is_given(analysis.kernels):
        return "the dense peak at the boost clock"
    return f"the given peak, {analysis.kernels['peak_tflops'].max():.5g} TFLOP/s"


def _is_given(kernels: pd.DataFrame) -> bool:
    return bool((kernels["peak_source"] == GIVEN).any())


def as_sentence(clause: str) -> str:
    """A clause as a sentence of its own."""
    return f"{clause[:1].upper()}{clause[1:]}."


def has_kernels(analysis: Analysis) -> bool:
    """Whether kernels were recorded, or graphs as a whole."""
    return bool((analysis.ranges["kernel_count"] > 0).any())


def why_no_kernels(analysis: Analysis) -> str:
    """Why kernels have no figures, as a clause; empty if they have some."""
    if not has_kernels(analysis):
        return "the recording has no kernels"
    if analysis.kernels.empty:
        return "kernels were not fitted (--no-kernels)"
    if (analysis.kernels["fit"] == NOT_SAMPLED).all():
        return "no kernel ran while Tensor Active was sampled"
    return ""


def describe_modules(analysis: Analysis) -> str:
    """What the figures of modules are over."""
    name = name_steps(analysis)
    if not name:
        return "Sums over all kernels of the recording."
    return f"Means per step of {name}, over the kernels that it launched; a module includes its submodules."


def describe_module_coverage(analysis: Analysis) -> tuple[str, ...]:
    """How much of the kernel time is in modules, for each GPU, and what the rest was."""
    lines = []
    for gpu, rows in analysis.modules.groupby("gpu"):
        whole = rows[rows["depth"] == 0].set_index("phase")["share_pct"]
        outside = rows[rows["module"].isin([IN_NO_MODULE.format(phase=phase) for phase in PHASES])]
        rest = outside[outside["phase"] == ALL].set_index("name")["share_pct"].sort_values(ascending=False)
        prefix = f"GPU {gpu}: " if analysis.modules["gpu"].nunique() > 1 else ""
        inside = units.format_pct(max(100 - rest.sum(), 0))
        phases = [f"{phase} {units.format_pct(whole[phase])}" for phase in PHASES if whole.get(phase, 0) > 0]
        parts = [f"{name} {units.format_pct(share)}" for name, share in rest.items()]
        lines.append(
            f"{prefix}{inside} of the kernel time is in a module{'; ' if parts else ''}{', '.join(parts)}. "
            f"By phase: {', '.join(phases)}."
        )
        if rest.get(IN_NO_MODULE.format(phase=BACKWARD), 0) > whole.get(BACKWARD, 0) / 2 > 0:
            has_ops = (analysis.paths["domain"] == OPS_DOMAIN).any()
            how = analysis.recording.remedies.ops
            remedy = f" With {how}, its kernels are attributed to modules." if how else ""
            lines.append(_OPS_OF_NO_MODULE if has_ops else _WITHOUT_OPS + remedy)
    return tuple(dict.fromkeys(lines))


def describe_unresolved(rows: pd.DataFrame) -> str:
    """What marks mean in a table of these modules; empty where none is marked."""
    return "" if are_resolved(rows[rows[_ACTIVE[0]].notna()]).all() else _ABOUT_UNRESOLVED


def has_useful(analysis: Analysis) -> bool:
    """Whether the sizes of the ops' operands were recorded."""
    return not np.isnan(analysis.column("kernel_instances", "useful_flop")).all()


def describe_useful(analysis: Analysis) -> tuple[str, ...]:
    """What the operands' sizes ask for, beside what was executed, for each GPU; and where it is not known."""
    if not has_useful(analysis):
        return ()
    lines = []
    for gpu, rows in analysis.modules[analysis.modules["depth"] == 0].groupby("gpu"):
        prefix = f"GPU {gpu}: " if analysis.modules["gpu"].nunique() > 1 else ""
        whole = rows.set_index("phase").loc[ALL]
        steps, share = max(int(whole["step_count"]), 1), whole["useful_pct"]
        if pd.isna(whole["useful_flop"]):
            lines.append(f"{prefix}{_describe_unknown(analysis, int(str(gpu)))}")
            continue
        on_tensor = units.format_count(share / 100 * whole["tensor_flop"] / steps)
        beside = f"; {on_tensor} on the Tensor Cores, {units.format_pct(share)} of the FLOP executed there"
        flop = units.format_count(whole["useful_flop"] / steps)
        lines.append(f"{prefix}Useful FLOP, from operand sizes: {flop}{'' if pd.isna(share) else beside}.")
        if share < 100 - _ALIKE:
            again = rows.set_index("phase")["tensor_flop"].get(RECOMPUTE, np.nan) / whole["tensor_flop"]
            computed = _AGAIN.format(share=units.format_pct(100 * again)) if again > 0 else ""
            lines.append(_MORE_EXECUTED.format(again=computed, else_="other " if computed else ""))
        if share > 100 + _ALIKE and not find_contradictions(analysis):  # else the executed FLOP are too low
            lines.append(_LESS_EXECUTED)
    return (*dict.fromkeys(lines), *describe_utilization(analysis))


def describe_utilization(analysis: Analysis) -> tuple[str, ...]:
    """MFU and HFU of each GPU where they are known: of the steps, where nothing iterates of the capture."""
    over = f"{WINDOW_NAMES[analysis.window]} of {name_steps(analysis) or 'the whole capture'}"
    peak, several = name_peak(analysis), analysis.ranges["gpu"].nunique() > 1
    return tuple(
        f"{f'GPU {gpu}: ' * several}MFU is {useful}, HFU {executed}: shares of {peak}, over the {over}."
        for gpu, (useful, executed) in _measure_utilization(analysis).items()
    )


def _measure_utilization(analysis: Analysis) -> dict[int, tuple[str, str]]:
    by_gpu, column = {}, RANGES["hfu_pct"]
    for gpu, ranges in analysis.ranges.groupby("gpu", sort=False):
        paths = counted_paths(analysis.steps[analysis.steps["gpu"] == gpu])
        rows = ranges[ranges["path"].isin(paths) if paths else ranges["depth"] == 0].to_dict("records")
        if len(rows) == 1 and not pd.isna(rows[0]["mfu_pct"]):
            executed = column.format(rows[0]["hfu_pct"])
            executed = units.at_least(executed) if column.is_lower_bound(rows[0]) else executed
            by_gpu[int(str(gpu))] = units.format_pct(rows[0]["mfu_pct"]), executed
    return by_gpu


def summarize_utilization(analysis: Analysis, gpu: int) -> str:
    """MFU and HFU of a GPU in a few words or, of a PyTorch program, why MFU is unknown; empty for any other."""
    by_gpu = _measure_utilization(analysis)
    if gpu in by_gpu:
        return f"MFU {by_gpu[gpu][0]} · HFU {by_gpu[gpu][1]} (of {name_peak(analysis)})"
    names = analysis.kernels["name"][analysis.kernels["gpu"] == gpu]
    if not names.map(lambda name: parse_name(name).of_pytorch).any() or not analysis.recording.remedies.shapes:
        return ""
    if has_useful(analysis):
        return "MFU unknown: see --notes"
    return f"MFU unknown: needs operand sizes; record with {analysis.recording.remedies.shapes}"


def _describe_unknown(analysis: Analysis, gpu: int) -> str:
    launched = rows_of_gpu(analysis.kernel_instances[["gpu", "kernel", "duration_ns", "useful_flop"]], gpu)
    unknown = launched[launched["useful_flop"].isna()].groupby("kernel")["duration_ns"].sum()
    most = one_line(str(analysis.kernels["name"].iloc[unknown.idxmax()]), 60)
    return (
        "Useful FLOP are unknown: tensor kernels ran in ops whose sizes were not recorded or do not determine the "
        f"FLOP, mostly in {most}."
    )


def are_resolved(rows: pd.DataFrame, side: str = "") -> "pd.Series[bool]":
    """Whether the samples tell the Tensor Active of each row; of a side of a comparison, whose columns begin so."""
    percent, low, high = (rows[f"{side}{name}"] for name in _ACTIVE)
    return is_resolved(percent, np.maximum(percent - low, high - percent))
