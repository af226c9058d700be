"""Names of ranges that PyTorch's ``emit_nvtx`` opens for its ops: what is a number in them is no part of the name."""

import json
import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.arrays import Bools, Floats, Ints, name_codes

# "aten::mm, seq = 8051, op_id = 80985, sizes = [[8, 64], [64, 64]], input_op_ids = [(0,-1), (80984,0)]", as
# torch/csrc/profiler/util.cpp writes it: for each argument its sizes, and the op that made it with the output's number.
_NUMBERS = re.compile(
    r"(?=, (?:seq|op_id|sizes) = )"
    r"(?:, seq = (?P<sequence>\d{1,15}))?"
    r"(?:, op_id = (?P<op>\d{1,20}))?"
    r"(?:, sizes = (?P<sizes>\[[][\d, -]*))?"  # which may have been cut off
    r"(?:, input_op_ids = (?P<inputs>[][()\d, -]*))?\Z"
)
_SIZE = "(?:0|[1-9][0-9]{0,11})"
_SIZES = re.compile(rf"\[(?:\[(?:{_SIZE}(?:, {_SIZE}){{0,63}})?\](?:, (?=\[)|(?=\])))*\]")
_INPUT = re.compile(r"\((?P<op>\d{1,20}), ?(?P<output>-?\d{1,9})\)")
_CONVOLUTION = "conv"  # in the names of ops of which no argument has the sizes of what they make
_OUTPUTS = 2  # of an op, that can be of interest
_Op = tuple[int, str]  # a process, and the number of an op in it


@dataclass(frozen=True)
class ParsedNames:
    """Facts about ops, from the names of ranges."""

    name: pd.Categorical  # the ranges' names; of an op without its numbers
    is_op: Bools  # whether a range is an op's
    sequence: Floats  # number of the autograd node that an op made or ran; unknown where it has none
    sizes: pd.Categorical  # sizes of each argument of an op, in JSON; empty where they were not recorded, or are none
    # Sizes of what an op made, likewise, as the arguments of other ops have them; of convolutions.
    output_sizes: pd.Categorical
    malformed_count: int  # ranges with a text in place of sizes that is none


def split_names(names: pd.Categorical, process: Ints) -> ParsedNames:
    """Split the names of ops into parts; each process numbers its ops for itself."""
    recorded = names.categories.tolist()
    matches = [_NUMBERS.search(name) if " = " in name else None for name in recorded]
    if not any(matches):
        unknown = name_codes(np.zeros(len(names), dtype=np.int8), [""])
        return ParsedNames(names, np.zeros(len(names), dtype=bool), np.full(len(names), np.nan), unknown, unknown, 0)
    stems = [match.string[: match.start()] if match else name for match, name in zip(matches, recorded, strict=True)]
    numbers = [float(match.group("sequence") or "nan") if match else np.nan for match in matches]
    checked: dict[str, str] = {}  # texts are as many as ops, sizes are few
    sizes = [_check(match.group("sizes") or "", checked) if match else "" for match in matches]
    malformed = np.array(
        [bool(match and match.group("sizes") and not text) for match, text in zip(matches, sizes, strict=True)]
    )
    return ParsedNames(
        name=name_codes(names.codes, stems),
        is_op=np.array([match is not None for match in matches])[names.codes],
        sequence=np.array(numbers)[names.codes],
        sizes=name_codes(names.codes, sizes),
        output_sizes=_find_outputs(matches, stems, sizes, names.codes, process),
        malformed_count=int(malformed[names.codes].sum()),
    )


def _check(text: str, checked: dict[str, str]) -> str:
    if text not in checked:
        checked[text] = text if _SIZES.fullmatch(text) else ""
    return checked[text]


def _find_outputs(
    matches: list[re.Match[str] | None],
    stems: list[str],
    sizes: list[str],
    codes: npt.NDArray[np.signedinteger],
    process: Ints,
) -> pd.Categorical:
    """Find the sizes of convolutions' outputs: those that the first op that took the output has for its argument."""
    sought = np.array([_CONVOLUTION in stem and bool(text) for stem, text in zip(stems, sizes, strict=True)])
    rows = np.flatnonzero(sought[codes])
    if not len(rows):
        return name_codes(np.zeros(len(codes), dtype=np.int8), [""])
    makers = {
        (int(of), match.group("op")): row
        for of, code, row in zip(process[rows], codes[rows], rows.tolist(), strict=True)
        if (match := matches[code]) and match.group("op")
    }
    taken: dict[_Op, dict[int, tuple[int, list[int]]]] = {}
    for key in np.unique(process << 32 | codes).tolist():
        code = key & 0xFFFFFFFF
        match = matches[code]
        if match and match.group("inputs") and sizes[code]:
            _note_inputs(taken, makers, key >> 32, match, sizes[code])
    texts = [""]
    code_of_row = np.zeros(len(codes), dtype=np.int64)
    for maker, outputs in taken.items():
        code_of_row[makers[maker]] = len(texts)
        texts.append(json.dumps([outputs.get(number, (0, []))[1] for number in range(_OUTPUTS)]))
    return name_codes(code_of_row, texts)


def _note_inputs(
    taken: dict[_Op, dict[int, tuple[int, list[int]]]],
    makers: dict[_Op, int],
    process: int,
    match: re.Match[str],
    sizes: str,
) -> None:
    """Note the sizes of arguments that a convolution made; of several ops that took one, those of the first."""
    inputs = _INPUT.findall(match.group("inputs"))
    places = [place for place, (op, _) in enumerate(inputs) if (process, op) in makers]
    arguments = json.loads(sizes) if places else []
    if len(arguments) != len(inputs):  # a list with a tensor that is none
        return
    taker = int(match.group("op") or 0)
    for place in places:
        op, output = inputs[place]
        outputs = taken.setdefault((process, op), {})
        number = int(output)
        if 0 <= number < _OUTPUTS and (number not in outputs or taker < outputs[number][0]):
            outputs[number] = taker, arguments[place]
