"""A requester at the order form, and the files he brings."""

import re
from uuid import UUID

from django.urls import reverse

from orders import checking
from orders.models import Intake
from tests.dashboard.people import Ward, read
from tests.factories import BASES

HEAD = "##fileformat=VCFv4.2\n##contig=<ID=contig1,length=4000>\n"
TYPED = {
    "mrn": "88·1204", "family_name": "Okafor", "given_name": "Ngozi", "birth_date": "1961-03-14", "sex": "female",
    "specimen_identifier": "S-7", "specimen_type": "Isolate", "specimen_source": "Blood culture",
    "collected_at": "2026-01-15T08:30", "priority": "routine", "indication": "follow-up",
}  # fmt: skip


def vcf(*positions, samples=(), genotypes=(), ref="", alt=""):
    """Single-nucleotide variants at these positions of the tests' reference."""
    columns = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", *(["FORMAT", *samples] if samples else [])]
    rows = [
        ["contig1", str(p), ".", ref or BASES[p - 1], alt or ("A" if BASES[p - 1] != "A" else "C"), ".", "PASS", "."]
        for p in positions
    ]
    lines = [columns, *(row + (["GT", *genotypes] if samples else []) for row in rows)]
    return HEAD + "\n".join("\t".join(line) for line in lines) + "\n"


class Desk:
    """A requester at the form."""

    def __init__(self, ward: Ward) -> None:
        self.ward, self.client = ward, ward.requester()
        self.typed = {**TYPED, "test": str(ward.test.pk), "organisation": str(ward.hospital.pk)}

    def send(self, do, **changes):
        data = {key: value for key, value in {**self.typed, "do": do, **changes}.items() if value is not None}
        return self.client.post(reverse("order-new"), data)

    def check(self, **changes):
        """Send the input to be checked and let the platform job run; the intake's address goes into the form."""
        page = self.send("check", **changes).content.decode()
        intake = re.search(r'name="intake" value="([^"]+)"', page).group(1)
        checking.check_intake(UUID(intake))
        self.typed["intake"] = intake
        return Intake.objects.get(pk=intake)

    def verdict(self):
        return read(self.client, "order-new", intake=self.typed["intake"])
