"""Who acts: a person or a process, with what they may do where. Built by `accounts`, understood by every part."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True)
class Opened:
    """What a person has open by break-glass: the reports that one laboratory made for one patient, and nothing else."""

    grant: UUID
    patient: UUID
    laboratory: UUID
    until: datetime


@dataclass(frozen=True)
class Actor:
    """An acting person or process; `grants` maps a verb to the organisations in which it is allowed."""

    id: UUID | None  # None: a process of ours, named below
    name: str  # printed name, kept with every event
    grants: Mapping[str, frozenset[UUID]] = field(default_factory=dict)
    token: str = ""  # id of the API token that acts in his name; it stands in every event
    origin: str = ""  # from where he acts: "page, 192.0.2.7"; kept with every event
    opened: Opened | None = None  # by break-glass; of a person at his pages alone

    def organisations(self, verb: str) -> frozenset[UUID]:
        """The organisations in which this actor may do `verb`."""
        return self.grants.get(verb, frozenset())

    def may(self, verb: str, *organisations: UUID) -> bool:
        """Whether `verb` is allowed in any of the given organisations."""
        return not self.organisations(verb).isdisjoint(organisations)


NOBODY = UUID(int=0)  # in the place of an organisation, where a deed belongs to none


def process(name: str) -> Actor:
    """The actor for one of our own processes (worker, sweeper, seed)."""
    return Actor(id=None, name=name)
