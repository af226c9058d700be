"""Which ranges are ops of which name."""

from collections.abc import Container

import numpy as np

from tcprof.analysis.ranges.projection import Hierarchy
from tcprof.arrays import Bools
from tcprof.frames import OPS_DOMAIN


class Names:
    """Names of ranges, of ops in their plain form."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        ranges = hierarchy.ranges
        self._is_op: Bools = (ranges["domain"] == OPS_DOMAIN).to_numpy()
        self._codes = ranges["name"].cat.codes.to_numpy()
        self._plain = [name.removesuffix("_") for name in ranges["name"].cat.categories]

    def among(self, names: Container[str]) -> Bools:
        """Which ranges are ops of these names."""
        return self._spread([name in names for name in self._plain]) & self._is_op

    def hold(self, part: str) -> Bools:
        """Which ranges have names with a part in them."""
        return self._spread([part in name for name in self._plain])

    def of(self, row: int) -> str:
        """The name of a range."""
        name: str = self._plain[self._codes[row]]
        return name

    def _spread(self, of_names: list[bool]) -> Bools:
        found: Bools = np.array(of_names, dtype=bool)[self._codes]
        return found
