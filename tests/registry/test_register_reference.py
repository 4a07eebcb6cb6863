"""`register_reference`: one pass, constant memory, a digest for every contig, and one sentence for what is no reference."""

import base64
import gzip
import hashlib
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pysam
import pytest
from django.core.management import CommandError, call_command

from config import contig_aliases
from orders.intake import FastaReference
from orders.intake.contig_names import name_table
from registry import fasta, files, markov
from registry.models import Reference
from tests.factories import by

pytestmark = pytest.mark.django_db
TWO = ">one first\nACGTNacgtr\nACG\n>chrM rCRS? \r\nTTTT\r\n\r\nAAAA"


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Any) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    return tmp_path / "data"


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str | bytes], Path]:
    def write(text: str | bytes, name: str = "given.fa") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def register(path: Path, *options: str, name: str = "two") -> Reference:
    call_command("register_reference", str(path), "--name", name, *by(), *options, stdout=StringIO(), stderr=StringIO())
    return Reference.objects.get(name=name)


def refused(path: Path, *options: str) -> str:
    with pytest.raises(CommandError) as error:
        register(path, *options)
    assert error.value.returncode == 2
    return str(error.value)


def test_every_contig_has_its_length_and_digests(written: Callable[[str], Path]) -> None:
    one, _mt = register(written(TWO)).contigs
    bases = b"ACGTNACGTRACG"
    assert (one["name"], one["length"], one["aliases"]) == ("one", 13, [])
    assert one["sha256"] == hashlib.sha256(bases).hexdigest()
    assert one["md5"] == hashlib.md5(bases, usedforsecurity=False).hexdigest()
    assert one["ga4gh"] == "SQ." + base64.urlsafe_b64encode(hashlib.sha512(bases).digest()[:24]).decode()


def test_the_copy_is_read_by_its_index_and_is_what_everybody_else_checks(written: Callable[[str], Path]) -> None:
    made = register(written(TWO))
    assert FastaReference(files.fasta(made)).digest == made.digest
    with pysam.FastaFile(str(files.fasta(made))) as opened:
        assert opened.fetch("one", 3, 8) == "TNacg"  # lower case is kept
        assert opened.fetch("chrM") == "TTTTAAAA"


def test_wrapping_case_and_compression_change_no_digest(written: Callable[..., Path], tmp_path: Path) -> None:
    made = register(written(TWO))
    again = TWO.replace("ACGTNacgtr\nACG", "acgtnACGTRACG")
    pysam.tabix_compress(str(written(again)), str(tmp_path / "two.fa.bgz"))
    assert register(tmp_path / "two.fa.bgz") == made
    assert register(written(gzip.compress(again.encode()), "two.fa.gz")) == made
    assert len(list((tmp_path / "data" / "references").iterdir())) == 3  # one copy, and its two indices


def test_pieces_may_be_cut_anywhere(written: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> list[tuple[str, bytes]]:
        joined: dict[str, bytes] = {}
        for name, bases in fasta.pieces(path):
            joined[name] = joined.get(name, b"") + bases
        return list(joined.items())

    path = written(TWO)
    whole = read()
    for chunk in range(1, 12):
        monkeypatch.setattr(fasta, "CHUNK", chunk)
        assert read() == whole


def test_names_sequences_and_aliases_stand_for_one_thing(written: Callable[..., Path]) -> None:
    made = register(written(TWO), "--alias", "one=NC_1.1", "--alias", "one=uno")
    assert made.contigs[0]["aliases"] == ["NC_1.1", "uno"]
    other = written(">one\nACGT\n", "other.fa")
    assert refused(other) == "reference two is registered with other sequences; choose another --name"
    with pytest.raises(CommandError, match="these sequences are registered as two"):
        register(written(TWO), name="three")


@pytest.mark.parametrize(("name", "length"), [("chr21", 46_709_983), ("21", 46_709_983), ("NC_000021.9", 46_709_983)])
def test_a_human_chromosome_is_known_by_name_and_length(name: str, length: int) -> None:
    assert {name, *contig_aliases.aliases(name, length)} == {"21", "chr21", "NC_000021.9"}
    assert "NC_000021.8" in contig_aliases.aliases("chr21", 48_129_895)  # GRCh37


def test_a_length_alone_or_a_name_alone_gives_no_accession() -> None:
    assert contig_aliases.aliases("scaffold_9", 46_709_983) == ()
    assert contig_aliases.aliases("chr21", 1000) == ("21",)
    assert "NC_012920.1" in contig_aliases.aliases("MT", 16_569)
    assert "MT" not in contig_aliases.aliases("chrM", 16_571)


def test_aliases_of_the_row_resolve_in_the_check(written: Callable[[str], Path]) -> None:
    made = register(written(TWO), "--alias", "one=NC_1.1")
    view = FastaReference(files.fasta(made), aliases={c["name"]: tuple(c["aliases"]) for c in made.contigs})
    assert (view.resolve("NC_1.1"), view.resolve("M")) == ("one", "chrM")
    assert name_table(view.contigs.values())["NC_1.1"] == "one"


BAD = {
    "": "the file holds no sequence",
    "ACGT\n": "does not begin with a header line",
    ">a\nACGT\n>a\nTTTT\n": "two contigs are both named a",
    ">a\n>b\nACGT\n": "a has no bases",
    ">a\nACGT\n>b": "b has no bases",
    ">\nACGT\n": "does not begin with a name",
    "> a\nACGT\n": "does not begin with a name",
    ">=a\nACGT\n": "does not begin with a name",
    ">a,b\nACGT\n": "does not begin with a name",
    ">a\nACGT ACGT\n": "holds ' ', which is no code for DNA",
    ">a\nACG-T\n": "holds '-'",
    ">a\nMSKGEELFTG*\n": "holds 'E', which is no code for DNA; is it a protein or RNA?",
    ">a\nACGU\n": "holds 'U'",
    ">a\nMSKGRDHVWY\n": "is A, C, G, T or N: it is no DNA",
    "@a\nACGT\n+\nIIII\n": "does not begin with a header line",
}


@pytest.mark.parametrize("text", BAD, ids=[str(n) for n in range(len(BAD))])
def test_what_is_no_reference_is_refused_in_one_sentence_and_leaves_nothing(
    text: str, written: Callable[[str], Path], data_dir: Path
) -> None:
    said = refused(written(text))
    assert BAD[text] in said
    assert "\n" not in said
    assert list((data_dir / "references").iterdir()) == []


def test_compressed_files_that_were_cut_off_are_refused(written: Callable[..., Path], tmp_path: Path) -> None:
    packed = gzip.compress((">a\n" + "ACGT" * 5000).encode())
    assert "cut off or damaged" in refused(written(packed[:-9]))
    pysam.tabix_compress(str(written(TWO)), str(tmp_path / "two.bgz"))
    assert "end marker is missing" in refused(written((tmp_path / "two.bgz").read_bytes()[:-28]))
    assert "compressed with bzip2" in refused(written(b"BZh91AY&SY"))
    assert "cannot be read" in refused(tmp_path / "nowhere.fa")


def test_the_baseline_counts_the_whole_reference(written: Callable[[str], Path]) -> None:
    made = register(written(TWO), "--markov-order", "1")
    counts = markov.MarkovTable.objects.get(reference=made)
    assert (counts.order, sum(bytes(counts.counts)[::8])) == (1, 3 + 3 + 2 + 7)  # ACGT, ACGT, ACG, TTTTAAAA
    assert markov.tables(made.pk) is not None
