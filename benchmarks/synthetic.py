"""Coverage of the kernels' intervals in synthetic recordings of known truth: ``tests/scenarios.py`` has them.

python benchmarks/synthetic.py
python benchmarks/synthetic.py --seeds 20 --write docs/accuracy.md
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from accuracy import table, write

sys.path.append(str(Path(__file__).parent.parent / "tests"))
SEEDS = 10
COLUMNS = {
    "kernels": ("kernels", "d"),
    "held": ("held_pct", ".0f"),
    "held or unresolved": ("ok_pct", ".0f"),
    "resolved": ("resolved_pct", ".0f"),
    "mean error": ("error", ".2f"),
    "worst resolved": ("worst", ".1f"),
    "half width": ("half_width", ".2f"),
    "modules held": ("modules_pct", ".0f"),
    "modules' half width": ("modules_half", ".2f"),
}


def score(kernels: pd.DataFrame, modules: pd.DataFrame) -> dict[str, float]:
    """The figures of one scenario, over the kernels and modules with 1 % of the time and more."""
    half = (kernels["tensor_active_high_pct"] - kernels["tensor_active_low_pct"]) / 2
    return {
        "kernels": len(kernels),
        "held_pct": 100 * kernels["held"].mean(),
        "ok_pct": 100 * (kernels["held"] | ~kernels["resolved"]).mean(),
        "resolved_pct": 100 * kernels["resolved"].mean(),
        "error": float(np.average(kernels["error"], weights=kernels["total_ns"])),
        "worst": kernels["error"][kernels["resolved"]].max(),
        "half_width": half.median(),
        "modules_pct": 100 * modules["held"].mean(),
        "modules_half": modules["half_points"].median(),
    }


def main() -> None:
    """Print or write the table."""
    from scenarios import SCENARIOS  # where the tests are

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="worlds of each kind; default: %(default)s")
    parser.add_argument("--write", type=Path, help="put the table into this page, between its markers")
    options = parser.parse_args()
    rows = []
    for name, scenario in SCENARIOS.items():
        found = (scenario.measure(options.seeds), scenario.measure_modules(options.seeds))
        rows.append(((name, scenario.what), score(*(frame[frame["counts"]] for frame in found))))
    text = table(("recordings", "what they are"), COLUMNS, rows)
    print(text, end="")
    if options.write:
        write(options.write, "synthetic", text)


if __name__ == "__main__":
    main()
