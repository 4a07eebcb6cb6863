"""The part of the review page that tells one variant base by base: which one, how far it is, its pictures with their tables."""

from dataclasses import dataclass

from dashboard.wording import flag
from foundation.actor import Actor
from orders.models import Order
from reports import track_picture, tracks
from reports.locus import TELEPHONE
from reports.result_table import Table


@dataclass(frozen=True)
class Drawn:
    """One strand."""

    picture: str
    small_picture: str
    table: Table


def part(actor: Actor, order: Order, asked: str) -> dict[str, object]:
    """What the part shows; nothing where no variant was chosen. Raises `NotFound` for one that is none."""
    if not asked.isdecimal() or len(asked) > 9:
        return {"track": None}
    shown = tracks.shown(actor=actor, order=order, ordinal=int(asked))
    drawn = [
        Drawn(track_picture.picture(one), track_picture.picture(one, TELEPHONE), track_picture.table(one)) for one in shown.strands
    ]
    return {
        "track": shown, "track_ordinal": int(asked), "track_drawn": drawn, "track_may": tracks.drawable(shown.result),
        "track_stuck": flag(shown.stuck) if shown.stuck else "",
    }  # fmt: skip
