"""A small genome with one gene of every kind that matters, as sequence, GFF3 of three dialects and GenBank."""

from registry.annotations.transcripts import Transcript

LEFT = "CATCATTCATCTAGCATTACTCATCTACTGCATTACTAACTCATTACTAC"  # 50 bases before everything
FORWARD = "ATG" + "GCTAAAGGTCTG" * 5 + "TAA"  # MAKGL…
SPLICED = ("ATGGCTAAAGGTCT", "GTAAGTCATTACTTTACTACTTTCCTTCAG", "GGCTTGGAAACTGTAA")  # two exons around an intron
MIDDLE = "CTTACTACCATTATCCTTACTACATT"
COMPLEMENT = str.maketrans("ACGT", "TGCA")
REVERSE = "ATG" + "TGGAAAGCTGAT" * 4 + "TGA"


def other_strand(bases: str) -> str:
    return bases.translate(COMPLEMENT)[::-1]


BASES = LEFT + FORWARD + MIDDLE + "".join(SPLICED) + MIDDLE + other_strand(REVERSE) + LEFT
F1 = len(LEFT) + 1
F2 = F1 + len(FORWARD) - 1
S1 = F2 + len(MIDDLE) + 1
S2 = S1 + len(SPLICED[0]) - 1
S3 = S2 + len(SPLICED[1]) + 1
S4 = S3 + len(SPLICED[2]) - 1
R1 = S4 + len(MIDDLE) + 1
R2 = R1 + len(REVERSE) - 1
UTR = 6  # bases of the spliced transcript before and behind what is coding


def _line(kind: str, start: int, end: int, strand: str, phase: str, attributes: str) -> str:
    return "\t".join(("one", "test", kind, str(start), str(end), ".", strand, phase, attributes)) + "\n"


def ensembl() -> str:
    phase = str((3 - len(SPLICED[0]) % 3) % 3)
    return "".join((
        "##gff-version 3\n",
        _line("gene", F1, F2, "+", ".", "ID=gene:E1;Name=fwd;biotype=protein_coding"),
        _line("mRNA", F1, F2, "+", ".", "ID=transcript:T1;Parent=gene:E1;biotype=protein_coding"),
        _line("exon", F1, F2, "+", ".", "Parent=transcript:T1;Name=X1"),
        _line("CDS", F1, F2, "+", "0", "ID=CDS:P1;Parent=transcript:T1"),
        _line("gene", S1 - UTR, S4 + UTR, "+", ".", "ID=gene:E2;Name=spl;biotype=protein_coding"),
        _line("mRNA", S1 - UTR, S4 + UTR, "+", ".", "ID=transcript:T2;Parent=gene:E2;biotype=protein_coding"),
        _line("exon", S1 - UTR, S2, "+", ".", "Parent=transcript:T2"),
        _line("exon", S3, S4 + UTR, "+", ".", "Parent=transcript:T2"),
        _line("CDS", S1, S2, "+", "0", "ID=CDS:P2;Parent=transcript:T2"),
        _line("CDS", S3, S4, "+", phase, "ID=CDS:P2;Parent=transcript:T2"),
        _line("gene", R1, R2, "-", ".", "ID=gene:E3;Name=rev;biotype=protein_coding"),
        _line("mRNA", R1, R2, "-", ".", "ID=transcript:T3;Parent=gene:E3;biotype=protein_coding"),
        _line("exon", R1, R2, "-", ".", "Parent=transcript:T3"),
        _line("CDS", R1, R2, "-", "0", "ID=CDS:P3;Parent=transcript:T3"),
    ))  # fmt: skip


def bacterial() -> str:
    """NCBI's form for bacteria: a CDS below its gene, with the translation table, and no transcript."""
    return "".join((
        "##gff-version 3\n##sequence-region one 1 " + str(len(BASES)) + "\n",
        _line("region", 1, len(BASES), "+", ".", "ID=one:1..9;Is_circular=true"),
        _line("gene", F1, F2, "+", ".", "ID=gene-b1;Name=fwd;gbkey=Gene;gene_biotype=protein_coding;locus_tag=b1"),
        _line("CDS", F1, F2, "+", "0", "ID=cds-N1;Parent=gene-b1;gbkey=CDS;transl_table=11;product=a%2C b"),
        _line("gene", R1, R2, "-", ".", "ID=gene-b3;Name=rev;gbkey=Gene;locus_tag=b3"),
        _line("CDS", R1, R2, "-", "0", "ID=cds-N3;Parent=gene-b3;transl_table=11"),
        "##FASTA\n>one\n", BASES, "\n",
    ))  # fmt: skip


def genbank() -> str:
    return f"""LOCUS       ONE   {len(BASES)} bp    DNA     linear   BCT 01-JAN-2026
VERSION     one
FEATURES             Location/Qualifiers
     source          1..{len(BASES)}
                     /organism="made for
                     a test"
     gene            {F1}..{F2}
                     /gene="fwd"
     CDS             {F1}..{F2}
                     /gene="fwd"
                     /codon_start=1
                     /transl_table=11
                     /product="a protein; of /two
                     lines"
                     /protein_id="P1"
     mRNA            join({S1 - UTR}..{S2},
                     {S3}..{S4 + UTR})
                     /gene="spl"
     CDS             join({S1}..{S2},{S3}..{S4})
                     /gene="spl"
                     /transl_table=11
                     /protein_id="P2"
     CDS             complement({R1}..{R2})
                     /gene="rev"
                     /transl_table=11
                     /protein_id="P3"
     CDS             complement(join(other:1..9,5..9))
                     /gene="far"
ORIGIN
        1 acgt
//
"""


def parts(transcript: Transcript) -> tuple[object, ...]:
    """What a transcript is made of, whatever it is called."""
    return transcript.gene, transcript.strand, transcript.exons, transcript.coding, transcript.phase, transcript.code
