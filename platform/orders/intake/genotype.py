"""A sample's genotype: which alleles it carries, how many copies, and whether the phase is known."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from orders.intake.verdicts import Zygosity

# At most four digits: no record holds ten thousand alleles, and int() refuses endless ones. VCF 4.4 allows a leading separator.
_GENOTYPE = re.compile(r"[|/]?(?:\.|[0-9]{1,4})(?:[|/](?:\.|[0-9]{1,4}))*\Z")
_ALLELE = re.compile(r"[^|/]+")
LONGEST = 200


@dataclass(frozen=True)
class Genotype:
    """`alleles` as numbers, None for a missing one."""

    text: str
    alleles: tuple[int | None, ...]
    phased: bool

    @property
    def highest(self) -> int:
        return max((allele for allele in self.alleles if allele is not None), default=0)

    @property
    def missing(self) -> bool:
        return all(allele is None for allele in self.alleles)

    @property
    def partial(self) -> bool:
        return None in self.alleles and not self.missing

    def carries(self, alt_index: int) -> bool:
        return alt_index in self.alleles

    def zygosity(self, alt_index: int) -> Zygosity:
        """Of an allele that is carried."""
        if None in self.alleles:
            return Zygosity.UNKNOWN
        if len(self.alleles) == 1:
            return Zygosity.HAPLOID
        return Zygosity.HOMOZYGOUS if set(self.alleles) == {alt_index} else Zygosity.HETEROZYGOUS


@lru_cache(maxsize=1024)
def parse(text: str) -> Genotype | None:
    """The genotype, or None where the text is none."""
    if len(text) > LONGEST or not _GENOTYPE.match(text):
        return None
    alleles = tuple(None if part == "." else int(part) for part in _ALLELE.findall(text))
    return Genotype(text, alleles, phased="|" in text and "/" not in text)
