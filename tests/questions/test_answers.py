"""Answers from the real engine with the bundled model: the same bits whatever the load, and as files that hold them exactly."""

import csv
import io
import json
import math
from collections.abc import Iterator

import numpy as np
import pytest

from engine_queue.host import Host
from engine_queue.models import Result, Run
from questions import answers, files
from questions.models import Question
from tests.engine_queue.workers import DEPLOYMENT
from tests.factories import BASES, make_order, make_ready_intake
from tests.questions.people import Bench, answered_by, said
from tests.services import ROOT

pytestmark = pytest.mark.django_db
TEXT = f">a\n{BASES[:90]}\n>b\n{BASES[100:175]}\n>c\nACGTNACGTN"
WANTED = {"score": {}, "continue": {"length": 25, "seed": 11, "samples": 2, "top_k": 3}, "embed": {}}


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    made = Host()
    made.load(DEPLOYMENT, ROOT / "models" / "ecoli-orf-2k", {"threads": 2, "self_test": False})
    yield made
    made.stop()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def read(question: Question, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(files.made(question, name).decode())))


def test_an_answer_has_the_same_bits_alone_and_beside_other_work(bench: Bench, host: Host) -> None:
    alone = {}
    for kind, settings in WANTED.items():
        question = bench.asks(kind, TEXT, **settings)
        answered_by(host)
        alone[kind] = said(question)
    order = make_order(intake=make_ready_intake(test_version=bench.test, variants=40))
    others = [bench.asks("continue", f"{BASES[n : 90 + n]}\n\n{TEXT}", length=40) for n in range(1, 4)]
    beside = {kind: bench.asks(kind, TEXT, **settings) for kind, settings in WANTED.items()}
    answered_by(host, together=32)
    assert {kind: said(question) for kind, question in beside.items()} == alone
    assert all(len(rows) == 3 and not any(row[2] for row in rows) for rows in alone.values())
    assert Run.objects.get(order_id=order.pk).state == "scored" and {one.run.seed for one in others} - {11}
    assert len({json.dumps(said(one)[0][1]) for one in others}) == 3


def test_the_same_seed_gives_the_same_continuation_and_another_one_another(bench: Bench, host: Host) -> None:
    asked = [bench.asks("continue", TEXT, length=25, seed=seed) for seed in (3, 3, 4)]
    drawn = bench.asks("continue", TEXT, length=25)
    answered_by(host, together=8)
    first, again, other = map(said, asked)
    assert first == again != other
    repeated = bench.asks("continue", TEXT, length=25, seed=drawn.run.seed)
    answered_by(host)
    assert said(repeated) == said(drawn)
    greedy = [bench.asks("continue", TEXT, length=25, temperature=0) for _ in range(2)]
    answered_by(host)
    assert said(greedy[0]) == said(greedy[1])


def test_a_score_is_told_for_each_strand_and_each_base(bench: Bench, host: Host) -> None:
    question = bench.asks("score", TEXT)
    answered_by(host)
    question.refresh_from_db()
    one, *_, ambiguous = answers.answers(question)
    assert [strand.name for strand in one.strands] == ["forward", "reverse"] and question.ended_at
    assert one.log_likelihood == math.fsum(strand.log_likelihood for strand in one.strands) / 2
    assert ambiguous.flags == ("item.ambiguous-bases",) and len(one.fingerprint) == 64
    rows = [row for row in read(question, "bases.csv") if row["number"] == "1" and row["strand"] == "reverse"]
    assert "".join(row["letters"] for row in rows) == BASES[:90] and [int(row["first_base"]) for row in rows] == list(range(1, 91))
    assert math.fsum(float(row["log_probability"]) for row in rows) == one.strands[1].log_likelihood
    alone = bench.asks("score", BASES[:90][::-1].translate(str.maketrans("ACGT", "TGCA")), strand="forward")
    answered_by(host)
    assert answers.answers(alone)[0].strands[0].log_probabilities == one.strands[1].log_probabilities
    scores = read(question, "scores.csv")
    assert len(scores) == 6 and float(scores[0]["log_likelihood"]) == one.strands[0].log_likelihood
    assert {row["use"] for row in scores} == {"research use, no report"}


def test_a_continuation_has_as_many_bases_as_were_asked_for(bench: Bench, host: Host) -> None:
    question = bench.asks("continue", TEXT, length=70, samples=2, seed=1)
    answered_by(host, together=4)
    found = answers.answers(question)
    assert all(len(sample.bases) + sample.silent == 70 or sample.ended == "end" for one in found for sample in one.samples)
    assert found[0].samples[0].bases != found[0].samples[1].bases
    text = files.made(question, "continuations.fasta").decode()
    assert text.startswith(">a_continued_1 seed=1 ") and text.count(">") == 6 and max(map(len, text.splitlines()[1:3])) <= 60


def test_vectors_are_downloaded_bit_by_bit(bench: Bench, host: Host) -> None:
    question = bench.asks("embed", TEXT)
    answered_by(host)
    found = [one.vector for one in answers.answers(question)]
    array = np.load(io.BytesIO(files.made(question, "vectors.npy")))
    assert (array.dtype, array.shape) == (np.float64, (3, 256)) and [list(map(float, row)) for row in array] == found
    assert [float(read(question, "vectors.csv")[1][f"v{n}"]) for n in range(256)] == found[1]
    assert json.loads(files.made(question, "answer.json"))["sequences"][2]["vector"] == found[2]


def test_a_sequence_that_the_model_cannot_take_fails_alone(host: Host) -> None:
    bench = Bench(takes=False)  # nobody has said how much it takes
    question = bench.asks("score", ">long\n" + "ACGT" * 600 + "\n" + TEXT)
    answered_by(host, together=4)
    assert [row[2] for row in said(question)] == ["item.context-too-long", "", "", ""]
    assert read(question, "scores.csv")[0]["failure"] == "item.context-too-long"
    embedded = bench.asks("embed", ">long\n" + "ACGT" * 600 + "\n" + TEXT)
    answered_by(host, together=4)
    assert np.isnan(np.load(io.BytesIO(files.made(embedded, "vectors.npy")))[0]).all()
    assert Result.objects.filter(run=question.run).count() == 4
