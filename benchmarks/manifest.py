"""`manifest`: five thousand rows with a file each, checked and placed by the command, which does what a platform worker does."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import progress, rig
from benchmarks.laboratory import Laboratory
from benchmarks.measured import Bar, Measured, NotMeasured, quantile
from benchmarks.options import Options
from benchmarks.peer import ROOT

ROWS, _QUICK_ROWS = 5_000, 150
_VARIANTS = 3  # of each file
_PAUSE, _STAT_EVERY = 0.4, 4  # seconds between two looks of somebody else, and how many of them go by between two STAT orders
_PRIORITIES = ("routine",) * 16 + ("urgent",) * 3 + ("asap",)


def manifest(options: Options) -> Measured:
    """Rows a second, checked and placed, in one process, the most memory that it held, and what others waited for meanwhile."""
    rows = _QUICK_ROWS if options.quick else ROWS
    result = Measured("manifest", f"Bulk orders: {rows:,} rows in a ZIP with their files", "none", 1)
    with rig.rig() as made:
        from config import bundled

        laboratory = Laboratory(made, bundled.DEPLOYMENT)
        laboratory.offer("bench", window=64)
        file = made.folder / "orders.zip"
        _write(file, laboratory, rows)
        progress.stage(f"checking and placing {rows:,} rows")
        meanwhile = Meanwhile(laboratory)
        peak = _placed(made, file, laboratory.by, meanwhile)
        seconds = _seconds()
        _require_all(rows, besides=len(meanwhile.stat))
        size = file.stat().st_size
    for part, took in seconds.items():
        result.figures[f"{part}_rows_per_second"] = rows / took
        result.bars.append(Bar(part, rows / took, "rows/s"))
    result.figures |= {"seconds": sum(seconds.values()), "peak_gb": peak / 1e9}
    for name, waited in (("page", meanwhile.pages), ("stat", meanwhile.stat)):
        result.figures |= {f"{name}_p50_ms": 1000 * quantile(waited, 50), f"{name}_p95_ms": 1000 * quantile(waited, 95)}
    result.notes += [
        f"meanwhile, in a second process, {len(meanwhile.pages)} pages (the manifest's and the worklist by turns) and"
        f" {len(meanwhile.stat)} STAT orders, each from its upload over the check until it was placed",
        f"{rows:,} rows, each with a patient, a specimen and a VCF of {_VARIANTS} variants of its own, in {size / 1e6:.2g} MB",
        "peak_gb is the most resident memory of the process that checks and places",
    ]
    return result


def _write(path: Path, laboratory: Laboratory, rows: int) -> None:
    table = io.StringIO()
    columns = {
        "mrn": "M-{n}", "family_name": "Muster", "given_name": "Person {n}", "birth_date": "1970-01-31", "sex": "female",
        "specimen": "T-{n}", "specimen_type": "Blood", "collected_at": "2026-01-05 08:30", "file": "{n}.vcf", "test": "bench",
    }  # fmt: skip
    written = csv.writer(table)
    written.writerow([*columns, "priority"])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for n in range(rows):
            written.writerow([*(value.format(n=n) for value in columns.values()), _PRIORITIES[n % len(_PRIORITIES)]])
            packed.writestr(f"{n}.vcf", laboratory.variants("bench", n, _VARIANTS)[1])
        packed.writestr("manifest.csv", table.getvalue())


@dataclass
class Meanwhile:
    """Somebody else: looks at pages, and places a STAT order now and then. Seconds of each."""

    laboratory: Laboratory
    pages: list[float] = field(default_factory=list)
    stat: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        from django.test import Client

        from accounts.models import User

        self._client = Client(SERVER_NAME="localhost")
        self._client.force_login(User.objects.get(email=self.laboratory.by[1]))

    def look(self, turn: int) -> None:
        """One page, and one STAT order in so many turns."""
        from django.urls import reverse

        from orders.models import Manifest

        manifest = Manifest.objects.first()
        address = reverse("bulk", args=[manifest.pk]) if manifest and turn % 2 else reverse("worklist")
        begun = time.monotonic()
        if self._client.get(address).status_code != 200:
            raise NotMeasured(f"{address} did not answer")
        self.pages.append(time.monotonic() - begun)
        if turn % _STAT_EVERY == 0:
            begun = time.monotonic()
            self.laboratory.place(self.laboratory.ready(self.laboratory.variants("bench", 10_000_000 + turn, _VARIANTS)), "stat")
            self.stat.append(time.monotonic() - begun)


def _placed(made: rig.Rig, file: Path, by: tuple[str, ...], meanwhile: Meanwhile) -> float:
    """Run the command; the most bytes it held. Raises NotMeasured where it fails."""
    command = [sys.executable, "manage.py", "place_manifest", str(file), *by]
    with (made.folder / "manifest.log").open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **made.environment}, stdout=out, stderr=out)
        turn, (ended, status, used) = 0, os.wait4(process.pid, os.WNOHANG)
        while not ended:
            meanwhile.look(turn)
            time.sleep(_PAUSE)
            turn, (ended, status, used) = turn + 1, os.wait4(process.pid, os.WNOHANG)
    if status:
        raise NotMeasured(f"the command failed: {(made.folder / 'manifest.log').read_text()[-500:]}")
    return used.ru_maxrss * 1024.0


def _seconds() -> dict[str, float]:
    """From when it was received until it was checked, and from when it was to be placed until it was."""
    from audit.models import Event

    at: dict[str, Any] = dict(Event.objects.filter(object_type="orders.manifest").values_list("action", "at"))
    return {
        "checked": (at["state.checked"] - at["manifest.received"]).total_seconds(),
        "placed": (at["state.placed"] - at["state.placing"]).total_seconds(),
    }


def _require_all(rows: int, besides: int) -> None:
    """Raise NotMeasured unless each row is one order, and there are no others `besides`."""
    from orders.models import ManifestRow, Order

    placed = ManifestRow.objects.filter(state="placed").values("order").distinct().count()
    if (placed, Order.objects.count()) != (rows, rows + besides):
        raise NotMeasured(f"{placed:,} of {rows:,} rows were placed, and there are {Order.objects.count():,} orders")
