"""Rules on calls and launches that wait for the GPU."""

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.host import (
    FROM_MEMORY,
    FULL_QUEUE,
    LAUNCH_THAT_BLOCKS,
    LAUNCHES,
    LONG_NS,
    OF_QUEUE,
    OF_SCALER,
    TO_GPU,
    WAITS,
    WORK,
)
from tcprof.findings.pricing import MEASURED
from tcprof.findings.pricing.advice import LOW, MEDIUM, NOTABLE_PCT, UNPRICED, Advice, Gain, IdleTime, Option, rule
from tcprof.findings.pricing.builders import TRY, about_iteration, about_ranges, make_advice
from tcprof.findings.pricing.launching import are_pinned, tell_guess
from tcprof.findings.pricing.products import lacks_precision
from tcprof.findings.pricing.step import ALL, Step
from tcprof.frames import PAGEABLE, PINNED
from tcprof.untrusted import one_line

_RESULTS = (
    "total += loss.detach()  # stays on the GPU: no .item() or print in each step",
    "if step % 100 == 0: print(total.item() / 100)",
)
_PAGEABLE = (
    "loader = DataLoader(dataset, batch_size, pin_memory=True)",
    "inputs = inputs.pin_memory()  # of data that no loader makes",
    "inputs = inputs.to(device, non_blocking=True)",
)
_PINNED = ("inputs = inputs.to(device, non_blocking=True)  # its memory is pinned",)
_SCALER = ("optimizer = torch.optim.AdamW(model.parameters(), fused=True)  # or SGD",)
_NO_SCALER = (
    "# or bfloat16, which needs no scaler:",
    'with torch.autocast("cuda", dtype=torch.bfloat16): ...',
)
_OF_DEVICE = ("# no torch.cuda.synchronize() in each step: only around what is timed",)
_KEEP, _UNSCALED = "keep results on the GPU", "a fused optimizer, or bfloat16"
_FIND_THEM = "Find the calls with torch.cuda.set_sync_debug_mode('warn')."
_LOOP = 10  # calls one after another that are a loop
_SHOWN, _NOTABLE = 3, 0.01  # calls, and share of the waiting time, to be named


@rule("synchronizing-calls", idle=IdleTime.SHARED)
def synchronizing_calls(step: Step) -> list[Advice]:
    """The CPU waits for the GPU within the step, and the GPU then waits for the CPU."""
    idle = step.host.idle_ns[WAITS] + step.host.idle_ns[LAUNCHES]
    if not step.name or not step.cpu_ns > 0 or step.host.is_blocking or step.share_pct(idle) < NOTABLE_PCT:
        return []
    waits = step.host.waits[~step.host.waits.index.isin([*OF_QUEUE, FULL_QUEUE])]
    gain = _price(step, idle)
    if step.replay is None or not len(waits) or not gain.likely_pct >= NOTABLE_PCT:
        return []
    lost = step.replay.length_ns() - step.replay.length_ns(waits=False)
    said = (
        f"Calls that wait for the GPU leave it idle: {step.tell_share(lost)}",
        "Nothing is queued when they return, so the GPU waits for the launches that follow.",
    )
    waits = waits[waits["time_ns"] >= _NOTABLE * waits["time_ns"].sum()]
    options = _list_options(step, waits, gain)
    confidence = MEDIUM if step.is_timed_alone else LOW
    surer = _FIND_THEM if step.is_of_framework and options[0].title == _KEEP else TRY
    about, evidence = about_ranges(step, waits["range"]), _list_waits(waits)
    evidence += tell_guess(step) * (TO_GPU in waits.index)
    return [make_advice(step, "synchronizing-calls", said, options, about, evidence, confidence, surer)]


def _price(step: Step, idle: float) -> Gain:
    """What the waits cost; likely less than that where other work of the CPU may set the pace."""
    low, likely, high = MEASURED["assumed"]["waits"]
    cpu = np.maximum(0.0, 1 - MEASURED["assumed"]["looping"] * _time_loops(step) / step.cpu_ns)
    paced = step.host.idle_ns[WORK] > idle
    gain = step.price_waits(np.array([0.0 if paced else low, likely, high]), cpu)
    most = [step.share_pct(idle)] * paced
    if step.replay and not step.is_timed_alone:
        # That waits are longer with a faster CPU is assumed, so high alone has it.
        lost = step.replay.length_ns() - step.replay.length_ns(cpu[1], waits=False)
        most.append(100 * likely * max(0.0, lost) / gain.step_ns)
    return gain.with_shares((gain.low_pct, min(gain.likely_pct, *most), gain.high_pct)) if most else gain


def _time_loops(step: Step) -> float:
    """CPU time of a step in loops that wait in each turn, as for the norm of each gradient."""
    windows, waits = step.windows, step.analysis.waits.sort_values("start_ns")
    inside = waits["start_ns"].between(windows[0].min(), windows[1].max())
    gaps = waits["start_ns"].shift(-1) - waits["end_ns"]
    is_near = inside & (gaps < LONG_NS) & (waits["process"] == waits["process"].shift(-1))
    turns = is_near.groupby((~is_near).cumsum()).transform("sum")
    return float(gaps[is_near & (turns >= _LOOP)].sum()) / step.count


def _list_options(step: Step, waits: pd.DataFrame, gain: Gain) -> list[Option]:
    """What makes the calls needless, those first that wait longest; the gain is that of all."""
    guess = PINNED if TO_GPU in waits.index and are_pinned(step) else PAGEABLE
    memory = {kind: waits.index.isin([name, TO_GPU][: 1 + (kind == guess)]) for kind, name in FROM_MEMORY.items()}
    of_scaler, of_device = waits.index == OF_SCALER, waits.index.str.startswith("cudaDeviceSynchronize")
    of_results = ~of_scaler & ~of_device & ~memory[PAGEABLE] & ~memory[PINNED]
    fused = ("a fused optimizer", _SCALER) if lacks_precision(step, "bf16") else (_UNSCALED, _SCALER + _NO_SCALER)
    groups = [
        (of_scaler, *fused),
        (memory[PAGEABLE], "copies from pinned memory, which do not block", _PAGEABLE),
        (memory[PINNED], "copies that do not block", _PINNED),
        (of_device, "no wait for the whole device", _OF_DEVICE),
        (of_results, _KEEP, _RESULTS),
    ]
    options = [(float(waits["time_ns"][which].sum()), title, code) for which, title, code in groups]
    used = sorted((option for option in options if option[0] > 0), reverse=True)
    return [Option(title, code, UNPRICED if place else gain) for place, (_, title, code) in enumerate(used)]


def _list_waits(waits: pd.DataFrame) -> tuple[str, ...]:
    """The calls that wait longest, a line each."""
    return tuple(
        f"{str(name).partition('_v')[0]}: {units.format_ns(row['time_ns'])} of waiting in "
        f"{units.format_things(row['count'], 'call')} a step"
        + (f", mostly in “{one_line(row['range'], 40)}”" if row["range"] else "")
        for name, row in waits.head(_SHOWN).iterrows()
    )


_UNSET = ("unset CUDA_LAUNCH_BLOCKING  # in the shell, and where the program sets it",)
_AGAIN = "Record again without it: other advice may change."


@rule("blocking-launches")
def blocking_launches(step: Step) -> list[Advice]:
    """Each launch waits until its kernel has ended."""
    if not step.host.is_blocking:
        return []
    gain = step.price_waits(ALL, MEASURED["blocking"]["cpu"])
    if gain.is_known and gain.likely_pct < NOTABLE_PCT:
        return []
    waits = step.host.waits.loc[LAUNCH_THAT_BLOCKS]
    launches = units.format_things(waits["count"], "launch", "launches")
    said = (
        f"Launches wait until their kernel has ended, and the GPU idles {step.tell_share(step.idle_ns)}",
        "CUDA_LAUNCH_BLOCKING=1, which is for debugging, makes them wait.",
    )
    evidence = (f"{launches} in a step return after their kernel has ended: {units.format_ns(waits['time_ns'])}",)
    options = [Option("unset CUDA_LAUNCH_BLOCKING", _UNSET, gain)]
    about = about_iteration(step)
    return [make_advice(step, "blocking-launches", said, options, about, evidence, MEDIUM, _AGAIN)]
