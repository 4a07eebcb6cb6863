"""`stat-platform`: from `place` to scored, for STAT orders of fifty variants, through the whole platform, idle and beside a load
that never ends: real Postgres, real broker, the worker processes of `make up`.
"""

from __future__ import annotations

import dataclasses
import gzip
import itertools
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from benchmarks import models, rig, workloads
from benchmarks.measured import Bar, Measured, NotMeasured, median
from benchmarks.options import Options

_ASKED, _QUICK = 300, 12  # STAT orders under load; a third of them on the idle platform first
_VARIANTS = 50  # of a STAT order
_WINDOW = 64  # bases
_GAP = 1.0  # seconds on average between the end of one STAT order and the next
_OPEN = 4  # routine orders of W1's lengths that are open at any time, beside the long one
_PATIENCE = 120.0  # seconds until an order is given up
_LOOK = 0.005  # seconds between two looks at whether an order is scored
_DEPLOYMENT = "dna-small-sw-bf16"
_SHARES = (50, 99)


def stat_platform(options: Options) -> Measured:
    """Fifty variants, STAT, beside W1's lengths again and again and a sequence of a million bases; sliding-window model, bf16."""
    asked = _QUICK if options.quick else _ASKED
    result = Measured("stat-platform", f"STAT orders of {_VARIANTS} variants through the whole platform", "bf16", 1)
    place = Path(tempfile.mkdtemp(prefix="helicase-benchmark-models-"))
    try:
        shutil.copytree(rig.ROOT / "models", place, dirs_exist_ok=True)
        with rig.rig(place) as made:
            laboratory = _Laboratory(made, options)
            idle_orders = [laboratory.ready(laboratory.variants(number)) for number in range(max(4, asked // 3))]
            orders = [laboratory.ready(laboratory.variants(number)) for number in range(asked)]
            for intake in (laboratory.ready(laboratory.variants(10_000 + number)) for number in range(2)):
                laboratory.scored(intake)  # nobody's first order is measured
            idle = [laboratory.scored(intake) for intake in idle_orders]
            with laboratory.load():
                moments = random.Random(5)
                busy = []
                for intake in orders:
                    time.sleep(moments.expovariate(1 / _GAP))
                    busy.append(laboratory.scored(intake))
                    made.looked_after()
            _tell(result, laboratory, idle, busy)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return result


def _tell(result: Measured, laboratory: _Laboratory, idle: Sequence[_Scored], busy: Sequence[_Scored]) -> None:
    for share in _SHARES:
        alone, beside = (_quantile([one.seconds for one in those], share) for those in (idle, busy))
        result.bars.append(Bar(f"idle, p{share}", alone * 1e3, "ms from place to scored"))
        result.bars.append(Bar(f"under load, p{share}", beside * 1e3, "ms from place to scored"))
        result.figures[f"p{share}_ratio"] = beside / alone
    result.figures["p99_seconds"] = _quantile([one.seconds for one in busy], 99)
    result.figures["stat_orders"] = len(busy)
    result.figures["bit_differences"] = sum(one.deltas != other.deltas for one, other in zip(idle, busy, strict=False))
    result.figures["routine_orders_scored"] = laboratory.ended
    result.figures["long_orders_scored"] = laboratory.long_ended
    result.notes.append(f"{len(idle)} orders idle, {len(busy)} under load; those that both had are compared bit for bit")
    result.notes.append(
        f"load: {_OPEN} routine orders of 64 sequences with W1 lengths open at any time, one of {laboratory.long_bases:,} bases"
    )


def _quantile(values: Sequence[float], share: int) -> float:
    return median(values) if share == 50 else sorted(values)[min(len(values) - 1, len(values) * share // 100)]


@dataclasses.dataclass(frozen=True)
class _Scored:
    seconds: float
    deltas: tuple[float, ...]


class _Laboratory:
    """A laboratory with two tests on the sliding-window model, people, and a worker that serves it."""

    def __init__(self, made: rig.Rig, options: Options) -> None:
        from accounts.models import Membership, Organisation, User
        from accounts.roles import Role
        from accounts.services import actor_for
        from foundation import clock

        self._rig, self._numbers, self.ended, self.long_ended = made, itertools.count(1), 0, 0
        self.long_bases = 262_144 if options.quick else 1_014_726
        self.laboratory = Organisation.objects.create(
            code="bench", name="Bench laboratory", is_laboratory=True, time_zone="UTC", address="", clia_number="99D0000001"
        )
        user = User.objects.create_user(email="bench@example.org", name="Bench", password=f"only for a benchmark {time.time()}")
        for role in (Role.ACCESSIONER, Role.MODEL_STEWARD, Role.DIRECTOR):
            Membership.objects.create(user=user, organisation=self.laboratory, role=role, granted_at=clock.now())
        self._actor, by = actor_for(user), ("--by", user.email)
        made.manage("register_reference", str(workloads.APP), "--name", "chr21-app", "--markov-order", "2", *by)
        model = ("--name", "dna-small-sw", "--deployment", _DEPLOYMENT, "--precision", "bf16")
        made.manage("register_model", str(models.folder(models.SLIDING)), *model, *by)
        common = (*by, "--laboratory", "bench", "--deployment", _DEPLOYMENT, "--reference", "chr21-app", "--window", str(_WINDOW))
        made.manage("offer_test", "variants", "--name", "Variants", *common)
        made.manage("offer_test", "sequences", "--name", "Sequences", "--accepts", "fasta", *common)
        made.start("engine-1", "engine_worker", "--name", "engine-1", "--deployment", _DEPLOYMENT)
        made.start("platform-1", "platform_worker", "--name", "platform-1", "--queue", "platform", "--concurrency", "1")
        made.start("beat", "beat")
        with gzip.open(workloads.APP, "rt") as file:
            self._contig = file.readline()[1:].split()[0]
            self._bases = "".join(line.strip().upper() for line in file)
        from engine_queue.models import Worker

        rig.until(Worker.objects.filter(kind="engine").exists, what="the engine worker")

    def variants(self, number: int) -> tuple[str, str]:
        """A VCF of single-base changes at random places; the same number gives the same file."""
        drawn = random.Random(number)
        places = sorted(drawn.sample(range(5000, len(self._bases) - 5000), _VARIANTS))
        rows = []
        for at in places:
            base = self._bases[at]
            other = drawn.choice([one for one in "ACGT" if one != base])
            rows.append(f"{self._contig}\t{at + 1}\t.\t{base}\t{other}\t.\tPASS\t.")
        return "variants", "\n".join(["##fileformat=VCFv4.3", "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO", *rows, ""])

    def sequences(self, number: int) -> tuple[str, str]:
        """A FASTA with the lengths of W1, prompt and output together."""
        drawn = random.Random(number)
        lengths = [len(piece.tokens) + piece.limit for piece in workloads.mixed()]
        return "sequences", "".join(f">s{n}\n{''.join(drawn.choices('ACGT', k=length))}\n" for n, length in enumerate(lengths))

    def long(self) -> tuple[str, str]:
        return "sequences", f">long{next(self._numbers)}\n{self._bases[: self.long_bases].replace('N', 'A')}\n"

    def ready(self, made: tuple[str, str]) -> Any:
        """An upload that was taken in and checked, as the form does both; the check runs here and not in a worker, to save time."""
        from orders.checking import check_intake
        from orders.uploads import start_intake
        from registry.models import TestVersion

        test, text = made
        intake = start_intake(
            actor=self._actor,
            test_version=TestVersion.objects.select_related("definition", "reference").get(definition__code=test),
            ordering_organisation_id=self.laboratory.pk,
            chunks=[text.encode()],
            filename="bench.vcf" if test == "variants" else "bench.fa",
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
            ordering_organisation_id=self.laboratory.pk,
            patient=PatientDetails(f"B-{number}", "Muster", f"Person {number}", date(1970, 1, 31), "female"),
            specimen=SpecimenDetails(f"S-{number}", "isolate", "blood culture", clock.now() - timedelta(hours=2)),
            priority=priority,
            stat_reason="benchmark" if priority == "stat" else "",
            indication="benchmark",
        )
        return services.place(actor=self._actor, request=request)

    def scored(self, intake: Any) -> _Scored:
        """Place a STAT order and wait until everybody can see it scored."""
        from engine_queue.models import Result, Run

        begun = time.perf_counter()
        order = self.place(intake, "stat")
        runs = Run.objects.filter(order_id=order.pk, state="scored")
        rig.until(runs.exists, _PATIENCE, "a STAT order", pause=_LOOK)
        seconds = time.perf_counter() - begun
        deltas = Result.objects.filter(run__order_id=order.pk).order_by("item__ordinal").values_list("delta", flat=True)
        return _Scored(seconds, tuple(deltas))

    def load(self) -> _Load:
        """Routine work without end, until the block is left."""
        return _Load(self)


class _Load:
    """A thread that places routine orders again and again, so that never fewer than `_OPEN` of them and a long one are open."""

    def __init__(self, laboratory: _Laboratory) -> None:
        self._laboratory, self._over, self._full = laboratory, threading.Event(), threading.Event()
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> _Load:
        self._placing = self._pool.submit(self._go_on)
        rig.until(lambda: self._full.is_set() or self._placing.done(), what="the load")
        time.sleep(3.0)  # the engine is busy with it by then
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._placing.result(_PATIENCE)  # raises what it raised

    def _go_on(self) -> None:
        from django.db import connections

        try:
            self._keep_open()
        finally:
            connections.close_all()

    def _keep_open(self) -> None:
        from engine_queue.models import Run

        one, short, longs = self._laboratory, [], []
        for number in itertools.count():
            if self._over.is_set():
                return
            done = set(Run.objects.filter(order_id__in=[*short, *longs], state="scored").values_list("order_id", flat=True))
            one.ended, one.long_ended = one.ended + len(done.intersection(short)), one.long_ended + len(done.intersection(longs))
            short, longs = [pk for pk in short if pk not in done], [pk for pk in longs if pk not in done]
            if not longs:
                longs.append(one.place(one.ready(one.long()), "routine").pk)
            elif len(short) < _OPEN:
                short.append(one.place(one.ready(one.sequences(number)), "routine").pk)
            else:
                self._full.set()
                self._over.wait(0.2)


def _state(intake: Any) -> str:
    intake.refresh_from_db(fields=["state"])
    return str(intake.state)
