"""Useful FLOP of ranges, of their instances, and of whatever else launches are summed over."""

import pandas as pd

from tcprof.analysis.account import Account, Evidence, sum_by_instance, sum_by_path
from tcprof.arrays import Bools
from tcprof.frames import INSTANCES, LARGEST_UNCOVERED_PCT, RANGES


def useful_of_launches(launched: pd.DataFrame, kernels: pd.DataFrame) -> pd.DataFrame:
    """What each launch adds to useful FLOP, those of tensor kernels, and the time of what is not known.

    Args:
        launched: See ``tcprof.frames.LAUNCHED``.
        kernels: See ``tcprof.frames.KERNELS``.
    """
    is_tensor = kernels["tensor_kernel"].to_numpy(dtype=bool)[launched["kernel"].to_numpy()]
    flop, duration = launched["useful_flop"], launched["duration_ns"]
    return pd.DataFrame(
        {
            "useful_flop": flop.fillna(0),
            "useful_tensor_flop": flop.where(is_tensor, 0).fillna(0),
            "useful_unknown_ns": duration.where(flop.isna(), 0),
            "useful_known_ns": duration.where(is_tensor & flop.notna(), 0),
        }
    )


def known_useful(sums: pd.DataFrame) -> Bools:
    """Where useful FLOP are known.

    Args:
        sums: What ``useful_of_launches`` gives, summed.
    """
    unknown = sums["useful_unknown_ns"]
    found: Bools = (100 * unknown <= LARGEST_UNCOVERED_PCT * (unknown + sums["useful_known_ns"])).to_numpy()
    return found


def add_useful_sums(
    ranges: pd.DataFrame, instances: pd.DataFrame, account: Account, evidence: Evidence
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The range summary and the instances with their useful FLOP.

    Args:
        ranges: See ``tcprof.frames.RANGES``.
        instances: See ``tcprof.frames.INSTANCES``; the rows are those of the evidence.
        account: The account.
        evidence: What it was made from.
    """
    if not account.launched["useful_flop"].notna().any():
        return ranges, instances
    values = useful_of_launches(account.launched, account.kernels).drop(columns="useful_tensor_flop")
    found = []
    for frame, sums in (
        (ranges, sum_by_path(ranges, account, evidence, values)),
        (instances, pd.DataFrame(sum_by_instance(account, evidence, values))),
    ):
        traced = frame["gpu"].isin(account.launched["gpu"]).to_numpy()
        found.append(frame.assign(useful_flop=sums["useful_flop"].where(known_useful(sums) & traced).to_numpy()))
    return RANGES.conform(found[0]), INSTANCES.conform(found[1])
