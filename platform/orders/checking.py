"""Check an upload: the platform job behind the verdict on the order form."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from celery.exceptions import SoftTimeLimitExceeded
from django.db import DataError, transaction
from django.db.models import Q

from audit import services as audit
from engine_queue.models import ItemSet
from foundation import clock
from foundation.actor import process
from foundation.errors import Stale
from foundation.reason_code import ReasonCode
from foundation.reasons import Reason, known
from orders import intake as checker
from orders import staging, uploads
from orders.baselines import Baselines
from orders.machines import INTAKE
from orders.models import Intake, IntakeCheckpoint
from orders.references import view
from registry.errors import FileChanged
from registry.models import TestVersion
from storage.services import path_of

log = structlog.get_logger(__name__)

BATCH = 2_000  # verdicts staged at a time
FORGOTTEN = timedelta(seconds=30)  # waiting without being taken up
STALLED = timedelta(minutes=2)  # without progress: the checking worker is gone
MOST_TRIES = 3
CHECKPOINT_EVERY = 5.0  # seconds; so much is done again when a worker dies
SLICE = 60.0  # seconds a file is checked before it makes room for others
ACTOR = process("intake check")
LIMITS = checker.Limits()
LONGEST_EVENT = 100_000  # bases; the engine's own bound, `engine.structural.LONGEST`


def check_intake(pk: UUID) -> None:
    """Check one waiting upload to its verdict, from its checkpoint if it has one. Does nothing when it is not waiting.

    A large file makes room for others after a while and is asked for again. A file whose check has died three times at the
    same checkpoint is refused with words instead of taking a worker with it for ever.
    """
    intake = _take(pk)
    if intake is None:
        return
    if intake.tries > MOST_TRIES:
        _give_up(intake, Reason.INTAKE_CHECK_FAILED)
        return
    try:
        _check(intake)
    except (staging.Superseded, Stale):
        log.warning("intake.superseded", intake=str(pk))
        clear_withdrawn(pk)
    except SoftTimeLimitExceeded:
        _give_up(intake, Reason.INTAKE_TOO_SLOW)
    except FileChanged as error:
        log.error("intake.cannot_be_checked", intake=str(pk), error=error.code)
        _give_up(intake, known(error.code))
    except (DataError, OSError, checker.IntakeError) as error:  # another try would meet the same
        log.error("intake.cannot_be_checked", intake=str(pk), error=type(error).__name__)
        _give_up(intake, Reason.INTAKE_CHECK_FAILED)


def _check(intake: Intake) -> None:
    path = path_of(intake.file.sha256)
    reference = view(intake.test_version.reference)
    beside = Baselines(intake.test_version, reference)
    kept = IntakeCheckpoint.objects.filter(intake=intake).first()
    check = checker.check(
        path,
        filename=intake.filename,
        reference=reference,
        sample=intake.sample or None,
        accept=frozenset(checker.Kind(kind) for kind in intake.test_version.accepts),
        limits=limits_of(intake.test_version),
        progress=_Reporter(intake),
        state=checker.unpacked(bytes(kept.state)) if kept else None,
    )
    begun, state = time.monotonic(), check.state
    if kept and state:
        stage = staging.resume(intake, path, kept, state, limits=LIMITS, beside=beside)
        batches = check.batches(BATCH)
    else:
        batches = check.batches(BATCH)
        first = next(batches, [])  # the kind is known from then on
        stage = staging.begin(intake, path, kind=check.kind or checker.Kind.VCF, limits=LIMITS, beside=beside)
        stage.write(first)
    if _staged(stage, check, batches, until=begun + SLICE):
        _settle(intake, check.summary, stage.items, beside)
    else:
        _make_room(intake)


def _staged(stage: staging.Stage, check: checker.Check, batches: Iterator[list[checker.Verdict]], *, until: float) -> bool:
    """Stage what comes, with a checkpoint every few seconds; False where the time was up first."""
    due = time.monotonic() + CHECKPOINT_EVERY
    for batch in batches:
        state = check.state if time.monotonic() >= due else None
        stage.write(batch, state)
        if state is not None:
            due = time.monotonic() + CHECKPOINT_EVERY
            if due > until:
                return False
    return True


def _make_room(intake: Intake) -> None:
    """Go to the end of the line, to be gone on with from the checkpoint."""
    with transaction.atomic():
        audit.transition(
            INTAKE, intake, to="waiting", actor=ACTOR, reason=str(Reason.INTAKE_CONTINUES), claimed_at=clock.now(), tries=0
        )
        uploads.ask_for_check(intake)


def clear_withdrawn(pk: UUID) -> None:
    """Take away what was staged for an upload that somebody has removed; nothing when nobody has."""
    intake = Intake.objects.select_related("item_set").filter(pk=pk, state="withdrawn").first()
    if intake is not None:
        staging.clear(intake)


def limits_of(test: TestVersion) -> checker.Limits:
    """Events without written alleles are scored centred and by no other protocol."""
    return replace(LIMITS, max_event=LONGEST_EVENT if test.protocol["kind"] == "centred" else 0)


def _give_up(intake: Intake, reason: ReasonCode) -> None:
    failed = {"code": str(reason), "line": None, "reason": reason.words, "fatal": True, "lines": 1}
    staging.clear(intake)
    with transaction.atomic():
        audit.transition(INTAKE, intake, to="refused", actor=ACTOR, checked_at=clock.now(), progress=1, problems=[failed])


def recover() -> int:
    """Give back uploads whose check has stopped moving, and ask again for those nobody took up; returns how many."""
    now = clock.now()
    forgotten = (
        Intake.objects.filter(state="waiting")
        .select_related("file")
        .filter(Q(claimed_at__lt=now - FORGOTTEN) | Q(claimed_at=None, created_at__lt=now - FORGOTTEN))
    )
    for intake in forgotten:  # the broker lost the message, or the queue is long: a second one harms nobody
        with transaction.atomic():
            Intake.objects.filter(pk=intake.pk, state="waiting").update(claimed_at=now)
            uploads.ask_for_check(intake)
    stalled = Intake.objects.filter(state="checking", claimed_at__lt=now - STALLED).select_related("file")
    for intake in stalled:
        try:
            with transaction.atomic():
                audit.transition(INTAKE, intake, to="waiting", actor=ACTOR, reason=str(Reason.INTAKE_WORKER_LOST))
                uploads.ask_for_check(intake)
        except Stale:  # it has moved on, or was removed, since we looked
            continue
        log.warning("intake.recovered", intake=str(intake.pk))
    for pk in Intake.objects.filter(state="withdrawn", item_set__isnull=False).values_list("pk", flat=True):
        clear_withdrawn(pk)
    return len(stalled) + len(forgotten)


def _take(pk: UUID) -> Intake | None:
    with transaction.atomic():
        rows = Intake.objects.select_for_update(of=("self",), skip_locked=True).select_related(
            "test_version__reference", "test_version__annotation", "file", "item_set"
        )
        intake = rows.filter(pk=pk, state="waiting").first()
        if intake is not None:
            audit.transition(INTAKE, intake, to="checking", actor=ACTOR, claimed_at=clock.now(), progress=0, tries=intake.tries + 1)
    return intake


def _settle(intake: Intake, verdict: checker.FileVerdict, items: int, beside: Baselines) -> None:
    usable = verdict.state is not checker.State.REFUSED and items > 0
    with transaction.atomic():
        IntakeCheckpoint.objects.filter(intake=intake).delete()
        if usable:
            ItemSet.objects.filter(intake=intake).update(count=items, frozen_at=clock.now())
        else:
            staging.drop_items(intake)
        audit.transition(
            INTAKE,
            intake,
            to="ready" if usable else "refused",
            actor=ACTOR,
            **columns(intake, verdict, beside.facts()),
        )


def columns(intake: Intake, verdict: checker.FileVerdict, baselines: Mapping[str, Any]) -> dict[str, Any]:
    """What an upload keeps of the verdict on its file."""
    return {
        "checked_at": clock.now(),
        "progress": 1,
        "kind": verdict.kind or "",
        "samples": list(verdict.samples),
        "sample": verdict.sample or intake.sample,
        "records": verdict.records,
        "counts": {str(outcome): number for outcome, number in verdict.counts.items()},
        "problems": _problems(verdict),
        "facts": _facts(verdict) | {"baselines": dict(baselines) if verdict.kind is checker.Kind.VCF else {}},
    }


def _problems(verdict: checker.FileVerdict) -> list[dict[str, object]]:
    return [{"code": str(p.code), "line": p.line, "reason": p.reason, "fatal": p.fatal, "lines": p.lines} for p in verdict.problems]


def _facts(verdict: checker.FileVerdict) -> dict[str, object]:
    build = verdict.build
    return {
        "compression": verdict.compression,
        "items": verdict.items,
        "lines": verdict.lines,
        "bytes": verdict.bytes_of_text,
        "codes": {str(code): number for code, number in verdict.codes.items()},
        "build": {
            "lengths_matched": list(build.lengths_matched)[:50],
            "lengths_contradicting": list(build.lengths_contradicting)[:50],
            "ref_checked": build.ref_checked,
            "ref_matched": build.ref_matched,
        },
    }


class _Reporter:
    """Writes the share of bytes read, twice a second at most; it also shows that the check is alive."""

    def __init__(self, intake: Intake) -> None:
        self._pk, self._version, self._next = intake.pk, intake.version, 0.0

    def __call__(self, progress: checker.Progress) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 0.5
        share = progress.bytes_read / progress.bytes_total if progress.bytes_total else 1.0
        Intake.objects.filter(pk=self._pk, state="checking", version=self._version).update(progress=share, claimed_at=clock.now())
