"""The work is the same on every machine and of the sizes that are written down."""

import itertools

import pytest

from benchmarks import workloads
from benchmarks.measured import NotMeasured
from benchmarks.peer import Work


def test_mixed_has_the_reference_totals() -> None:
    work = workloads.mixed()
    assert (len(work), sum(len(piece.tokens) for piece in work), sum(piece.limit for piece in work)) == (64, 25_290, 4_222)


@pytest.mark.parametrize(("work", "longest_output"), [(workloads.mixed(), 256), (workloads.mixed_long(), 1024)])
def test_prompts_and_outputs_stay_in_their_bounds(work: tuple[Work, ...], longest_output: int) -> None:
    assert all(10 <= len(piece.tokens) <= 2000 and 8 <= piece.limit <= longest_output for piece in work)
    assert max(piece.limit for piece in work) > longest_output / 2


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (workloads.mixed(), "b1bd15f1"),
        (workloads.mixed_long(), "861b3e01"),
        (workloads.variants(), "70046bd5"),
        (workloads.reads(50, 1), "52ca5aa7"),
        (workloads.long(1000), "bc3517a7"),
        (workloads.contig(1000), "f401d1eb"),
    ],
)
def test_a_seed_gives_the_same_ids_everywhere(made: object, expected: str) -> None:
    assert workloads.digest(made).startswith(expected)


def test_variants_change_one_base_near_the_middle_of_a_window() -> None:
    loci = workloads.variants()
    assert len(workloads.sequences(loci)) == len(set(workloads.sequences(loci))) == 220
    for locus in loci:
        assert len(locus.reference) == 1024
        for alternate in locus.alternates:
            changed = locus.changed(alternate)
            assert [at for at, pair in enumerate(zip(locus.reference, changed, strict=True)) if len(set(pair)) == 2] == [
                alternate.at
            ]
            assert abs(alternate.at - 512) <= 5


def test_fewer_reads_are_the_beginning_of_the_same_reads() -> None:
    few, more = workloads.reads(5, 1), workloads.reads(9, 2)
    assert few == (more[0], *more[2:7])


def test_reads_and_contigs_have_their_lengths() -> None:
    made = workloads.reads(300, 3)
    assert all(10_000 <= len(contig) <= 50_000 for contig in made[:3])
    assert all(35 <= len(read) <= 300 for read in made[3:])


def test_the_million_bases_are_whole_and_plain() -> None:
    bases = workloads.real(workloads.APP)
    assert len(bases) == 1_014_726
    assert set(bases) == set(workloads.BASES)
    assert workloads.real(workloads.APP, 70) == bases[:70]


def test_a_missing_sequence_is_said_and_not_invented() -> None:
    with pytest.raises(NotMeasured, match=r"none\.fa\.gz"):
        workloads.real(workloads.APP.with_name("none.fa.gz"))


def test_short_requests_differ_from_each_other() -> None:
    made = [workloads.short_request(number) for number in range(3)]
    assert all(len(work.tokens) == 200 and work.limit == 16 for work in made)
    assert all(one != other for one, other in itertools.combinations(made, 2))
