"""Every door to scores, tried by everybody."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from reports.models import ReportVersion
from reports.selectors import results_export, results_panel
from tests.factories import make_actor, make_laboratory, make_organisation, make_user
from tests.reports import cases, signers

pytestmark = pytest.mark.django_db
DOORS = ("report-page", "report-pdf", "order-results.csv")
SCORE = "−5.5"  # how every door would print this order's Δ


@pytest.fixture
def order():
    return cases.ordered_by(make_organisation(), delta=lambda n: -5.5)


def opened(door, order, *, role, organisation):
    client = Client()
    client.force_login(make_user(role=role, organisation=organisation))
    return client.get(reverse(door, args=[order.pk]))


@pytest.mark.parametrize("door", DOORS)
def test_an_analyst_passes_every_door(door, order):
    response = opened(door, order, role=Role.ANALYST, organisation=order.performing_laboratory)
    assert response.status_code == 200


@pytest.mark.parametrize(("door", "status"), [("report-page", 200), ("report-pdf", 403), ("order-results.csv", 403)])
@pytest.mark.parametrize("role", [Role.REQUESTER, Role.ACCESSIONER])
def test_a_requester_reads_at_every_door_that_nothing_is_released_and_no_score(door, status, role, order):
    response = opened(door, order, role=role, organisation=order.ordering_organisation)
    body = response.content.decode()
    assert response.status_code == status
    assert "has not been released" in body
    assert SCORE not in body and "-5.5" not in body and "<svg" not in body


@pytest.mark.parametrize("door", DOORS)
def test_asking_outside_the_laboratory_makes_no_draft(door, order):
    opened(door, order, role=Role.REQUESTER, organisation=order.ordering_organisation)
    assert not ReportVersion.objects.exists()


@pytest.mark.parametrize("door", DOORS)
def test_to_a_stranger_the_order_does_not_exist(door, order):
    assert opened(door, order, role=Role.DIRECTOR, organisation=make_laboratory()).status_code == 404


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("role", [Role.ADMINISTRATOR, Role.OPERATOR, Role.AUDITOR])
def test_to_a_colleague_who_views_no_orders_it_does_not_exist_either(door, role, order):
    assert opened(door, order, role=role, organisation=order.performing_laboratory).status_code == 404


@pytest.mark.parametrize("door", DOORS)
def test_nobody_passes_without_logging_in(door, order):
    response = Client().get(reverse(door, args=[order.pk]))
    assert response.status_code == 302
    assert response.url.startswith(reverse("login"))


@pytest.mark.parametrize("door", DOORS)
def test_no_door_takes_a_post(door, order):
    client = Client()
    client.force_login(make_user(role=Role.ANALYST, organisation=order.performing_laboratory))
    assert client.post(reverse(door, args=[order.pk])).status_code == 405


@pytest.mark.parametrize("door", DOORS)
def test_no_cache_keeps_what_a_door_gave(door, order):
    response = opened(door, order, role=Role.ANALYST, organisation=order.performing_laboratory)
    assert "no-store" in response["Cache-Control"]


def test_the_panel_and_the_export_are_doors_as_well(order):
    requester = make_actor(role=Role.REQUESTER, organisation=order.ordering_organisation)
    assert results_panel(requester, order) is None
    assert results_export(requester, order) is None


@pytest.fixture(params=["approved", "signed once", "discarded", "preliminary unsigned", "correction waits"])
def unreleased(request):
    """An order in each state on the way to a release; the Δ that no door may show stands in the version that waits."""
    order = signers.scored(signers=2, priority="stat", delta=lambda n: -5.5)
    lab = signers.laboratory_of(order)
    if request.param == "preliminary unsigned":
        signers.reviewing.preliminary(order=order, actor=lab.actor(Role.REVIEWER), seen=signers.seen(order, lab).pk)
        return order
    waits = signers.approved(order, lab)
    if request.param == "signed once":
        signers.sign(waits, lab.actor(Role.REVIEWER))
    if request.param == "discarded":
        signers.reviewing.withdraw(order=order, actor=lab.actor(Role.REVIEWER), seen=waits.pk)
    if request.param == "correction waits":
        signers.signed(waits, lab)
        signers.corrected(order, lab, "Words that nobody has signed.")
    return cases.read(order)


def test_as_requester_no_door_shows_what_is_not_released(unreleased):
    order, stands = unreleased, unreleased.state == "reported"
    client = Client()
    client.force_login(make_user(role=Role.REQUESTER, organisation=order.ordering_organisation))
    names = [*DOORS, "order", "order-live"]
    addresses = [reverse(name, args=[order.pk]) for name in names] + [reverse("worklist.csv"), reverse("worklist")]
    waits = order.reports.order_by("-number")[0]
    for kind in ("report-version", "report-version-pdf", "report-version-json", "report-version-csv"):
        address = reverse(kind, args=[order.pk, waits.number])
        addresses.append(address)
        assert client.get(address).status_code == 404
    for name in ("order-review", "order-sign", "order-correct"):
        assert client.get(reverse(name, args=[order.pk])).status_code == 403
    bodies = "".join(client.get(address).content.decode(errors="replace") for address in addresses)
    assert "Words that nobody has signed" not in bodies
    assert stands or (SCORE not in bodies and "-5.5" not in bodies)
