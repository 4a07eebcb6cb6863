"""docs/models.md: the five lines from a folder to a test that can be ordered, run as they stand there."""

import re
import shlex
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands, load_command_class

from accounts.models import Organisation
from accounts.roles import Role
from orders import checking, uploads
from orders.models import Intake
from registry.models import TestVersion
from tests.factories import make_actor, make_user
from tests.registry import genes
from tests.services import ROOT

pytestmark = pytest.mark.django_db


def lines() -> list[list[str]]:
    page = (ROOT / "docs" / "models.md").read_text()
    section = re.search(r"^## Adding a model folder is five lines\n(.*?)^## ", page, re.DOTALL | re.MULTILINE)
    assert section
    return [shlex.split(line)[2:] for line in re.findall(r"^ {4}(python manage\.py .*)$", section[1], re.MULTILINE)]


def test_five_lines_lead_from_a_folder_to_an_upload_that_can_be_ordered(
    folder: Path, models_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: object
) -> None:
    settings.DATA_DIR = tmp_path / "data"  # type: ignore[attr-defined]
    monkeypatch.chdir(folder.parent)
    folder.rename("GENERator")
    Path("genome.fa.gz").write_text(f">one\n{genes.BASES}\n")
    Path("genes.gff3").write_text(genes.bacterial())
    laboratory = Organisation.objects.create(code="central-lab", name="Central Laboratory", is_laboratory=True)
    for mailbox, role in (("steward", Role.MODEL_STEWARD), ("director", Role.DIRECTOR)):
        make_user(role=role, organisation=laboratory, email=f"{mailbox}@example.org")
    *run, last = lines()
    assert len(run) == 4
    for command, *options in [*run, *run]:  # the second time changes nothing
        call_command(command, *options, stdout=StringIO(), stderr=StringIO())
    load_command_class(get_commands()[last[0]], last[0]).create_parser("manage.py", last[0]).parse_args(last[1:])

    test = TestVersion.objects.get(definition__code="isolate")
    vcf = f"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\none\t{genes.F1 + 5}\t.\tT\tC\t.\tPASS\t.\n"
    intake = uploads.start_intake(
        actor=make_actor(role=Role.ACCESSIONER, organisation=laboratory), test_version=test,
        ordering_organisation_id=laboratory.pk, chunks=[vcf.encode()], filename="in.vcf",
    )  # fmt: skip
    checking.check_intake(intake.pk)
    assert Intake.objects.get(pk=intake.pk).state == "ready"
    assert intake.rows.get().consequence == "synonymous fwd 2A (N1)"
