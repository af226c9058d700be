"""Find which call launched which work, where the numbers that tie them restart or several processes share them."""

import pandas as pd

from tcprof.arrays import Ints
from tcprof.sources.checks import count_lost
from tcprof.sources.kineto.events import NumberColumns

_UNKNOWN = -1
_TAG = 1 << 33  # above all numbers
_LAUNCH = "aunch.*Kernel"
_GRAPH = "aunchGraph|GraphLaunch|BeginCapture"  # kernels that a graph captures do not run


def link_work(calls: NumberColumns, work: NumberColumns) -> tuple[Ints, dict[str, int]]:
    """Find the call of each piece of work.

    Several calls of one number are distinguished by what else ties them to their work: the tag that merged traces put
    before their processes, the order in the file, and in a process the time: a call begins before its work does.

    Returns:
        The call's row, -1 for none; and what repeats, with how much work has such numbers.
    """
    called, ran = (
        pd.DataFrame({name: table[name] for name in ("correlation", "tag", "at", "start")}) for table in (calls, work)
    )
    called = called.assign(process=calls["process"], end=calls["end"], row=range(len(called)))
    has_tags = set(ran["tag"]) <= set(called["tag"])
    for rows in (called, ran):
        rows["key"] = rows["tag"] * (_TAG if has_tags else 0) + rows["correlation"]
    called = called[(called["correlation"] > 0) & called["key"].isin(ran["key"])]
    called = called.sort_values(["process", "key", "start"], kind="stable")
    # A driver call inside a runtime call may bear the same number; the outer one began first.
    reach = called.groupby(["process", "key"])["end"].cummax().groupby([called["process"], called["key"]]).shift()
    called = called[~(called["start"] < reach)]
    if not called["key"].duplicated().any():
        matches = pd.Index(called["key"]).get_indexer(ran["key"])
        return pd.Series([*called["row"], _UNKNOWN]).to_numpy()[matches], {}
    return _link_repeated(called.sort_values("at"), ran[ran["correlation"] > 0].sort_values("at"), work)


def _link_repeated(called: pd.DataFrame, ran: pd.DataFrame, work: NumberColumns) -> tuple[Ints, dict[str, int]]:
    ran = ran.assign(work=ran.index, turn=ran.groupby("key").cumcount())
    called = called.assign(turn=called.groupby("key").cumcount())
    by_turn = ran.merge(called[["key", "turn", "process"]], "left", ["key", "turn"])["process"].to_numpy()
    as_often = ran["key"].map(ran["key"].value_counts()) == ran["key"].map(called["key"].value_counts())
    near = ran[["at", "key"]]
    for way in ("backward", "forward"):
        nearest = pd.merge_asof(near, called[["at", "key", "process"]], "at", by="key", direction=way)
        ran[way] = nearest["process"].to_numpy()
    in_file = ran["backward"].fillna(ran["forward"])
    ran["process"] = pd.Series(by_turn, ran.index).where(as_often, in_file)
    ran = ran[ran["process"].notna()].astype({"process": "int64"}).sort_values("start", kind="stable")
    names, timed = ["start", "process", "key"], called.sort_values("start", kind="stable")
    for way in ("backward", "forward"):
        latest = pd.merge_asof(ran[names], timed[[*names, "row"]], "start", by=names[1:], direction=way)
        ran[way] = latest["row"].to_numpy()
    call = pd.Series(_UNKNOWN, range(len(work["start"])))
    call[ran["work"]] = ran["backward"].fillna(ran["forward"]).astype("int64")
    counts = called.groupby(["process", "key"])["row"].transform("size")
    again = ran["work"][ran["key"].isin(called.loc[counts > 1, "key"])]
    return call.to_numpy(), {"launch numbers that start over": len(again)} if len(again) else {}


def count_lost_launches(calls: NumberColumns, names: "pd.Series[str]", call: Ints, stream: Ints) -> int | None:
    """Count the launches without a kernel, see ``count_lost``; None where graphs captured kernels, which do not run."""
    if names.str.contains(_GRAPH).any():
        return None
    launches = pd.DataFrame({name: calls[name] for name in ("process", "thread", "start", "end")})
    ran = pd.DataFrame({"row": call, "stream": stream})[call >= 0].drop_duplicates("row").set_index("row")
    launches = launches.join(ran)
    launches = launches[names.str.contains(_LAUNCH).to_numpy()].sort_values(["process", "thread", "start"])
    # A launch within another one is the same.
    place = [launches["process"], launches["thread"]]
    reach = launches.groupby(place)["end"].cummax().groupby(place).shift()
    outer = (~(launches["start"] < reach)).cumsum().rename("outer")
    launches = launches.groupby(outer).agg({"process": "first", "start": "first", "stream": "max"})
    return count_lost(launches)
