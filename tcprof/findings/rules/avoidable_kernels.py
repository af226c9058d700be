"""Rules on kernels that another way to write the program needs fewer of."""

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.names import GRAPH
from tcprof.annotate.steps import RECOMPUTE
from tcprof.findings.pricing import CODE, MEASURED
from tcprof.findings.pricing.advice import MEDIUM, NOTABLE_PCT, Advice, Gain, IdleTime, Option, rule
from tcprof.findings.pricing.builders import (
    about_launches,
    describe_bytes,
    kernels_of,
    make_advice,
    time_launching,
    time_of,
)
from tcprof.findings.pricing.products import ALL_OF_LOOPED, ATTENTION, find_attention, is_product
from tcprof.findings.pricing.step import Step
from tcprof.findings.rules.loops import find_looped_tensors, near

_ROUNDING_NS = 1.0
_OF_PARAMETER = 8  # launches of AdamW for a parameter
_WORKS = ("element-wise kernels", "normalization", "copies and casts", "reductions", "softmax")


@rule("fusion")
def fusion(step: Step) -> list[Advice]:
    """Small kernels between matrix multiplications: element-wise, norms, casts, reductions."""
    kernels = step.kernels
    # Without steps nothing is known of neighbours.
    if not step.name or kernels["work"].isin(["fused kernels", GRAPH]).any():
        return []
    is_between = kernels["work"].isin(_WORKS)
    attention = find_attention(step)
    between = attention[~attention["is_product"]]
    of_attention = between.groupby("kernel")["exposed_ns"].sum() / step.count
    # Of what is indexed the places are not known before: a compiler makes these no smaller.
    is_left = (
        ~kernels["is_looped_optimizer"]
        & ~kernels.index.isin(find_copies(step).index)
        & kernels["is_pytorch_native"]
        & ~kernels["is_indexed"]
    )
    rows = kernels[is_between & is_left].copy()
    of_loop = _find_looped(step).groupby("kernel")["exposed_ns"].agg(["sum", "size"]).reindex(rows.index).fillna(0.0)
    rows["exposed_ns"] -= of_attention.reindex(rows.index).fillna(0.0) + of_loop["sum"] / step.count
    rows["launches"] -= of_loop["size"] / step.count
    rows = rows[rows["exposed_ns"] > _ROUNDING_NS].sort_values("exposed_ns", ascending=False)
    time = time_of(rows)
    if step.share_pct(time) < 10.0 or rows["launches"].sum() < 10:
        return []
    count = units.format_count(rows["launches"].sum())
    text = (
        f"Fuse {count} small kernels",
        f"{count} small kernels between matrix multiplications take {step.format_share(time)}",
        "A compiler fuses them, so that they read and write less memory.",
    )
    measured = MEASURED["fusion"]
    # A compiler fuses those of attention, too, though they are in the price of another rule.
    saved = measured["saved"] * (time + np.array([0.0, 0.0, of_attention.sum()]))
    option = Option("torch.compile", CODE["compile"], step.price_kernels(saved, measured["cpu"]))
    return [make_advice(step, "fusion", text, [option], None, describe_bytes(step, rows), rows=rows)]


def _find_looped(step: Step) -> pd.DataFrame:
    """Launches of loops over tensors; of an optimizer those told by their names, and what lies between two."""
    is_looped = step.kernels["is_looped_optimizer"].loc[step.launches["kernel"]].to_numpy()
    is_looped = near(is_looped, _OF_PARAMETER) | step.launches.index.isin(find_looped_tensors(step).index)
    return step.launches[is_looped]


_LAUNCHES_OF_LOOPED = 8 / 3  # of the eight operations of AdamW three are recognized
# Only these have a fused form: Adam adds in parts and divides, SGD with momentum scales and adds.
_OF_ADAM = ("lerp|Ternary|ListAlpha", "PointwiseOp|addcdiv")
_OF_SGD = ("BinaryOpScalarFunctor", "ListAlpha")


@rule("unfused-optimizer", idle=IdleTime.LAUNCHES)
def unfused_optimizer(step: Step) -> list[Advice]:
    """An optimizer in many kernels, each of which reads and writes the parameters' state."""
    in_lists, looped = (step.kernels[step.kernels[kind]] for kind in ("is_list_optimizer", "is_looped_optimizer"))
    is_looped = time_of(looped) > time_of(in_lists)
    rows = looped if is_looped else in_lists
    time = time_of(rows) * (ALL_OF_LOOPED if is_looped else 1.0)
    on_cpu = time_launching(step, step.launches[step.launches["kernel"].isin(rows.index)]) * (
        _LAUNCHES_OF_LOOPED if is_looped else 1.0
    )
    is_adam, is_sgd = (all(rows["name"].str.contains(part).any() for part in parts) for parts in (_OF_ADAM, _OF_SGD))
    is_fused = step.kernels["is_fused_optimizer"].any()  # then the lists are of clipping or averages
    if step.share_pct(max(time, on_cpu)) < NOTABLE_PCT or is_fused or not (is_adam or is_sgd):
        return []
    measured = MEASURED["optimizer"]
    saved = measured["saved_adam" if is_adam else "saved_others"] * time
    spared = measured["spared_looped" if is_looped else "spared_in_lists"] * on_cpu
    text = (
        "Use a fused optimizer",
        f"Launching the optimizer's many kernels takes the CPU {step.format_share(on_cpu)}"
        if on_cpu > time
        else f"The optimizer's many kernels take {step.format_share(time)}",
        "Each reads and writes the optimizer state; a fused one does so once.",
    )
    gain = step.price_kernels(saved, spared_ns=spared)
    options = [Option("a fused optimizer", CODE["fused_adam" if is_adam else "fused_sgd"], gain)]
    about = "about " * is_looped  # by those that are recognized
    launches = (f"launching them takes the CPU {about}{units.format_ns(on_cpu)}, as recorded",) * (on_cpu > 0)
    evidence = (*launches, *describe_bytes(step, rows))
    return [make_advice(step, "unfused-optimizer", text, options, None, evidence, MEDIUM, rows=rows)]


@rule("dense-gradients")
def dense_gradients(step: Step) -> list[Advice]:
    """Gradients of tables that are nearly all zeros, and an optimizer that reads and writes the tables whole."""
    is_gradient, is_fill = (step.kernels[kind].loc[step.launches["kernel"]].to_numpy() for kind in _OF_TABLES)
    tables = {*step.launches["module"][is_gradient]} - {-1}
    zeros = step.launches[is_fill & step.launches["module"].isin(tables).to_numpy()]
    updates, measured = step.kernels[step.kernels["is_pytorch_optimizer"]], MEASURED["sparse_gradients"]
    is_fused, is_adam = updates["is_fused_optimizer"].any(), updates["name"].str.contains(_OF_ADAM[0]).any()
    passes = measured["passes_fused" if is_fused else "passes_adam" if is_adam else "passes_sgd"]
    time, of_zeros = time_of(updates), float(zeros["exposed_ns"].sum()) / step.count
    of_tables = min(time, passes * of_zeros)
    # Zeros that take longer than the gradients are rows that no step reads.
    is_sparse = zeros["exposed_ns"].sum() > step.launches["exposed_ns"][is_gradient].sum()
    if not is_sparse or 2 * of_tables < time or step.share_pct(of_zeros + of_tables) < NOTABLE_PCT:
        return []
    text = (
        "Give large tables sparse gradients",
        f"The optimizer, and gradients of embeddings that are mostly zeros, take {step.format_share(time + of_zeros)}",
        "With sparse gradients, a step reads and writes only the rows that it looked up.",
    )
    gain = step.price_kernels(measured["saved"] * (of_zeros + of_tables))
    option = Option("sparse gradients", CODE["sparse_gradients"], gain)
    evidence = (f"filling gradients with zeros: {units.format_ns(of_zeros)}", *describe_bytes(step, updates))
    return [make_advice(step, "dense-gradients", text, [option], None, evidence, MEDIUM, rows=updates)]


_OF_TABLES = ("is_table_gradient", "is_fill")
_KINDS = ("is_layout_change", "is_norm_channels_first", "is_pooling_channels_first")


@rule("layout-changes")
def layout_changes(step: Step) -> list[Advice]:
    """Convolutions in channels-first layout, between kernels that change the layout."""
    measured = MEASURED["channels_last"]
    changes, norms, pooling = (step.kernels[step.kernels[kind]] for kind in _KINDS)
    rows = pd.concat([changes, norms, pooling]).sort_values("exposed_ns", ascending=False)
    time, of_changes = time_of(rows), time_of(changes)
    if step.share_pct(time) < 2.0 or step.share_pct(of_changes) < 0.5:
        return []
    text = (
        "Use channels last",
        f"Convolutions are channels-first. Layout changes take {step.format_share(of_changes)}. Norms and pooling in "
        f"this layout take {step.format_share(time - of_changes)}",
        "With channels last, cuDNN needs no layout changes, and convolutions, norms and pooling are faster.",
    )
    sums = step.kernels[step.kernels["work"] == "reductions"]
    kinds = {"layout": changes, "norms": norms, "pooling": pooling, "products": step.kernels[is_product(step)]}
    kinds |= {"sums": sums} if step.trains else {}
    saved = np.sum([measured[kind] * time_of(part) for kind, part in kinds.items()], axis=0)
    option = Option("channels last", CODE["channels_last"], step.price_kernels(saved, measured["cpu"]))
    return [make_advice(step, "layout-changes", text, [option], confidence=MEDIUM, rows=rows)]


_LEAST_COPIES_PCT = (5.0, 15.0)  # without training, and with: layers of a network copy, too
_COPIES = {  # by what copies: what to do, what is done, and what that means
    "is_concatenation": (
        "Preallocate instead of concatenating",
        "Concatenation copies",
        "A growing tensor is copied in full each time; writing in place moves only the new part.",
    ),
    "is_indexed": (
        "Index in place instead of copying",
        "Indexing with tensors copies",
        "Slices are views. Data that each step indexes can be stored in the order in which it is read.",
    ),
    "is_plain_copy": (
        "Copy less in GPU memory",
        "Calls such as contiguous, clone and repeat copy",
        "Views need no copy: use expand instead of repeat, and kernels that accept strides.",
    ),
}


def find_copies(step: Step) -> pd.DataFrame:
    """Kernels that copy within the GPU's memory in each step, as ``Step.kernels``; none where they take little."""
    kernels = step.kernels
    kinds = [kind for kind in _COPIES if kind != "is_indexed" or _indexes_caches(kernels)]
    rows = kernels[kernels[kinds].any(axis=1) & kernels["is_pytorch_native"] & (kernels["exposed_ns"] > 0)]
    is_much = step.name and step.share_pct(time_of(rows)) >= _LEAST_COPIES_PCT[step.trains]
    return rows if is_much else rows[:0]


def _indexes_caches(kernels: pd.DataFrame) -> bool:
    """Tell whether each attention has an index that the step does not compute: others are tables, graphs and beams."""
    is_attention = (kernels["work"] == ATTENTION) | kernels["is_softmax"]
    attentions, copies = (kernels["launches"][rows].sum() for rows in (is_attention, kernels["is_indexed"]))
    return bool(copies >= attentions > 0 and not kernels["is_choice"].any())


@rule("copies-on-gpu")
def copies_on_gpu(step: Step) -> list[Advice]:
    """Copies within the GPU's memory that each step makes of the same tensors."""
    rows = find_copies(step)
    if rows.empty:
        return []
    kind = max(_COPIES, key=lambda kind: time_of(rows[rows[kind]]))
    action, what, meaning = _COPIES[kind]
    rows = rows[rows[kind]]
    time = time_of(rows)
    launches = step.launches[step.launches["kernel"].isin(rows.index)]
    option = Option(action.lower(), CODE[kind], _price_fewer(step, "copies_on_gpu", launches))
    sentence = f"{what} tensors within the GPU's memory in each step: {step.format_share(time)}"
    text, evidence = (action, sentence, meaning), describe_bytes(step, rows)
    return [make_advice(step, "copies-on-gpu", text, [option], None, evidence, MEDIUM, rows=rows)]


@rule("recomputation")
def recomputation(step: Step) -> list[Advice]:
    """Activation checkpointing: forward passes that are run again within the backward pass."""
    phases = step.analysis.modules["phase"].astype(str).to_numpy(object)
    module = step.launches["module"].to_numpy()
    again = step.launches[np.append(phases, "")[module] == RECOMPUTE]
    time = float(again["exposed_ns"].sum()) / step.count
    if step.share_pct(time) < NOTABLE_PCT:
        return []
    text = (
        "Recompute less",
        f"Checkpointed layers run their forward pass twice: the second takes {step.format_share(time)}",
        "This saves memory; where the activations fit, it is not needed. The recording does not show memory use.",
    )
    memory = float(step.gpu_row["memory_bytes"])
    size = (f"the GPU has {units.format_bytes(memory)} of memory",) * (memory > 0)
    rows, half = kernels_of(step, again), _price_fewer(step, "recomputation", again, 0.5)
    options = [
        Option("no checkpointing", CODE["no_checkpointing"], _price_fewer(step, "recomputation", again)),
        Option("checkpointing of every second layer", CODE["some_checkpointing"], half),
    ]
    look = "Compare torch.cuda.max_memory_allocated() of the program with the GPU's memory."
    about = about_launches(step, again["activity"])
    return [make_advice(step, "recomputation", text, options, about, size, MEDIUM, look, rows)]


def _price_fewer(step: Step, kind: str, launches: pd.DataFrame, share: float = 1.0) -> Gain:
    """What kernels win that are not run, and that the CPU does not launch: likely their share of the idle time."""
    fewer, time = share * len(launches) / len(step.launches), share * launches["exposed_ns"].sum() / step.count
    spared = np.array([0.0, fewer * step.idle_ns, share * time_launching(step, launches)])
    return step.price_kernels(MEASURED[kind]["saved"] * time, np.array([1.0, 1 - fewer, 1.0]), spared)
