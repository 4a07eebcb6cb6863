"""The second order of the demonstration: what one person carries at the end of APP, beside the common variants of that region."""

from datetime import date
from pathlib import Path

from django.conf import settings

from accounts.models import Organisation
from config import demo
from orders.models import Order
from orders.requests import PatientDetails
from registry import frequencies
from registry.models import TestVersion
from registry.registering import UNATTENDED
from reports import backgrounds
from reports.models import Background

COMMON = "dbSNP 149, common changes of the slice"
SOURCE = "dbSNP 149, frequency of the rarer allele in the 1000 Genomes"
NA12878 = demo.Case(
    PatientDetails(mrn="88-1205", family_name="Ceph", given_name="Utah", birth_date=date(1951, 6, 2), sex="female"),
    "NA12878", "Blood", "A public genome: Platinum Genomes", "Demonstration: changes beside the common ones of the region",
    sample="NA12878",
)  # fmt: skip


def seed() -> tuple[Order, Background]:
    """Make what is missing. The engine scores the order first, and the common variants when no order waits."""
    test = TestVersion.objects.select_related("reference", "deployment", "definition__laboratory").get(
        definition__code="app-region", definition__laboratory__code="demo-laboratory", offered=True
    )
    placed = demo.order(test, Organisation.objects.get(code="demo-hospital"), "2", "app/NA12878.vcf", NA12878)
    vcf = Path(settings.BASE_DIR) / "demo" / "app" / "common.vcf"
    common, _ = frequencies.admit(vcf, name=COMMON, reference=test.reference, minimum=0.01, said=SOURCE)
    return placed, backgrounds.ask(test=test, frequencies=common, actor=UNATTENDED)[0]
