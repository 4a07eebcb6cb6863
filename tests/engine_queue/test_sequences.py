"""Reference sequence is what the run was pinned to: contig by contig where their digests are known, else as a whole."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine_queue import claim, sequences
from engine_queue.errors import ReferenceUnusable
from engine_queue.sequences import Sequences
from orders import references
from registry import files, proofs
from registry.errors import FileChanged
from registry.proofs import Look
from tests.engine_queue.rows import make_run, take

ONE, TWO = "ACGTACGTTT" * 10, "GGGCCCAAAT" * 10


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "reference.fa"
    file.write_text(f">one\n{ONE}\n>two\n{TWO.lower()}\n")
    return str(file)


def digests(**bases: str) -> dict[str, str]:
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in bases.items()}


def test_a_contig_is_proven_when_it_is_first_read_and_no_other(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sequences, "digest", lambda self: pytest.fail("the whole was digested"))
    opened = sequences.opened(path, "d", digests(one=ONE, two="A"))
    assert opened.fetch("one", 0, 5) == ONE[:5]
    for _ in range(2):
        with pytest.raises(ReferenceUnusable, match="no longer holds") as refused:
            opened.fetch("two", 0, 5)
    assert refused.value.code == "reference.changed"


def test_lower_case_is_the_same_sequence(path: str) -> None:
    assert sequences.opened(path, "d", digests(one=ONE, two=TWO)).fetch("two", 0, 3) == "GGG"


def test_other_contigs_are_refused_at_once(path: str) -> None:
    with pytest.raises(ReferenceUnusable):
        sequences.opened(path, "d", digests(one=ONE))


def test_without_digests_of_contigs_the_whole_is_proven_once(path: str) -> None:
    with pytest.raises(ReferenceUnusable):
        sequences.opened(path, "other", {})
    whole = Sequences(path).digest()
    assert sequences.opened(path, whole, {}) is sequences.opened(path, whole, {})


def test_what_somebody_has_proven_is_not_digested_again(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sequences, "_feed", lambda *_: pytest.fail("something was digested"))
    opened = sequences.opened(path, "d", digests(one="A", two="A"), Look("now", True))
    assert opened.fetch("one", 0, 5) == ONE[:5]


def test_a_file_that_was_touched_is_proven_again(path: str) -> None:
    whole = Sequences(path).digest()
    first = sequences.opened(path, whole, {}, Look("then", False))
    assert sequences.opened(path, whole, {}, Look("then", False)) is first
    Path(path).write_text(Path(path).read_text().replace("ACGTACGTTT", "ACGTACGTTA", 1))
    with pytest.raises(ReferenceUnusable):
        sequences.opened(path, whole, {}, Look("now", False))


@pytest.mark.django_db
def test_a_job_takes_along_what_the_check_of_the_upload_has_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "SETTLED_SECONDS", -60.0)
    run = make_run(items=1)
    reference = run.item_set.reference
    claimed = take()
    assert reference is not None
    assert claimed is not None
    assert not claim.load(claimed).reference_look.proven
    references.view(reference)
    assert claim.load(claimed).reference_look.proven
    path = files.fasta(reference)
    path.write_text(path.read_text().replace("A", "C", 1))
    assert not claim.load(claimed).reference_look.proven
    with pytest.raises(FileChanged, match="no longer holds"):
        references.view(reference)


def test_another_thread_has_a_handle_of_its_own_and_proves_nothing_again(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = sequences.opened(path, Sequences(path).digest(), {})
    whole = first.digest()
    monkeypatch.setattr(Sequences, "_feed", lambda *_: pytest.fail("it was digested again"))
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(sequences.opened, path, whole, {}).result()
    assert second is not first
    assert second.fetch("one", 0, 5) == ONE[:5]
