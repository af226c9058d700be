"""Whether this machine can record: what was checked, and the verdict."""

from collections.abc import Sequence

from tcprof.record.diagnosis import MachineCheck
from tcprof.views.document import Checklist, Document, Item, Notes


def is_ready(checks: Sequence[MachineCheck]) -> bool:
    """Whether a recording is possible."""
    return all(check.status != "fail" for check in checks)


def view_checks(checks: Sequence[MachineCheck]) -> Document:
    """The checks of a machine, and whether it can record."""
    failed = [check.name for check in checks if check.status == "fail"]
    verdict = f"Not ready to record: {', '.join(failed)}." if failed else "Ready to record: tcprof profile SCRIPT"
    return Document(
        kind="doctor",
        parts=(Checklist(tuple(Item(**vars(check)) for check in checks)), Notes((verdict,))),
        data={"ready": is_ready(checks), "checks": [vars(check) for check in checks]},
    )
