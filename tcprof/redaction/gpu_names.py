"""Tell which texts can be the name of a GPU, by how vendors and drivers form these: no secret fits in one."""

import re

_LONGEST = 100
# Words of vendors, families and editions. Boards that are not out yet have them, too, with numbers of their own.
_WORD = re.compile(
    "(?i)ac|active|ada|agx|amd|ampere|black|blackwell|boost|ceo|clara|cloud|cmp|collectors|compute|confidential|cooled"
    "|cpx|cx|data|dc|dd|design|device|dgx|dgxs|display|drive|duo|edition|embedded|fhhl|founders|fx|gaming|ge|geforce"
    "|generation|generic|gpu|grace|graphics|green|grid|gs|gt|gts|gtx|hash|hgx|hopper|igx|instinct|jetson|kepler|laptop"
    "|lc|le|lhr|liquid|lite|ls|ltd|max|maxq|maxwell|mi|mig|mobile|mxm|nano|nvidia|nvs|nx|oam|oem|orin|pascal|passive"
    "|pg|plus|pro|prod|quadro|radeon|rate|refresh|rev|rtx|rubin|rx|se|server|sff|sku|spark|station|super|superchip"
    "|tegra|tesla|thor|ti|titan|turbo|turing|ultra|vega|vera|vgpu|vii|volta|workstation|xavier|xm|xp|xt|xtx"
)
_IN_SMALL_LETTERS = ("with", "nvgpu")  # any other word of small letters is no vendor's: "dgx" may be a host
# Letters before the number of a model, and behind it: A100, GB200, PG509, RTXA6000, V100DX, K20Xm, 170HX
_SERIES = "AD?|AX|B|C|D|G[ABFHKMPRTV]|GTX?|H|K|L|M[IX]?|N|P[GH]?|R|RTXA?|S|TU?|VR?|W|X"
_SUFFIX = "[A-Z]{0,2}|[A-Z]?[acemt]|Ti"
# What a part of a name can be besides a word, and how often: a secret does not fit in what is left.
_PARTS = (
    (re.compile(rf"(?:{_SERIES})[1-9]\d{{0,3}}(?:{_SUFFIX})"), 2),
    (re.compile(rf"[1-9]\d{{2,3}}(?:{_SUFFIX})|[2-9]\dHX"), 1),
    (re.compile(r"\d{1,3}(?:GB|G|GiB)"), 1),  # memory
    (re.compile(r"(?:HBM|GDDR|LPDDR)\d?[eXx]?|3e"), 1),
    (re.compile(r"SXM\d?|PCI[Ee]?\d?|NVL\d{0,3}"), 2),
    (re.compile(r"[A-Z]|v\d"), 2),  # TITAN X, Max-Q, RTX 5090 D v2
)
_MIG = r"(?: MIG)? (?:\dc\.)?\dg\.\d{1,3}gb(?:[.+-](?:me|gfx|all))*"
_VGPU = r"-(?:\d-)?\d{1,3}[ABCQ](?:ME|GFX)?"
_NAME = re.compile(rf"(.*?)(?:{_VGPU})?(?:{_MIG})?")
_SEPARATOR = re.compile(r"(?: ?[-/] ?| )\(?|\)(?= |$)|^\(")


def is_gpu_name(text: str) -> bool:
    """Tell whether NVIDIA or AMD could have named a GPU, an instance of one, or its chip so."""
    match = _NAME.fullmatch(text) if len(text) <= _LONGEST and text.isascii() else None
    if match is None:
        return False
    parts = [part for part in _SEPARATOR.split(match[1]) if part and not _is_word(part)]
    kinds = [next((place for place, (form, _) in enumerate(_PARTS) if form.fullmatch(part)), -1) for part in parts]
    return -1 not in kinds and all(kinds.count(place) <= most for place, (_, most) in enumerate(_PARTS))


def _is_word(part: str) -> bool:
    return part in _IN_SMALL_LETTERS or (not part.islower() and _WORD.fullmatch(part) is not None)
