"""How often jobs without a slow rank have one, and how often slow ranks are found: the tables of docs/ranks.md.

Own times have the noise of steps (1 % of a step; independent, autocorrelated by 0.5, or with 5 % of outliers) and
lasting differences between GPUs.
"""

import sys
from pathlib import Path

import numpy as np

from tcprof.ranks.stragglers import find_stragglers

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


def draw(rng: np.random.Generator, ranks: int, spread: float, kind: str, slower: float, count: int = 1) -> np.ndarray:
    """Own times of a job; its first ranks are slower."""
    noise = rng.normal(0, NOISE, (ranks, STEPS))
    if kind == "autocorrelated":
        for step in range(1, STEPS):
            noise[:, step] = 0.5 * noise[:, step - 1] + 0.75**0.5 * noise[:, step]
    if kind == "outliers":
        noise += (rng.random(noise.shape) < 0.05) * rng.exponential(0.1, noise.shape)
    own = STEP_NS * (1 + rng.normal(0, spread, (ranks, 1)) + noise + rng.normal(0, 0.02, STEPS))
    own[:count] *= 1 + slower
    return own


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
    for name, make in (("several", measure_several), ("stragglers", measure)):
        table = make()
        before, _, rest = PAGE.read_text().partition(f"<!-- {name} -->\n")
        after = rest.partition(f"<!-- /{name} -->")[2]
        PAGE.write_text(f"{before}<!-- {name} -->\n{table}\n<!-- /{name} -->{after}")
