"""The verdicts of a gate as JUnit XML, which CI systems show as test results: in ASCII, whatever the locale."""

from typing import TYPE_CHECKING
from xml.etree import ElementTree

from tcprof.render.formats import Style, Writer
from tcprof.untrusted import printable

if TYPE_CHECKING:
    from tcprof.views.comparison.gate import ConditionView, GateView
    from tcprof.views.document import Document

HAS = ("faults", "warnings", "base", "gate")
SUFFIXES = (".xml",)
NEEDS = "gate"
_RESULTS = {"fail": "failure", "pass": "", "inconclusive": "skipped"}


def write(document: "Document", style: Style, file: Writer) -> None:
    """Write a document, and the end of its last line."""
    file.write(f"{render(document)}\n")


def render(document: "Document") -> str:
    """Render one suite of a test case for each condition; inconclusive ones are skipped, or fail in a strict gate.

    What makes the figures unreliable is a property of the suite, its error output what else the document says.
    """
    gate: GateView = document.gate
    results = [
        "failure" if condition.verdict != "pass" and gate.is_strict else _RESULTS[condition.verdict]
        for condition in gate.conditions
    ]
    counts = {"failures": results.count("failure"), "errors": 0, "skipped": results.count("skipped")}
    totals = {name: str(count) for name, count in {"tests": len(results), **counts}.items()}
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", {"name": "tcprof", **totals})
    properties = ElementTree.SubElement(suite, "properties")
    for side, recordings in document.data.get("recordings", {}).items():
        for recording in recordings:
            ElementTree.SubElement(properties, "property", name=side, value=printable(recording["file"]))
    for fault in document.faults:  # warnings come before the conditions
        ElementTree.SubElement(properties, "property", name="warning", value=printable(fault))
    for condition, result in zip(gate.conditions, results, strict=True):
        _add_case(suite, condition, result)
    if notes := (*document.base, *document.warnings):
        ElementTree.SubElement(suite, "system-err").text = "\n".join(map(printable, notes))
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, encoding="us-ascii", xml_declaration=True)
    return written.decode("ascii")


def _add_case(suite: ElementTree.Element, condition: "ConditionView", result: str) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname="tcprof.compare", name=printable(condition.name))
    if not result:
        ElementTree.SubElement(case, "system-out").text = condition.evidence
        return
    message = f"{condition.verdict}: {condition.evidence}"
    ended = ElementTree.SubElement(case, result, message=message)
    ended.text = message  # some systems show one, some the other
