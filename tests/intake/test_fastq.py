"""FASTQ: strict four lines; the first fault refuses the file with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from foundation.file_reasons import FileReason
from orders.intake import Limits, Outcome, State, read_sequences
from tests.intake.judging import judge

SOUND = "@r0\nACGT\n+\nIIII\n"


@pytest.mark.parametrize(
    ("read", "code", "line"),
    [
        ("r1\nACGT\n+\nIIII\n", FileReason.FASTQ_TITLE, 5),
        ("@\nACGT\n+\nIIII\n", FileReason.SEQ_NO_NAME, 5),
        ("@r\x01\nACGT\n+\nIIII\n", FileReason.FASTQ_TITLE_CHARACTER, 5),
        ("@r1\nAC-T\n+\nIIII\n", FileReason.SEQ_ALPHABET, 6),
        ("@r1\nACGT\nACGT\n+\nIIIIIIII\n", FileReason.FASTQ_WRAPPED, 7),
        ("@r1\nACGT\n\n+\n", FileReason.FASTQ_PLUS_MISSING, 7),
        ("@r1\nACGT\n+r2\nIIII\n", FileReason.FASTQ_PLUS_NAME, 7),
        ("@r1\nACGT\n+\nIII\n", FileReason.FASTQ_QUALITY_LENGTH, 8),
        ("@r1\nACGT\n+\nIIIII\n", FileReason.FASTQ_QUALITY_LENGTH, 8),
        ("@r1\nACGT\n+\nII I\n", FileReason.FASTQ_QUALITY_CHARACTER, 8),
        ("@r1\nACGT\n+\nII\x7fI\n", FileReason.FASTQ_QUALITY_CHARACTER, 8),
        ("@r1\nACGT\n+\n", FileReason.FASTQ_TRUNCATED, 7),
        ("@r1\nACGT\n", FileReason.FASTQ_TRUNCATED, 6),
        ("@r1", FileReason.FASTQ_TRUNCATED, 5),
    ],
)
def test_a_fault_refuses_the_file_at_its_line(tmp_path: Path, read, code, line):
    judged = judge(tmp_path / "a.fq", SOUND + read)
    assert (judged.summary.state, judged.refused_for, judged.summary.refusal.line) == (State.REFUSED, code, line)
    assert [verdict.outcome for verdict in judged.verdicts] == ["accepted", "refused"]


def test_the_plus_line_may_repeat_the_title(tmp_path: Path):
    assert judge(tmp_path / "a.fq", "@r1 x=1\nACGT\n+r1 x=1\nIIII\n").summary.state is State.ACCEPTED


def test_a_read_trimmed_to_nothing_is_parked(tmp_path: Path):
    judged = judge(tmp_path / "a.fq", SOUND + "@r1\n\n+\n\n" + SOUND.replace("r0", "r2"))
    assert judged.codes == [None, FileReason.SEQ_EMPTY, None]


def test_mates_of_one_name_are_accepted_and_said(tmp_path: Path):
    judged = judge(tmp_path / "a.fq", SOUND + SOUND)
    assert judged.verdicts[1].flags == (FileReason.SEQ_DUPLICATE_NAME,)


def test_a_quality_line_that_begins_with_an_at_sign_is_quality(tmp_path: Path):
    assert judge(tmp_path / "a.fq", "@r\nACGT\n+\n@III\n" + SOUND).summary.items == 2


def test_a_packed_file_cut_off_within_a_read_still_adds_up(tmp_path: Path):
    judged = judge(tmp_path / "a.fq", SOUND * 3 + "@r1\n" + "A" * 3_000, limits=Limits(max_decompressed=2_000))
    assert judged.refused_for is FileReason.FILE_TOO_LARGE


def test_the_bases_of_reads_can_be_read_again(tmp_path: Path):
    path = tmp_path / "a.fq"
    verdicts = judge(path, "@a\r\nACGu\r\n+\r\nIIII\r\n@b\r\nTT\r\n+\r\nII\r\n").verdicts
    assert [bases for _, bases in read_sequences(path, verdicts, limits=Limits())] == ["ACGT", "TT"]
    assert {verdict.outcome for verdict in verdicts} == {Outcome.ACCEPTED}
