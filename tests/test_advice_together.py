"""Prices of changes where several GPUs take a step together: what one saves while it waits for another wins nothing."""

from pathlib import Path

import pytest
from builders import MS, TENSOR_ACTIVE, US, TraceBuilder

from tcprof.analysis import Analysis, analyze
from tcprof.findings.advise import advise
from tcprof.findings.pricing.advice import Advice
from tcprof.views.document import Section
from tcprof.views.recording.advice import describe_savings, list_advice, list_leads, view_best, view_sections

FP32 = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_ffma_aligna4_alignc4_execute_kernel__51_cublas"
BF16 = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"
REDUCE, SEND = "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclDevKernel_SendRecv"
ENDS = (890, 490)  # of the products of both GPUs, in steps of 1 ms: the second waits 0.4 ms
Found = dict[tuple[int, str], Advice]


def record_two(folder: Path, names: tuple[str, str], ends: tuple[int, int] = ENDS, nccl: str = REDUCE) -> Analysis:
    """Eight steps of two GPUs, each of which has products of its own name until both communicate."""
    folder.mkdir(exist_ok=True)
    builder = TraceBuilder()
    for gpu, (name, done) in enumerate(zip(names, ends, strict=True)):
        builder.gpu(gpu)
        for number in range(8):
            queued, at = number * 10 * US, (number + 1) * MS  # long before: no GPU waits for the CPU
            builder.range("step", queued, queued + 10 * US, thread=gpu + 1)
            place = {"device": gpu, "thread": gpu + 1, "stream": 7}
            builder.kernel(name, at + 5 * US, at + done * US, launched=queued + gpu, **place)
            builder.kernel(nccl, at + done * US, at + 990 * US, launched=queued + 2 + gpu, **place)
    return analyze(builder.trace(folder))


def two_gpus(folder: Path, names: tuple[str, str], ends: tuple[int, int] = ENDS, nccl: str = REDUCE) -> Found:
    """The advice on them, by each GPU that it holds on."""
    found = advise(record_two(folder, names, ends, nccl))
    return {(gpu, each.rule): each for each in found for gpu in each.gpus}


def of_rule(analysis: Analysis, rule: str = "fp32-matmul") -> list[Advice]:
    return [each for each in advise(analysis) if each.rule == rule]


def test_a_finding_that_is_alike_on_two_gpus_is_one_that_names_both(tmp_path):
    analysis = record_two(tmp_path, (FP32, FP32))
    (line,) = [
        line for line in view_best(analysis, advise(analysis)) if "instead of FP32" in line or "autocast" in line
    ]
    assert line.startswith("1. GPUs 0 and 1: ")
    (found,) = of_rule(analysis)
    assert found.gpus == (0, 1)
    assert found.evidence[-1] == f"these figures are for GPU {found.gpu}"
    (lead,) = [lead for lead in list_leads(analysis, advise(analysis)).items if lead.rule == "fp32-matmul"]
    assert lead.place == "GPUs 0 and 1"
    assert list(list_advice([found])["gpus"]) == ["0, 1"]


@pytest.mark.slow
def test_what_is_about_other_kernels_is_not_alike(tmp_path):
    other = FP32.replace("tn_n_tilesize128x128x8", "nn_n_tilesize32x32x8")
    found = of_rule(record_two(tmp_path, (FP32, other), (890, 880)))
    assert sorted(each.gpus for each in found) == [(0,), (1,)]


def test_prices_of_their_own_that_agree_span_those_of_all_gpus(tmp_path):
    alone = [of_rule(record_two(tmp_path / str(end), (FP32, BF16), (end, end), BF16))[0].gain for end in (890, 850)]
    (found,) = of_rule(record_two(tmp_path / "both", (FP32, FP32), (890, 850), BF16))
    assert found.gain.low_pct == pytest.approx(min(each.low_pct for each in alone), rel=0.01)
    assert found.gain.high_pct == pytest.approx(max(each.high_pct for each in alone), rel=0.01)
    assert found.gain.likely_ns == pytest.approx(sum(each.likely_ns for each in alone) / 2, rel=0.01)
    assert found.gain == found.options[0].gain
    assert "; the saving is the mean over the GPUs (" in found.evidence[-1]


def test_a_change_of_all_gpus_wins_what_the_slowest_of_them_wins(tmp_path):
    found = two_gpus(tmp_path, (FP32, FP32))
    slow, waiting = (found[gpu, "fp32-matmul"] for gpu in (0, 1))
    assert slow.gain.likely_ns == pytest.approx(waiting.gain.likely_ns, rel=0.001)
    assert slow.gain.likely_pct == pytest.approx(waiting.gain.likely_pct, rel=0.001)
    assert 400 * US < slow.gain.likely_ns < 885 * US  # not what is left of the 485 us of the second
    assert slow.options[1].gain.likely_ns == pytest.approx(waiting.options[1].gain.likely_ns, rel=0.001)
    assert waiting.gain == waiting.options[0].gain


def test_a_gpu_that_waits_for_another_wins_nothing_alone(tmp_path):
    waiting = two_gpus(tmp_path, (BF16, FP32))[1, "fp32-matmul"]
    assert (waiting.gain.low_ns, waiting.gain.likely_ns, waiting.gain.high_ns) == (0, 0, 0)
    assert waiting.gain.reason == "GPU 0 would still take as long"
    assert any("GPU 0 limits the saving; GPU 1 waits" in line for line in waiting.evidence)


@pytest.mark.slow
def test_savings_on_a_gpu_without_steps_are_of_all_recorded_work(tmp_path):
    """It had no mean step, and all advice of the recording was lost with it."""
    analysis = record_one_without_steps(tmp_path)
    assert analysis.step_summary["gpu"].tolist() == [0]
    priced = {gpu: [each for each in advise(analysis) if each.gpu == gpu and each.gain.is_known] for gpu in (0, 1)}
    assert {each.gain.of for each in priced[0]} == {"the step"}
    assert {each.gain.of for each in priced[1]} == {"all work"}
    first, rest = (
        "Savings are relative to the mean step of 480 µs.",
        "Savings on GPU 1 are relative to all recorded work, warm-up included.",
    )
    assert describe_savings(analysis, advise(analysis)) == (first, rest)  # as an agent gets it
    assert describe_savings(analysis, priced[0]) == (first,)
    assert describe_savings(analysis, priced[1]) == ("Savings are relative to all recorded work, warm-up included.",)
    best = view_best(analysis, advise(analysis))
    assert [line.endswith("relative to the mean step of 480 µs") for line in best[:2]] == [True, False]
    assert best[-1] == rest
    few = [each.gain.with_shares([0.1, 0.5, 0.9]) for each in (priced[0][0], priced[1][0])]
    small = [each[0].with_gains([gain] * len(each[0].options)) for each, gain in zip(priced.values(), few, strict=True)]
    (folded,) = view_sections(analysis, small)
    assert isinstance(folded, Section)
    assert folded.title.startswith("Each saves less than 1 % of the step or all work: layout-changes (0.50 %), ")


def record_one_without_steps(folder: Path) -> Analysis:
    """Twelve steps of GPU 0, then work of GPU 1 in no range."""
    builder = TraceBuilder().gpu(0).gpu(1)
    names = ("volta_sgemm_128x64_nn", "cudnn_convolve_sgemm_nchwToNhwc")
    for number in range(12):
        at = MS + number * 480 * US
        builder.range("step", at - 40 * US, at - 2 * US)
        for place in range(8):
            start = at + place * 60 * US
            builder.kernel(names[place % 2], start, start + 60 * US, launched=at - 30 * US + place * US)
    for number in range(90):
        start = 20 * MS + number * 100 * US
        builder.kernel(names[number % 2], start, start + 60 * US, launched=start - 5 * US, device=1, thread=2)
    return analyze(builder.trace(folder))


def record_overlapping(
    folder: Path, lengths: tuple[int, int], sends: tuple[int, int], *, name: str = FP32, sm_active: int | None = None
) -> Analysis:
    """Eight steps of two GPUs whose products run beside NCCL's kernels, as in DDP; what one has left it waits for.

    Args:
        folder: Where the export is written.
        lengths: Of the products of each GPU, in µs of a step of 1 ms.
        sends: How long NCCL's kernels last, of which most is beside the products.
        name: Of the products, which have as many blocks as the GPU has SMs.
        sm_active: What share of the SMs is active all the time, in percent; None for not recorded.
    """
    folder.mkdir(exist_ok=True)
    builder = TraceBuilder()
    grid = {"gridX": 132, "gridY": 1, "gridZ": 1, "blockX": 384, "blockY": 1, "blockZ": 1}
    for gpu, (length, sent) in enumerate(zip(lengths, sends, strict=True)):
        builder.gpu(gpu)
        for number in range(8):
            queued, at = number * 10 * US, (number + 1) * MS
            builder.range("step", queued, queued + 10 * US, thread=gpu + 1)
            place = {"device": gpu, "thread": gpu + 1}
            product = {**grid, **place, "launched": queued + gpu, "stream": 7}
            builder.kernel(name, at + 5 * US, at + (5 + length) * US, **product)
            builder.kernel(REDUCE, at + (990 - sent) * US, at + 990 * US, launched=queued + 2 + gpu, stream=9, **place)
        if sm_active is not None:
            for metric, value in ((TENSOR_ACTIVE, 40), ("SMs Active [Throughput %]", sm_active)):
                builder.samples([value] * 1000, metric=metric, gpu=gpu)
    return analyze(builder.trace(folder))


def test_work_beside_communication_that_waits_is_not_hidden_by_it(tmp_path):
    """The first GPU begins to wait early in its products: these hold it up all the same."""
    (found,) = of_rule(record_overlapping(tmp_path, (600, 970), (900, 20)))
    speedup = 970 / (970 - found.gain.likely_ns / US)
    assert found.gain.likely_ns > 0.6 * 970 * US
    assert speedup > 3
    assert found.gain.low_ns < found.gain.likely_ns


def test_work_beside_communication_that_sends_is_hidden_by_it(tmp_path):
    """Both send all the time: less work ends no step earlier, as far as is known."""
    found = of_rule(record_overlapping(tmp_path, (900, 900), (980, 980)))
    assert all(each.gain.likely_ns < 20 * US for each in found)
