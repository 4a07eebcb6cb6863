"""A FASTA file, plain, gzip or bgzip, read once in constant memory: headers and bases, with one sentence for what is wrong."""

import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from registry.errors import RegistrationRefused

CHUNK = 1 << 20
HEADER_LIMIT = 10_000  # bytes
BASES = b"ACGTN"
AMBIGUOUS = b"RYSWKMBDHV"  # the other codes of IUPAC for DNA
MOSTLY_BASES = 0.5  # a contig with fewer A, C, G, T, N among its letters is a protein written in letters that are also codes
# names as SAM and VCF allow them for contigs, without the characters that lists of regions give a meaning, or a line of VCF
_NAME = re.compile(r"[0-9A-Za-z!$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*")
_GZIP, _BGZIP_END = b"\x1f\x8b", bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
_OTHER = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd"}


def pieces(path: Path) -> Iterator[tuple[str, bytes]]:
    """Pairs of a contig's name and some of its letters as written, in order; a first, empty piece opens each contig.

    Raises `RegistrationRefused` for a file that cannot be read or is no FASTA of DNA.
    """
    try:
        with _opened(path) as stream:
            yield from _parsed(stream)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise _refused(f"the compressed file is cut off or damaged ({error})") from error
    except OSError as error:
        raise _refused(f"the file cannot be read ({error.strerror or error})") from error


def contig_name(header: bytes) -> str:
    """The name in a header line, without its “>”: the first word. Raises `RegistrationRefused` where that is no name."""
    if len(header) > HEADER_LIMIT:
        raise _refused(f"a header line is longer than {HEADER_LIMIT:,} bytes")
    text = header.decode("utf-8", "replace")
    name = text.split()[0] if text.strip() and not text[0].isspace() else ""
    if not _NAME.fullmatch(name) or len(name) > 255:
        raise _refused(f"the header “>{text.strip()[:40]}” does not begin with a name that a VCF can use")
    return name


def checked(name: str, raw: bytes) -> tuple[bytes, int]:
    """Bases of a piece in upper case, and how many of them are A, C, G, T or N. Raises for anything that is no DNA."""
    bases = raw.upper()
    rest = bases.translate(None, BASES)
    if strange := rest.translate(None, AMBIGUOUS):
        what = strange[:1].decode("ascii", "backslashreplace")
        hint = "; is it a protein or RNA?" if what.isalpha() or what == "*" else ""
        raise _refused(f"{name} holds {what!r}, which is no code for DNA{hint}")
    return bases, len(bases) - len(rest)


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as raw:
        start = raw.read(18)
        if kind := next((kind for magic, kind in _OTHER.items() if start.startswith(magic)), None):
            raise _refused(f"the file is compressed with {kind}; plain text, gzip and bgzip are read")
        if not start.startswith(_GZIP):
            return path.open("rb")
        if start[3:4] == b"\x04" and start[12:14] == b"BC":
            raw.seek(-min(len(_BGZIP_END), path.stat().st_size), 2)
            if raw.read() != _BGZIP_END:
                raise _refused("the bgzip end marker is missing: the file was cut off")
    return cast(IO[bytes], gzip.open(path, "rb"))


def _parsed(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    """Cut at lines that begin with “>”; a chunk boundary may fall anywhere."""
    name, rest, line_start = "", b"", True
    while chunk := stream.read(CHUNK):
        text, rest, at = rest + chunk, b"", 0
        while at < len(text):
            if line_start and text.startswith(b">", at):
                end = text.find(b"\n", at)
                header = text[at + 1 : end if end >= 0 else len(text)]
                if end < 0 and len(header) <= HEADER_LIMIT:  # it goes on in the next chunk
                    rest = text[at:]
                    break
                name = contig_name(header)
                yield name, b""
                at = end + 1 if end >= 0 else len(text)
                continue
            cut = text.find(b"\n>", at) + 1 or len(text)
            bases, at = text[at:cut], cut
            line_start = bases.endswith(b"\n")
            if plain := bases.translate(None, b"\r\n"):
                if not name:
                    raise _refused("the file does not begin with a header line (>name): it is no FASTA")
                yield name, plain
    if rest:
        yield contig_name(rest[1:]), b""


def _refused(sentence: str) -> RegistrationRefused:
    return RegistrationRefused(sentence, code="reference.fasta")
