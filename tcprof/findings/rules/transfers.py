"""Rules on what is moved: copies, and communication between GPUs."""

from tcprof import units
from tcprof.analysis.host import LAUNCHES, find_launching_ranges
from tcprof.findings.pricing import MEASURED
from tcprof.findings.pricing.advice import MEDIUM, Advice, Option, rule
from tcprof.findings.pricing.builders import about_ranges, hide, make_advice, time_of
from tcprof.findings.pricing.launching import are_pinned, is_mostly_pinned, tell_guess
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
    """Copies to the GPU with nothing beside them.

    What: copies from the host to the GPU during which nothing else runs there.

    Why: from pinned memory a copy runs beside kernels, and the CPU does not wait for it; from pageable memory both
    wait. Whether it is pinned already stands in the recording, or else calls that return before half of their copy is
    done tell.

    Thresholds: 3 % of a step, where something iterates. How much can be hidden is assumed, and no more than the rest of
    the step, beside which they would run.

    Do: `DataLoader(pin_memory=True)` and `.to(device, non_blocking=True)`, the next batch while this one computes; or
    keep the data on the GPU.

    Not when: the copy takes longer than all kernels: then send less, such as uint8 images that become floats on the
    GPU.
    """
    copies = step.copies[(step.copies["name"] == HOST_TO_DEVICE) & (step.copies["exposed_ns"] > 0)]
    time = time_of(copies) / step.count
    if not step.name or step.share_pct(time) < 3.0:
        return []
    count = units.format_things(len(copies) / step.count, "copy", "copies")
    is_pinned = are_pinned(step)
    said = (
        f"Copies to the GPU run with nothing beside them: {step.tell_share(time)}",
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
        evidence.append("they take longer than all else: most of them have nothing that they could run beside")
        options.append(Option("send less", _LESS))
    return [make_advice(step, "exposed-copies", said, options, about, evidence, raise_confidence="")]


_OF_KERNELS = 2.0  # times as long as kernels take
_PINNED = ("cudaMallocHost(&data, bytes);  // in place of malloc: pinned memory",)


@rule("mostly-copies")
def mostly_copies(step: Step) -> list[Advice]:
    """Programs without a framework in which nothing iterates, and copies take longer than kernels.

    What: copies to and from the GPU, and within it, with nothing beside them.

    Why: data that are sent for one kernel take longer than what it does with them.

    Thresholds: 30 % of the GPU's work from first activity to last, and twice what kernels have. There is no price:
    which data could stay is not recorded.

    Do: keep data on the GPU for all that is computed with them; pinned memory.

    Not when: the program sends its data once, and computes for longer as it is used.
    """
    if step.name or step.is_of_framework or not len(step.kernels):
        return []
    time, kernels = time_of(step.copies), time_of(step.kernels)
    if step.share_pct(time) < 30.0 or time < _OF_KERNELS * kernels:
        return []
    is_pageable = not is_mostly_pinned(step.copies)
    said = (
        f"Copies take {step.tell_share(time)}, and kernels {units.format_pct(step.share_pct(kernels))}",
        "Data that stay on the GPU are copied once" + (", and pinned memory is copied faster." if is_pageable else "."),
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
    """Communication between GPUs with nothing beside it.

    What: kernels of NCCL during which nothing else runs on the GPU, as far as they take as long on the GPU where they
    are shortest: the rest is waiting for that one, see uneven-gpus.

    Why: gradients can be sent while the rest of the backward pass computes; what is hidden costs nothing.

    Thresholds: 3 % of a step. How much can be hidden is assumed, and no more than the rest of the step.

    Do: `DistributedDataParallel` with its buckets (`bucket_cap_mb`, `gradient_as_bucket_view=True`), FSDP with
    prefetching, gradients in bfloat16; fewer, larger steps (`no_sync()` while gradients accumulate). Where GPUs send to
    each other: more micro-batches in a pipeline, and all-to-all in parts.

    Not when: the GPUs wait for the slowest one: NCCL's kernels run while they wait, and what is uneven is the data.
    """
    rows = step.kernels[step.kernels["communication"]]
    time = step.communication_ns - waiting_ns(step)  # for a slower GPU, which is another rule's
    if step.share_pct(time) < 3.0:
        return []
    said = (
        f"Communication runs with nothing beside it: {step.tell_share(time)}",
        "Beside computation it would cost nothing.",
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
    """One GPU takes longer than the others, which wait for it.

    What: kernels of NCCL that take longer, with nothing beside them, on the other GPUs than on this one, in steps that
    are equally long: there they wait until this one takes part.

    Why: all GPUs go on together, so that a step takes as long as the slowest needs.

    Thresholds: 3 % of a step. If all needed as long as the mean of them the step would be shorter by the mean of NCCL's
    time less the least; how much of that can be had is assumed: up to a quarter more, since smaller batches are less
    efficient, and kernels run more slowly beside those of NCCL that wait.

    Do: give each GPU as many samples, tokens and layers: sort by length or pack sequences, balance the stages of a
    pipeline and the experts, and keep what only one rank does (logging, checkpoints, evaluation) out of the step.

    Not when: another GPU is the slowest in each step, so that on average all wait as long: that is not seen here. Nor
    where this GPU waits for its own launches as long, and how long it does so without recording was not measured
    (`--unprofiled`).
    """
    times = times_of_communication(step)
    uneven = sum(times.values()) / len(times) - times[step.gpu]
    if times[step.gpu] > min(times.values()) or step.share_pct(uneven) < 3.0:
        return []
    if not step.is_timed_alone and step.is_cpu_bound and step.host.idle_ns[LAUNCHES] >= uneven:
        return []
    most = units.format_pct(step.share_pct(max(times.values())))
    said = (
        f"Other GPUs wait for GPU {step.gpu}: communication takes {step.tell_share(times[step.gpu])} there, and up to "
        f"{most} on the others",
        "All go on together, at the pace of the slowest.",
    )
    evidence = [
        f"GPU {gpu}: {units.format_ns(time)} of communication with nothing beside it" for gpu, time in times.items()
    ]
    option = Option("even work", _EVEN, step.price_kernels(MEASURED["assumed"]["uneven"] * uneven))
    rows = step.kernels[step.kernels["communication"]]
    return [make_advice(step, "uneven-gpus", said, [option], evidence=evidence, rows=rows)]
