"""Sequences as they are pasted: read as they stand, or refused with the line that is wrong."""

import pytest

from questions import text
from questions.errors import InvalidQuestion
from questions.requests import QuestionRequest, settled


def read(said):
    found = text.read(said)
    return [(one.name, one.bases, one.line) for one in found.sequences], found.faults


@pytest.mark.parametrize(
    ("said", "sequences"),
    [
        ("acgtacgtac", [("sequence-1", "ACGTACGTAC", 1)]),
        ("\n ACGTA CGTAC \nGG\n", [("sequence-1", "ACGTACGTACGG", 2)]),
        ("ACGTACGTAC\r\n\r\n\r\nTTTTTTTTTT", [("sequence-1", "ACGTACGTAC", 1), ("sequence-2", "TTTTTTTTTT", 4)]),
        (">a of Mrs Doe\nACGTA\n\nCGUAC\n>\nNNNNNNNNNN", [("a", "ACGTACGTAC", 1), ("sequence-2", "NNNNNNNNNN", 5)]),
        ("ACGTACGTAC\n>b\nACGTACGTAC", [("sequence-1", "ACGTACGTAC", 1), ("b", "ACGTACGTAC", 2)]),
    ],
    ids=["letters", "spaces", "two-blocks", "fasta", "mixed"],
)
def test_letters_alone_and_fasta_are_read(said, sequences):
    assert read(said) == (sequences, [])


@pytest.mark.parametrize(
    ("said", "lines"),
    [
        ("", ["There is no sequence yet"]),
        (">a\n>b\nACGT", ["Line 1: “a” has no bases", "Line 2: “b” has 4 bases; at least 10"]),
        ("ACGTACGTAC\nACGT1CGTAC\nAC-T", ["Line 2: “1” is no base", "Line 3: “-” is no base"]),
        ("ACGTACGTAC\0", ["Line 1: the character U+0000 is no base"]),
        ("A" * (text.MOST_BASES + 1), ["The sequences have 200,001 bases in all"]),
        ("\n\n".join(["ACGTACGTAC"] * 102), ["Line 201: here begins sequence 101; at most 100"]),
    ],
    ids=["nothing", "short", "letters", "nul", "too-much", "too-many"],
)
def test_what_cannot_be_asked_is_told_with_its_line(said, lines):
    faults = read(said)[1]
    assert len(faults) == len(lines) and all(fault.startswith(line) for fault, line in zip(faults, lines, strict=True))


def test_faults_are_told_up_to_a_number_and_counted_beyond():
    faults = read("ACGT!\n" * 50)[1]
    assert len(faults) == text.MOST_FAULTS + 1 and faults[-1] == "30 more faults follow."


def test_what_is_read_otherwise_than_typed_is_said():
    assert text.read(">a b\nACGUNNACGT").notes == [
        "2 of 10 bases are N or ambiguity codes.", "1 U (RNA) are read as T.", "Of each name line only the first word is kept."
    ]  # fmt: skip


def test_what_is_written_is_read_again():
    pairs = [("a", "ACGTACGTAC"), ("b", "NNNNNNNNNN")]
    assert [one[:2] for one in read(text.written(pairs))[0]] == pairs


@pytest.mark.parametrize(
    ("kind", "settings", "wrong"),
    [
        ("score", {"strand": "sideways"}, "strand"),
        ("score", {"pooling": "mean"}, "pooling"),
        ("continue", {"length": 0}, "length"),
        ("continue", {"length": True}, "length"),
        ("continue", {"temperature": float("nan")}, "temperature"),
        ("continue", {"temperature": 1e-9}, "temperature"),
        ("continue", {"top_k": "ten"}, "top_k"),
        ("continue", {"samples": 2, "temperature": 0}, "samples"),
        ("continue", {"seed": 2**63}, "seed"),
        ("embed", {"pooling": "max"}, "pooling"),
    ],
)
def test_settings_out_of_bounds_or_of_another_kind_are_refused(kind, settings, wrong):
    with pytest.raises(InvalidQuestion) as refused:
        settled(QuestionRequest(None, "", kind, "", settings=settings))
    assert list(refused.value.fields) == [wrong]
