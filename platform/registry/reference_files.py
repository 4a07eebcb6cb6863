"""A reference's own copy: bgzip with an index for random access, written while every contig is digested and counted."""

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pysam

from registry import fasta, files, leftovers
from registry.errors import RegistrationRefused
from registry.markov import Counting

WIDTH = 80  # bases a line
Progress = Callable[[str, int], None]  # a contig's name and its length, when it has been read


class Contig:
    """One contig and its digests, all over its upper-case letters.

    `sha256` is ours. `ga4gh` is the GA4GH refget digest, SQ. and the first 24 bytes of SHA-512 in URL-safe base64; `md5` is
    that of refget's first version and of the M5 tag of SAM. All three name the same sequence, whatever it is called.
    """

    def __init__(self, name: str) -> None:
        self.name, self.length = name, 0
        self.known = 0  # letters that are A, C, G, T or N
        self._sha256, self._sha512 = hashlib.sha256(), hashlib.sha512()
        self._md5 = hashlib.md5(usedforsecurity=False)

    def feed(self, bases: bytes, known: int) -> None:
        """The next bases, in upper case."""
        self.length += len(bases)
        self.known += known
        for digest in (self._sha256, self._sha512, self._md5):
            digest.update(bases)

    def row(self) -> dict[str, Any]:
        """As the registry keeps it."""
        ga4gh = "SQ." + base64.urlsafe_b64encode(self._sha512.digest()[:24]).decode()
        return {
            "name": self.name, "length": self.length, "sha256": self._sha256.hexdigest(), "md5": self._md5.hexdigest(),
            "ga4gh": ga4gh,
        }  # fmt: skip


@dataclass
class Copied:
    """What one pass over the file found."""

    digest: str  # SHA-256 over “>name\nBASES\n” of each contig: the same for any wrapping, letter case or compression
    contigs: list[dict[str, Any]]
    counting: Counting
    path: Path  # of the copy, under a name of its own


def copy(source: Path, folder: Path, *, order: int, progress: Progress = lambda name, length: None) -> Copied:
    """Check a FASTA file and write it as bgzip into `folder`, in constant memory, with its index.

    To be called while the folder is held by `leftovers.registering`. Raises `RegistrationRefused` for a file that is no reference;
    then nothing is left behind.
    """
    target = leftovers.unfinished(folder, ".fa.gz")
    try:
        with pysam.BGZFile(str(target), "wb", None) as out:
            copied = _written(source, _Lines(out), Counting(order), progress)
        pysam.faidx(str(target))
        with pysam.FastaFile(str(target)) as indexed:
            lengths = dict(zip(indexed.references, indexed.lengths, strict=True))
        if lengths != {contig["name"]: contig["length"] for contig in copied.contigs}:
            raise RegistrationRefused("the copy cannot be read back as it was written: is the disk full?", code="reference.copy")
    except OSError as error:
        remove(target)
        raise RegistrationRefused(f"the copy cannot be written ({error.strerror or error})", code="reference.copy") from error
    except BaseException:
        remove(target)
        raise
    copied.path = target
    return copied


def settled(copied: Copied, folder: Path) -> str:
    """Where the copy will lie, after its digest, as the registry keeps it."""
    return f"{files.DATA}{folder.name}/{copied.digest[:32]}.fa.gz"


def settle(copied: Copied, folder: Path) -> None:
    """Put the copy there, the file itself last: what has a name is whole."""
    final = files.located(settled(copied, folder))
    for suffix in (".gzi", ".fai", ""):
        Path(f"{copied.path}{suffix}").replace(f"{final}{suffix}")


def remove(path: Path) -> None:
    """Remove a copy and its index."""
    for suffix in ("", ".fai", ".gzi"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


class _Lines:
    """Writes bases in lines of one width, whatever pieces they come in."""

    def __init__(self, out: "pysam.BGZFile") -> None:
        self._out, self._rest = out, b""

    def begin(self, name: str) -> None:
        self.end()
        self._out.write(b">" + name.encode() + b"\n")

    def feed(self, bases: bytes) -> None:
        text = self._rest + bases
        whole = len(text) - len(text) % WIDTH
        self._out.write(b"".join(text[at : at + WIDTH] + b"\n" for at in range(0, whole, WIDTH)))
        self._rest = text[whole:]

    def end(self) -> None:
        if self._rest:
            self._out.write(self._rest + b"\n")
        self._rest = b""


def _written(source: Path, lines: _Lines, counting: Counting, progress: Progress) -> Copied:
    whole, contigs, seen = hashlib.sha256(), list[dict[str, Any]](), set[str]()
    contig: Contig | None = None

    def close() -> None:
        if contig is not None:
            whole.update(b"\n")
            counting.end()
            contigs.append(_checked(contig).row())
            progress(contig.name, contig.length)

    for name, raw in fasta.pieces(source):
        if not raw:
            close()
            if name in seen:
                raise RegistrationRefused(f"two contigs are both named {name}", code="reference.fasta")
            seen.add(name)
            contig = Contig(name)
            whole.update(f">{name}\n".encode())
            lines.begin(name)
            continue
        bases, known = fasta.checked(name, raw)
        lines.feed(raw)  # lower case stays: it marks repeats
        counting.feed(bases)
        whole.update(bases)
        assert contig is not None  # noqa: S101 -- a piece with bases follows the one that opens its contig
        contig.feed(bases, known)
    close()
    lines.end()
    if not contigs:
        raise RegistrationRefused("the file holds no sequence", code="reference.fasta")
    return Copied(whole.hexdigest(), contigs, counting, Path())


def _checked(contig: Contig) -> Contig:
    if not contig.length:
        raise RegistrationRefused(f"{contig.name} has no bases", code="reference.fasta")
    if contig.known < contig.length * fasta.MOSTLY_BASES:
        share = f"{contig.known / contig.length:.0%}"
        raise RegistrationRefused(f"only {share} of {contig.name} is A, C, G, T or N: it is no DNA", code="reference.fasta")
    return contig
