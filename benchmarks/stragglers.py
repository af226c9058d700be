"""How often jobs without a slow rank have one, and how often slow ranks are found: the tables of docs/ranks.md.

Own times have the noise of steps (1 % of a step; independent, autocorrelated by 0.5, or with 5 % of outliers) and
lasting differences between GPUs. Where CPUs set the pace, the noise of own times is five times that and autocorrelated
by 0.9, that of compute stays, and waiting slows the compute of the other ranks by half of what one computes longer.
"""

import sys
from pathlib import Path

import numpy as np

from tcprof.ranks.stragglers import find_more_compute, find_stragglers

PAGE = Path(__file__).parent.parent / "docs" / "ranks.md"
STEPS, STEP_NS, NOISE = 40, 40e6, 0.01
SEED = 37  # other than those that the test was developed with
JOBS = {2: 2000, 8: 2000, 64: 2000, 1024: 1000}
SLOW_JOBS = 300  # for each of SLOWER
SPREADS = (0.003, 0.006, 0.01)
SLOWER = (0.02, 0.03, 0.05)
KINDS = ("independent", "autocorrelated", "outliers")
SEVERAL = (8, 64, 1024)
SEVERAL_JOBS = 100
PACED_JOBS = 1000
MORE = (0.05, 0.1, 0.2)  # compute of the slow rank
COMPUTE = 0.8  # of a step


def draw(rng: np.random.Generator, ranks: int, spread: float, kind: str, slower: float, count: int = 1) -> np.ndarray:
    """Own times of a job; its first ranks are slower."""
    noise = _vary(rng, ranks, 0.5 if kind == "autocorrelated" else 0.0)
    if kind == "outliers":
        noise += (rng.random(noise.shape) < 0.05) * rng.exponential(0.1, noise.shape)
    own = STEP_NS * (1 + rng.normal(0, spread, (ranks, 1)) + noise + rng.normal(0, 0.02, STEPS))
    own[:count] *= 1 + slower
    return own


def _vary(rng: np.random.Generator, ranks: int, alike: float) -> np.ndarray:
    noise = rng.normal(0, NOISE, (ranks, STEPS))
    for step in range(1, STEPS):
        noise[:, step] = alike * noise[:, step - 1] + (1 - alike**2) ** 0.5 * noise[:, step]
    return noise


def judge_paced(rng: np.random.Generator, ranks: int, more: float) -> tuple[np.ndarray, np.ndarray]:
    """Which ranks stand out by own time, and which by compute, where CPUs set the pace and the first computes more."""
    compute = COMPUTE * STEP_NS * (1 + rng.normal(0, SPREADS[1], (ranks, 1)) + _vary(rng, ranks, 0.0))
    own = compute + STEP_NS * (1 - COMPUTE + 5 * _vary(rng, ranks, 0.9))
    held = np.zeros_like(compute)
    held[1:] = more / 2 * COMPUTE * STEP_NS
    own[0] += more * compute[0]
    compute[0] *= 1 + more
    by_own = find_stragglers(own + held)
    return by_own.stands_out, find_more_compute(by_own, compute + held, held).stands_out


def measure_paced() -> str:
    """What judging by compute adds where CPUs set the pace, as Markdown."""
    rng = np.random.default_rng(SEED)
    titles = "".join(f" {100 * more:.0f} % more found: by own time, by either |" for more in MORE)
    lines = [f"| ranks | falsely accused by compute |{titles}", "|---:|---:|" + "---:|" * len(MORE)]
    for ranks in JOBS:
        judged = {more: [judge_paced(rng, ranks, more) for _ in range(PACED_JOBS)] for more in (0.0, *MORE)}
        false = sum(by_compute.any() for _, by_compute in judged.pop(0.0))
        found = [
            f"{100 * np.mean([by_own[0] for by_own, _ in jobs]):.0f} %, "
            f"{100 * np.mean([by_own[0] | by_compute[0] for by_own, by_compute in jobs]):.0f} %"
            for jobs in judged.values()
        ]
        lines.append(f"| {ranks:,} | {100 * false / PACED_JOBS:.1f} % of jobs | {' | '.join(found)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def measure_several() -> str:
    """The share of the slow ranks that is found where an eighth or a quarter of all are slow, as Markdown."""
    rng = np.random.default_rng(SEED)
    lines = ["| ranks | of these slow | GPUs differ by | 3 % slower found | 5 % |", "|---:|---:|---:|---:|---:|"]
    for ranks in SEVERAL:
        for count in (ranks // 8, ranks // 4):
            for spread in SPREADS[:2]:
                found = [
                    np.mean(
                        [
                            find_stragglers(draw(rng, ranks, spread, KINDS[0], each, count)).stands_out[:count].mean()
                            for _ in range(SEVERAL_JOBS)
                        ]
                    )
                    for each in SLOWER[1:]
                ]
                shares = " | ".join(f"{100 * each:.0f} %" for each in found)
                lines.append(f"| {ranks:,} | {count} | {100 * spread:.1f} % | {shares} |")
                print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def measure() -> str:
    """The table, as Markdown."""
    rng = np.random.default_rng(SEED)
    lines = [
        "| ranks | GPUs differ by | steps vary | jobs with a false accusation | 2 % slower found | 3 % | 5 % |",
        "|---:|---:|---|---:|---:|---:|---:|",
    ]
    for ranks, jobs in JOBS.items():
        for spread in SPREADS:
            for kind in KINDS:
                false = sum(find_stragglers(draw(rng, ranks, spread, kind, 0)).stands_out.any() for _ in range(jobs))
                found = [
                    sum(find_stragglers(draw(rng, ranks, spread, kind, each)).stands_out[0] for _ in range(SLOW_JOBS))
                    for each in SLOWER
                ]
                shares = " | ".join(f"{100 * each / SLOW_JOBS:.0f} %" for each in found)
                accused = f"{false} of {jobs:,} ({100 * false / jobs:.1f} %)"
                lines.append(f"| {ranks:,} | {100 * spread:.1f} % | {kind} | {accused} | {shares} |")
                print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


if __name__ == "__main__":
    for name, make in (("paced", measure_paced), ("several", measure_several), ("stragglers", measure)):
        table = make()
        before, _, rest = PAGE.read_text().partition(f"<!-- {name} -->\n")
        after = rest.partition(f"<!-- /{name} -->")[2]
        PAGE.write_text(f"{before}<!-- {name} -->\n{table}\n<!-- /{name} -->{after}")
