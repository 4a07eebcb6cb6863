"""What stands above the list of reason codes in docs/reason-codes.md."""

PREFACE = """# Reason codes

Made from `platform/foundation/reasons.py` and `file_reasons.py`; a test compares them. Codes are stable and never get a
second meaning; the words may change. `{…}` is filled in with what was found. Codes that begin with `file.` speak of a whole
upload, `vcf.` of a VCF or its records, `seq.`, `fasta.` and `fastq.` of sequences and reads. What follows from each for an upload:

* **refused** file: nothing of it is taken. Every FASTQ fault is of this kind, since later lines cannot be trusted.
* **refused** record: wrong in itself; the rest of the file goes on.
* **parked**: sound, but this version cannot score it (symbolic alleles, N, lengths above the limits, repeated FASTA names).
* **not carried**, **no call**: the chosen sample does not have the allele, or it is not known whether it has.
* **said**: taken, with a remark (filters, lower case, line ends, duplicates, half calls).
"""
