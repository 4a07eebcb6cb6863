"""The demonstration laboratory: people, tests on real sequences, and an order. Only where DEMO=1.

Everything here can be made again on top of itself: a second run adds nothing.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from django.conf import settings
from django.db import transaction

from accounts.models import Membership, Organisation, User
from accounts.roles import Role
from accounts.services import actor_for
from config.bundled import bundled_deployment
from config.checks import DEMO_DOMAIN
from foundation import clock
from orders import checking, services, uploads
from orders.intake import FastaReference
from orders.models import Intake, Order
from orders.requests import OrderRequest, PatientDetails, SpecimenDetails
from registry import annotation_admission, files
from registry import services as registry
from registry.models import Annotation, Deployment, Reference, TestVersion

SLA = {"stat": [1, 15], "asap": [30, 120], "urgent": [120, 480], "routine": [720, 1440]}
SIGNATURES = {"stat": 1, "asap": 1, "urgent": 2, "routine": 2}
CENTRED = {"kind": "centred", "window": 512, "strand": "forward"}
NOT_HUMAN = (
    "The bundled model was trained on E. coli reading frames and knows nothing of human sequence: figures show the system only."
)
ECOLI = "The bundled model knows where E. coli genes must not stop. It has no skill for missense effects."
MITOCHONDRION = ["M", "chrM", "NC_012920.1", "NC_012920"]
PLACER = "demonstration"


@dataclass(frozen=True)
class Person:
    """A demo person: each role of the laboratory, a second reviewer (where two sign, no author does), and two at the hospital."""

    mailbox: str
    name: str
    role: Role
    at_hospital: bool = False

    @property
    def email(self) -> str:
        """The address to log in with."""
        return f"{self.mailbox}@{DEMO_DOMAIN}"


PEOPLE = [
    Person("requester", "Dr Rita Ordering", Role.REQUESTER, at_hospital=True),
    Person("hospital", "Hana Hospital", Role.ADMINISTRATOR, at_hospital=True),
    Person("accessioner", "Amal Accession", Role.ACCESSIONER),
    Person("analyst", "Anna Analyst", Role.ANALYST),
    Person("reviewer", "Dr Robin Review", Role.REVIEWER),
    Person("second-reviewer", "Dr Noor Second", Role.REVIEWER),
    Person("director", "Dr Dana Director", Role.DIRECTOR),
    Person("steward", "Sam Steward", Role.MODEL_STEWARD),
    Person("auditor", "Audrey Audit", Role.AUDITOR),
    Person("operator", "Olu Operator", Role.OPERATOR),
    Person("administrator", "Ada Administrator", Role.ADMINISTRATOR),
]


def seed() -> dict[str, str]:
    """Make what is missing. Returns the new people's passwords by address; they are kept nowhere in plain."""
    with transaction.atomic():
        laboratory, hospital = _organisations()
        passwords = dict(_people(laboratory, hospital))
        tests = _tests(laboratory)
    order(tests["isolate-panel"], hospital, "1", "ecoli/lexA_96.vcf", LEXA)
    return passwords


def new_passwords() -> dict[str, str]:
    """Give every demo person a new password; returns them by address."""
    passwords: dict[str, str] = {}
    for user in User.objects.filter(email__endswith=f"@{DEMO_DOMAIN}", is_active=True).order_by("email"):
        passwords[user.email] = _password()
        user.set_password(passwords[user.email])
        user.save(update_fields=["password"])
    return passwords


def _password() -> str:
    """About 95 bits, in groups that can be read out and typed."""
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    return "-".join("".join(secrets.choice(letters) for _ in range(5)) for _ in range(4))


def _organisations() -> tuple[Organisation, Organisation]:
    laboratory, _ = Organisation.objects.get_or_create(
        code="demo-laboratory",
        defaults={
            "name": "Demo Laboratory",
            "address": "1 Helix Road\nDemotown",
            "phone": "+00 000 1000",
            "clia_number": "00D0000000",
            "is_laboratory": True,
            "time_zone": "Europe/Berlin",
        },
    )
    hospital, _ = Organisation.objects.get_or_create(
        code="demo-hospital",
        defaults={
            "name": "Demo Hospital",
            "address": "2 Ward Street\nDemotown",
            "phone": "+00 000 2000",
            "time_zone": "Europe/Berlin",
        },
    )
    return laboratory, hospital


def _people(laboratory: Organisation, hospital: Organisation) -> Iterator[tuple[str, str]]:
    for person in PEOPLE:
        if User.objects.filter(email=person.email).exists():
            continue
        password = _password()
        user = User.objects.create_user(email=person.email, name=person.name, password=password)
        organisation = hospital if person.at_hospital else laboratory
        Membership.objects.create(user=user, organisation=organisation, role=person.role, granted_at=clock.now())
        yield person.email, password


def _tests(laboratory: Organisation) -> dict[str, TestVersion]:
    deployment = bundled_deployment()
    ecoli = _reference("E. coli 536, 60 kb around lexA", "ecoli/ecoli536_lexA", "NC_008253.1, positions 4,450,001–4,510,000", [])
    rcrs = _reference("rCRS", "rcrs/rcrs", "Human mitochondrion, NC_012920.1", MITOCHONDRION)
    app = _reference("GRCh38 chr21, 100 kb of APP", "app/app", "chr21, positions 25,880,001–25,980,000", [])
    lexa, mitochondrial = (_annotation(reference) for reference in (ecoli, rcrs))
    offers = [
        ("isolate-panel", "Isolate panel, lexA region", ["vcf"], ecoli, lexa, ECOLI),
        ("mitochondrial", "Mitochondrial genome", ["vcf"], rcrs, mitochondrial, NOT_HUMAN),
        ("app-region", "APP region", ["vcf"], app, None, NOT_HUMAN),
        ("sequences", "Sequence likelihood (FASTA, FASTQ)", ["fasta", "fastq"], ecoli, None, ECOLI),
    ]
    return {
        code: _offer(laboratory, deployment, code, name, kinds, reference, annotation, said)
        for code, name, kinds, reference, annotation, said in offers
    }


def _offer(
    laboratory: Organisation,
    deployment: Deployment,
    code: str,
    name: str,
    accepts: list[str],
    reference: Reference,
    annotation: Annotation | None,
    limitations: str,
) -> TestVersion:
    return registry.offer_test(
        laboratory=laboratory,
        code=code,
        name=name,
        accepts=accepts,
        reference=reference,
        annotation=annotation,
        deployment=deployment,
        protocol=CENTRED,
        sla_minutes=SLA,
        signatures=SIGNATURES,
        limitations=limitations,
    )


def _reference(name: str, stem: str, description: str, aliases: list[str]) -> Reference:
    fasta = Path("demo") / f"{stem}.fa"
    opened = FastaReference(Path(settings.BASE_DIR) / fasta)
    contigs = [{"name": contig.name, "length": contig.length, "aliases": aliases} for contig in opened.contigs.values()]
    return registry.register_reference(
        name=name,
        description=description,
        path=fasta.as_posix(),
        digest=opened.digest,
        contigs=contigs,
        annotation_path=f"demo/{stem}.genes.tsv",
    )


def _annotation(reference: Reference) -> Annotation:
    """The genes beside a reference's sequence, which the cut has proven to be open reading frames."""
    source = files.fasta(reference).with_suffix(".gff3")
    made, _ = annotation_admission.admit(source, name=f"{reference.name}, genes", reference=reference)
    return made


@dataclass(frozen=True)
class Case:
    """Whose specimen an order is of, and why it was ordered."""

    patient: PatientDetails
    identifier: str
    type: str
    source: str
    indication: str
    sample: str = ""


LEXA = Case(
    PatientDetails(mrn="88-1204", family_name="Muster", given_name="Maria", birth_date=date(1958, 3, 14), sex="female"),
    "BC-2207", "Bacterial isolate", "Blood culture", "Demonstration: every sixth change of lexA",
)  # fmt: skip


def order(test: TestVersion, hospital: Organisation, number: str, file: str, case: Case) -> Order:
    """A routine order under a number of the demonstration, placed by the requester as the form would place it; once."""
    placed: Order | None = Order.objects.filter(placer_system=PLACER, placer_number=number).first()
    if placed is not None:
        return placed
    actor = actor_for(User.objects.get(email=PEOPLE[0].email))
    vcf = Path(settings.BASE_DIR) / "demo" / file
    intake = uploads.start_intake(
        actor=actor, test_version=test, ordering_organisation_id=hospital.pk, chunks=[vcf.read_bytes()], filename=vcf.name,
        sample=case.sample,
    )  # fmt: skip
    checking.check_intake(intake.pk)
    return services.place(actor=actor, request=_request(Intake.objects.get(pk=intake.pk), number, case))


def _request(intake: Intake, number: str, case: Case) -> OrderRequest:
    collected = clock.now() - timedelta(hours=3)
    return OrderRequest(
        intake_id=intake.pk,
        ordering_organisation_id=intake.ordering_organisation_id,
        patient=case.patient,
        specimen=SpecimenDetails(identifier=case.identifier, type=case.type, source=case.source, collected_at=collected),
        priority="routine",
        indication=case.indication,
        placer_system=PLACER,
        placer_number=number,
    )
