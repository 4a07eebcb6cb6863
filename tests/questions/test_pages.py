"""The pages of questions: asked without losing a letter, seen by the laboratory alone, and cancelled by who may."""

import re
from uuid import uuid4

import pytest
from django.urls import reverse

from accounts.roles import Role
from audit.models import Event
from engine_queue import settling
from engine_queue.models import Item, Run
from engine_queue.work import ItemScore
from questions import services
from questions.models import Question
from tests.dashboard.people import logged_in, read
from tests.engine_queue.rows import scored, take
from tests.engine_queue.workers import DEPLOYMENT
from tests.factories import make_laboratory, make_organisation
from tests.questions.people import FASTA, Bench

pytestmark = pytest.mark.django_db
STRAND = {
    "log_likelihood": -30.0,
    "per_base": -1.5,
    "bases": 20,
    "tokens": 20,
    "starts": list(range(21)),
    "log_probabilities": [-1.5] * 20,
}
BODIES = {
    "score": {"strands": [{"strand": name, **STRAND} for name in ("forward", "reverse")]},
    "continue": {"samples": [{"bases": "ACGT" * 20, "tokens": 81, "silent": 1, "ended": "end", "log_probabilities": [-1.0]}]},
    "embed": {"positions": 21, "vector": [0.25, -0.5, 1.0]},
}
ASKED = "ACGTACGTACGTACGTACGT"


@pytest.fixture(autouse=True)
def served_from_the_sources(settings):
    settings.STATIC_ROOT = None


@pytest.fixture
def bench():
    return Bench()


def answer(kind):
    """As a finisher writes it, without an engine."""
    while (claimed := take()) is not None:
        item = Item.objects.get(item_set=Run.objects.get(pk=claimed.run_id).item_set, ordinal=claimed.first)
        total = -30.0 if kind == "score" else None
        settling.settle(scored(claimed, scores=[ItemScore(item.pk, ll_alt=total, tokens=20, answer=BODIES[kind])]))


def statuses(client, question):
    pages = [reverse(name, args=[question.pk]) for name in ("question", "question-live")]
    pages.append(reverse("question-file", args=[question.pk, "answer.json"]))
    return [client.get(page).status_code for page in pages]


ROLES = [role for role in Role.values if role != Role.SERVICE]


@pytest.mark.parametrize("role", ROLES)
def test_the_laboratory_sees_its_questions_and_nobody_else_does(bench, role):
    question, may = bench.asks(), role in {"analyst", "reviewer", "director", "model_steward"}
    colleague, stranger = logged_in(role, bench.laboratory), logged_in(role, make_laboratory())
    assert statuses(colleague, question) == ([200, 200, 409] if may else [404] * 3) and statuses(stranger, question) == [404] * 3
    assert (question.short in read(colleague, "questions", whose="all")) == may
    assert question.short not in read(stranger, "questions", whose="all")
    lists = [client.get(reverse("questions")).status_code for client in (colleague, stranger)]
    forms = [logged_in(role, one).get(reverse("question-new")).status_code for one in (bench.laboratory, make_organisation())]
    assert lists == [200, 200] and forms == [200 if may else 404, 404]
    assert colleague.post(reverse("question-check"), {"text": ASKED}).status_code == (200 if may else 404)
    cancel = reverse("question-cancel", args=[question.pk])
    assert stranger.post(cancel).status_code == 404 and colleague.get(cancel).status_code == 405
    trails = [client.get(reverse("question-audit", args=[question.pk])).status_code for client in (colleague, stranger)]
    assert trails == [200 if role in {"director", "auditor"} else 403 if may else 404, 404]
    expected = 302 if role in {"analyst", "director"} else 409 if may else 404
    assert colleague.post(cancel).status_code == expected


def test_a_question_is_asked_on_the_page_and_read_there(bench):
    client = logged_in(Role.ANALYST, bench.laboratory)
    page = read(client, "question-new")
    key = re.search(r'name="key" value="([^"]+)"', page)[1]
    typed = {"key": key, "text": f">a\n{ASKED}", "kind": "score", "deployment": DEPLOYMENT, "strand": "both", "priority": "urgent"}
    sent = [client.post(reverse("question-new"), {**typed, "length": "60", "seed": ""}) for _ in range(2)]
    question = Question.objects.get()  # sent twice
    address = reverse("question", args=[question.pk])
    assert [one.headers["Location"] for one in sent] == [address] * 2
    assert "1st in line" in client.get(address).content.decode()
    answer("score")
    page = client.get(address).content.decode()
    assert "Answered" in page and page.count("<svg") == 2 and "−30.000" in page.replace("-30.000", "−30.000")
    assert "no report, no patient" in page and "scores.csv" in page and "Cancel the question" not in page
    files = [client.get(reverse("question-file", args=[question.pk, name])).status_code for name in ("scores.csv", "vectors.npy")]
    looks = set(Event.objects.filter(object_id=str(question.pk)).values_list("action", flat=True))
    assert files == [200, 404]
    assert looks == {"question.asked", "question.finished", "question.viewed", "question.downloaded"}


def test_an_auditor_finds_what_happened_to_a_question_and_who_looked_and_no_sequence_of_it(bench):
    question, other, auditor = bench.asks("score", ASKED), bench.asks(), logged_in(Role.AUDITOR, bench.laboratory)
    read(logged_in(Role.REVIEWER, bench.laboratory), "question", question.pk)
    answer("score")
    trail = reverse("question-audit", args=[question.pk])
    for said in (question.short, f" {question.short.removeprefix('Q-').lower()} "):
        assert auditor.get(reverse("audit"), {"order": said})["Location"] == trail
    for said in ("Q-00000000", "Q-ZZZZZZZZ", f"{question.short}0"):
        assert "No order and no question" in auditor.get(reverse("audit"), {"order": said}).content.decode()
    page = read(auditor, "question-audit", question.pk)
    for words in ("Question asked", "Looked at the question", "Question finished", "sequences 1"):
        assert words in page, words
    assert ASKED not in page and str(other.run_id) not in page and f'href="{reverse("question", args=[question.pk])}"' not in page
    assert "Question asked" not in read(auditor, "question-audit", question.pk, part="reads")
    director = logged_in(Role.DIRECTOR, bench.laboratory)
    assert "Looked at the audit trail" in read(director, "question-audit", question.pk, part="reads")
    assert f'id="audit-link" href="{trail}"' in read(director, "question", question.pk)
    assert "audit-link" not in read(logged_in(Role.ANALYST, bench.laboratory), "question", question.pk)


def test_other_content_from_one_form_is_told_and_asked_as_another_question_when_sent_once_more(bench):
    client = logged_in(Role.ANALYST, bench.laboratory)
    typed = {"key": str(uuid4()), "text": ASKED, "kind": "score", "deployment": DEPLOYMENT, "strand": "both", "priority": "routine"}
    client.post(reverse("question-new"), typed)
    first, changed = Question.objects.get(), {**typed, "text": ASKED * 2}
    told = client.post(reverse("question-new"), changed)
    page = told.content.decode()
    assert told.status_code == 409 and f"{first.short} was asked already" in page and reverse("question", args=[first.pk]) in page
    assert ASKED * 2 in page and Question.objects.count() == 1
    key = re.search(r'name="key" value="([^"]+)"', page)[1]
    assert client.post(reverse("question-new"), {**changed, "key": key}).status_code == 302 and Question.objects.count() == 2


def test_its_live_part_is_a_look_and_its_files_are_whole_once_it_is_answered(bench):
    question, client = bench.asks("score", ASKED), logged_in(Role.REVIEWER, bench.laboratory)
    early = client.get(reverse("question-file", args=[question.pk, "answer.json"]))
    assert (
        early.status_code == 409 and "not answered yet" in early.content.decode() and "not cancelled" not in early.content.decode()
    )
    read(client, "question-live", question.pk)
    looks = Event.objects.filter(object_id=str(question.pk), action__in=["question.viewed", "question.downloaded"])
    assert not looks.exists()
    answer("score")
    read(client, "question-live", question.pk)
    assert looks.count() == 1


def test_nothing_that_was_typed_is_lost(bench):
    client = logged_in(Role.ANALYST, bench.laboratory)
    typed = {
        "text": ">a\nACGTACGTAC1\n<script>",
        "kind": "continue",
        "deployment": DEPLOYMENT,
        "length": "many",
        "seed": "12",
        "temperature": "0.7",
    }
    sent = client.post(reverse("question-new"), typed)
    page = sent.content.decode()
    assert sent.status_code == 422 and "Line 2: “1” is no base" in page and "Line 3: “&lt;” is no base" in page
    assert "&gt;a\nACGTACGTAC1\n&lt;script&gt;</textarea>" in page and 'value="many"' in page and 'value="0.7"' in page
    assert "a whole number from 1 to 10,000" in page and not Question.objects.exists()


def test_what_is_typed_is_counted_and_foreseen(bench):
    client = logged_in(Role.ANALYST, bench.laboratory)
    typed = {"text": FASTA + ">b\nAC", "kind": "score", "deployment": DEPLOYMENT, "strand": "forward", "priority": "routine"}
    panel = client.post(reverse("question-check"), typed).content.decode()
    assert "3 sequences, 144 bases, 147 tokens to compute" in panel and "Line 5: “b” has 2 bases" in panel
    assert "No estimate" in panel and "takes up to 2,048 bases" in panel


@pytest.mark.parametrize(
    ("kind", "shown"), [("continue", "ended by the model, 1 token without a base"), ("embed", "0.2500, -0.5000, 1.0000")]
)
def test_continuations_and_vectors_are_shown(bench, kind, shown):
    question = bench.asks(kind, ASKED)
    answer(kind)
    page = read(logged_in(Role.REVIEWER, bench.laboratory), "question", question.pk)
    assert shown in page and (kind != "continue" or (str(question.run.seed) in page and "data-copy" in page))


def test_a_question_is_asked_again_as_it_was_or_changed(bench):
    question = bench.asks("continue", f">a\n{ASKED}", length=33, seed=77, temperature=0.5)
    client = logged_in(Role.ANALYST, bench.laboratory)
    page = client.get(reverse("question-new"), {"from": str(question.pk)}).content.decode()
    assert f"&gt;a\n{ASKED}\n</textarea>" in page and 'value="33"' in page and 'value="77"' in page and 'value="0.5"' in page
    stranger = logged_in(Role.ANALYST, make_laboratory())
    assert stranger.get(reverse("question-new"), {"from": str(question.pk)}).status_code == 404


def test_the_list_has_pages_and_says_when_it_is_empty(bench, monkeypatch):
    client = logged_in(Role.DIRECTOR, bench.laboratory)
    assert "Nobody has asked anything yet" in read(client, "questions")
    monkeypatch.setattr("dashboard.questions_page.ROWS", 2)
    asked = [bench.asks().short for _ in range(3)]
    assert "You have asked nothing yet" in read(client, "questions")
    first, second = (read(client, "questions", whose="all", page=page) for page in (1, 2))
    assert [one in first for one in asked] == [False, True, True] and asked[0] in second
    assert 'hx-select="#question-list"' in first  # read again while one of them is not answered
    for one in Question.objects.all():
        services.cancel(actor=bench.actor, question=one)
    assert "hx-select" not in read(client, "questions", whose="all")
    assert "Older" in first and "Newer" in second and "nothing on this page" in read(client, "questions", whose="all", page=9)


def test_a_cancelled_question_says_who_cancelled_it(bench):
    question, client = bench.asks(), logged_in(Role.DIRECTOR, bench.laboratory)
    page = client.post(reverse("question-cancel", args=[question.pk]), follow=True).content.decode()
    assert f"{question.short} is cancelled" in page and "Cancelled" in page and "by Person" in page
    assert client.post(reverse("question-cancel", args=[question.pk])).status_code == 409
