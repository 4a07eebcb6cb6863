"""A laboratory on a rig: its reference, its tests, one person for everything, and orders through the services of the pages."""

from __future__ import annotations

import gzip
import itertools
import random
import time
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from benchmarks import rig, workloads
from benchmarks.measured import NotMeasured

Upload = tuple[str, str]  # which test it is for, and the text of the file


class Laboratory:
    """Tests of one deployment on the real bases of `workloads.APP`."""

    def __init__(self, made: rig.Rig, deployment: str) -> None:
        from accounts.models import Membership, Organisation, User
        from accounts.roles import Role
        from accounts.services import actor_for
        from foundation import clock

        self._rig, self._deployment, self._numbers = made, deployment, itertools.count(1)
        self.organisation = Organisation.objects.create(
            code="bench", name="Bench laboratory", is_laboratory=True, time_zone="UTC", address="", clia_number="99D0000001"
        )
        user = User.objects.create_user(email="bench@example.org", name="Bench", password=f"only for a benchmark {time.time()}")
        for role in (Role.ACCESSIONER, Role.MODEL_STEWARD, Role.DIRECTOR):
            Membership.objects.create(user=user, organisation=self.organisation, role=role, granted_at=clock.now())
        self.actor, self.by = actor_for(user), ("--by", user.email)
        made.manage("register_reference", str(workloads.APP), "--name", "chr21-app", "--markov-order", "2", *self.by)
        with gzip.open(workloads.APP, "rt") as file:
            self.contig = file.readline()[1:].split()[0]
            self.bases = "".join(line.strip().upper() for line in file)

    def offer(self, test: str, *, window: int, accepts: str = "vcf") -> None:
        """Offer a test under this code."""
        asked = ("--laboratory", "bench", "--deployment", self._deployment, "--reference", "chr21-app", "--window", str(window))
        self._rig.manage("offer_test", test, "--name", test, "--accepts", accepts, *asked, *self.by)

    def serve(self, *, script: Sequence[str] = rig.MANAGE) -> None:
        """Start a worker that serves the deployment, a platform worker and beat; `script` runs the engine worker's command."""
        from engine_queue.models import Worker

        command = ("engine_worker", "--name", "engine-1", "--deployment", self._deployment)
        self._rig.start("engine-1", *command, script=script)
        self._rig.start("platform-1", "platform_worker", "--name", "platform-1", "--queue", "platform", "--concurrency", "1")
        self._rig.start("beat", "beat")
        rig.until(Worker.objects.filter(kind="engine").exists, what="the engine worker")

    def variants(self, test: str, number: int, count: int) -> Upload:
        """A VCF of single-base changes at random places; the same number gives the same file."""
        drawn = random.Random(number)
        places = sorted(drawn.sample(range(5000, len(self.bases) - 5000), count))
        rows = []
        for at in places:
            base = self.bases[at]
            other = drawn.choice([one for one in "ACGT" if one != base])
            rows.append(f"{self.contig}\t{at + 1}\t.\t{base}\t{other}\t.\tPASS\t.")
        return test, "\n".join(["##fileformat=VCFv4.3", "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO", *rows, ""])

    def ready(self, made: Upload) -> Any:
        """An upload that was taken in and checked, as the form does both; the check runs here and not in a worker, to save time."""
        from orders.checking import check_intake
        from orders.uploads import start_intake
        from registry.models import TestVersion

        test, text = made
        intake = start_intake(
            actor=self.actor,
            test_version=TestVersion.objects.select_related("definition", "reference").get(definition__code=test),
            ordering_organisation_id=self.organisation.pk,
            chunks=[text.encode()],
            filename="bench.fa" if text.startswith(">") else "bench.vcf",
        )
        check_intake(intake.pk)
        intake.refresh_from_db()
        if intake.state not in ("ready", "checking", "waiting"):
            raise NotMeasured(f"an upload was not accepted: {intake.problems}")
        rig.until(lambda: _state(intake) == "ready", what="a checked upload")
        return intake

    def place(self, intake: Any, priority: str) -> Any:
        """An order on it, through the service."""
        from foundation import clock
        from orders import services
        from orders.requests import OrderRequest, PatientDetails, SpecimenDetails

        number = next(self._numbers)
        request = OrderRequest(
            intake_id=intake.pk,
            ordering_organisation_id=self.organisation.pk,
            patient=PatientDetails(f"B-{number}", "Muster", f"Person {number}", date(1970, 1, 31), "female"),
            specimen=SpecimenDetails(f"S-{number}", "isolate", "blood culture", clock.now() - timedelta(hours=2)),
            priority=priority,
            stat_reason="benchmark" if priority == "stat" else "",
            indication="benchmark",
        )
        return services.place(actor=self.actor, request=request)


def _state(intake: Any) -> str:
    intake.refresh_from_db(fields=["state"])
    return str(intake.state)
