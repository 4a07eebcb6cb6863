"""What of an event and of a link is hashed: byte for byte, by a numbered recipe, so that anybody can compute it again.

An event is the text of a JSON array that Postgres writes (`jsonb`, UTF-8): the recipe's name, then every column in the order
below, times as microseconds since 1970 in UTC. A link is one line of text, with the digest of its event and the hash of the link
before.
"""

from hashlib import sha256

RECIPE = 1
NOTHING = bytes(32)  # in the place of a hash before the first link
# Recipes stay as they are: a link names the one it was made by. A new column means a new recipe beside the old ones.
COLUMNS: dict[int, tuple[str, ...]] = {
    1: (
        "id", "xact", "at", "organisation_id", "actor_id", "actor_name", "action", "object_type", "object_id", "reason", "facts",
        "origin",
    ),
}  # fmt: skip
_TIMES = frozenset({"at"})


def text_of_event(recipe: int, row: str = "e") -> str:
    """The SQL expression for the text of an event, of the row with this alias."""
    columns = (microseconds(f"{row}.{name}") if name in _TIMES else f"{row}.{name}" for name in COLUMNS[recipe])
    return f"jsonb_build_array('helicase-event-{recipe}', {', '.join(columns)})::text"


def text_by_recipe(link: str = "l", row: str = "e") -> str:
    """The same by the recipe that the link names; nothing where the recipe is unknown or there is no event."""
    cases = " ".join(f"WHEN {recipe} THEN {text_of_event(recipe, row)}" for recipe in COLUMNS)
    return f"CASE WHEN {row}.id IS NOT NULL THEN CASE {link}.recipe {cases} END END"


def microseconds(column: str) -> str:
    """The SQL expression for a time as whole microseconds since 1970, whatever zone the session is in."""
    return f"(extract(epoch FROM {column}) * 1000000)::bigint"


def digest_of_event(text: str) -> bytes:
    """SHA-256 of the text of an event, 32 bytes."""
    return sha256(text.encode()).digest()


def hash_of_link(seq: int, event: int, organisation: str, recipe: int, sealed: int, digest: bytes, before: bytes) -> bytes:
    """SHA-256 of a link, 32 bytes; `sealed` in microseconds, `before` the hash of the link before."""
    line = f"helicase-link-1|{seq}|{event}|{organisation}|{recipe}|{sealed}|{digest.hex()}|{before.hex()}"
    return sha256(line.encode()).digest()
