"""What makes a comparison meaningless, so that it is refused."""

from tcprof.comparison.side import Side, join_facts
from tcprof.errors import InputError, UsageError

_ANYWAY = "--allow-mismatch compares them all the same."


def refuse(base: Side, new: Side, allow_mismatch: bool) -> None:
    """Refuse a comparison whose figures would mean nothing."""
    told = [join_facts(recording.window for recording in side.recordings) for side in (base, new)]
    if not all(told):
        raise UsageError("a side of a comparison has no recording", "Give at least one for each side.")
    if (told[0] != told[1] or "," in told[0]) and not allow_mismatch:
        raise UsageError(
            f"the baseline was analyzed over {told[0]} windows, the other over {told[1]} windows",
            f"Analyze both over the same windows. {_ANYWAY}",
        )
    idle = [side for side in (base, new) if not any(len(recording.activities) for recording in side.recordings)]
    if len(idle) == 1 and not allow_mismatch:
        files = join_facts(recording.recording.file for recording in idle[0].recordings)
        raise InputError(
            f"{files} has no work on a GPU, the other side has.",
            f"Record it with the CUDA trace: 'tcprof profile' does. {_ANYWAY}",
        )
