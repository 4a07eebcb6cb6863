"""What a person writes as a reason: one line of printable text that fits, or a refusal in words. Nothing is cut off silently."""

from foundation.printable import printable
from orders.errors import InvalidOrder

SHORT, LONG = 300, 500  # characters, as the columns hold


def remark(text: str, *, field: str, most: int = SHORT, missing: str = "") -> str:
    """The text without line ends and control characters. Raises `InvalidOrder` on `field` where it is too long, or missing and that
    may not be (`missing` says what to do).
    """
    plain = " ".join(printable(text).split())
    if missing and not plain:
        raise InvalidOrder({field: [missing]})
    if len(plain) > most:
        raise InvalidOrder({field: [f"The reason has {len(plain):,} characters; at most {most} fit. Say it in fewer words."]})
    return plain
