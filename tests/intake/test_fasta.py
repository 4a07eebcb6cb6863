"""FASTA: a verdict per sequence."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from foundation.file_reasons import FileReason
from orders.intake import FileChanged, Limits, Outcome, SequenceReader, State, Verdict, read_sequences
from tests.intake.judging import judge


@pytest.mark.parametrize(
    ("text", "outcome", "code"),
    [
        (">a\nACGT*\n", Outcome.REFUSED, FileReason.SEQ_ALPHABET),
        (">a\nAC GT\n", Outcome.REFUSED, FileReason.SEQ_ALPHABET),
        (">a\nMKALTARQQE\n", Outcome.REFUSED, FileReason.SEQ_ALPHABET),
        (">a\n\n", Outcome.REFUSED, FileReason.SEQ_EMPTY),
        (">a\n", Outcome.REFUSED, FileReason.SEQ_EMPTY),
        (">\nACGT\n", Outcome.REFUSED, FileReason.SEQ_NO_NAME),
        (">a\nNNRY\n", Outcome.PARKED, FileReason.SEQ_UNKNOWN_ONLY),
        (">a\nACGTACGTACGT\n", Outcome.PARKED, FileReason.SEQ_TOO_LONG),
    ],
)
def test_a_sequence_that_cannot_be_scored_gets_its_code(tmp_path: Path, text, outcome, code):
    verdict = judge(tmp_path / "a.fa", text, limits=Limits(max_sequence=10)).only
    assert (verdict.outcome, verdict.code) == (outcome, code)


def test_the_faulty_line_is_named(tmp_path: Path):
    verdict = judge(tmp_path / "a.fa", ">a\nACGT\nACXT\n").only
    assert "“X” in line 3" in verdict.reason


@pytest.mark.parametrize(
    ("bases", "flags"),
    [
        ("ACGT", ()),
        ("ACGN", (FileReason.SEQ_AMBIGUOUS,)),
        ("ACGU", (FileReason.SEQ_RNA,)),
        ("acgt", (FileReason.SEQ_LOWER_CASE,)),
        ("ACGT  ", ()),
    ],
)
def test_what_was_read_in_a_special_way_is_said(tmp_path: Path, bases, flags):
    assert judge(tmp_path / "a.fa", f">a\n{bases}\n").only.flags == flags


def test_a_second_sequence_of_the_same_name_is_parked(tmp_path: Path):
    judged = judge(tmp_path / "a.fa", ">a first\nACGT\n>b\nACGT\n>a second\nTTTT\n")
    assert judged.codes == [None, None, FileReason.SEQ_DUPLICATE_NAME]
    assert judged.summary.state is State.ACCEPTED_WITH_EXCEPTIONS


def test_names_beyond_the_remembered_ones_are_said_not_to_be_compared(tmp_path: Path):
    judged = judge(tmp_path / "a.fa", ">a\nACGT\n>b\nACGT\n>c\nACGT\n", limits=Limits(remembered_names=2))
    assert FileReason.FILE_NAMES_NOT_COMPARED in judged.notes


def test_a_sequence_on_one_endless_line_is_read_in_pieces(tmp_path: Path):
    judged = judge(tmp_path / "a.fa", b">a\r\n" + b"ACGT" * 400_000 + b"\r\n", limits=Limits(max_line=1_000))
    assert (judged.only.outcome, judged.only.sequence_length) == (Outcome.ACCEPTED, 1_600_000)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_the_bases_behind_a_verdict_can_be_read_again(tmp_path: Path, end, packed):
    text = f">a{end}ACGT{end}{end}acgu{end}>bad{end}X{end}>b{end}" + "ACGTTGCA" * 50_000 + f"{end}>c{end}TTTT"
    content = gzip.compress(text.encode()) if packed else text.encode()
    path = tmp_path / "a.fa"
    accepted = [verdict for verdict in judge(path, content).verdicts if verdict.outcome == "accepted"]
    read = {verdict.name: bases for verdict, bases in read_sequences(path, accepted, limits=Limits())}
    assert read == {"a": "ACGTACGT", "b": "ACGTTGCA" * 50_000, "c": "TTTT"}


def test_a_file_that_shrank_since_its_check_is_an_error(tmp_path: Path):
    path = tmp_path / "a.fa"
    verdict: Verdict = judge(path, ">a\nACGTACGT\n").only
    path.write_text(">a\nACG")
    with pytest.raises(FileChanged):
        SequenceReader(path, limits=Limits()).read(verdict.sequence_offset, verdict.sequence_length)


@pytest.mark.parametrize("text", [">a\rACGT\nTTTT\n", ">a\nACGT\n>b\rACGT\r>c\nGGGG\n"])
def test_bases_that_a_lone_carriage_return_puts_into_a_name_are_not_lost(tmp_path: Path, text):
    judged = judge(tmp_path / "a.fa", text)
    assert judged.refused_for == FileReason.FILE_OLD_LINE_ENDS
    assert judged.summary.refusal.line == text.count("\n", 0, text.index("\r")) + 1
    assert judge(tmp_path / "doubled.fa", ">a\r\r\nACGT\r\r\n").only.sequence_length == 4
