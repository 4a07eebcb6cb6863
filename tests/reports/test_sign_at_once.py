"""People at the same moment: committed transactions on a database of their own."""

from concurrent.futures import ThreadPoolExecutor

from django.db import connection

from accounts import step_up
from accounts.models import User
from accounts.roles import Role
from accounts.step_up import About
from foundation.errors import HelicaseError
from orders.models import Order
from reports import interpreting, signing, wrong_patient
from reports.models import Meaning
from storage.models import StoredFile
from tests.factories import PASSWORD, make_actor, make_laboratory
from tests.reports import cases, signers


def together(*deeds):
    """What each of these raised, all begun at once; nothing: it was done."""

    def done(deed):
        try:
            deed()
        except HelicaseError as error:
            return type(error).__name__
        finally:
            connection.close()
        return ""

    with ThreadPoolExecutor(len(deeds)) as crowd:
        return list(crowd.map(done, deeds))


def test_a_crowd_of_wrong_passwords_is_no_more_tries_than_five(clone_db):
    laboratory = make_laboratory()
    actor = make_actor(role=Role.REVIEWER, organisation=laboratory)
    about = About(User.objects.get(pk=actor.id), "0" * 64, laboratory.pk)
    said = together(*[lambda n=n: step_up.prove(actor=actor, about=about, given=f"guess {n}") for n in range(10)])
    assert said.count("NotProven") == step_up.TRIES and said.count("TooManyTries") == 10 - step_up.TRIES


def test_of_two_directors_who_sign_at_once_one_issues_it_and_it_has_one_document(clone_db):
    order = signers.scored(signers=2)
    lab = signers.laboratory_of(order)
    version = signers.approved(order, lab)
    signers.sign(version, lab.actor(Role.REVIEWER))
    directors = [lab.actor(Role.DIRECTOR, which) for which in ("one", "two")]
    said = together(*[lambda one=one: signers.sign(version, one, Meaning.APPROVAL) for one in directors])
    assert sorted(said) == ["", "NotWaiting"]
    assert StoredFile.objects.filter(kind="report").count() == 1 and cases.read(order).state == "reported"


def test_a_wrong_patient_and_the_last_signature_at_once_leave_nothing_that_outsiders_read(clone_db):
    order = signers.scored()
    lab = signers.laboratory_of(order)
    interpreting.write(order=order, actor=lab.actor(Role.ANALYST), text="Words.", expected=0)
    version = signers.approved(order, lab)
    reviewer, director = lab.actor(Role.REVIEWER), lab.actor(Role.DIRECTOR)
    given = step_up.prove(actor=reviewer, about=signing.about(version), given=PASSWORD)
    edits = cases.read(order).edits

    def declare():
        wrong_patient.declare(order=order, words="The labels were exchanged.", actor=director, expected_edits=edits)

    said = together(lambda: signing.sign(version=version, meaning=Meaning.APPROVAL, actor=reviewer, proof=given), declare)
    now = Order.objects.get(pk=order.pk)
    assert said in (["NotWaiting", ""], ["", "Stale"])
    assert (now.state, now.reports.get(pk=version.pk).state) in [("entered_in_error", "entered_in_error"), ("reported", "released")]
