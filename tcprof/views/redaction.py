"""What a redaction left out and found, in words for the terminal."""

from tcprof.redaction.copy_check import Suspects
from tcprof.redaction.private_texts import Found
from tcprof.redaction.redact import Redaction
from tcprof.untrusted import printable

_NAMES_SHOWN = 8
_EXCERPT = 60  # characters of a name


def describe_redaction(redaction: Redaction) -> list[str]:
    """A list of what was left out, what the copy was searched for, and the names to look at: each a line.

    The lines hold text of the recording in printable form.
    """
    searched = (
        f"The copy was searched for {redaction.searched:,} texts of these, for paths in home folders, e-mail addresses "
        "and IPv4 addresses."
    )
    found = [*_about("NVTX", "ranges", redaction.names.nvtx), *_about("kernel", "kernels", redaction.names.kernels)]
    kept = "Names of NVTX ranges, marks and domains, and of kernels, are the program's own words and are kept."
    return [*_list_removed(redaction), searched, *(found or ["Nothing was found."]), kept]


def _list_removed(redaction: Redaction) -> list[str]:
    counts = {str(kind): f"{count:,}" for kind, count in redaction.removed.items()}
    if redaction.tables:
        counts["whole tables"] = f"{len(redaction.tables):,}"
    if redaction.columns:
        counts["unknown columns"] = f"{len(redaction.columns):,}"
    if not counts:
        return ["Nothing had to be left out."]
    labels, numbers = max(map(len, counts)), max(map(len, counts.values()))
    lines = [f"  {label:<{labels}}  {count:>{numbers}}" for label, count in counts.items()]
    places = {"whole tables": redaction.tables, "unknown columns": redaction.columns}
    for number, label in enumerate(counts):
        if names := places.get(label):
            lines[number] += f": {_list_names(names)}"
    return ["Left out:", *lines]


def _list_names(names: tuple[str, ...]) -> str:
    more = len(names) - _NAMES_SHOWN
    ordered = sorted(names, key=lambda name: name.startswith("ENUM_"))  # nsys's constants say least
    return ", ".join([*map(printable, ordered[:_NAMES_SHOWN]), *([f"{more} more"] if more > 0 else [])])


def _about(what: str, command: str, suspects: Suspects) -> list[str]:
    """A sentence about names that hold something private, if there are any."""
    if not suspects.count:
        return []
    examples = ", ".join(f"“{_excerpt(found)}”" for found in suspects.examples)
    return [
        f"Kept, but look before you share: {what} names in which such a text was found: {suspects.count:,}, "
        f"{'for example' if suspects.count > len(suspects.examples) else 'namely'} {examples}. "
        f"See them all with: tcprof {command} COPY"
    ]


def _excerpt(found: Found) -> str:
    """A name, or of a long one the stretch with what was found."""
    text = found.text
    first = max(0, min(text.index(found.part) - _EXCERPT // 4, len(text) - _EXCERPT))
    stretch = printable(text[first : first + _EXCERPT])
    return f"{'…' if first else ''}{stretch}{'…' if first + _EXCERPT < len(text) else ''}"
