"""A request that is sent again is answered again, and done once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import OperationalError, connections

from accounts.models import Membership
from accounts.roles import Role
from foundation import clock
from interop import idempotency
from interop.models import KeptAnswer
from orders import checking
from orders.models import Intake, Order
from tests.dashboard.desk import vcf
from tests.factories import make_token
from tests.interop.caller import Caller, Site


@pytest.mark.django_db
class TestAgain:
    """One after the other."""

    def test_the_same_key_gives_the_same_answer(self, site):
        caller = site.caller()
        body = site.wanted(site.upload(caller), placer={"number": "7"})
        first, again = (caller.post("/orders", body, Idempotency_Key="k1") for _ in range(2))
        assert (again.status_code, again.content, again["ETag"]) == (201, first.content, first["ETag"])
        assert "Idempotency-Replayed" not in first and again["Idempotency-Replayed"] == "true" and Order.objects.count() == 1

    def test_another_request_under_the_same_key_is_refused(self, site):
        caller = site.caller()
        body = site.wanted(site.upload(caller))
        assert caller.post("/orders", body, Idempotency_Key="k1").status_code == 201
        other = caller.post("/orders", {**body, "priority": "asap"}, Idempotency_Key="k1")
        assert (other.status_code, other.json()["code"]) == (422, "api.key-reused")
        assert caller.send(vcf(300), query=f"test={site.test.pk}", Idempotency_Key="k1").status_code == 422

    def test_an_upload_sent_again_is_one_upload(self, site):
        caller = site.caller()
        first, again = (site.upload(caller, checked=False, Idempotency_Key="k1") for _ in range(2))
        assert first == again and Intake.objects.count() == 1

    def test_a_cancellation_sent_again_is_answered_as_before(self, site):
        caller = site.caller()
        order = site.order(caller)
        path, why = f"/orders/{order['id']}/cancel", {"reason": "placed twice"}
        answers = [caller.post(path, why, If_Match='"1"', Idempotency_Key="k1") for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 200] and answers[0].content == answers[1].content

    def test_a_refusal_is_not_kept(self, site):
        caller = site.caller()
        body = site.wanted(site.upload(caller, checked=False))
        assert caller.post("/orders", body, Idempotency_Key="k1").status_code == 422 and not KeptAnswer.objects.exists()
        checking.check_intake(Intake.objects.get().pk)
        assert caller.post("/orders", body, Idempotency_Key="k1").status_code == 201

    def test_nothing_is_done_whose_answer_cannot_be_kept(self, site, monkeypatch):
        def fail(self, *_, **__):
            raise OperationalError("the disk is full")

        caller = site.caller()
        body = site.wanted(site.upload(caller))
        with monkeypatch.context() as full:
            full.setattr(KeptAnswer, "save", fail)
            assert caller.post("/orders", body, Idempotency_Key="k1").status_code == 503
        assert not Order.objects.exists() and not KeptAnswer.objects.exists()
        assert caller.post("/orders", body, Idempotency_Key="k1").status_code == 201

    def test_keys_belong_to_an_account_and_answers_to_those_who_may_still_see_them(self, site):
        user = site.user()
        caller, other = Caller(make_token(user)), site.caller()
        body = site.wanted(site.upload(caller))
        assert caller.post("/orders", body, Idempotency_Key="k1").status_code == 201
        mine = other.post("/orders", site.wanted(site.upload(other), placer={"number": "2"}), Idempotency_Key="k1")
        assert mine.status_code == 201 and "Idempotency-Replayed" not in mine
        elsewhere = Site()
        Membership.objects.filter(user=user).update(ended_at=clock.now())
        Membership.objects.create(user=user, organisation=elsewhere.hospital, role=Role.REQUESTER, granted_at=clock.now())
        assert caller.post("/orders", body, Idempotency_Key="k1").status_code == 404

    def test_keys_are_forgotten_after_two_days(self, site, monkeypatch):
        site.upload(site.caller(), checked=False, Idempotency_Key="k1")
        assert idempotency.sweep() == 0
        later = clock.now() + timedelta(hours=49)
        monkeypatch.setattr(clock, "_source", lambda: later)
        assert idempotency.sweep() == 1


def test_two_at_the_same_moment_are_done_once_and_answered_alike(clone_db):
    site = Site()
    caller = site.caller()
    body = site.wanted(site.upload(caller), placer={"number": "7"})

    def post(_: int) -> tuple[int, bytes]:
        try:
            answer = Caller(caller.token).post("/orders", body, Idempotency_Key="k1")
            return answer.status_code, answer.content
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as crowd:
        answers = set(crowd.map(post, range(4)))
    assert len(answers) == 1 and next(iter(answers))[0] == 201
    assert Order.objects.count() == 1 and KeptAnswer.objects.count() == 1
