"""An order with everything on it that an order can have, ended; and what a database holds before and after a deletion."""

import re
from collections import Counter
from datetime import timedelta
from typing import Any

from django.db import connection

from accounts.models import User
from accounts.roles import Role
from accounts.services import actor_for
from casefile import attachments, comments
from casefile.models import Draft
from engine_queue.cutting import cut
from engine_queue.models import Result, Run
from foundation import clock
from interop.models import FhirOrder
from notices.models import Delivery
from orders import models as orders
from orders.downtimes.rows import LateEntry
from orders.models import Manifest, ManifestRow, Order
from outbox import services as outbox
from registry.models import TestVersion
from reports import critical, delivering, reviewing, tracks, wrong_patient
from reports.models import CriticalLevel, DeliveryNote, ReportDelivery, ReportVersion
from storage import services as storage
from tests.factories import make_user
from tests.forging import forge, forging
from tests.oversight.aging import LONG_AGO
from tests.reports import cases, signers

PDF = b"%PDF-1.7\n1 0 obj\n"  # the same bytes in every laboratory
Rows = dict[str, Counter[str]]
_TABLES = """
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'oversight_erasure' ORDER BY 1
"""
_ROWS = 'SELECT row_to_json(t)::text FROM "{}" t'
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def rows() -> Rows:
    """Every row of every table, as text."""
    found: Rows = {}
    with connection.cursor() as cursor:
        cursor.execute(_TABLES)
        for (table,) in cursor.fetchall():
            cursor.execute(_ROWS.format(table))
            found[table] = Counter(row for (row,) in cursor.fetchall())
    return found


def less(first: Rows, second: Rows) -> Rows:
    """What the first has and the second has not."""
    return {table: rest for table in first if (rest := first[table] - second[table])}


def keys(gone: Rows) -> set[str]:
    """The UUIDs by which rows of these were known."""
    said = (row for table in gone.values() for row in table)
    return {found for row in said if (first := re.search(r'"id":"([^"]*)"', row)) and _UUID.fullmatch(found := first[1])}


def whole_order() -> Order:
    """A STAT order of a hospital: scored twice, reported three times, called, told, and declared entered in error."""
    order = signers.scored(signers=2, use="clinical", priority="stat", stat_reason="sepsis")
    lab = signers.laboratory_of(order)
    requester = make_user(role=Role.REQUESTER, organisation=order.ordering_organisation, name="Rita Requester")
    forge(order, placed_by=requester)
    signers.validate(TestVersion.objects.get(pk=order.test_version_id), lab)
    _beside(order, lab)
    _preliminary(cases.read(order), lab, requester)
    reviewing.send_back(order=order, actor=lab.actor(Role.REVIEWER), seen=signers.seen(order, lab).pk, note="once more")
    _score(cases.newest_run(order))
    forge(order, state="awaiting_review", scored_at=clock.now(), items_done=order.items_total)
    order = cases.read(order)
    signers.interpret(order, lab)
    signers.issued(order, lab)
    version = signers.corrected(order, lab)
    for who in (lab.actor(Role.REVIEWER, "who signs"), lab.actor(Role.DIRECTOR)):
        version = signers.sign(version, who)
    wrong_patient.declare(order=order, words="mixed up", actor=lab.actor(Role.DIRECTOR), expected_edits=cases.read(order).edits)
    outbox.dispatch()
    with forging():
        _records(order, lab, requester)
    return cases.read(order)


def over(order: Order) -> Order:
    """As if all of it had happened so long ago, and everybody had answered what he was told."""
    then = clock.now() - LONG_AGO
    with forging():
        Order.objects.filter(pk=order.pk).update(placed_at=then, accepted_at=then, ended_at=then)
        ReportVersion.objects.filter(order=order, released_at__isnull=False).update(released_at=then)
        by = order.placed_by_id
        answered = {"opened_at": then, "opened_by": by, "acknowledged_at": then, "acknowledged_by": by}
        ReportDelivery.objects.filter(order=order).update(state="acknowledged", sent_at=then, **answered)
        Delivery.objects.filter(notice__order_id=order.pk).update(state="sent")
    return cases.read(order)


def _beside(order: Order, lab: signers.Laboratory) -> None:
    """Comments, files, a variant base by base, and a call with a critical result."""
    analyst = lab.actor(Role.ANALYST)
    first = comments.add(actor=analyst, order=order, text="a word", internal=True)
    comments.add(actor=analyst, order=order, text="another word", internal=True, corrects=first)
    for content in (PDF, PDF + b"2"):
        laid = attachments.attach(actor=analyst, order=order, name="x.pdf", kind="requisition", chunks=lambda: [content])  # noqa: B023 -- used at once
    attachments.withdraw(actor=analyst, attachment=laid, reason="not hers")
    _score(tracks.ask(actor=lab.actor(Role.REVIEWER), order=order, ordinal=0).run)
    marked = critical.mark(order=order, actor=lab.actor(Role.REVIEWER), reason="Truncates the protein.", ordinal=0)
    said = {"whom": "Dr Called", "number": "+49 1", "called_at": clock.now()}
    critical.call(critical=marked, actor=analyst, outcome="not_reached", read_back="", **said)
    CriticalLevel.objects.create(organisation_id=marked.organisation_id, critical=marked, level=50, at=clock.now())
    critical.call(critical=marked, actor=analyst, outcome="read_back", read_back="result 1", **said)


def _preliminary(order: Order, lab: signers.Laboratory, requester: User) -> None:
    """A preliminary report that its requester reads; a delivery of it was sent again."""
    reviewer = lab.actor(Role.REVIEWER)
    made = reviewing.preliminary(order=order, actor=reviewer, seen=signers.seen(order, lab).pk)
    version = signers.sign(made, reviewer)
    outbox.dispatch()
    one = ReportDelivery.objects.filter(report_version=version).first()
    assert one is not None
    delivering.opened(actor=actor_for(requester), version=version)
    DeliveryNote.objects.create(organisation_id=one.organisation_id, delivery=one, kind="again", by=requester, at=clock.now())


def _score(run: Run) -> None:
    """A run with a result for every item."""
    if not run.jobs.exists():
        cut(run, run.items_total)
    items = {item.ordinal: item for item in run.item_set.items.all()}
    Run.objects.filter(pk=run.pk).update(state="running")
    for job in run.jobs.all():
        Result.objects.bulk_create(cases._result(run, job, items[n], -1.0) for n in range(job.first, job.last + 1))
    Run.objects.filter(pk=run.pk).update(state="scored", scored_at=clock.now(), items_done=run.items_total)


def _records(order: Order, lab: signers.Laboratory, requester: User) -> None:
    """Rows as other services leave them: of clocks, people, a downtime, a manifest, a request by FHIR, a draft."""
    now, director, other = clock.now(), lab.user(Role.DIRECTOR), lab.user(Role.ANALYST)
    own: dict[str, Any] = {"order": order, "organisation_id": order.performing_laboratory_id}
    parties = {
        "ordering_organisation_id": order.ordering_organisation_id, "performing_laboratory_id": order.performing_laboratory_id,
    }  # fmt: skip
    orders.Hold.objects.create(**own, reason="hold.input", since=now, until=now)
    orders.HoldRequest.objects.create(
        **own, reason="hold.input", asked_by=director, asked_at=now, expires_at=now, state="confirmed", answered_by=other
    )
    orders.Demotion.objects.create(**own, requester=requester, by=director, before="stat", after="asap", words="well", at=now)
    orders.Escalation.objects.create(**own, promise=1, clock="result", level=50, due=now, at=now)
    orders.DelayNotice.objects.create(**own, told="Dr Ordering", means="phone", told_at=now, by=director, recorded_at=now)
    orders.IdentityCheck.objects.create(
        **parties, order=order, known=order.patient, state="settled", opened_at=now, words="he is", decided_by=director,
    )  # fmt: skip
    orders.SpecimenCorrection.objects.create(
        **own, specimen=order.specimen, version=1, what="reception", words="another tube", by=director, at=now
    )
    Draft.objects.create(
        organisation_id=order.ordering_organisation_id, owner=requester, intake=order.intake, state="placed", order=order,
        created_at=now, saved_at=now, expires_at=now, ended_at=now,
    )  # fmt: skip
    orders.IntakeCheckpoint.objects.create(
        intake=order.intake, organisation_id=order.performing_laboratory_id, state=b"x", staged={}, at=now
    )
    FhirOrder.objects.create(
        **parties, placer_system="s", placer_number="1", content_hash="0" * 64, priority="stat", rank=0, request={}, said={},
        intake=order.intake, order=order, state="placed", sender=requester, asked_at=now, changed_at=now,
    )  # fmt: skip
    _downtime(order, own, director)
    _manifest(order, requester)


def _downtime(order: Order, own: dict[str, Any], director: User) -> None:
    now = clock.now()
    began = now - timedelta(hours=2)
    downtime = orders.Downtime.objects.create(
        organisation_id=order.performing_laboratory_id, number=1, what="everything", words="moved", began_at=began, ended_at=now,
        entries_until=now, state="closed", opened_by=director, opened_at=now, closed_by=director, closed_at=now,
        closing_words="done",
    )  # fmt: skip
    LateEntry.objects.create(
        **own, downtime=downtime, requested_at=began, taken_by_name="Pat", reason="login", entered_by=director, entered_at=now
    )
    orders.DowntimeLine.objects.create(**own, downtime=downtime, kind="entered_late", key="1", added_at=now)
    orders.DowntimeLine.objects.create(
        organisation_id=order.performing_laboratory_id, downtime=downtime, kind="number_twice", key="2", other=order, added_at=now
    )


def _manifest(order: Order, requester: User) -> None:
    now = clock.now()
    written = storage.write(chunks=[b"a table", order.pk.bytes], limit=10_000)
    stored = storage.record(written=written, organisation_id=order.ordering_organisation_id, kind="manifest", name="x.csv")
    manifest = Manifest.objects.create(
        ordering_organisation_id=order.ordering_organisation_id, file=stored, filename="x.csv", zone="UTC", state="placed", total=2,
        created_by=requester, created_at=now, ended_at=now,
    )  # fmt: skip
    said = {"organisation_id": order.ordering_organisation_id, "manifest": manifest, "cells": {"mrn": order.stated_mrn}, "rank": 0}
    ManifestRow.objects.create(**said, number=2, state="placed", intake=order.intake, order=order, file=order.intake.file)
    ManifestRow.objects.create(**said, number=3, state="invalid")
