"""Text that means harm, in every free text field of orders: kept as it is or refused in words, and on every page it is text."""

import re
from html.parser import HTMLParser

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from accounts.models import Membership, Provider
from accounts.roles import Role
from casefile.models import Comment
from foundation import clock
from notices.models import Endpoint
from orders.models import Manifest, Merge, Order
from tests.dashboard.desk import Desk, vcf
from tests.dashboard.people import Ward, read
from tests.factories import make_user
from tests.orders.test_manifests import worked

pytestmark = pytest.mark.django_db
HOSTILE = {
    "markup": "<script>alert(1)</script>\"><img src=x onerror=alert(1)>'{{ 987654321|add:1 }}",
    "turned": "abc\u202egnp.exe\u2066 \u200b",
    "long": "ab" * 5000,
    "null": "a\0b",
    "emoji": "🧬👩🏽\u200d🔬é\u0301",
}
PAGES = (
    "worklist", "specimens", "patients", "providers", "sites", "clocks", "webhooks", "notifications", "order-new", "bulk-new",
    "identity-checks", "worklist-filters", "turnaround",
)  # fmt: skip


class Markup(HTMLParser):
    """What of a page is markup: scripts with a body, handlers, images from nowhere."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        handlers = [name for name in named if name.startswith("on")]
        if handlers or (tag == "script" and "src" not in named) or (tag == "img" and named.get("src") == "x"):
            self.found.append(f"{tag} {handlers}")


class House:
    """A ward, and a person with every role in it that types something."""

    def __init__(self) -> None:
        self.ward = Ward()
        self.order = self.ward.order()
        user = make_user(role=Role.DIRECTOR, organisation=self.ward.laboratory)
        for role in (Role.ACCESSIONER, Role.ADMINISTRATOR, Role.REQUESTER, Role.AUDITOR):
            for organisation in (self.ward.laboratory, self.ward.hospital):
                Membership.objects.create(user=user, organisation=organisation, role=role, granted_at=clock.now())
        self.client = Client()
        self.client.force_login(user)

    def send(self, name: str, /, *args: object, **data: object):
        """The form of a page, with what was refused in the answer read as a page too."""
        answer = self.client.post(reverse(name, args=args), data)
        assert answer.status_code < 500, (name, answer.status_code)
        harmless(answer.content.decode(errors="replace"))
        return answer

    def merge(self, words: str) -> None:
        """Another record of the hospital into that of the order, by its page."""
        other = self.ward.order()
        page = read(self.client, "patient-merge", self.order.patient_id, number=other.stated_mrn)
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
        self.send("patient-merge", self.order.patient_id, **fields, words=words)

    def pages(self) -> list[str]:
        """Every page on which something of it may stand."""
        order = Order.objects.latest("placed_at")
        own, placed = [self.order.pk], [order.pk]
        named: list[tuple[str, list[object]]] = [
            *((name, []) for name in PAGES),
            *((name, own) for name in ("order", "order-audit", "order-delay", "order-urgency")),
            *((name, placed) for name in ("order", "specimen", "order-identity")),
            ("patient", [self.order.patient_id]),
        ]
        answers = [self.client.get(reverse(name, args=args)) for name, args in named]
        assert all(answer.status_code in (200, 403, 404) for answer in answers), [a.status_code for a in answers]
        return [answer.content.decode() for answer in answers]


def harmless(page: str) -> None:
    """The page holds no markup that somebody typed, and no template of his was computed."""
    assert not Markup(page).found and "987654322" not in page


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_people_type_is_text_wherever_it_is_read(text: str) -> None:
    house = House()
    about_an_order(house, text)
    on_the_order_form(house, text)
    around_the_house(house, text)
    for page in house.pages():
        harmless(page)
        assert "\0" not in page
    said = [
        *Comment.objects.values_list("text", flat=True), *Provider.objects.values_list("name", flat=True),
        *Endpoint.objects.values_list("name", flat=True), *Merge.objects.values_list("words", flat=True),
    ]  # fmt: skip
    visible = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    assert set(said) <= {text, visible}, "what is kept is kept as it was written, but for what cannot be seen"
    assert said or text != HOSTILE["markup"]  # which is no reason to refuse anything


def about_an_order(house: "House", text: str) -> None:
    """Comment, file, reception, rejection, what was wrong with it, delay, filter, priority."""
    pk, at = house.order.pk, f"{clock.now():%Y-%m-%dT%H:%M}"
    house.send("order-comments", pk, text=text, readers="both")
    house.send("order-attachments", pk, kind="requisition", file=SimpleUploadedFile(f"{text[:200]}.txt", b"plain text"))
    house.send("order-delay", pk, told=text, told_at=at, means="telephone", words=text)
    house.send("specimen", pk, do="receive", received_at=at, condition="other", words=text)
    house.send("specimen", pk, do="reject", reason="specimen.other", rejected_words=text)
    house.send("specimen", pk, do="take_back", version="3", correction_words=text)
    house.send("worklist-filters", do="save", query="chip=open", name=text)
    house.send("order-urgency", pk, do="priority", priority="asap", reason=text, edits=str(Order.objects.get(pk=pk).edits))


def on_the_order_form(house: "House", text: str) -> None:
    """Names, specimen, indication, reason for STAT: placed or refused as a whole, and as a draft."""
    desk = Desk(house.ward)
    desk.check(pasted=vcf(100))
    named = ("family_name", "given_name", "specimen_identifier", "specimen_type", "specimen_source", "indication", "stat_reason")
    before = Order.objects.count()
    answer = desk.send("place", **dict.fromkeys(named, text), mrn=text[:70], priority="stat", pasted=None)
    harmless(answer.content.decode())
    assert (answer.status_code, Order.objects.count()) in ((302, before + 1), (422, before))
    harmless(desk.send("save", **dict.fromkeys(named, text)).content.decode())
    harmless(read(desk.client, "order-new"))
    harmless(read(desk.client, "worklist", q=text[:40]))


def around_the_house(house: "House", text: str) -> None:
    """Provider, site, webhook, calendar, merge, and every cell of a table of orders."""
    house.merge(text)
    hospital, laboratory = house.ward.hospital, house.ward.laboratory
    house.send("providers", organisation=hospital.pk, name=text, phone=text[:50], department=text, alternative=text)
    house.send("sites", organisation=laboratory.pk, code="tower", name=text, address=text, phone=text, time_zone="UTC")
    house.send("webhooks", do="add", organisation=laboratory.pk, name=text, url="https://pager.example/hook")
    calendar = {"code": "days", "name": text, "day0": "08:00-17:00", "expected": "0", "holidays": f"2027-01-01 {text}"}
    house.send("calendar", laboratory=laboratory.code, **calendar)
    table = f"mrn,family_name,given_name\n{text},{text},{text}\n".encode()
    house.send("bulk-new", organisation=hospital.pk, file=SimpleUploadedFile(f"{text[:80]}.csv", table))
    for manifest in Manifest.objects.all():
        harmless(read(house.client, "bulk", worked(manifest).pk))
        assert house.client.get(reverse("bulk-verdict.csv", args=[manifest.pk])).status_code == 200


def test_the_check_finds_what_it_looks_for() -> None:
    for typed in ("<script>alert(1)</script>", '"><img src=x>', '<b onclick="x">', "987654322"):
        with pytest.raises(AssertionError):
            harmless(f'<p title="">{typed}</p>')
