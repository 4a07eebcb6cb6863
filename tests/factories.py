"""Rows for tests, as plain functions. Orders are placed through the real service."""

import itertools
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from accounts import tokens
from accounts.models import Membership, Organisation, Provider, User
from accounts.roles import Role
from accounts.services import actor_for
from engine_queue.models import Item, ItemSet
from foundation import clock
from foundation.actor import Actor
from orders import services
from orders.intake import FastaReference
from orders.models import Intake, IntakeRecord, Order
from orders.requests import OrderRequest, PatientDetails, SpecimenDetails
from registry.files import fasta
from registry.models import Reference, TestVersion
from registry.services import offer_test, register_deployment, register_model, register_reference
from storage import services as storage

PASSWORD = "a long enough passphrase"
SLA = {"stat": [1, 15], "asap": [30, 120], "urgent": [120, 480], "routine": [720, 1440]}
BASES = "".join("ACGT"[(i * i + 3 * i + i // 7) % 4] for i in range(4000))
_numbers = itertools.count(1)


def make_organisation(name: str = "", *, is_laboratory: bool = False, time_zone: str = "UTC") -> Organisation:
    n = next(_numbers)
    name = name or f"{'Laboratory' if is_laboratory else 'Hospital'} {n}"
    return Organisation.objects.create(
        code=f"org-{n}",
        name=name,
        is_laboratory=is_laboratory,
        time_zone=time_zone,
        address=f"{n} Test Street\n00000 Testtown",
        clia_number=f"99D{n:07d}",
    )


def make_laboratory(name: str = "", **kwargs: Any) -> Organisation:
    return make_organisation(name, is_laboratory=True, **kwargs)


def make_user(*, role: Role | str, organisation: Organisation, name: str = "", email: str = "") -> User:
    n = next(_numbers)
    user = User.objects.create_user(email=email or f"person{n}@example.org", name=name or f"Person {n}", password=PASSWORD)
    if role == Role.SERVICE:
        User.objects.filter(pk=user.pk).update(responsible=make_user(role=Role.ADMINISTRATOR, organisation=organisation))
        user.refresh_from_db()
    Membership.objects.create(user=user, organisation=organisation, role=role, granted_at=clock.now())
    return user


def make_provider(organisation: Organisation, name: str = "", **values: Any) -> Provider:
    n = next(_numbers)
    named = {"name": name or f"Dr Provider {n}", "phone": f"+00 000 {n}", "created_at": clock.now(), **values}
    return Provider.objects.create(organisation=organisation, **named)


def by(role: Role | str = Role.MODEL_STEWARD, organisation: Organisation | None = None) -> tuple[str, str]:
    """The option of a command that names who decides: somebody new with this role."""
    return "--by", make_user(role=role, organisation=organisation or make_laboratory()).email


def make_actor(*, role: Role | str, organisation: Organisation) -> Actor:
    return actor_for(make_user(role=role, organisation=organisation))


def make_token(user: User, *scopes: str, **limits: Any) -> str:
    """The text of a token of this user, for everything he may do unless told otherwise."""
    wanted = scopes or tokens.scopes_for(user)
    return tokens.create(actor=Actor(id=user.pk, name=user.name), owner=user, name="made for a test", scopes=wanted, **limits)[1]


def make_reference(bases: str = BASES, *, contig: str = "contig1") -> Reference:
    """A registered FASTA in the test's data folder."""
    folder = Path(settings.DATA_DIR) / "references"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"reference{next(_numbers)}.fa"
    path.write_text(f">{contig}\n{bases}\n")
    digest = FastaReference(path).digest
    return register_reference(
        name=path.stem,
        description="made for a test",
        path=str(path),
        digest=digest,
        contigs=[{"name": contig, "length": len(bases), "aliases": []}],
    )


def make_test_version(
    *,
    laboratory: Organisation | None = None,
    reference: Reference | None = None,
    accepts: Sequence[str] = ("vcf",),
    window: int = 64,
    slots: int | None = None,
    deployment: str = "ecoli-orf-2k-fp32",
    **terms: Any,
) -> TestVersion:
    model = register_model(name="ecoli-orf-2k", version="1.0", folder="ecoli-orf-2k")
    pin = {"threads": 2} | ({"slots": slots} if slots else {})
    return offer_test(
        laboratory=laboratory or make_laboratory(),
        code=f"test-{next(_numbers)}",
        name="Isolate panel",
        accepts=accepts,
        reference=reference or make_reference(),
        deployment=register_deployment(name=deployment, model_version=model, precision="fp32", pin=pin),
        protocol={"kind": "centred", "window": window, "strand": "forward"},
        sla_minutes=SLA,
        limitations="Shows the system; knows no human sequence.",
        **terms,
    )


def make_ready_intake(
    *, test_version: TestVersion | None = None, organisation: Organisation | None = None, variants: int = 10
) -> Intake:
    """An intake as a finished check leaves it: single-nucleotide variants at successive positions of the reference."""
    test = test_version or make_test_version()
    hospital = organisation or test.definition.laboratory
    written = storage.write(chunks=[f"made for a test {next(_numbers)}".encode()], limit=10_000)
    stored = storage.record(written=written, organisation_id=hospital.pk, kind="upload", name="test.vcf")
    intake = Intake.objects.create(
        ordering_organisation=hospital,
        performing_laboratory_id=test.definition.laboratory_id,
        test_version=test,
        item_set=_item_set(test, variants),
        reference_digest=test.reference.digest,
        file=stored,
        filename="test.vcf",
        kind="vcf",
        records=variants,
        created_at=clock.now(),
    )
    IntakeRecord.objects.bulk_create(_record(intake, n, item) for n, item in enumerate(intake.item_set.items.order_by("ordinal")))
    return _ready(intake, variants)


def _item_set(test: TestVersion, variants: int) -> ItemSet:
    contig, reference = test.reference.contigs[0]["name"], FastaReference(fasta(test.reference))
    made = ItemSet.objects.create(
        organisation_id=test.definition.laboratory_id,
        kind="variant",
        reference=test.reference,
        count=variants,
    )
    rows = [_snv(reference, contig, 200 + n // 3, n % 3) for n in range(variants)]
    Item.objects.bulk_create(
        Item(item_set=made, ordinal=n, contig=contig, position=p, ref=r, alt=a) for n, (p, r, a) in enumerate(rows)
    )
    made.frozen_at = clock.now()
    made.save(update_fields=["frozen_at"])
    return made


def _record(intake: Intake, n: int, item: Item) -> IntakeRecord:
    same = {"contig": item.contig, "position": item.position, "ref": item.ref, "alt": item.alt}
    normalised = {"norm_position": item.position, "norm_ref": item.ref, "norm_alt": item.alt}
    return IntakeRecord(
        intake=intake,
        line=10 + n,
        alt_index=1,
        outcome="accepted",
        zygosity="unknown",
        filter="PASS",
        item=item,
        **same,
        **normalised,
    )


def make_request(intake: Intake, **changes: Any) -> OrderRequest:
    """A complete order on a ready intake."""
    n = next(_numbers)
    values: dict[str, Any] = {
        "intake_id": intake.pk,
        "ordering_organisation_id": intake.ordering_organisation_id,
        "patient": PatientDetails(
            mrn=f"MRN-{n}", family_name="Muster", given_name=f"Maria {n}", birth_date=date(1970, 1, 31), sex="female"
        ),
        "specimen": SpecimenDetails(
            identifier=f"S-{n}", type="isolate", source="blood culture", collected_at=clock.now() - timedelta(hours=2)
        ),
        "priority": "routine",
        "indication": "follow-up",
    }
    return OrderRequest(**{**values, **changes})


def make_order(*, intake: Intake | None = None, actor: Actor | None = None, variants: int = 10, **changes: Any) -> Order:
    """An order placed through the service, STAT with a reason unless told otherwise."""
    intake = intake or make_ready_intake(variants=variants)
    actor = actor or make_actor(role=Role.ACCESSIONER, organisation=intake.ordering_organisation)
    if changes.get("priority") == "stat":
        changes.setdefault("stat_reason", "suspected sepsis")
    return services.place(actor=actor, request=make_request(intake, **changes))


def _snv(reference: FastaReference, contig: str, position: int, n: int) -> tuple[int, str, str]:
    base = reference.fetch(contig, position - 1, position)
    return position, base, [b for b in "ACGT" if b != base][n]


def _ready(intake: Intake, accepted: int) -> Intake:
    with transaction.atomic():
        for state in ("checking", "ready"):
            intake.state = state
            intake.save(update_fields=["state"])
        intake.counts = {"accepted": accepted}
        intake.checked_at = clock.now()
        intake.save(update_fields=["counts", "checked_at"])
    return intake
