"""The verdicts of a gate as JUnit XML, which CI systems show as test results."""

from collections.abc import Sequence
from xml.etree import ElementTree

from tcprof.comparison.gate.judgements import CANNOT_TELL, Judgement
from tcprof.report.text.gate import describe_judgement, name_condition
from tcprof.untrusted import printable


def render_junit(
    judgements: Sequence[Judgement],
    base: Sequence[str],
    new: Sequence[str],
    strict: bool,
    notes: Sequence[str] = (),
) -> str:
    """One suite, in which each condition is a test case.

    A condition that cannot be told is a skipped test, or with ``strict`` a failed one. Names are in printable form, so
    that they hold nothing that XML cannot; the document is ASCII, so that it is what it says whatever the locale.

    Args:
        judgements: One for each condition.
        base: File names of the baseline's recordings.
        new: Those of the recordings that were compared with it.
        strict: Whether a condition that cannot be told fails the build.
        notes: Faults and warnings of the comparison, which the suite has as its error output.
    """
    results = [_result(judgement, strict) for judgement in judgements]
    counts = {"failures": results.count("failure"), "errors": 0, "skipped": results.count("skipped")}
    totals = {name: str(count) for name, count in {"tests": len(results), **counts}.items()}
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", {"name": "tcprof", **totals})
    properties = ElementTree.SubElement(suite, "properties")
    for side, files in (("base", base), ("new", new)):
        for file in files:
            ElementTree.SubElement(properties, "property", name=side, value=printable(file))
    for judgement, result in zip(judgements, results, strict=True):
        case = ElementTree.SubElement(suite, "testcase", classname="tcprof.compare", name=name_condition(judgement))
        if result:
            message = f"{judgement.verdict}: {describe_judgement(judgement)}"
            ElementTree.SubElement(
                case, result, message=message
            ).text = message  # some systems show one, some the other
        else:
            ElementTree.SubElement(case, "system-out").text = describe_judgement(judgement)
    if notes:
        ElementTree.SubElement(suite, "system-err").text = "\n".join(map(printable, notes))
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="us-ascii", xml_declaration=True)
    return document.decode("ascii")


def _result(judgement: Judgement, strict: bool) -> str:
    """The element that says how a test ended; empty for one that passed."""
    if judgement.verdict == CANNOT_TELL:
        return "failure" if strict else "skipped"
    return "failure" if judgement.verdict == "fail" else ""
