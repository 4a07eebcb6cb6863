"""Whom the sequences of a question are named like: patients, specimens and orders that the laboratory knows."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Upper

from orders.models import Order, PatientIdentifier
from questions.text import Asked, Reading

SHORTEST_PART = 3  # characters: the 1 of “seq_1” is nobody's number
_APART = re.compile(r"[^\w\-./·]|_")  # what no record number holds


def named(laboratory_id: UUID, found: Reading) -> dict[Asked, set[UUID]]:
    """The sequences that are named like somebody, and which patients those are; in either case of letters, by a part as well."""
    parts = {one: _parts(one.name) for one in found.sequences}
    known: dict[str, set[UUID]] = defaultdict(set)
    for value, patient_id in _known(laboratory_id, sorted(set[str]().union(*parts.values()))):
        known[value].add(patient_id)
    whom = {one: set[UUID]().union(*(known.get(part, ()) for part in said)) for one, said in parts.items()}
    return {one: patients for one, patients in whom.items() if patients}


def _parts(name: str) -> set[str]:
    """The name and its parts, in capital letters."""
    upper = name.upper()
    parts = (part.strip("-./·") for part in _APART.split(upper))
    return {upper, *(part for part in parts if len(part) >= SHORTEST_PART)}


def _known(laboratory_id: UUID, said: Collection[str]) -> Iterable[tuple[str, UUID]]:
    """Of these words those that are a number here, in capital letters, each with its patient: four queries, however many words."""
    if not said:
        return
    orders = Order.objects.filter(performing_laboratory_id=laboratory_id)
    ours = Q(organisation_id=laboratory_id) | Exists(orders.filter(patient_id=OuterRef("patient_id")))
    yield from _pairs(PatientIdentifier.objects.filter(ours), "value", said)
    yield from _pairs(orders, "stated_mrn", said)
    yield from _pairs(orders, "specimen__identifier", said)
    yield from orders.filter(accession__in=said).values_list("accession", "patient_id")


def _pairs(rows: QuerySet[Any], column: str, said: Collection[str]) -> Iterable[tuple[str, UUID]]:
    """An index of each column in capital letters serves this."""
    found: Iterable[tuple[str, UUID]] = (
        rows.annotate(word=Upper(column)).filter(word__in=said).values_list("word", "patient_id").distinct()
    )
    return found
