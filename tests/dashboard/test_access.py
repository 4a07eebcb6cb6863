"""Who gets which page: the owner, the colleague, the stranger, and nobody at all."""

from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import get_resolver, reverse

from accounts.roles import Role
from casefile.attachments import attach
from casefile.models import Attachment
from foundation import clock
from orders.models import Intake, Order
from tests.factories import make_actor, make_laboratory, make_organisation, make_ready_intake, make_user
from tests.reports import cases

pytestmark = pytest.mark.django_db
TO_READ = ["notifications-read"]  # by POST alone: test_notifications_page
OPEN = ["login", "logout", "health-live", "health-ready", "api"]
OF_TOKENS = ["api-tokens", "api-token-revoke"]  # who keeps which: test_token_pages
OF_A_REVIEW = ["order-review", "order-sign", "order-correct"]
OF_A_RESULT = ["order-track"]  # who gets it: tests/reports/test_tracks
OF_CALLS = ["order-critical"]
OF_AN_ORDER = [
    "order", "order-live", "order-cancel", "order-urgency", "order-delay", "order-comments", "order-attachments", "order-audit",
    "order-audit.csv", "order-recipients", *OF_CALLS, "specimen", "report-page", "report-pdf", "order-results.csv", *OF_A_REVIEW,
]  # fmt: skip
SEEN_WITH_IT = [  # by everybody who sees the order
    "order", "order-live", "order-cancel", "order-urgency", "order-delay", "order-recipients", "specimen", "report-page",
    "intake", "intake-finishes",
]  # fmt: skip
TO_A_RECIPIENT = ["report-delivery", "report-delivery-pdf"]  # who gets them: tests/reports/test_delivery
OF_A_VERSION = [
    "report-version",
    "report-version-pdf",
    "report-version-json",
    "report-version-csv",
]  # of what is issued: tests/reports/test_doors
OF_A_FILE = ["order-attachment", "order-attachment-withdraw"]
OF_AN_UPLOAD = ["intake", "intake-finishes"]
TO_REPEAT = ["order-repeat", "order-recollect"]
TO_REMOVE = ["intake-remove"]  # by POST alone
OF_A_MANIFEST = ["bulk", "bulk-live", "bulk-verdict.csv"]  # who gets them: test_bulk_page
OF_A_DRAFT = ["order-draft-discard"]  # its owner's alone: tests/casefile/test_drafts
FOR_ALL, OF_THE_FORM, OF_THE_ENGINE = (
    ["worklist", "worklist-live", "notifications", "bell"],
    ["order-new", "order-input", "order-draft", "bulk-new", "bulk-template"],
    ["engine", "engine-live"],
)
OF_TIMES, OF_CLOCKS, OF_WEBHOOKS = ["turnaround", "turnaround.csv"], ["clocks", "calendar"], ["webhooks"]
OF_A_LABORATORY = [*OF_TIMES, *OF_CLOCKS, *OF_WEBHOOKS]
OF_THE_LIST = ["worklist.csv", "worklist-act", "worklist-filters", "worklist-names"]  # who gets them: test_worklist_deeds
TO_SEND = ["order-replace"]  # nothing to read there
OF_IDENTITY = ["order-identity", "order-wrong-patient"]
OF_A_PATIENT, PATIENTS = ["patient", "patient-merge"], ["patients"]
OF_A_NUMBER = ["order-conflict", "asked"]  # who gets them: tests/interop/fhir/test_settling
OF_A_MERGE = ["patient-unmerge"]  # who gets it: test_patient_pages
OF_QUESTIONS = ["questions", "question-new"]
OF_A_QUESTION = ["question", "question-live", "question-file", "question-audit"]  # who gets which: tests/questions/test_pages
TO_ASK = ["question-check", "question-cancel", "audit-chain-check"]  # by POST alone
AUDIT_REPORTS = [  # who gets them: test_audit_reports_page
    "audit-reports", "audit-report-new", "audit-report", "audit-report-live", "audit-report-withdraw", "audit-report-file",
]  # fmt: skip
BREAK_GLASS = ["break-glass", "break-glasses", "break-glass-opening"]  # who gets them, and what it opens: test_break_glass
OF_DRIFT = ["drift-stream", "drift-freeze", "drift-call"]  # who gets them: test_drift_page
OF_DOWNTIME = ["stat-list", "stat-list-live"]  # who gets them: test_stat_list
OF_A_DOWNTIME = ["downtimes", "downtime", "downtime.csv"]  # who gets them: test_downtime_pages
OF_A_PART = ["engine-part"]  # who gets it: test_waiting_parts
OF_A_TRACE = ["engine-trace", "engine-trace.svg", "engine-trace.json"]  # who gets them: test_traces_page
# a list of rows: who gets it
LISTS = {
    "validation": {"director", "model_steward"},
    "drift": {"director", "model_steward", "operator"},
    "audit": {"director", "auditor"},
    "audit-chain": {"director", "auditor"},
    "audit-chain-live": {"director", "auditor"},
    "retention": {"director", "auditor"},
    "retention.csv": {"director", "auditor"},
    "identity-checks": {"accessioner"},
    "specimens": {"accessioner"},
    "providers": {"accessioner", "administrator"},
    "sites": {"administrator"},
    "programs": {"administrator"},
}
ROWS = ["provider", "site", "test"]  # who gets them: test_directory_pages, test_offers_page
DOORS = [
    *TO_A_RECIPIENT,
    *OF_AN_ORDER, *OF_A_VERSION, *OF_A_FILE, *OF_A_DRAFT, *OF_AN_UPLOAD, *TO_SEND, *FOR_ALL, *OF_THE_FORM, *OF_THE_ENGINE,
    *OF_A_TRACE, *OF_A_PART, *OF_DOWNTIME, *OF_A_DOWNTIME, *OF_A_RESULT,
    *OF_IDENTITY, *OF_A_PATIENT, *PATIENTS, *OF_A_MERGE, *OF_A_NUMBER, *OF_A_LABORATORY, *LISTS, *ROWS,
    *AUDIT_REPORTS, *BREAK_GLASS, *OF_DRIFT,
    *OF_A_MANIFEST, *TO_REMOVE, *OF_TOKENS, *OF_THE_LIST, *OF_QUESTIONS, *OF_A_QUESTION, *TO_ASK,
]  # fmt: skip
# Who does what, written down a second time: not read from the table that the platform reads.
PLACE = {"requester", "accessioner", "analyst", "director"}
CANCEL = {"requester", "accessioner", "analyst", "director"}
PROMOTE = {"analyst", "reviewer", "director"}
HOLD = {"accessioner", "analyst", "reviewer", "director"}
SEE_ORDERS = {"requester", "accessioner", "analyst", "reviewer", "director"}
EDIT_IDENTITY = {"accessioner"}
DEEDS = [
    "to repeat",
    "to replace",
    "to comment",
    "to attach",
    "to cancel",
    "to promote",
    "to hold",
    "to read",
    "to tell of a delay",
    "to receive",
    "to reject",
]
SEE_SCORES = {"analyst", "reviewer", "director"}  # in the performing laboratory, before anything is released
COMMENT = ATTACH = {"requester", "accessioner", "analyst", "reviewer", "director"}
AUDIT = {"director", "auditor"}  # in the performing laboratory
CALL_CRITICAL = {"accessioner", "analyst", "reviewer", "director"}  # in the performing laboratory
TELL_DELAYS = {"accessioner", "analyst", "reviewer", "director"}  # in the performing laboratory
SEE_TURNAROUND = {"analyst", "reviewer", "director", "auditor"}  # of a laboratory
ASK = {"analyst", "reviewer", "director", "model_steward"}  # and see what their laboratory asked
SEE_THE_ENGINE = {"analyst", "reviewer", "director", "model_steward", "operator"}


READ = [
    *OF_A_LABORATORY, *FOR_ALL, *OF_THE_ENGINE, "order-new", "bulk-new", "bulk-template", *OF_AN_ORDER, *OF_A_FILE,
    *OF_AN_UPLOAD, *OF_IDENTITY,
    *OF_A_PATIENT, *PATIENTS, *LISTS, *OF_A_VERSION,
]  # fmt: skip


@pytest.fixture
def order() -> Order:
    """A scored order of a hospital, performed by another organisation's laboratory."""
    return cases.ordered_by(make_organisation())


def address(name: str, order: Order) -> str:
    numbers = {
        **dict.fromkeys([*OF_AN_UPLOAD, *TO_REMOVE], order.intake_id),
        **dict.fromkeys([*OF_AN_ORDER, *OF_A_MANIFEST, *TO_SEND, *OF_IDENTITY, *OF_A_NUMBER], order.pk),
        **dict.fromkeys(OF_A_PATIENT, order.patient_id),
        **dict.fromkeys([*OF_A_TRACE[1:], *OF_A_MERGE, *OF_A_PART], 1),
        **dict.fromkeys([*AUDIT_REPORTS[2:5], *OF_A_DOWNTIME[1:]], order.pk),
        "audit-report-new": "order",
        "break-glass-opening": order.pk,
        **dict.fromkeys(["question", "question-live", "question-cancel", "question-audit"], order.pk),
    }
    numbers |= dict.fromkeys([*ROWS, "drift-stream", "drift-call"], order.pk)
    if name in [*OF_A_DRAFT, *TO_REPEAT, OF_TOKENS[1]]:
        return reverse(name, args=[order.pk])
    if name == "audit-report-file":
        return reverse(name, args=[order.pk, "pack.zip"])
    if name == "question-file":
        return reverse(name, args=[order.pk, "answer.json"])
    if name in OF_A_RESULT:
        return reverse(name, args=[order.pk, 0])
    if name in TO_A_RECIPIENT:
        return reverse(name, args=[order.pk])
    if name in OF_A_VERSION:
        return reverse(name, args=[order.pk, 1])
    if name in OF_A_RESULT:
        return reverse(name, args=[order.pk, 0])
    if name in OF_A_FILE:
        return reverse(name, args=[order.pk, file_of(order).pk])
    return reverse(name, args=[numbers[name]] if name in numbers else [])


def file_of(order: Order) -> Attachment:
    found: Attachment | None = order.attachments.first()
    return found or attach(
        actor=make_actor(role="analyst", organisation=order.performing_laboratory),
        order=order, name="requisition.txt", kind="requisition", chunks=lambda: [b"plain words"],
    )  # fmt: skip


def as_role(role: Role | str, organisation: object) -> Client:
    client = Client()
    client.force_login(make_user(role=role, organisation=organisation))  # type: ignore[arg-type]
    return client


def test_the_list_of_doors_in_this_file_is_complete() -> None:
    named = {name for name in get_resolver().reverse_dict if isinstance(name, str)}
    assert named == {*OPEN, *TO_REPEAT, *TO_READ, *DOORS}


def test_nobody_is_sent_to_the_login_page(order: Order) -> None:
    led = {name: Client().get(address(name, order)).headers.get("Location", "") for name in DOORS}
    assert [name for name, where in led.items() if not where.startswith(reverse("login"))] == []


def expected(role: Role, side: str) -> dict[str, int]:
    """Door → status, by what DESIGN says of the role; `side` is laboratory, hospital or stranger."""
    if role == Role.SERVICE:  # it never logs in: programs act by token
        return dict.fromkeys([*READ, *OF_THE_FORM, *DEEDS], 302)
    sees = 200 if role in SEE_ORDERS and side != "stranger" else 404
    scores = sees if side == "laboratory" and role in SEE_SCORES else max(sees, 403)
    here = sees == 200 and role == "accessioner" and side == "laboratory"
    return {
        **dict.fromkeys([*FOR_ALL, "bulk-template"], 200),  # the latter: the names of columns
        **{name: 200 if role in roles else 403 for name, roles in LISTS.items()},
        **dict.fromkeys(["to receive", "to reject"], (302 if here else 409) if sees == 200 else 404),
        **dict.fromkeys(OF_THE_ENGINE, 200 if role in SEE_THE_ENGINE else 403),
        **dict.fromkeys(["order-new", "bulk-new"], 200 if role in PLACE else 403),
        "order-input": 422 if role in PLACE else 403,  # nothing was sent
        "order-draft": 200 if role in PLACE else 403,
        **dict.fromkeys(SEEN_WITH_IT, sees),
        **dict.fromkeys(OF_CALLS, sees if role in CALL_CRITICAL and side == "laboratory" else max(sees, 403)),
        **dict.fromkeys(
            ["order-wrong-patient", "order-comments", "order-attachments", "order-attachment", "order-attachment-withdraw"], sees
        ),
        **dict.fromkeys(["order-audit", "order-audit.csv"], 200 if role in AUDIT and side == "laboratory" else max(sees, 403)),
        **dict.fromkeys(OF_TIMES, 200 if role in SEE_TURNAROUND and side != "hospital" else 404),
        **dict.fromkeys(OF_CLOCKS, 200 if role == "director" and side != "hospital" else 404),
        "webhooks": 200 if role == "administrator" else 404,
        "to tell of a delay": (302 if role in TELL_DELAYS and side == "laboratory" else 409) if sees == 200 else 404,
        "order-identity": 403 if sees == 200 and role not in EDIT_IDENTITY else sees,
        "patients": 200 if role in SEE_ORDERS else 403,
        **dict.fromkeys(OF_A_PATIENT, sees if side == "hospital" else 404),  # the record is the hospital's
        **dict.fromkeys(["report-pdf", "order-results.csv", *OF_A_REVIEW], scores),
        **dict.fromkeys(OF_A_VERSION, 200 if scores == 200 else 404),  # the draft: to others there is none
        "to repeat": (302 if role in PLACE else 403) if sees == 200 else 404,  # elsewhere than at home with a refusal in words
        "to comment": (302 if role in COMMENT else 422) if sees == 200 else 404,
        "to attach": (302 if role in ATTACH else 422) if sees == 200 else 404,
        "to cancel": (302 if role in CANCEL else 409) if sees == 200 else 404,
        "to promote": (302 if role in PROMOTE else 409) if sees == 200 else 404,
        "to hold": (302 if role in HOLD else 409) if sees == 200 else 404,
        "to replace": (302 if role in PLACE else 403) if sees == 200 else 404,
        "to read": 409 if sees == 200 else 404,  # it is another's order
    }


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("side", ["laboratory", "hospital", "stranger"])
def test_every_door_opens_to_the_roles_that_the_design_names_and_to_no_other(order: Order, role: Role, side: str) -> None:
    organisations = {"laboratory": order.performing_laboratory, "hospital": order.ordering_organisation}
    client = as_role(role, organisations.get(side) or make_laboratory())
    found = {name: client.get(address(name, order)).status_code for name in READ}
    arrived = {"do": "receive", "received_at": f"{clock.now():%Y-%m-%dT%H:%M}", "condition": "acceptable"}
    found["to receive"] = client.post(address("specimen", order), arrived).status_code
    found["order-input"] = client.post(reverse("order-input")).status_code
    found["order-draft"] = client.post(reverse("order-draft"), {"mrn": "77"}).status_code
    found["to repeat"] = client.post(address("order-repeat", order)).status_code
    found["to replace"] = client.post(address("order-replace", order)).status_code
    found["to comment"] = client.post(address("order-comments", order), {"text": "call the ward", "readers": "both"}).status_code
    sent = {"file": SimpleUploadedFile("a.pdf", b"%PDF-1.7"), "kind": "other"}
    found["to attach"] = client.post(address("order-attachments", order), sent).status_code
    said = {"told": "Dr Ordering", "means": "phone", "told_at": f"{order.placed_at:%Y-%m-%dT%H:%M}"}
    found["to tell of a delay"] = client.post(address("order-delay", order), said).status_code
    data = {"reason": "placed twice", "confirmed": "yes", "edits": order.edits}
    wanted = {"do": "priority", "priority": "asap", "reason": "worse", "edits": order.edits}
    found["to promote"] = client.post(address("order-urgency", order), wanted).status_code
    order.refresh_from_db()
    wanted = {"do": "hold", "hold": "hold.specimen", "edits": order.edits}
    found["to hold"] = client.post(address("order-urgency", order), wanted).status_code
    found["to read"] = client.post(address("order-urgency", order), {"do": "read", "last": 1}).status_code
    found["to reject"] = client.post(address("specimen", order), {"do": "reject", "reason": "specimen.leaked"}).status_code
    order.refresh_from_db()
    data["edits"] = order.edits
    found["to cancel"] = client.post(address("order-cancel", order), data).status_code
    assert found == expected(role, side)


@pytest.mark.parametrize("role", [role for role in Role.values if role != Role.SERVICE])
def test_the_entries_of_the_navigation_are_those_he_may_use(role: str) -> None:
    page = as_role(role, make_laboratory()).get(reverse("worklist")).content.decode()
    assert ("Your role does not include orders." in page) == (role not in SEE_ORDERS)
    assert (f'href="{reverse("engine")}"' in page) == (role in SEE_THE_ENGINE)
    assert (f'href="{reverse("questions")}"' in page) == (role in ASK)
    assert (f'href="{reverse("order-new")}"' in page) == (role in PLACE)
    assert (f'href="{reverse("bulk-new")}"' in page) == (role in PLACE)
    assert (f'href="{reverse("patients")}"' in page) == (role in SEE_ORDERS)
    assert (f'href="{reverse("identity-checks")}"' in page) == (role in EDIT_IDENTITY)


def test_a_stranger_cannot_cancel(order: Order) -> None:
    client = as_role(Role.DIRECTOR, make_laboratory())
    response = client.post(address("order-cancel", order), {"reason": "no", "confirmed": "yes", "edits": order.edits})
    order.refresh_from_db()
    assert response.status_code == 404 and order.ended_at is None


@pytest.mark.parametrize(
    "deed",
    [{"do": "priority", "priority": "asap", "reason": "no"}, {"do": "hold", "hold": "hold.specimen"}, {"do": "read", "last": "1"}],
)
def test_a_stranger_neither_promotes_nor_holds_nor_says_that_he_has_read(order: Order, deed: dict[str, str]) -> None:
    client = as_role(Role.DIRECTOR, make_laboratory())
    response = client.post(address("order-urgency", order), {**deed, "edits": order.edits})
    order.refresh_from_db()
    assert (response.status_code, order.priority, order.hold_reason) == (404, "routine", "")


def test_a_stranger_cannot_order_on_somebody_elses_upload(order: Order) -> None:
    stranger = as_role(Role.REQUESTER, make_organisation())
    page = stranger.get(reverse("order-new"), {"intake": str(order.intake_id)}).content.decode()
    assert order.intake.filename not in page


def test_a_stranger_removes_nobodys_upload_and_its_owner_does() -> None:
    intake = make_ready_intake()
    intake.pk, intake.state, intake.item_set, intake._state.adding = uuid4(), "waiting", None, True
    intake.save()
    address = reverse("intake-remove", args=[intake.pk])
    assert as_role(Role.REQUESTER, make_organisation()).post(address).status_code == 404
    assert as_role(Role.REVIEWER, intake.ordering_organisation).post(address).status_code == 409
    assert b"is removed" in as_role(Role.REQUESTER, intake.ordering_organisation).post(address).content
    assert Intake.objects.get(pk=intake.pk).state == "withdrawn"


def test_a_search_never_finds_what_belongs_to_others(order: Order) -> None:
    page = (
        as_role(Role.DIRECTOR, make_laboratory()).get(reverse("worklist"), {"q": order.accession, "chip": "open"}).content.decode()
    )
    assert "No order matches" in page and str(order.pk) not in page


def test_an_unknown_filter_shows_no_other_institutes_orders(order: Order) -> None:
    page = (
        as_role(Role.DIRECTOR, make_laboratory())
        .get(reverse("worklist"), {"chip": "everything", "page": "9999999999"})
        .content.decode()
    )
    assert order.accession not in page


def test_who_has_logged_out_is_nobody_again(order: Order) -> None:
    client = as_role(Role.ANALYST, order.performing_laboratory)
    assert client.get(reverse("logout")).status_code == 405
    client.post(reverse("logout"))
    assert client.get(address("order", order)).status_code == 302


def test_a_membership_that_has_ended_shows_nothing(order: Order) -> None:
    user = make_user(role=Role.ANALYST, organisation=order.performing_laboratory)
    client = Client()
    client.force_login(user)
    user.memberships.update(ended_at=order.placed_at)
    assert client.get(address("order", order)).status_code == 404


@pytest.mark.parametrize("name", ["order", "order-live", "worklist", "worklist-live", "order-new", "intake", "engine"])
def test_no_cache_keeps_a_page_and_every_answer_is_dated(order: Order, name: str) -> None:
    response = as_role(Role.ANALYST, order.performing_laboratory).get(address(name, order))
    assert "no-store" in response["Cache-Control"] and response["X-Server-Time"].endswith("+00:00")
