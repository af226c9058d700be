"""Files are written beside their place and renamed: a reader finds the old file or the new one, never half of one."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tcprof.errors import OutputError


@contextmanager
def replace_file(target: Path) -> Iterator[Path]:
    """A path to write to, which becomes the target if the block ends without an error.

    Args:
        target: The file to make or replace.

    Raises:
        OutputError: It cannot be written.
    """
    try:
        with tempfile.TemporaryDirectory(prefix=".tcprof-", dir=target.parent) as folder:
            path = Path(folder) / target.name
            yield path
            path.replace(target)
    except OSError as error:
        raise OutputError(
            f"{target} cannot be written: {error.strerror or error}.", "Choose another with -o."
        ) from error
