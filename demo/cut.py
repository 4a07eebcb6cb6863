"""Cut the demo files from the original data. Run by hand, not at set-up: `python -m demo.cut ../shared/data`.

Every gene is proven before it is written: bacterial and human ones by their protein, mitochondrial ones by an open
reading frame in the mitochondrial code. A reader of README.md finds source, licence and offsets there.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from demo import cut_bad
from demo.proteins import APP_END, ECOLI, MITOCHONDRIAL_GENES, RIBOSOMAL_GENES

HERE = Path(__file__).parent
WRAP = 60
COMMON = 0.01  # frequency of the rarer allele
LONG_FRAME = 600  # bases; the shortest open reading frame listed without a name

# One contig of its own per slice: name, and the 1-based start in the source.
ECOLI_START, ECOLI_END = 4_450_001, 4_510_000
ECOLI_CONTIG = f"NC_008253.1_{ECOLI_START}-{ECOLI_END}"
APP_START, APP_END_POSITION = 25_880_001, 25_980_000
APP_CONTIG = f"chr21_{APP_START}-{APP_END_POSITION}"
APP_SOURCE_START = 24_985_581  # of the 1 Mb file the slice is cut from

BASES = "TCAG"
CODE = dict(
    zip(
        (a + b + c for a in BASES for b in BASES for c in BASES),
        "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG",
        strict=True,
    )
)
MITOCHONDRIAL_CODE = CODE | {"AGA": "*", "AGG": "*", "ATA": "M", "TGA": "W"}
COMPLEMENT = str.maketrans("ACGT", "TGCA")


class Gene(NamedTuple):
    start: int  # 1-based, in the slice
    end: int
    strand: str
    name: str


def main(data: Path) -> None:
    ecoli(data)
    rcrs(data)
    app(data)
    cut_bad.write(HERE / "bad", ecoli=HERE / "ecoli" / "lexA_96.vcf", rcrs=HERE / "rcrs" / "hmtnote_multisample.vcf")


def ecoli(data: Path) -> None:
    """A slice of E. coli 536 around lexA, behind position 4,400,000: the bundled model has not seen it."""
    genome = read_fasta(data / "genomes" / "ecoli_536.NC_008253.fna.gz")
    sequence = genome[ECOLI_START - 1 : ECOLI_END]
    folder = HERE / "ecoli"
    write_fasta(folder / "ecoli536_lexA.fa", ECOLI_CONTIG, sequence)
    genes = [find_protein(sequence, name, protein) for name, protein in ECOLI.items()]
    frames_too = genes + unnamed_frames(sequence, genes)
    write_genes(folder / "ecoli536_lexA.genes.tsv", ECOLI_CONTIG, frames_too)
    write_annotation(folder / "ecoli536_lexA.gff3", ECOLI_CONTIG, frames_too, code=11)
    lexa = next(gene for gene in genes if gene.name == "lexA")
    every = list(single_changes(sequence, lexa))
    for name, count in (("lexA_every_snv", len(every)), ("lexA_200", 200), ("lexA_96", 96)):
        rows = [every[index * len(every) // count] for index in range(count)]
        write_vcf(folder / f"{name}.vcf", ECOLI_CONTIG, len(sequence), rows)


def rcrs(data: Path) -> None:
    """The whole mitochondrial reference, and a multi-sample VCF as published."""
    folder = HERE / "rcrs"
    sequence = read_fasta(data / "mtdna" / "hs37d5.MT.fa")
    write_fasta(folder / "rcrs.fa", "MT", sequence)
    genes = [Gene(*row) for row in MITOCHONDRIAL_GENES]
    for gene in genes:
        require_frame(sequence, gene)
    write_genes(folder / "rcrs.genes.tsv", "MT", genes + [Gene(*row) for row in RIBOSOMAL_GENES])
    write_annotation(folder / "rcrs.gff3", "MT", genes, code=2)
    (folder / "hmtnote_multisample.vcf").write_bytes((data / "mtdna" / "hmtnote_multisample.vcf").read_bytes())


def app(data: Path) -> None:
    """The end of APP on chromosome 21, and what one well-known person carries there."""
    folder = HERE / "app"
    megabase = read_fasta(data / "chr21_app" / "GRCh38.chr21_24985581_26000306.fa.gz")
    sequence = megabase[APP_START - APP_SOURCE_START : APP_END_POSITION - APP_SOURCE_START + 1]
    write_fasta(folder / "app.fa", APP_CONTIG, sequence)
    last_exon = find_protein(sequence, "APP", APP_END, whole=False)
    write_genes(folder / "app.genes.tsv", APP_CONTIG, [last_exon._replace(end=len(sequence))])
    lifted = list(lift(data / "vcf" / "platinum_NA12878_hg38_chr21.vcf.gz", sequence))
    (folder / "NA12878.vcf").write_text("\n".join(lifted) + "\n")
    common = list(common_changes(data / "chr21_app" / "dbsnp149_clinvar201704_chr21_snvs.tsv.gz", sequence))
    (folder / "common.vcf").write_text("\n".join(common) + "\n")


def common_changes(source: Path, sequence: str) -> Iterator[str]:
    """Single-base changes in the slice whose rarer allele has a frequency of at least 1 % in the 1000 Genomes, as a VCF."""
    yield "##fileformat=VCFv4.2"
    yield '##INFO=<ID=MAF,Number=1,Type=Float,Description="Frequency of the rarer allele, 1000 Genomes, from dbSNP 149">'
    yield '##INFO=<ID=GRCH38,Number=1,Type=Integer,Description="Position on chr21 of GRCh38">'
    yield f"##contig=<ID={APP_CONTIG},length={len(sequence)}>"
    yield "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
    with gzip.open(source, "rt") as rows:
        next(rows)
        for row in rows:
            _, position, name, ref, alt, frequency = row.rstrip("\n").split("\t")[:6]
            place = int(position) - APP_START + 1
            if not 1 <= place <= len(sequence) or not frequency or float(frequency) < COMMON:
                continue
            if sequence[place - 1] != ref:
                raise SystemExit(f"{name}: REF is {ref} and the slice has {sequence[place - 1]}")
            yield f"{APP_CONTIG}\t{place}\t{name}\t{ref}\t{alt}\t.\t.\tMAF={frequency};GRCH38={position}"


def find_protein(sequence: str, name: str, protein: str, *, whole: bool = True) -> Gene:
    """Where the protein is encoded, stop codon included; it must agree in at least 98 of 100 residues."""
    for strand, strand_sequence in (("+", sequence), ("-", reverse_complement(sequence))):
        for frame in range(3):
            residues = translate(strand_sequence[frame:])
            for stop in (index for index, residue in enumerate(residues) if residue == "*"):
                found = residues[max(0, stop - len(protein)) : stop]
                if len(found) < len(protein) or agreement(found, protein) < 0.98:
                    continue
                start = frame + 3 * (stop - len(protein))
                if whole and residues[stop - len(protein)] != "M":
                    continue
                return placed(len(sequence), start, frame + 3 * (stop + 1), strand, name)
    raise SystemExit(f"{name} is not in the slice")


def unnamed_frames(sequence: str, named: list[Gene]) -> list[Gene]:
    """Other long open reading frames, longest first, without overlap: no annotation, only frames."""
    taken = list(named)
    found = sorted(frames(sequence), key=lambda gene: gene.start - gene.end)
    for gene in found:
        if all(gene.end < other.start or other.end < gene.start for other in taken):
            taken.append(gene)
    return [gene for gene in taken if gene not in named]


def frames(sequence: str) -> Iterator[Gene]:
    for strand, strand_sequence in (("+", sequence), ("-", reverse_complement(sequence))):
        for frame in range(3):
            residues, begin = translate(strand_sequence[frame:]), 0
            while (stop := residues.find("*", begin)) >= 0:
                first = residues.find("M", begin, stop)
                if first >= 0 and 3 * (stop + 1 - first) >= LONG_FRAME:
                    gene = placed(len(sequence), frame + 3 * first, frame + 3 * (stop + 1), strand, "")
                    yield gene._replace(name=f"orf_{gene.start}")
                begin = stop + 1


def require_frame(sequence: str, gene: Gene) -> None:
    """A mitochondrial gene has no stop before its end; the end itself may be completed by polyadenylation."""
    coding = sequence[gene.start - 1 : gene.end]
    if gene.strand == "-":
        coding = reverse_complement(coding)
    residues = translate(coding, MITOCHONDRIAL_CODE)
    if "*" in residues[:-1] or coding[:3] not in ("ATG", "ATA", "ATT", "ATC", "GTG"):
        raise SystemExit(f"{gene.name} is not an open reading frame")


def single_changes(sequence: str, gene: Gene) -> Iterator[tuple[int, str, str, str]]:
    """Every single-base change of a forward gene: position, REF, ALT, effect on the protein."""
    for position in range(gene.start, gene.end + 1):
        offset = (position - gene.start) % 3
        codon = sequence[position - 1 - offset : position + 2 - offset]
        for alt in "ACGT":
            if alt != codon[offset]:
                changed = codon[:offset] + alt + codon[offset + 1 :]
                yield position, codon[offset], alt, effect(codon, changed, first=position - offset == gene.start)


def effect(codon: str, changed: str, *, first: bool) -> str:
    before, after = CODE[codon], CODE[changed]
    if first:
        return "start_lost"
    if before == after:
        return "synonymous"
    if before == "*":
        return "stop_lost"
    return "nonsense" if after == "*" else "missense"


def lift(path: Path, sequence: str) -> Iterator[str]:
    """The records inside the slice, moved to its coordinates; the original position stays in INFO."""
    with gzip.open(path, "rt") as lines:
        for line in lines:
            if line.startswith("##contig"):
                if line.startswith("##contig=<ID=chr21,"):
                    yield f"##contig=<ID={APP_CONTIG},length={len(sequence)}>"
                    yield '##INFO=<ID=GRCH38,Number=1,Type=Integer,Description="Position on chr21 of GRCh38">'
            elif line.startswith("#"):
                yield line.rstrip("\n")
            else:
                columns = line.rstrip("\n").split("\t")
                position = int(columns[1]) - APP_START + 1
                if 1 <= position <= len(sequence):
                    lifted = [APP_CONTIG, str(position), *columns[2:7], f"GRCH38={columns[1]};{columns[7]}", *columns[8:]]
                    yield "\t".join(lifted)


def placed(length: int, start0: int, end0: int, strand: str, name: str) -> Gene:
    """From half-open positions on a strand to 1-based positions on the slice."""
    if strand == "+":
        return Gene(start0 + 1, end0, "+", name)
    return Gene(length - end0 + 1, length - start0, "-", name)


def translate(bases: str, code: dict[str, str] = CODE) -> str:
    return "".join(code.get(bases[index : index + 3], "X") for index in range(0, len(bases) - 2, 3))


def reverse_complement(bases: str) -> str:
    return bases.translate(COMPLEMENT)[::-1]


def agreement(found: str, protein: str) -> float:
    return sum(a == b for a, b in zip(found, protein, strict=True)) / len(protein)


def read_fasta(path: Path) -> str:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as lines:
        return "".join(line.strip() for line in lines if not line.startswith(">")).upper()


def write_fasta(path: Path, contig: str, sequence: str) -> None:
    """With its index (.fai), so that nothing has to be written beside it at run time."""
    wrapped = [sequence[index : index + WRAP] for index in range(0, len(sequence), WRAP)]
    path.write_text(f">{contig}\n" + "\n".join(wrapped) + "\n")
    Path(f"{path}.fai").write_text(f"{contig}\t{len(sequence)}\t{len(contig) + 2}\t{WRAP}\t{WRAP + 1}\n")


def write_annotation(path: Path, contig: str, genes: list[Gene], *, code: int) -> None:
    """GFF3 with a gene and one coding sequence each, and their NCBI translation table."""
    lines = ["##gff-version 3"]
    for gene in sorted(genes, key=lambda gene: gene.start):
        place = f"{gene.start}\t{gene.end}\t.\t{gene.strand}"
        lines.append(f"{contig}\tdemo\tgene\t{place}\t.\tID=gene-{gene.name};Name={gene.name}")
        lines.append(f"{contig}\tdemo\tCDS\t{place}\t0\tID=cds-{gene.name};Parent=gene-{gene.name};transl_table={code}")
    path.write_text("\n".join(lines) + "\n")


def write_genes(path: Path, contig: str, genes: list[Gene]) -> None:
    rows = [f"{contig}\t{gene.start}\t{gene.end}\t{gene.strand}\t{gene.name}" for gene in sorted(genes)]
    path.write_text("contig\tstart\tend\tstrand\tgene\n" + "\n".join(rows) + "\n")


def write_vcf(path: Path, contig: str, length: int, rows: list[tuple[int, str, str, str]]) -> None:
    header = [
        "##fileformat=VCFv4.2",
        "##source=demo/cut.py, every change is made up; the reference is real",
        f"##contig=<ID={contig},length={length}>",
        '##INFO=<ID=EFFECT,Number=1,Type=String,Description="Effect on the protein, by the standard genetic code">',
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO",
    ]
    body = [f"{contig}\t{position}\t.\t{ref}\t{alt}\t.\t.\tEFFECT={said}" for position, ref, alt, said in rows]
    path.write_text("\n".join(header + body) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
