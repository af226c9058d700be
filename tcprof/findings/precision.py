"""Where tensor cycles contradict the precision that a kernel's name tells."""

from tcprof.analysis import Analysis
from tcprof.analysis.kernels.names import CONVOLUTION, PRODUCT, parse_name, short_name
from tcprof.analysis.kernels.summary import RESOLVED
from tcprof.findings.finding import Finding, Severity

_MOST = 1.25  # of the FLOP that cycles and name allow: what a product needs cannot be more, but for errors of the fit


def find_contradictions(analysis: Analysis) -> list[Finding]:
    """Products that computed more than their tensor cycles allow in the precision that their name tells.

    They compute at least what the sizes of their op's operands ask for. Less is no contradiction: it may be padding.
    """
    launched = analysis.kernel_instances[
        (analysis.kernel_instances["useful_flop"] > 0) & (analysis.kernel_instances["tensor_flop"] > 0)
    ]
    if launched.empty:
        return []
    sums = launched.groupby("kernel")[["useful_flop", "tensor_flop", "tensor_cycles"]].sum()
    found = []
    for kernel, useful, executed, cycles in sums.itertuples(name=None):
        row = analysis.kernels.loc[kernel]
        name = row["name"]
        # One op may launch several kernels of a convolution.
        is_product = parse_name(name).work == PRODUCT and not CONVOLUTION.search(name)
        if is_product and row["fit"] == RESOLVED and useful > _MOST * executed:
            sentence = (
                f"{short_name(name)}: its tensor cycles contradict its name: the sizes of its operands ask for "
                f"{useful / cycles:.4g} FLOP a cycle, and {row['precision'].upper()} allows {executed / cycles:.4g}"
            )
            consequence = "Its FLOP, FLOP/s and HFU are too low."
            found.append(Finding("precision", Severity.CAUTION, sentence, consequence))
    return found
