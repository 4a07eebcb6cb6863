"""`intake`: a large block-compressed VCF checked by the platform job: speed, memory, and what a killed worker costs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import large_vcf, rig
from benchmarks.laboratory import Laboratory
from benchmarks.measured import Bar, Measured, NotMeasured
from benchmarks.options import Options
from benchmarks.peer import ROOT

WHOLE, SIZE, QUICK_SIZE = 300_000_000, 30_000_000, 4_000_000  # bytes, as uploaded
KILLED_AT = 0.5  # share of the file
_PATIENCE = 3600.0  # seconds


def intake(options: Options) -> Measured:
    """One upload, its checking process killed in the middle with SIGKILL, the rest by another one."""
    result = Measured("intake", "Checking a large upload: a VCF of real variants, annotated and called", "none", 1)
    with rig.rig() as made:
        from config import bundled

        laboratory = Laboratory(made, bundled.DEPLOYMENT)
        laboratory.offer("bench", window=64)
        file = made.folder / "large.vcf.gz"
        records = large_vcf.write(file, size=_size(options), contig=laboratory.contig, length=len(laboratory.bases))
        uploaded = _upload(laboratory, file)
        first = _check(made.environment, uploaded.pk, kill_at=KILLED_AT)
        _give_back(uploaded)
        second = _check(made.environment, uploaded.pk)
        uploaded.refresh_from_db()
        if uploaded.state != "ready" or uploaded.records != records:
            raise NotMeasured(f"the upload is {uploaded.state} with {uploaded.records} of {records} records: {uploaded.problems}")
        size = file.stat().st_size
    seconds = first["seconds"] + second["seconds"]
    result.figures |= {
        "records_per_second": records / seconds,
        "peak_gb": max(first["peak"], second["peak"]) / 1e9,
        "growth_gb": max(first["growth"], second["growth"]) / 1e9,
        "resumed_seconds": second["first_batch"],
    }
    result.bars.append(Bar("checked, normalised and staged", records / seconds, "records/s"))
    result.notes += [
        f"{records:,} records in {size / 1e6:,.0f} MB, checked in {seconds:.0f} s of which what was lost is part; one process",
        "peak_gb is the resident memory of the checking process, growth_gb what it gained between a fifth of the file and the end",
        "resumed_seconds: from the start of the second check to its first new batch, after the first was killed with SIGKILL",
    ]
    return result


def _size(options: Options) -> int:
    return WHOLE if options.whole else QUICK_SIZE if options.quick else SIZE


def _upload(laboratory: Laboratory, file: Path) -> Any:
    from orders.uploads import start_intake
    from registry.models import TestVersion

    with file.open("rb") as stream:
        return start_intake(
            actor=laboratory.actor,
            test_version=TestVersion.objects.get(definition__code="bench"),
            ordering_organisation_id=laboratory.organisation.pk,
            chunks=iter(lambda: stream.read(1 << 20), b""),
            filename="large.vcf.gz",
        )


def _give_back(uploaded: Any) -> None:
    """What `recover` does two minutes after the last sign of life."""
    from datetime import timedelta

    from foundation import clock
    from orders import checking
    from orders.models import Intake

    Intake.objects.filter(pk=uploaded.pk, state="checking").update(claimed_at=clock.now() - timedelta(minutes=3))
    checking.recover()


def _check(environment: Mapping[str, str], pk: object, *, kill_at: float = 0.0) -> dict[str, float]:
    """Check in a process of its own, to the end or until it is killed; what it said of itself last."""
    command = [sys.executable, "-m", "benchmarks.checked_alone", str(pk)]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True)
    deadline, said = time.monotonic() + _PATIENCE, {}
    if process.stdout is None:
        raise NotMeasured("the checking process has no output")
    for line in process.stdout:
        said = json.loads(line)
        if kill_at and said["share"] >= kill_at:
            process.send_signal(signal.SIGKILL)
            break
        if time.monotonic() > deadline:
            process.kill()
            raise NotMeasured(f"the check took more than {_PATIENCE:.0f} s")
    if process.wait() and not kill_at:
        raise NotMeasured("the checking process has failed")
    return said
