"""Jobs of known truth: the recording of each rank of a training program whose steps end with one all-reduce."""

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from builders import MS, TENSOR_ACTIVE, TraceBuilder

from tcprof.identity import Identity, Rank, alias_of
from tcprof.nsys import schema
from tcprof.ranks.reduce import ReducedRank, reduce_file
from tcprof.sources.nsys_sqlite.export import write_identity

US = 1_000
TRANSFER = 200 * US
SAMPLE = 10 * US
GR_ACTIVE = "GR Active [Throughput %]"
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
GEMM, NORM = "sm90_xmma_gemm_bf16bf16_bf16f32", "layer_norm_kernel"


_REDUCED: dict[tuple[str, bytes], list[ReducedRank]] = {}


def reduce_once(path: str) -> list[ReducedRank]:
    """Reduce a recording, each content of a name once for all tests."""
    key = Path(path).name, hashlib.sha256(Path(path).read_bytes()).digest()
    if key not in _REDUCED:
        _REDUCED[key] = reduce_file(path)
    return _REDUCED[key]


def noisy(
    rng: np.random.Generator, ranks: int, slower: float = 0.0, spread: float = 0.003, alike: float = 0.0
) -> np.ndarray:
    """Own times with the noise of steps, alike as neighbours, and of GPUs, one rank being slower."""
    noise = rng.normal(0, 0.01, (ranks, 40))
    for step in range(1, 40):
        noise[:, step] = alike * noise[:, step - 1] + (1 - alike**2) ** 0.5 * noise[:, step]
    own = 40e6 * (1 + rng.normal(0, spread, (ranks, 1)) + noise)
    own[ranks // 2] *= 1 + slower
    return own


def make_job(
    folder: Path,
    work_us: Sequence[Sequence[int]],
    *,
    input_us: Sequence[int] | None = None,
    launches: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    skew_us: int = 100_000,
    names_input: bool = True,
    other_work: int | None = None,
    power_w: Sequence[int] | None = None,
    job: str = "one",
    message: int | None = None,
) -> list[Path]:
    """Write the recording of each rank.

    A step is: wait for input, the kernels, then the all-reduce, which ends on all ranks together, 200 us after the
    last has come.

    Args:
        work_us: Of each rank the time of its kernels in each step.
        input_us: How long each rank waits for its input in each step, before its first kernel.
        launches: Into how many kernels each rank's work is split, besides one short norm.
        names: Name of the collective of each rank.
        skew_us: How far the clock of a rank is ahead of that of the one before it.
        names_input: Whether waiting for input is in a range called data; else the rest is in one called forward.
        other_work: The rank on whose GPU another program runs while it waits for its input; samples of all ranks show
            how busy their GPUs are.
        power_w: What the GPU of each rank draws.
        job: What the scheduler calls the job.
        message: Bytes of each collective.
    """
    folder.mkdir(exist_ok=True)
    work = np.asarray(work_us) * US
    ranks, steps = work.shape
    waits = np.asarray(input_us if input_us is not None else [0] * ranks) * US
    ends = np.cumsum((work + waits[:, None]).max(axis=0) + TRANSFER)
    begins = np.concatenate([[0], ends[:-1]])
    files = []
    for rank in range(ranks):
        shift = 1_000_000 + rank * skew_us * US
        builder = TraceBuilder().gpu()
        count = launches[rank] if launches else 1
        for step in range(steps):
            start, end = int(begins[step]) + shift, int(ends[step]) + shift
            builder.range("step", start, end - 20)
            begin = start + int(waits[rank])
            if waits[rank]:
                if names_input:
                    builder.range("data", start + 1, begin - 1)
                builder.kernel("fill_kernel", start, start + 10, launched=start + 2)
            if not names_input:
                builder.range("forward", begin + 5, end - 30)
            edges = np.linspace(begin + 30, begin + work[rank, step] - US, count + 1).astype(int).tolist()
            for number, (low, high) in enumerate(pairwise(edges)):
                builder.kernel(GEMM, low, high, launched=begin + 10 + number)
            builder.kernel(NORM, edges[-1], edges[-1] + US, launched=begin + 10 + count)
            name = names[rank] if names else NCCL
            launched = begin + 11 + count
            if message:
                payload = f'{{"NCCL communicator ID":7,"{schema.MESSAGE_SIZE}":{message}}}'
                builder.range("ncclAllReduce", launched - 1, launched + 1, domain=schema.NCCL_DOMAIN, payload=payload)
            builder.kernel(name, edges[-1] + US, end, launched=launched, stream=9)
            builder.launch(begin + 20 + count, 1_000_000 + step, returned=end - 40, name="cudaStreamSynchronize_v3020")
        if other_work is not None:
            shown_from = begins if rank == other_work else begins + waits[rank]
            at = np.arange(0, int(ends[-1]), SAMPLE)
            step_of = np.searchsorted(begins, at, "right") - 1
            active = np.where(at >= shown_from[step_of], 100, 0).tolist()
            for metric, values in ((TENSOR_ACTIVE, [0] * len(at)), (GR_ACTIVE, active)):
                builder.samples(values, start=shift, period=SAMPLE, metric=metric)
        if power_w:
            builder.driver_log([power_w[rank]] * (int(ends[-1]) // (100 * MS) + 2), start=shift)
        file = builder.write(folder, f"r{rank}.sqlite")
        write_identity(file, Identity(job=alias_of("job", job), ranks=(Rank(rank, ranks),), program="train"))
        files.append(file)
    return files
