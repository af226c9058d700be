"""The FLOP of ops at the kernels that they launched."""

from dataclasses import replace

import numpy as np

from tcprof.analysis.flop.ops import NONE, count_ops
from tcprof.analysis.modules.assignment import ModuleAssignment
from tcprof.analysis.modules.tree import RECOMPUTE_CODE
from tcprof.analysis.ranges.projection import innermost_of_domain
from tcprof.analysis.time.account import Account, Evidence
from tcprof.analysis.time.range_metrics import tensor_launches
from tcprof.frames import KERNEL_INSTANCES, OPS_DOMAIN


def add_useful_flop(account: Account, evidence: Evidence, homes: ModuleAssignment) -> Account:
    """The account with the FLOP of each op, on its first tensor kernel, or if it has none on its first kernel.

    Unknown for what is or could be a tensor kernel of no op that counts, or of one whose FLOP are not known; 0 for all
    other launches and where something is computed again. Where no op has sizes, all are unknown.
    """
    ops = count_ops(evidence.hierarchy)
    if ops is None:
        return account
    launched, kinds = account.kernel_instances, evidence.activities["kind"]
    activity = launched["activity"].to_numpy()
    op, _ = innermost_of_domain(evidence.hierarchy, evidence.attribution, OPS_DOMAIN, len(kinds))
    owner = np.append(ops.owner, NONE)[op[activity]]
    is_tensor = np.logical_or.reduce(tensor_launches(launched, account.kernels, kinds))
    flop = np.append(ops.flop, np.nan)[owner]
    rows = np.flatnonzero(owner >= 0)
    order = rows[np.lexsort((rows, ~is_tensor[rows], owner[rows]))]
    first = order[np.append(True, np.diff(owner[order]) != 0)[: len(order)]]
    found = np.where(is_tensor & np.isnan(flop), np.nan, 0.0)
    found[first] = flop[first]
    found[homes.phase[activity] == RECOMPUTE_CODE] = 0
    return replace(account, kernel_instances=KERNEL_INSTANCES.conform(launched.assign(useful_flop=found)))
