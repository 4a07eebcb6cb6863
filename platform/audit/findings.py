"""What a check of the chain can find, in words: what, where, when."""

from dataclasses import dataclass

WORDS = {
    "event.changed": "Event {event} is not what was sealed: a column of it was changed.",
    "event.missing": "Event {event} was sealed and is gone.",
    "event.inserted": "{number} event(s) were put in after later ones were sealed; the first is event {event}.",
    "link.missing": "{number} link(s) are gone from the chain.",
    "link.broken": "Link {seq} does not follow from the one before: a link was changed, moved or put in.",
    "link.recipe": "Link {seq} names a recipe that this version does not know.",
    "chain.short": "The chain ends with link {seq}, and {number} later link(s) were anchored.",
    "anchor.differs": "Link {seq} is not the one that was anchored: links up to it were written anew.",
    "anchor.none": "There are no anchors: the folder or its files are gone.",
    "anchor.start": "The anchors do not begin with the empty chain: earlier ones are gone.",
    "anchor.line": "An anchor is no line that the sealer wrote.",
    "anchor.order": "An anchor does not follow from the one before: lines or files are gone, or were changed.",
    "anchor.back": "The chain was shorter than at the anchor before: it was cut, or the database was restored from a backup.",
    "anchor.signature": "An anchor is not signed with a key of this installation.",
    "anchor.mark": "An anchor that was written or checked earlier is gone.",
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it was."""

    code: str
    where: str  # "link 57, event 60" or "2026-12-01.anchors, line 3"
    when: str  # as far as it is known: of the link or the anchor
    words: str

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        return f"{self.words} ({', '.join(part for part in (self.where, self.when) if part)})"


def finding(code: str, where: str = "", when: str = "", **said: object) -> Finding:
    """What was found, in the words of its code."""
    return Finding(code, where, when, WORDS[code].format(**said))
