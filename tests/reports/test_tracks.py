"""One variant base by base: asked for on the review page, computed below every order, and the same bits as the result."""

import math
import queue
from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from engine_queue import claim
from engine_queue.cutting import cut
from engine_queue.host import Flight, Host
from engine_queue.models import Run
from engine_queue.work import Claimed, ItemScore, Work
from foundation import clock
from foundation.errors import NotPermitted
from orders.models import Order
from reports import tracks
from reports.models import Track
from reports.track_bases import strands
from tests.engine_queue.workers import DEPLOYMENT
from tests.factories import make_actor, make_order, make_organisation, make_user
from tests.reports import cases
from tests.services import ROOT

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    made = Host()
    made.load(DEPLOYMENT, ROOT / "models" / "ecoli-orf-2k", {"threads": 2, "self_test": False})
    yield made
    made.stop()


def work_of(run: Run) -> Work:
    return claim.load(Claimed(run.jobs.get().pk, run.pk, 1, "worker/1", DEPLOYMENT, run.rank, 0, run.items_total - 1, 0))


def flown(host: Host, work: Work) -> list[ItemScore]:
    landed: queue.Queue[Flight] = queue.Queue()
    host.begin(work, landed.put)
    host_says = landed.get(timeout=60).scores()
    host.forget(work.claimed.job_id)
    return host_says


def computed(host: Host, run: Run) -> None:
    """The run with what the engine says of it, as a finisher would commit it."""
    items = {item.pk: item for item in run.item_set.items.all()}
    for score in flown(host, work_of(run)):
        row = cases._result(run, run.jobs.get(), items[score.item_id], -1.0)
        row.ll_ref, row.ll_alt, row.delta, row.answer = score.ll_ref, score.ll_alt, score.delta, score.answer
        row.save()
    Run.objects.filter(pk=run.pk).update(state="running")
    Run.objects.filter(pk=run.pk).update(state="scored", scored_at=clock.now(), items_done=run.items_total)


@pytest.fixture
def order(host: Host) -> Order:
    made = make_order(variants=4)
    run = cases.run_of(made)
    cut(run, run.items_total)
    Order.objects.filter(pk=made.pk).update(state="in_analysis", started_at=clock.now())
    computed(host, run)
    Order.objects.filter(pk=made.pk).update(state="awaiting_review", scored_at=clock.now(), items_done=run.items_total)
    return cases.read(made)


@pytest.mark.parametrize("strand", ["forward", "reverse", "average"])
def test_the_sums_of_a_track_are_the_log_likelihoods_of_the_score_bit_by_bit(host: Host, strand: str) -> None:
    run = cases.run_of(make_order(variants=4))
    work = replace(work_of(run), protocol={**run.protocol, "strand": strand})
    plain, told = flown(host, work)[1], flown(host, replace(work, kind="track"))[1]
    assert (told.ll_ref, told.ll_alt, told.delta, plain.answer) == (plain.ll_ref, plain.ll_alt, plain.delta, None)
    assert told.answer is not None
    for side, total in (("ref", plain.ll_ref), ("alt", plain.ll_alt)):
        values = [value for one in told.answer["strands"] for value in one[side][0]["log_probabilities"]]
        assert math.fsum(values) / len(told.answer["strands"]) == total
    item = run.item_set.items.get(ordinal=1)
    for one in strands(told.answer, item, work.protocol):
        (changed,) = (base for base in one.bases if base.changed)
        assert (changed.position, changed.ref, changed.alt) == (item.position, item.ref, item.alt)
        assert all(base.ref == base.alt for base in one.bases if not base.changed)
        assert len({base.position for base in one.bases}) == len(one.bases)


def test_it_is_asked_for_once_waits_below_every_order_and_is_shown_with_its_table(host: Host, order: Order) -> None:
    client = Client()
    client.force_login(make_user(role=Role.REVIEWER, organisation=order.performing_laboratory))
    review, door = reverse("order-review", args=[order.pk]), reverse("order-track", args=[order.pk, 1])
    assert f"{review}?track=1" not in client.get(review).content.decode()
    assert "?track=1#track" in client.get(review).content.decode()
    assert "Show the track" in client.get(f"{review}?track=1").content.decode()
    for _ in range(2):
        assert client.post(door)["Location"] == f"{review}?track=1#track"
    track = Track.objects.get()
    run = cases.run_of(order)
    assert (track.run.kind, track.run.rank, track.run.order_id) == ("track", 4, None)
    assert track.run.jobs.get().format == 2  # which a worker of before leaves queued
    same = ("model_version", "deployment", "precision", "protocol", "reference_digest", "test_version")
    assert [getattr(track.run, name) for name in same] == [getattr(run, name) for name in same]
    waits = client.get(door).content.decode()
    assert "below every order" in waits and 'hx-trigger="every 2s"' in waits
    computed(host, track.run)
    shown = client.get(f"{review}?track=1").content.decode()
    assert "the same bits as in the result" in shown and "The picture as a table" in shown and "every 2s" not in shown
    assert 'aria-labelledby="track-forward-title-page' in shown
    found = tracks.shown(actor=make_actor(role=Role.ANALYST, organisation=order.performing_laboratory), order=order, ordinal=1)
    assert (found.strands[0].ref_total, found.strands[0].alt_total) == (track.result.ll_ref, track.result.ll_alt)


def test_sums_that_are_not_those_of_the_result_are_not_shown(host: Host) -> None:
    order = cases.scored_order(variants=4)  # whose results no engine gave
    actor = make_actor(role=Role.ANALYST, organisation=order.performing_laboratory)
    computed(host, tracks.ask(actor=actor, order=order, ordinal=1).run)
    found = tracks.shown(actor=actor, order=order, ordinal=1)
    assert (found.same, found.strands, found.waits) == (False, (), False)


def test_nobody_else_asks_for_it_or_sees_it_and_a_failed_result_has_none(order: Order) -> None:
    stranger = make_user(role=Role.REVIEWER, organisation=make_organisation())
    requester = make_user(role=Role.REQUESTER, organisation=order.ordering_organisation)
    door = reverse("order-track", args=[order.pk, 1])
    for user, status in ((stranger, 404), (requester, 403)):
        client = Client()
        client.force_login(user)
        assert [client.get(door).status_code, client.post(door).status_code] == [status, status]
    assert Client().get(door).status_code == 302
    with pytest.raises(NotPermitted):
        tracks.ask(actor=make_actor(role=Role.REQUESTER, organisation=order.ordering_organisation), order=order, ordinal=1)
    failed = cases.scored_order(variants=2, delta=lambda n: None)
    reviewer = make_actor(role=Role.REVIEWER, organisation=failed.performing_laboratory)
    with pytest.raises(tracks.NotDrawn):
        tracks.ask(actor=reviewer, order=failed, ordinal=0)
    assert not Track.objects.exists()
