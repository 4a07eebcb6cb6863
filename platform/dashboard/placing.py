"""The order form between two requests: what was typed, which upload it is linked to, what has to be corrected."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, OperationalError, transaction

from accounts.models import Organisation
from casefile import drafts
from casefile.models import Draft
from dashboard import drafting, prefill
from dashboard.asking import Asking, asking
from dashboard.drafting import Kept, Listed, behind
from dashboard.forms import OrderForm
from dashboard.verdicts import Verdict, verdict
from foundation.actor import Actor
from foundation.errors import NotFound, NotPermitted, Refused, Stale
from orders import patient_selectors, replacing, selectors, services, uploads
from orders.downtimes import selectors as downtimes
from orders.duplicates import Alike, LooksDuplicate
from orders.errors import InvalidOrder
from orders.machines import IN_ERROR
from orders.models import Downtime, Intake, Order
from orders.requests import OrderRequest
from registry.models import TestVersion

Files = Mapping[str, "UploadedFile[Any]"]
PASTED_NAME = "pasted text"
LOOKS_ALIKE = "It looks like an order that there is already: read which one, then decide."
PLACE, NEVERTHELESS = "place", "place-nevertheless"  # what the buttons say
CHANGED = "Somebody has changed the order that this one replaces. Open it again and look; what you typed is still here."


class NoInput(Refused):
    """Choose a file, or paste its text."""


class TwoInputs(Refused):
    """Choose one: the file or the pasted text."""


class NoTest(Refused):
    """Choose the test and the ordering organisation first: they decide what is checked."""


@dataclass
class FormPage:
    """Everything the page shows."""

    form: OrderForm
    intake: Intake | None = None
    pasted: str = ""
    draft: Kept = field(default_factory=drafting.fresh)
    drafts: list[Listed] = field(default_factory=list)  # others of this person
    draft_over: str = ""  # what became of the draft that was asked for
    alike: list[Alike] = field(default_factory=list)  # orders that this one looks like
    unsure: bool = False  # the database did not answer: nothing is known to be wrong with the order
    input_errors: list[str] = field(default_factory=list)
    two_inputs: str = ""  # said at both fields
    sample_errors: list[str] = field(default_factory=list)
    replaces: Order | None = None  # the order in whose place this one is placed …
    edits: int = 0  # … as the person saw it

    @property
    def sample_anchor(self) -> str:
        """What has to be done about the sample: choose it, or confirm the chosen one."""
        return "id_sample_confirmed" if self.intake and self.intake.sample else "id_sample"

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the linked upload."""
        return verdict(self.intake) if self.intake else None

    @property
    def summary(self) -> list[tuple[str, str]]:
        """(anchor, message) of everything that has to be corrected, in the order of the page."""
        found = [("input", message) for message in self.input_errors if message != self.two_inputs]
        found += [(anchor, self.two_inputs) for anchor in ("id_file", "id_pasted") if self.two_inputs]
        for name in self.form.fields if self.form.is_bound else ():
            anchor = "id_priority_0" if name == "priority" else f"id_{name}"
            found += [(anchor, f"{self.form[name].label}: {message!s}") for message in self.form[name].errors]
            if name == "specimen_source":
                found += [(self.sample_anchor, message) for message in self.sample_errors]
        found += [("duplicates", LOOKS_ALIKE)] if self.alike else []
        return found + [("order-form", str(message)) for message in (self.form.non_field_errors() if self.form.is_bound else ())]


@dataclass(frozen=True)
class Desk:
    """What this person can order, and for whom."""

    actor: Actor
    tests: list[TestVersion]
    organisations: list[Organisation]
    zone: Any
    asking: Asking = field(default_factory=Asking)
    systems: list[str] = field(default_factory=list)  # of numbers that are not the organisations' own
    downtimes: list[Downtime] = field(default_factory=list)  # for which he can enter an order late

    def form(self, **kwargs: Any) -> OrderForm:
        common: dict[str, Any] = {"zone": self.zone, "asking": self.asking, "systems": self.systems, "downtimes": self.downtimes}
        return OrderForm(tests=self.tests, organisations=self.organisations, **common, **kwargs)


def desk(actor: Actor, zone: Any) -> Desk:
    """The tests and organisations of this actor. Raises `NotPermitted` for someone who places no orders."""
    organisations = selectors.ordering_organisations(actor)
    if not organisations:
        raise NotPermitted("Your role does not include placing orders.", code="access.not-permitted")
    systems = patient_selectors.systems([one.pk for one in organisations])
    tests = selectors.offered_tests(actor)
    open_downtimes = downtimes.enterable(actor, {test.definition.laboratory_id for test in tests})
    return Desk(actor, tests, organisations, zone, asking(actor, tests), systems, open_downtimes)


def resume(at: Desk, query: Mapping[str, str]) -> FormPage:
    """A fresh form, linked to an upload if the address names one; a draft as it was left; or filled in from an order to replace."""
    if replaced := _replaced(at.actor, query):
        return _instead(at, replaced, _linked(at.actor, query.get("intake")))
    draft, over = drafting.taken_up(at.actor, query.get("draft"))
    names = {str(test.pk): test.definition.name for test in at.tests}
    if draft is None:
        page = FormPage(at.form(), _linked(at.actor, query.get("intake")), draft_over=over)
        page.draft = Kept(drafting.identified(query.get("draft")) or page.draft.id) if not over else page.draft
    else:
        page = FormPage(at.form(initial=draft.typed), draft.intake, pasted=draft.typed.get("pasted", ""), draft=behind(draft))
    page.drafts = drafting.listed(at.actor, names, without=page.draft.id)
    return page


def _instead(at: Desk, replaced: Order, linked: Intake | None) -> FormPage:
    without = prefill.PATIENT | prefill.SPECIMEN if replaced.state == IN_ERROR else ()
    values = prefill.of_order(replaced, tests=at.tests, without=without)
    return FormPage(at.form(initial=values), linked, replaces=replaced, edits=replaced.edits)


def keep(at: Desk, data: Mapping[str, str], files: Files) -> tuple[Draft, str]:
    """Save what is typed as a draft, with the file that is sent along. Raises `Refused` or `Stale` in words."""
    linked = take_input(at, data, files) if files.get("file") else _linked(at.actor, data.get("intake"))
    asked = {str(organisation.pk): organisation.pk for organisation in at.organisations}
    organisation_id = asked.get(data.get("organisation", ""), at.organisations[0].pk)
    return drafting.save(at.actor, organisation_id, at.form().fields, data, intake_id=linked.pk if linked else None)


def recheck(at: Desk, data: Mapping[str, str], files: Files) -> FormPage:
    """Take the input and show its verdict; what was typed stays as it is and is not judged yet."""
    typed = {name: data[name] for name in data}  # unpacking a QueryDict would give lists
    page = FormPage(at.form(initial=typed), pasted=data.get("pasted", ""), draft=drafting.named(data), **_replacing(at.actor, data))
    _take(page, at, data, files)
    return page


def submit(at: Desk, data: Mapping[str, str], files: Files) -> tuple[FormPage, Order | None]:
    """Place the order, or say field by field what has to be corrected."""
    page = FormPage(at.form(data=data), pasted=data.get("pasted", ""), draft=drafting.named(data), **_replacing(at.actor, data))
    linked = _take(page, at, data, files)
    valid = page.form.is_valid()
    if page.intake is not None and not linked:
        page.input_errors.append("The input was checked only now. Read the verdict, then place the order.")
    asks = page.verdict is not None and page.verdict.asks_for_sample
    if asks:
        page.sample_errors.append("Choose the sample of the file that is this specimen.")
    elif page.intake is not None and page.intake.state == "refused":
        page.input_errors.append("This input is refused. Correct the file at its source, or choose another.")
    if page.intake is None or not valid or page.input_errors or asks:
        return page, None
    try:
        return page, _place(at.actor, page, page.form.request(page.intake), _told(data))
    except InvalidOrder as error:
        _object(page, error.fields)
    except LooksDuplicate as error:
        page.alike = error.found
    except (Refused, Stale) as error:
        page.form.add_error(None, CHANGED if isinstance(error, Stale) else str(error))
    except OperationalError:  # a lock or a statement took too long, or the database went away: who can say what it did
        page.form.add_error(None, UNSURE)
        page.unsure = True
    return page, None


UNSURE = "The server could not place the order just now. Press the button again: however often you do, it is one order."


class Placed(Refused):
    """This draft has been placed before."""


def _told(data: Mapping[str, str]) -> frozenset[UUID]:
    """Orders that the person was told this one looks like, when he says: place it nevertheless."""
    if data.get("do") != NEVERTHELESS:
        return frozenset()
    return frozenset(pk for said in data.get("told", "").split(",")[:100] if (pk := drafting.identified(said)))


def _place(actor: Actor, page: FormPage, request: OrderRequest, told: frozenset[UUID]) -> Order:
    """The order, and with it the end of its draft, or of the order that it replaces: both or neither."""
    if page.replaces is not None:
        return replacing.replace(
            actor=actor, request=request, replaced=page.replaces, words=page.form.cleaned_data["replaces_reason"],
            expected_edits=page.edits, told=told,
        )  # fmt: skip
    try:
        return _place_draft(actor, page, request, told)
    except IntegrityError:  # another window placed the same draft at the same moment: look again
        return _place_draft(actor, page, request, told)


def _place_draft(actor: Actor, page: FormPage, request: OrderRequest, told: frozenset[UUID]) -> Order:
    with transaction.atomic():
        before = drafts.order_of(actor=actor, draft_id=page.draft.id)
        if before is not None and before.intake_id != request.intake_id:
            raise Placed(f"This draft was placed as order {before.accession}. To place another, begin anew.", code="draft.placed")
        order = services.place(actor=actor, request=request, told=told)
        drafts.placed(actor=actor, draft_id=page.draft.id, order=order)
        return order


def again(at: Desk, order: Order) -> Intake:
    """The stored file of an order, checked again for the order that takes its place. Raises `Refused`."""
    if not replacing.may_replace(at.actor, order):
        raise Refused("This order cannot be replaced as it stands, or your role does not include it.", code="order.not-replaceable")
    test = prefill.offered(order, at.tests) or order.test_version
    return uploads.check_again(actor=at.actor, intake=order.intake, test_version=test)


def take_input(at: Desk, data: Mapping[str, str], files: Files) -> Intake:
    """The upload that the form speaks of: a new file or text, another sample of the same file, or the one already linked."""
    current = _linked(at.actor, data.get("intake") or data.get("kept"))
    chunks, name = _incoming(data, files, current)
    if chunks is not None:
        test, organisation_id = _chosen(at, data)
        return uploads.start_intake(
            actor=at.actor, test_version=test, ordering_organisation_id=organisation_id, chunks=chunks, filename=name
        )
    if current is None:
        raise NoInput(code="intake.no-input")
    if _other_test(at, data, current):
        test, _ = _chosen(at, data)
        return uploads.check_again(actor=at.actor, intake=current, test_version=test)
    sample = data.get("sample", "")
    if sample and sample != current.sample and current.state in ("ready", "refused"):
        return uploads.choose_sample(actor=at.actor, intake=current, sample=sample)
    return current


def _take(page: FormPage, at: Desk, data: Mapping[str, str], files: Files) -> bool:
    """Link the page to its upload; whether it is the one the person has already seen the verdict of."""
    try:
        page.intake = take_input(at, data, files)
    except Refused as error:
        page.input_errors.append(str(error))
        page.two_inputs = two_inputs(error)
        return False
    return str(page.intake.pk) == data.get("intake")


def two_inputs(error: Refused) -> str:
    """What is said at both fields when the refusal is about both; empty for any other."""
    return str(error) if isinstance(error, TwoInputs) else ""


def _incoming(data: Mapping[str, str], files: Files, current: Intake | None) -> tuple[Iterable[bytes] | None, str]:
    upload, text = files.get("file"), as_text(data.get("pasted", ""))
    if upload is not None and text.strip():  # which of them belongs to the patient is not for us to guess
        raise TwoInputs(
            f"Choose one: the file {upload.name} or the pasted text. Remove the file, or empty the text.", code="intake.two-inputs"
        )
    if upload is not None:
        return upload.chunks(), upload.name or ""
    if not text.strip() or (current is not None and hashlib.sha256(text).hexdigest() == current.file.sha256):
        return None, ""
    return [text], PASTED_NAME


def as_text(pasted: str) -> bytes:
    """Pasted text as a file: browsers send CRLF and drop the last line end, whatever was copied."""
    text = pasted.replace("\r\n", "\n")
    return (text if text.endswith("\n") or not text else text + "\n").encode()


def _linked(actor: Actor, intake: str | None) -> Intake | None:
    if not intake:
        return None
    try:
        return selectors.intake_for(actor, UUID(intake))
    except (ValueError, NotFound):
        return None


def _other_test(at: Desk, data: Mapping[str, str], current: Intake) -> bool:
    """Whether another test is chosen than the stored file was checked for."""
    return data.get("test", "") in {str(test.pk) for test in at.tests} - {str(current.test_version_id)}


def _replaced(actor: Actor, data: Mapping[str, str]) -> Order | None:
    """The order that the address or the form names; None for a new one, and for one that is not within reach."""
    try:
        return selectors.order_for(actor, UUID(data.get("replaces", "")))
    except (ValueError, NotFound):
        return None


def _replacing(actor: Actor, data: Mapping[str, str]) -> dict[str, Any]:
    seen = data.get("edits", "")
    return {"replaces": _replaced(actor, data), "edits": int(seen) if seen.isdecimal() and len(seen) < 10 else 0}


def _chosen(at: Desk, data: Mapping[str, str]) -> tuple[TestVersion, UUID]:
    tests = {str(test.pk): test for test in at.tests}
    organisations = {str(organisation.pk): organisation.pk for organisation in at.organisations}
    if data.get("test") not in tests or data.get("organisation") not in organisations:
        raise NoTest(code="intake.no-test")
    return tests[data["test"]], organisations[data["organisation"]]


def _object(page: FormPage, fields: Mapping[str, list[str]]) -> None:
    for said, messages in fields.items():
        name = "paper_number" if said == "placer_number" else said
        if name == "intake":
            page.input_errors += messages
        elif name == "sample":
            page.sample_errors += messages
        else:
            for message in messages:
                page.form.add_error(name if name in page.form.fields else None, message)
