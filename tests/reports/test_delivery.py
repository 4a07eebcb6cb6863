"""Who gets a report, what becomes of each delivery, and what a correction tells whom. Postgres refuses what the code does."""

import hashlib
from base64 import b64encode
from datetime import timedelta

import pytest
from django.db import Error, transaction
from django.test import Client
from django.urls import reverse

from accounts.models import Membership
from accounts.roles import Role
from accounts.services import actor_for
from audit.models import Event
from audit.services import transition
from foundation import clock
from foundation.errors import NotFound, NotPermitted
from notices import delivering as mails
from notices.machines import DELIVERY
from notices.models import Delivery as Sent
from notices.models import Receipt
from orders import services as orders
from orders.errors import InvalidOrder
from outbox import services as outbox
from outbox.models import Message
from reports import delivered, delivering, issuing, recipients, reviewing, wrong_patient
from reports.models import DeliveryNote, Recipient, ReportDelivery
from tests.dashboard.people import logged_in, read
from tests.factories import make_actor, make_organisation, make_provider, make_token, make_user
from tests.forging import forge
from tests.interop.caller import Caller
from tests.notices.receivers import Mails, serving
from tests.reports import cases, signers

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_mail(settings):
    """No mail server, as in an installation that names none."""
    settings.EMAIL_BACKEND, settings.EMAIL_HOST = "django.core.mail.backends.smtp.EmailBackend", ""
    settings.EMAIL_USE_TLS, settings.PUBLIC_URL = False, "https://helicase.example"


@pytest.fixture
def order():
    return placed()


@pytest.fixture
def lab(order):
    return signers.laboratory_of(order)


def placed(role=Role.REQUESTER):
    """A scored order of a hospital whose requester placed it."""
    order = signers.scored()
    user = make_user(role=role, organisation=order.ordering_organisation, name="Rita Requester")
    forge(order, placed_by=user)
    return cases.read(order)


def issued(order, lab):
    version = signers.issued(order, lab)
    outbox.dispatch()
    return version


def to(order, name="Rita Requester", news="issued") -> ReportDelivery:
    return ReportDelivery.objects.get(
        order=order, recipient__name=name, news=news, report_version__state__in=["released", "entered_in_error"]
    )


def reader(order) -> Client:
    client = Client()
    client.force_login(order.placed_by)
    return client


def failed(order, lab) -> ReportDelivery:
    """To a provider who has neither account nor address, of an order that nobody placed."""
    forge(
        order,
        placed_by=None,
        provider=make_provider(order.ordering_organisation, "Dr Far"),
        provider_name="Dr Far",
        provider_contact="1",
    )
    issued(cases.read(order), lab)
    return ReportDelivery.objects.get(order=order)


def test_the_issue_makes_a_delivery_and_who_placed_the_order_is_told_on_his_page(order, lab):
    version = issued(order, lab)
    one = to(order)
    assert (one.state, one.channels, one.recipient.part, one.report_version_id) == ("sent", ["in_app"], "requester", version.pk)
    receipt = Receipt.objects.get(user=order.placed_by)
    assert receipt.notice.kind == "report.issued" and order.patient.family_name not in str(receipt.notice.facts)
    actions = list(Event.objects.filter(object_id=str(one.pk)).order_by("id").values_list("action", flat=True))
    assert actions == ["delivery.made", "state.sent"]


def test_a_delivery_that_breaks_lets_the_report_be_issued_and_is_tried_again(order, lab, monkeypatch):
    def broken(payload):
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setitem(outbox._handlers, delivering.TOPIC, broken)
        version = issued(order, lab)
    assert version.state == "released" and to(order).state == "queued"
    Message.objects.filter(sent_at=None).update(not_before=clock.now())
    outbox.dispatch()
    assert to(order).state == "sent"


@pytest.mark.parametrize("door", ["report-page", "report-pdf", "order-results.csv"])
def test_reading_by_any_door_opens_it_once_and_then_it_can_be_acknowledged(order, lab, door):
    issued(order, lab)
    client, one = reader(order), to(order)
    with pytest.raises(delivering.NotOpened):
        delivering.acknowledge(delivery=one, actor=actor_for(order.placed_by))
    for _ in range(2):
        assert client.get(reverse(door, args=[order.pk])).status_code == 200
    one.refresh_from_db()
    assert (one.state, one.opened_by) == ("opened", order.placed_by)
    assert Event.objects.filter(object_id=str(one.pk), action="state.opened").count() == 1
    page = client.get(reverse("report-page", args=[order.pk])).content.decode()
    assert f'id="acknowledge-{one.pk}"' in page and "I have read this report" in page
    assert client.post(reverse("report-delivery", args=[one.pk])).status_code == 302
    one.refresh_from_db()
    assert (one.state, one.acknowledged_by) == ("acknowledged", order.placed_by)


def test_somebody_elses_reading_opens_nothing_and_nobody_acknowledges_for_another(order, lab):
    issued(order, lab)
    colleague = make_user(role=Role.REQUESTER, organisation=order.ordering_organisation)
    client = Client()
    client.force_login(colleague)
    assert client.get(reverse("report-page", args=[order.pk])).status_code == 200
    assert to(order).state == "sent"
    assert client.get(reverse("report-delivery", args=[to(order).pk])).status_code == 404
    with pytest.raises(NotFound):
        delivering.acknowledge(delivery=to(order), actor=actor_for(colleague))


def test_a_correction_tells_recipients_and_readers_and_is_shown_until_all_have_acknowledged(order, lab):
    first = issued(order, lab)
    other = make_user(role=Role.REQUESTER, organisation=order.ordering_organisation, name="Olga Other")
    client = Client()
    client.force_login(other)
    client.get(reverse("report-page", args=[order.pk]))
    second = signers.signed(signers.corrected(order, lab), lab)
    outbox.dispatch()
    told = ReportDelivery.objects.filter(report_version=second).order_by("recipient__name")
    assert [(one.recipient.name, one.news, one.replaces) for one in told] == [
        ("Olga Other", "corrected", first.number), ("Rita Requester", "corrected", first.number),
    ]  # fmt: skip
    assert delivered.of_order(lab.actor(Role.DIRECTOR), order).waiting == 2
    for user in (other, order.placed_by):
        actor = actor_for(user)
        delivering.opened(actor=actor, version=second)
        delivering.acknowledge(delivery=told.get(recipient__user=user), actor=actor)
    assert delivered.of_order(lab.actor(Role.DIRECTOR), order).waiting == 0
    assert to(order, news="corrected").state == "acknowledged"


def test_an_order_entered_in_error_tells_everybody_who_had_its_report(order, lab):
    issued(order, lab)
    fresh = cases.read(order)
    wrong_patient.declare(order=fresh, words="swapped", actor=lab.actor(Role.DIRECTOR), expected_edits=fresh.edits)
    outbox.dispatch()
    one, client = to(order, news="recalled"), reader(order)
    page = client.get(reverse("report-page", args=[order.pk])).content.decode()
    assert "entered in error" in page and f'id="acknowledge-{one.pk}"' in page
    assert client.post(reverse("report-delivery", args=[one.pk])).status_code == 302
    one.refresh_from_db()
    assert one.state == "acknowledged"


def test_another_hospital_reads_what_was_delivered_to_it_and_nothing_else(order, lab):
    elsewhere = make_organisation("Clinic Elsewhere")
    recipients.add(order=order, actor=actor_for(order.placed_by), hospital="clinic elsewhere")
    doctor, client = make_user(role=Role.REQUESTER, organisation=elsewhere), Client()
    client.force_login(doctor)
    issued(order, lab)
    one = to(order, "Clinic Elsewhere")
    notice = Receipt.objects.get(user=doctor).notice
    assert (one.state, notice.accession, notice.order_id) == ("sent", "", None)
    address = reverse("report-delivery", args=[one.pk])
    assert address in client.get(reverse("notifications")).content.decode()
    page = client.get(address).content.decode()
    assert order.accession in page and "I have read this report" in page
    assert client.get(reverse("report-delivery-pdf", args=[one.pk])).content.startswith(b"%PDF")
    assert client.get(reverse("report-page", args=[order.pk])).status_code == 404
    stranger = Client()
    stranger.force_login(make_user(role=Role.DIRECTOR, organisation=make_organisation()))
    assert [stranger.get(address).status_code, stranger.post(address).status_code] == [404, 404]
    one.refresh_from_db()
    assert (one.state, one.opened_by) == ("opened", doctor)


def test_an_address_without_an_account_gets_a_link_and_no_content_and_its_mail_moves_the_delivery(order, lab, settings):
    make_organisation("Clinic Elsewhere")
    recipients.add(order=order, actor=lab.actor(Role.ANALYST), hospital="Clinic Elsewhere", address="ward@elsewhere.example")
    with serving(Mails()) as server:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.server_address[1]
        issued(order, lab)
        one = to(order, "Clinic Elsewhere")
        assert (one.state, one.channels) == ("queued", ["email"])
        mails.deliver()
    sent = [mail for mail in server.got if "elsewhere" in str(mail)]
    assert len(sent) == 1 and order.accession not in str(sent) and order.patient.family_name not in str(sent)
    assert {one.state for one in ReportDelivery.objects.filter(order=order)} == {"sent"}


def test_an_e_mail_that_is_given_up_fails_its_delivery_and_a_later_success_mends_it(order, lab, settings):
    settings.EMAIL_HOST = "127.0.0.1"
    issued(order, lab)
    mail = Sent.objects.get(user=order.placed_by)
    mails._end(mail, "failed", last_error="The mail server refused the recipient's address.")
    one = to(order)
    assert (one.state, one.last_error) == ("failed", "The e-mail did not leave: The mail server refused the recipient's address.")
    mail.refresh_from_db()
    with transaction.atomic():
        transition(DELIVERY, mail, to="queued", actor=lab.actor(Role.DIRECTOR))
    mails._end(mail, "sent", last_error="")
    assert to(order).state == "sent"


def test_a_failed_delivery_is_sent_again_or_told_in_another_way_and_keeps_its_history(order, lab):
    one, analyst = failed(order, lab), lab.actor(Role.ANALYST)
    assert one.state == "failed" and "neither an account here nor an e-mail address" in one.last_error
    assert (
        delivered.failed(analyst) == [one]
        and delivered.failed(make_actor(role=Role.ANALYST, organisation=make_organisation())) == []
    )
    delivering.send_again(delivery=one, actor=analyst)
    outbox.dispatch()
    with pytest.raises(InvalidOrder) as wrong:
        delivering.told_otherwise(delivery=one, actor=analyst, told="", means="owl", told_at=clock.now() + timedelta(days=1))
    assert set(wrong.value.fields) == {"told", "means", "told_at"}
    with pytest.raises(NotPermitted):
        delivering.send_again(delivery=one, actor=make_actor(role=Role.DIRECTOR, organisation=make_organisation()))
    delivering.told_otherwise(delivery=one, actor=analyst, told="Dr Far, ward 3", means="fax", told_at=clock.now())
    one.refresh_from_db()
    assert one.state == "sent" and delivered.failed(analyst) == []
    assert list(one.notes.order_by("id").values_list("kind", flat=True)) == ["failed", "again", "failed", "told"]
    with pytest.raises(delivering.NotFailed):
        delivering.send_again(delivery=one, actor=analyst)


def test_copies_are_named_and_taken_off_by_who_may_and_only_once(order, lab):
    clinician = make_user(role=Role.REQUESTER, organisation=order.ordering_organisation, name="Carl Copy")
    actor = actor_for(order.placed_by)
    made = recipients.add(order=order, actor=actor, person=clinician.email.upper())
    with pytest.raises(recipients.Named):
        recipients.add(order=order, actor=actor, person=clinician.email)
    for wrong in ({"person": "nobody@example.org"}, {"hospital": "nowhere"}, {}):
        with pytest.raises(InvalidOrder):
            recipients.add(order=order, actor=actor, **wrong)
    with pytest.raises(NotPermitted):
        recipients.add(order=order, actor=make_actor(role=Role.AUDITOR, organisation=order.performing_laboratory), person="x@y.org")
    first = issued(order, lab)
    recipients.end(recipient=made, actor=actor)
    second = signers.signed(signers.corrected(order, lab), lab)
    assert [set(v.deliveries.values_list("recipient__name", flat=True)) for v in (first, second)] == [
        {"Carl Copy", "Rita Requester"}
    ] * 2


def test_who_left_both_sides_is_not_told_and_his_delivery_fails(order, lab):
    Membership.objects.filter(user=order.placed_by).update(ended_at=clock.now())
    issued(order, lab)
    assert to(order).state == "failed" and "may not see this order any more" in to(order).last_error


def test_the_database_refuses_a_delivery_of_what_was_not_issued_and_any_change_of_what_happened(order, lab):
    one = failed(order, lab)
    draft, version = cases.drafted(placed()), one.report_version
    row = Recipient.objects.get(pk=one.recipient_id)
    tries = [
        lambda: ReportDelivery.objects.create(
            organisation_id=one.organisation_id,
            order=draft.order,
            report_version=draft,
            recipient=row,
            news="issued",
            created_at=clock.now(),
        ),
        lambda: ReportDelivery.objects.filter(pk=one.pk).update(state="acknowledged"),
        lambda: ReportDelivery.objects.filter(pk=one.pk).update(report_version=version, order=draft.order),
        lambda: ReportDelivery.objects.filter(pk=one.pk).delete(),
        lambda: Recipient.objects.filter(pk=row.pk).update(name="other"),
        lambda: DeliveryNote.objects.filter(delivery=one).update(words="other"),
        lambda: DeliveryNote.objects.filter(delivery=one)._raw_delete("default"),
    ]
    for number, attempt in enumerate(tries):
        with pytest.raises(Error), transaction.atomic():
            attempt()
            pytest.fail(f"the database allowed {number}")


@pytest.fixture
def preliminary():
    """A STAT order whose requester got a preliminary report."""
    order = signers.scored(priority="stat", stat_reason="sepsis")
    forge(order, placed_by=make_user(role=Role.REQUESTER, organisation=order.ordering_organisation, name="Rita Requester"))
    order = cases.read(order)
    lab = signers.laboratory_of(order)
    reviewer = lab.actor(Role.REVIEWER)
    made = reviewing.preliminary(order=order, actor=reviewer, seen=signers.seen(order, lab).pk)
    signers.sign(made, reviewer)
    outbox.dispatch()
    return cases.read(order), lab


def test_results_rejected_after_a_preliminary_report_recall_it_with_who_had_it(preliminary):
    order, lab = preliminary
    reviewing.reject(order=order, actor=lab.actor(Role.REVIEWER), seen=signers.seen(order, lab).pk, note="The control failed.")
    outbox.dispatch()
    assert set(ReportDelivery.objects.values_list("news", "state")) == {("issued", "sent"), ("recalled", "sent")}
    one, page = to(order, news="recalled"), reader(order).get(reverse("report-page", args=[order.pk])).content.decode()
    assert "not valid any more" in page and f'id="acknowledge-{one.pk}"' in page


def test_a_cancellation_after_a_preliminary_report_recalls_it_whoever_cancels(preliminary, order, lab):
    first, _ = preliminary
    by = actor_for(first.placed_by)
    orders.cancel(actor=by, order=first, reason="asked twice", expected_edits=first.edits)
    orders.cancel(actor=lab.actor(Role.DIRECTOR), order=order, reason="asked twice", expected_edits=order.edits)
    outbox.dispatch()
    assert (to(first, news="recalled").state, ReportDelivery.objects.filter(order=order).count()) == ("sent", 0)


def test_who_lost_his_role_reads_nothing_through_what_was_delivered_to_him(order, lab):
    issued(order, lab)
    client, address = reader(order), reverse("report-delivery", args=[to(order).pk])
    assert client.get(address).headers["Location"].endswith(f"/reports/{to(order).report_version.number}/")
    Membership.objects.filter(user=order.placed_by).update(ended_at=clock.now())
    make_user(role=Role.REQUESTER, organisation=order.ordering_organisation)
    assert "Muster" not in client.get(address).content.decode()
    assert not client.get(address.rstrip("/") + ".pdf").content.startswith(b"%PDF")


def test_by_the_api_a_report_is_opened_and_then_acknowledged_by_its_recipient_alone(order, lab):
    caller, other = (Caller(make_token(user)) for user in (order.placed_by, lab.user(Role.ANALYST)))
    path = f"/orders/{order.pk}/report/acknowledge"
    assert caller.post(path, None).status_code == 404
    issued(order, lab)
    assert caller.post(path, None).status_code == 409  # nobody has read it
    assert caller.get(f"/orders/{order.pk}/report").status_code == 200
    assert other.post(path, None).status_code == 404
    assert caller.post(path, None).json()["state"] == "acknowledged" == caller.post(path, None).json()["state"]


def test_by_fhir_it_is_fetched_and_its_form_has_size_and_hash():
    order = placed(Role.SERVICE)
    lab = signers.laboratory_of(order)
    version = issued(order, lab)
    assert (to(order).state, to(order).channels) == ("queued", ["fhir"])
    headers = {"Authorization": f"Bearer {make_token(order.placed_by)}"}
    answer = Client().get(f"/fhir/DiagnosticReport/{order.pk}", headers=headers).json()
    body = issuing.issued_pdf(version)
    form = answer["presentedForm"][0]
    assert (form["size"], form["hash"]) == (len(body), b64encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode())
    assert (to(order).state, to(order).opened_by) == ("opened", order.placed_by)


def test_the_pages_show_what_failed_and_do_what_is_asked(order, lab):
    one = failed(order, lab)
    clerk, stranger = logged_in(Role.ACCESSIONER, order.performing_laboratory), logged_in(Role.DIRECTOR, make_organisation())
    assert "1 report did not reach its recipient" in read(clerk, "worklist") and one.last_error in read(clerk, "worklist")
    address = reverse("order-recipients", args=[order.pk])
    assert "Told in another way" in read(clerk, "order-recipients", order.pk)
    said = {"do": "told", "delivery": str(one.pk), "told": "Dr Far", "means": "phone", "told_at": ""}
    assert clerk.post(address, said).status_code == 409
    said["told_at"] = f"{clock.now():%Y-%m-%dT%H:%M}"
    assert [stranger.post(address, said).status_code, clerk.post(address, said).status_code] == [404, 302]
    assert "told by telephone: Dr Far" in read(clerk, "order", order.pk)
    assert "did not reach" not in read(clerk, "worklist")
    copy = make_user(role=Role.REQUESTER, organisation=order.ordering_organisation, name="Carl Copy")
    assert clerk.post(address, {"do": "add", "person": copy.email}).status_code == 302
    assert "Take off Carl Copy" in read(clerk, "order-recipients", order.pk)
    trail = read(logged_in(Role.DIRECTOR, order.performing_laboratory), "order-audit", order.pk)
    assert "Report is to be delivered" in trail and "Named a recipient" in trail
