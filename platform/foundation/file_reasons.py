"""Reason codes of a file and of what stands in it: what the check of an upload says of the whole, a record, a sequence."""

from __future__ import annotations

from enum import unique

from foundation.reason_code import ReasonCode


@unique
class FileReason(ReasonCode):
    """What is wrong with a file, a record or a sequence, or is said of it."""

    # The whole file: refused.
    FILE_EMPTY = "file.empty", "The file is empty."
    FILE_BLANK = "file.blank", "The file begins with blank lines and nothing else."
    FILE_ZEROS = "file.zeros", "The file consists of zero bytes only: the upload or the copy went wrong."
    FILE_BINARY = "file.binary", "This is not a text file but {what}; a VCF, FASTA or FASTQ file is needed."
    FILE_UTF16 = "file.utf16", "The file is saved as UTF-16 (“Unicode text”); save it as plain text (UTF-8)."
    FILE_UNKNOWN_KIND = "file.unknown-kind", "This is neither VCF, FASTA nor FASTQ: line {line} begins with “{start}”."
    FILE_KIND_NOT_ACCEPTED = "file.kind-not-accepted", "The file is {kind}; this test takes {accepted}."
    FILE_GZIP_TRUNCATED = "file.gzip-truncated", "The compressed file ends too early: the upload or the copy is incomplete."
    FILE_BGZIP_NO_END = "file.bgzip-no-end", "The bgzip end marker is missing: the file was cut off, records may be lost."
    FILE_GZIP_DAMAGED = "file.gzip-damaged", "The compressed file is damaged ({detail}) and cannot be read."
    FILE_GZIP_BOMB = "file.gzip-bomb", "The file unpacks to more than {ratio} times its size; that is no sequencing data."
    FILE_TOO_LARGE = "file.too-large", "The file holds more than {limit} bytes of text, the most that is accepted."
    FILE_LINE_TOO_LONG = "file.line-too-long", "The line is longer than {limit} bytes, the most that is accepted."
    FILE_OLD_LINE_ENDS = "file.old-line-ends", "Lines end with a lone carriage return (old Macintosh); save with Unix line ends."
    FILE_TOO_MANY_ITEMS = "file.too-many-items", "The file holds more than {limit} items, the most that is accepted in one order."
    FILE_NOTHING_TO_SCORE = "file.nothing-to-score", "Nothing in the file can be scored: {counts}"
    FILE_NO_REFERENCE = "file.no-reference", "A VCF can only be checked against a reference; none was chosen."

    # The whole file: said, not refused.
    FILE_NAME_KIND = "file.name-kind", "The name “{name}” looks like {named}, the content is {kind}: the content counts."
    FILE_CRLF = "file.crlf", "Lines end the Windows way (CRLF); read as plain line ends."
    FILE_NO_FINAL_NEWLINE = "file.no-final-newline", "The last line has no line end; it was read as complete."
    FILE_BOM = "file.byte-order-mark", "The file begins with a byte order mark; it was skipped."
    FILE_NOT_UTF8 = "file.not-utf8", "The line holds bytes that are not UTF-8 text; they are shown as \\x.. codes."
    FILE_BLANK_LINES = "file.blank-lines", "Blank lines hold no record; they were skipped."
    FILE_NAMES_NOT_COMPARED = "file.names-not-compared", "Duplicate names were only looked for among the first {limit}."

    # VCF header: refused.
    VCF_NO_HEADER = "vcf.no-header", "The VCF has no header: the line that begins with #CHROM is missing."
    VCF_COLUMN_LINE = "vcf.column-line", "The #CHROM line is not a VCF column line: {detail}."
    VCF_VERSION = "vcf.version", "VCF version “{version}” is not supported; 4.0 to 4.5 are."
    VCF_HEADER_TOO_LARGE = "vcf.header-too-large", "The header is larger than {limit} bytes, the most that is accepted."
    VCF_NO_RECORDS = "vcf.no-records", "The VCF has a header but no variant."
    VCF_SECOND_HEADER = "vcf.second-header", "A second header begins here: two files were joined into one."
    VCF_DUPLICATE_SAMPLE = "vcf.duplicate-sample", "Two sample columns are both named “{sample}”."
    VCF_SAMPLE_CHOICE = "vcf.sample-choice", "The file holds {count} samples; choose one: {samples}."
    VCF_UNKNOWN_SAMPLE = "vcf.unknown-sample", "There is no sample “{sample}” in the file; it holds: {samples}."
    VCF_WRONG_REFERENCE = "vcf.wrong-reference", "The file was made with another reference than {reference}: {detail}."
    VCF_MIXED_REFERENCE = "vcf.mixed-reference", "The file mixes references or belongs to another than {reference}: {detail}."

    # VCF header and order of records: said.
    VCF_NO_FILEFORMAT = "vcf.no-fileformat", "The ##fileformat line is missing; read as VCF 4."
    VCF_SITES_ONLY = "vcf.sites-only", "The file has no sample columns: every variant is taken, zygosity is unknown."
    VCF_UNSORTED = "vcf.unsorted", "Records are not sorted by position; they were read in the order of the file."
    VCF_COMMENT_LINE = "vcf.comment-line", "A line that begins with # among the records is a comment; it was not read."
    VCF_BUILD_UNPROVEN = "vcf.build-unproven", "No contig length in the header: the reference is proven by REF alone ({detail})."

    # A VCF record: refused.
    VCF_COLUMNS = "vcf.columns", "The record has {found} tab-separated columns, the header has {expected}."
    VCF_SPACES_FOR_TABS = "vcf.spaces-for-tabs", "Columns are separated by spaces; VCF needs tabs."
    VCF_CONTROL_CHARACTER = "vcf.control-character", "The record holds the control character {character}."
    VCF_UNKNOWN_CONTIG = "vcf.unknown-contig", "Contig “{contig}” is not in the reference {reference}."
    VCF_POSITION = "vcf.position", "Position “{position}” is not a whole number from 1 on."
    VCF_PAST_END = "vcf.past-end", "The record reaches position {last}, {contig} ends at {length}."
    VCF_REF_MISSING = "vcf.ref-missing", "REF is missing; it must name the bases of the reference."
    VCF_REF_IUPAC = "vcf.ref-iupac", "REF “{ref}” holds an ambiguity code; it must name the bases A, C, G, T."
    VCF_REF_ALPHABET = "vcf.ref-alphabet", "REF “{ref}” holds something other than bases."
    VCF_REF_MISMATCH = "vcf.ref-mismatch", "REF is {ref}, but the reference has {found} at {contig}:{position}."
    VCF_ALT_EMPTY = "vcf.alt-empty", "An ALT allele is empty."
    VCF_ALT_IUPAC = "vcf.alt-iupac", "ALT “{alt}” holds an ambiguity code; it must name the bases A, C, G, T."
    VCF_ALT_ALPHABET = "vcf.alt-alphabet", "ALT “{alt}” holds something other than bases."
    VCF_END_NOT_BEHIND = "vcf.end-not-behind", "{alt} ends at {end}, which is not behind its position."
    VCF_END_PAST_CONTIG = "vcf.end-past-contig", "{alt} ends at {end}, {contig} ends at {length}."
    VCF_ALT_EQUALS_REF = "vcf.alt-equals-ref", "ALT equals REF: that is no variant."
    VCF_GENOTYPE_SYNTAX = "vcf.genotype-syntax", "Genotype “{genotype}” of sample {sample} cannot be read."
    VCF_GENOTYPE_INDEX = "vcf.genotype-index", "Genotype “{genotype}” names allele {index}, the record has {count} ALT."
    VCF_GENOTYPE_TWICE = "vcf.genotype-twice", "FORMAT names GT twice: which of the two the sample has is not known."

    # A VCF allele: parked, this version cannot score it.
    VCF_REF_UNKNOWN_BASE = "vcf.ref-unknown-base", "REF holds N, an unknown base; it cannot be scored."
    VCF_REF_TOO_LONG = "vcf.ref-too-long", "REF has {length} bases, at most {limit} are scored."
    VCF_ALT_UNKNOWN_BASE = "vcf.alt-unknown-base", "ALT holds N, an unknown base; it cannot be scored."
    VCF_ALT_TOO_LONG = "vcf.alt-too-long", "ALT has {length} bases, at most {limit} are scored."
    VCF_ALT_MISSING = "vcf.alt-missing", "ALT is “.”: the record names no variant."
    VCF_ALT_STAR = "vcf.alt-star", "ALT “*” says that a deletion of another record lies here; it is scored there."
    VCF_ALT_UNSPECIFIED = "vcf.alt-unspecified", "ALT “{alt}” stands for any other allele (gVCF); it names no bases."
    VCF_ALT_DELETION = "vcf.alt-symbolic-deletion", "Symbolic deletion {alt}: not scored by the protocol of this test."
    VCF_ALT_DUPLICATION = "vcf.alt-symbolic-duplication", "Symbolic duplication {alt}: not scored by the protocol of this test."
    VCF_ALT_INVERSION = "vcf.alt-symbolic-inversion", "Symbolic inversion {alt}: not scored by the protocol of this test."
    VCF_END_MISSING = "vcf.end-missing", "{alt} has neither END nor SVLEN: where it ends is not known."
    VCF_END_TWICE = "vcf.end-twice", "INFO gives {alt} two different values of END or SVLEN: where it ends is not known."
    VCF_EVENT_TOO_LONG = "vcf.event-too-long", "{alt} spans {length} bases, at most {limit} are scored."
    VCF_ALT_INSERTION = "vcf.alt-symbolic-insertion", "Symbolic insertion {alt}: not scored in this version."
    VCF_ALT_COPY_NUMBER = "vcf.alt-symbolic-copy-number", "Copy number allele {alt}: not scored in this version."
    VCF_ALT_SYMBOLIC = "vcf.alt-symbolic", "Symbolic allele {alt}: not scored in this version."
    VCF_ALT_BREAKEND = "vcf.alt-breakend", "Breakend {alt} (a rearrangement): not scored in this version."

    # A VCF allele of a sample that does not count, or is not known to.
    VCF_NOT_CARRIED = "vcf.not-carried", "Sample {sample} does not carry this allele (genotype {genotype})."
    VCF_NO_CALL = "vcf.no-call", "No call for sample {sample} (genotype {genotype})."
    VCF_HALF_CALL = "vcf.half-call", "Half call for sample {sample} (genotype {genotype}): the other allele is unknown."
    VCF_GENOTYPE_MISSING = "vcf.genotype-missing", "The record gives no genotype (GT) for sample {sample}."

    # A VCF allele: accepted, and said.
    VCF_FILTER = "vcf.filter", "The caller's filter is {filter}, not PASS."
    VCF_HALF_CALL_CARRIED = "vcf.half-call-carried", "Only one allele was called ({genotype}): zygosity unknown."
    VCF_DUPLICATE = "vcf.duplicate", "The same variant was already in the file at line {first}."
    VCF_LOWER_CASE = "vcf.lower-case", "Lower-case bases were read as upper case."
    VCF_NOT_NORMALISED = "vcf.not-normalised", "The normalised form could not be worked out; the submitted one stands."

    # Sequences (FASTA and FASTQ).
    SEQ_NO_NAME = "seq.no-name", "The sequence has no name."
    SEQ_EMPTY = "seq.empty", "“{name}” has no bases."
    SEQ_ALPHABET = "seq.alphabet", "“{name}” holds {character} in line {line}; only bases and ambiguity codes are read."
    SEQ_DUPLICATE_NAME = "seq.duplicate-name", "“{name}” was already in the file at line {first}."
    SEQ_TOO_LONG = "seq.too-long", "“{name}” has {length} bases, at most {limit} are scored."
    SEQ_UNKNOWN_ONLY = "seq.unknown-only", "“{name}” consists of N and ambiguity codes only."
    SEQ_AMBIGUOUS = "seq.ambiguous", "{count} of {length} bases are N or ambiguity codes."
    SEQ_RNA = "seq.rna", "{count} U (RNA) were read as T."
    SEQ_LOWER_CASE = "seq.lower-case", "Lower-case bases were read as upper case."
    FASTA_NO_NAME_LINE = "fasta.no-name-line", "Bases without a name line: a FASTA sequence begins with “>name”."

    # FASTQ structure: the file is refused, since reads after the fault cannot be trusted.
    FASTQ_TITLE = "fastq.title", "A read must begin with “@name”; line {line} begins with {start}."
    FASTQ_TITLE_CHARACTER = "fastq.title-character", "The title of the read holds the control character {character}."
    FASTQ_WRAPPED = "fastq.wrapped", "The bases of “{name}” run over several lines; four lines per read are needed."
    FASTQ_PLUS_MISSING = "fastq.plus-missing", "The third line of “{name}” must begin with “+”."
    FASTQ_PLUS_NAME = "fastq.plus-name", "The “+” line of “{name}” repeats another name."
    FASTQ_QUALITY_LENGTH = "fastq.quality-length", "“{name}” has {bases} bases and {qualities} quality values."
    FASTQ_QUALITY_CHARACTER = "fastq.quality-character", "The quality of “{name}” holds {character}, which is no quality value."
    FASTQ_TRUNCATED = "fastq.truncated", "The file ends within the read “{name}”: it was cut off."

    # Beside the check.
    SAMPLE_UNKNOWN = "vcf.sample-unknown", "The file has no sample of this name."
    FILE_NO_SPACE = "file.no-space", "The laboratory's file store is full; nothing was kept."
