"""The references of these tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orders.intake import FastaReference
from tests.intake.judging import ONE, TWO, Judged, judge, sites

DEMO = Path(__file__).parents[2] / "demo"


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> FastaReference:
    path = tmp_path_factory.mktemp("reference") / "small.fa"
    path.write_text(f">1\n{ONE}\n>2\n{TWO}\n")
    return FastaReference(path, name="small")


@pytest.fixture(scope="session")
def rcrs() -> FastaReference:
    return FastaReference(DEMO / "rcrs" / "rcrs.fa", name="rCRS")


@pytest.fixture(scope="session")
def lexa() -> FastaReference:
    return FastaReference(DEMO / "ecoli" / "ecoli536_lexA.fa", name="lexA")


@pytest.fixture
def one_site(tmp_path: Path, small: FastaReference) -> Callable[[str], Judged]:
    """Check a single `contig position ref alt` against the small reference."""
    return lambda allele: judge(tmp_path / "one.vcf", sites(allele), reference=small)
