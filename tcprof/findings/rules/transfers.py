"""Rules on what is moved: copies, and communication between GPUs."""

from tcprof import units
from tcprof.analysis.host import LAUNCHES, find_launching_ranges
from tcprof.findings.pricing import MEASURED
from tcprof.findings.pricing.advice import MEDIUM, Advice, Option, rule
from tcprof.findings.pricing.builders import (
    about_ranges,
    are_pinned,
    hide,
    is_mostly_pinned,
    make_advice,
    tell_guess,
    time_of,
)
from tcprof.findings.pricing.multi_gpu import find_sent, times_of_communication, waiting_ns
from tcprof.findings.pricing.step import Step
from tcprof.frames import HOST_TO_DEVICE

_PIN = ("loader = DataLoader(dataset, batch_size, pin_memory=True, num_workers=2)",)
_BESIDE = (
    "with torch.cuda.stream(copies):  # of the next batch, beside this one",
    "    inputs = inputs.to(device, non_blocking=True)",
)
_LESS = (
    "images = images.to(device)  # once, before the first step, if all data fit",
    "images = images.float() / 255  # sent as uint8, converted on the GPU",
)


@rule("exposed-copies")
def exposed_copies(step: Step) -> list[Advice]:
    """Copies to the GPU with nothing beside them."""
    copies = step.copies[(step.copies["name"] == HOST_TO_DEVICE) & (step.copies["exposed_ns"] > 0)]
    time = time_of(copies) / step.count
    if not step.name or step.share_pct(time) < 3.0:
        return []
    count = units.format_things(len(copies) / step.count, "copy", "copies")
    is_pinned = are_pinned(step)
    said = (
        "Overlap copies",
        f"Copies to the GPU with nothing else running take {step.tell_share(time)}",
        "They come from pinned memory: on a stream of their own they can run beside kernels."
        if is_pinned
        else "From pinned memory they can run beside kernels.",
    )
    evidence = [f"{count} in a step, {units.format_ns(time)}", *tell_guess(step)]
    shares = MEASURED["assumed"]["copies" if is_pinned else "copies_pageable"]
    gain = step.price_kernels(hide(step, shares, time), waits=is_pinned)
    about = about_ranges(step, find_launching_ranges(step.analysis, copies))
    options = [Option("copies beside kernels", _BESIDE if is_pinned else _PIN + _BESIDE, gain)]
    if 2 * time > step.length_ns:
        evidence.append("they take longer than everything else, so most of them have no work to run beside")
        options.append(Option("send less", _LESS))
    return [make_advice(step, "exposed-copies", said, options, about, evidence, raise_confidence="")]


_OF_KERNELS = 2.0  # times as long as kernels take
_PINNED = ("cudaMallocHost(&data, bytes);  // in place of malloc: pinned memory",)


@rule("mostly-copies")
def mostly_copies(step: Step) -> list[Advice]:
    """Programs without a framework in which nothing iterates, and copies take longer than kernels."""
    if step.name or step.is_of_framework or not len(step.kernels):
        return []
    time, kernels = time_of(step.copies), time_of(step.kernels)
    if step.share_pct(time) < 30.0 or time < _OF_KERNELS * kernels:
        return []
    is_pageable = not is_mostly_pinned(step.copies)
    said = (
        "Keep data on the GPU",
        f"Copies take {step.tell_share(time)}. Kernels take {units.format_pct(step.share_pct(kernels))}",
        "Data that stays on the GPU is copied once" + (", and pinned memory is copied faster." if is_pageable else "."),
    )
    evidence = [
        f"{way}: {units.format_ns(row['exposed_ns'])} for {units.format_bytes(row['moved_bytes'])}"
        for way, row in step.copies.groupby("name", observed=True)[["exposed_ns", "moved_bytes"]].sum().iterrows()
    ]
    options = [Option("keep data on the GPU", _PINNED * is_pageable)]
    return [make_advice(step, "mostly-copies", said, options, None, evidence, MEDIUM, "")]


_OVERLAP = (
    "model = DistributedDataParallel(model, gradient_as_bucket_view=True)",
    "with model.no_sync():  # in all but the last step of an accumulation",
    "    loss.backward()",
)
_SENT = (
    "# stages of a pipeline: more micro-batches, or an interleaved schedule",
    "# all to all: in parts, each beside the computation on the part before",
)


@rule("exposed-communication", of_all_gpus=True)
def exposed_communication(step: Step) -> list[Advice]:
    """Communication between GPUs with nothing beside it."""
    rows = step.kernels[step.kernels["communication"]]
    time = step.communication_ns - waiting_ns(step)  # for a slower GPU, which is another rule's
    if step.share_pct(time) < 3.0:
        return []
    said = (
        "Overlap communication",
        f"Communication with nothing else running takes {step.tell_share(time)}",
        "Beside computation it costs little.",
    )
    is_sent = 2 * time_of(find_sent(step)) > step.communication_ns
    gain = step.price_kernels(hide(step, MEASURED["assumed"]["communication"], time))
    options = [Option("overlap", _SENT if is_sent else _OVERLAP, gain)]
    return [make_advice(step, "exposed-communication", said, options, rows=rows)]


_EVEN = (
    "sampler = DistributedSampler(dataset)  # as many samples for each rank",
    "# sequences: sort by length, or pack them; only rank 0 logs, and seldom",
)


@rule("uneven-gpus", of_all_gpus=True)
def uneven_gpus(step: Step) -> list[Advice]:
    """One GPU takes longer than the others, which wait for it."""
    times = times_of_communication(step)
    uneven = sum(times.values()) / len(times) - times[step.gpu]
    if times[step.gpu] > min(times.values()) or step.share_pct(uneven) < 3.0:
        return []
    if not step.is_timed_alone and step.is_cpu_bound and step.host.idle_ns[LAUNCHES] >= uneven:
        return []
    most = units.format_pct(step.share_pct(max(times.values())))
    said = (
        "Balance the GPUs",
        f"Other GPUs wait for GPU {step.gpu}. Communication takes {step.tell_share(times[step.gpu])} there and up to "
        f"{most} on the others",
        "All GPUs run at the pace of the slowest.",
    )
    evidence = [
        f"GPU {gpu}: {units.format_ns(time)} of communication with nothing else running" for gpu, time in times.items()
    ]
    option = Option("even work", _EVEN, step.price_kernels(MEASURED["assumed"]["uneven"] * uneven))
    rows = step.kernels[step.kernels["communication"]]
    return [make_advice(step, "uneven-gpus", said, [option], evidence=evidence, rows=rows)]
