"""Values and texts that a reader of recordings may trip over."""

from random import Random

MARKUP = "<fuzz-tag onerror=alert(1)>"  # what no page and no Markdown may hold as a tag
NUMBERS = (0, 1, -1, 2, 255, 256, -(2**31), 2**31 - 1, 2**31, 2**32, 2**53 + 1, 10**18, 2**62, 2**63 - 1, -(2**63))
REALS = (0.5, -1.5, 1e15, 1e308, float("inf"), float("-inf"))
NUMERALS = (
    "",
    "NaN",
    "Infinity",
    "12",
    " 12",
    "1e999",
    "0x10",
    "1_000",
    "²",
    "٣",
    "-5",
    "99999999999999999999",
    "true",
)
BLOBS = (b"", b"\0", b"12", b"\xff\xfe\0\x01", b"\x80" * 300)
TEXTS = (
    MARKUP,
    f"</script>{MARKUP}",
    f"\" {MARKUP} ' ` | # * _ [a](javascript:alert(1)) {{{{ 7 * 7 }}}}",
    "\x1b[2J\x1b]0;title\x07red\x1b[31m",
    "one\ntwo\r\nthree\rfour\tfive",
    "zero\0after",
    "right\u202eto left\u2066 \u200b \ufeff \u2028 \u2029 \x85 \x9b31m",
    "=cmd|' /C calc'!A0",
    "%{y} $x^2$ %s %d {0} {name}",
    " / a / / b / ",
    "../../etc/passwd",
    "\ud7ff\ue000\uffff\U0010ffff 🤷🏽‍♀️ e\u0301 ﷽",
    "n" * 300,
    "word " * 20_000,
)
BROKEN = (b"\xff\xfe\xfd", b"caf\xe9", b"\xed\xa0\x80 surrogate", b"\xf4\x90\x80\x80", b"\xc0\x80", b"cut \xe2\x82")
TYPES = (
    *("", "BLOB", "TEXT", "REAL", "NUMERIC", "DATETIME", "DATE", "TIME", "TIMESTAMP", "BOOLEAN", "JSON"),
    *("DECIMAL(10,2)", "VARCHAR(3)", "CHAR", "CLOB", "FLOAT", "INT", "UNSIGNED BIG INT", "ANY", "UUID"),
    "no such type",
)


def any_value(random: Random) -> object:
    return random.choice(
        (None, *random.choices(NUMBERS, k=4), random.choice(REALS), any_text(random), any_blob(random))
    )


def any_number(random: Random) -> int | float | None:
    """A number, a real one or NULL, a time near the end of 64 bits perhaps."""
    near = random.choice((2**63 - 1, -(2**63), 2**62, 0)) // 2 + random.randint(-(10**6), 10**6)
    return random.choice((*NUMBERS, *REALS, near, None))


def any_text(random: Random) -> str:
    """A text: a numeral, or one that is hostile."""
    return random.choice(NUMERALS if random.random() < 0.4 else TEXTS)


def any_blob(random: Random) -> bytes:
    return random.choice((*BLOBS, random.randbytes(random.randint(1, 64))))


def in_words(value: object) -> str:
    """A value as a failure's report names it."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:30]}… ({len(text)} characters)"
