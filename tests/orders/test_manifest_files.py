"""Tables and archives as people and attackers make them: each is read, or refused in words with a code."""

import io
import stat
import struct
import zipfile
from pathlib import Path

import pytest

from orders.manifests import archive, table
from orders.manifests.columns import REQUIRED, template
from orders.manifests.errors import ManifestRefused

HEADER = ",".join(REQUIRED)
ROW = ",".join(["x"] * len(REQUIRED))
GOOD = f"{HEADER}\n{ROW}\n"


def refusal(data: str | bytes) -> str:
    with pytest.raises(ManifestRefused) as caught:
        table.read(data.encode() if isinstance(data, str) else data)
    assert str(caught.value)
    return caught.value.code


@pytest.mark.parametrize(
    "data",
    [
        GOOD,
        GOOD.replace(",", ";"),
        GOOD.replace(",", "\t"),
        GOOD.replace("\n", "\r\n"),
        "\ufeff" + GOOD,
        GOOD.upper(),
        GOOD.replace("_", " "),
        GOOD.replace("family_name", '"Family-Name"'),
        GOOD.replace("x,x", '"x","x"'),
        GOOD + ",,,\n\n",
        f"{HEADER},,\n{ROW},,\n",
    ],
    ids=["comma", "semicolon", "tab", "crlf", "bom", "upper", "spaces", "quoted-name", "quoted", "blank-rows", "empty-columns"],
)
def test_a_table_is_read_as_spreadsheets_write_it(data: str) -> None:
    (row,) = table.read(data.encode())
    assert (row.number, row.cells["priority"].lower(), row.objections) == (2, "x", ())


def test_quoted_cells_hold_separators_and_rows_are_counted_as_in_a_spreadsheet() -> None:
    first, second = table.read(f'{HEADER}\n"a,b ""c""",{ROW[2:]}\n\n{ROW}\n'.encode())
    assert (first.cells["mrn"], first.number, second.number) == ('a,b "c"', 2, 4)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "manifest.no-rows"),
        (HEADER, "manifest.no-rows"),
        (template(), "manifest.no-rows"),
        ("mrn\n1\n", "manifest.no-columns"),
        (GOOD.encode("utf-16"), "manifest.encoding"),
        (GOOD.replace("x", "ü", 1).encode("latin-1"), "manifest.encoding"),
        (GOOD.replace("priority", "priorty"), "manifest.unknown-column"),
        (GOOD.replace("sex", "mrn"), "manifest.column-twice"),
        (GOOD.replace("sex,", ""), "manifest.column-missing"),
        (f'{HEADER}\n"{ROW}\n', "manifest.quotes"),
        (f"{HEADER}\n{'x' * 200_000}\n", "manifest.quotes"),
        (b"x" * (table.MOST_BYTES + 1), "manifest.too-large"),
        (f"{HEADER}\n" + f"{ROW}\n" * 5_001, "manifest.too-many-rows"),
    ],
)
def test_a_table_that_cannot_be_trusted_is_refused(data: str | bytes, code: str) -> None:
    assert refusal(data) == code


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (ROW[2:], "manifest.cells"),
        (ROW + ",x", "manifest.cells"),
        ('"a\nb"' + ROW[1:], "manifest.control-character"),
        ("a\0b" + ROW[1:], "manifest.control-character"),
        ("y" * 3_000 + ROW[1:], "manifest.cell-too-long"),
    ],
)
def test_a_row_that_is_odd_is_told_and_kept_printable(row: str, code: str) -> None:
    rows = table.read(f"{HEADER}\n{row}\n".encode())
    assert rows[0].objections[0].code == code
    assert all(cell.isprintable() for cell in rows[0].cells.values())


def zipped(path: Path, entries: dict[str, bytes], **changes: object) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in entries.items():
            info = zipfile.ZipInfo("name")
            info.filename, info.compress_type = name, zipfile.ZIP_DEFLATED
            for key, value in changes.items() if name != "manifest.csv" else ():
                setattr(info, key, value)
            packed.writestr(info, content)
    return path


def refused(path: Path) -> str:
    with pytest.raises(ManifestRefused) as caught, archive.open_archive(path) as opened:
        for name in list(opened._entries):
            for _ in opened.chunks(name):
                pass
    assert str(caught.value)
    return caught.value.code


@pytest.mark.parametrize("name", ["../a.vcf", "/etc/passwd", "a/../../b", "..\\a", "C:\\a.vcf", "\\\\server\\a", "a/..\\..\\b"])
def test_an_entry_that_leads_out_of_the_archive_refuses_it(tmp_path: Path, name: str) -> None:
    assert refused(zipped(tmp_path / "a.zip", {"manifest.csv": b"", name: b"x"})) == "manifest.entry-path"


def test_a_link_a_password_and_two_entries_of_one_name_refuse_it(tmp_path: Path) -> None:
    entries = {"manifest.csv": b"", "a.vcf": b"/etc/passwd"}
    assert refused(zipped(tmp_path / "l.zip", entries, external_attr=(stat.S_IFLNK | 0o777) << 16)) == "manifest.entry-link"
    locked = bytearray(zipped(tmp_path / "p.zip", entries).read_bytes())
    for signature, at in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        place = locked.rindex(signature) + at
        locked[place] |= 1
    (tmp_path / "p.zip").write_bytes(locked)
    assert refused(tmp_path / "p.zip") == "manifest.entry-locked"
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as packed, pytest.warns(UserWarning, match="Duplicate"):
        for name in ("manifest.csv", "a.vcf", "a.vcf"):
            packed.writestr(name, b"")
    assert refused(tmp_path / "t.zip") == "manifest.entry-twice"


def test_a_bomb_is_stopped_while_it_unpacks_and_a_declared_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "RATIO_FLOOR", 1 << 20)
    bomb = zipped(tmp_path / "b.zip", {"manifest.csv": b"", "a.vcf": b"\0" * (8 << 20)})
    assert refused(bomb) == "manifest.bomb"
    monkeypatch.setattr(archive, "MOST_UNPACKED", 4 << 20)
    assert refused(bomb) == "manifest.unpacked"


def test_a_list_of_entries_that_is_too_long_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(tmp_path / "m.zip", {"manifest.csv": b"", **{f"{n}.vcf": b"" for n in range(20)}})
    monkeypatch.setattr(archive, "MOST_ENTRIES", 20)
    monkeypatch.setattr(archive.zipfile, "ZipFile", lambda *_: pytest.fail("read"))
    assert refused(path) == "manifest.entries"


@pytest.mark.parametrize(
    "data", [b"PK\x03\x04", b"PK\x05\x06" + b"\0" * 10, b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 1, 1, 46, 9, 0)], ids=str
)
def test_a_damaged_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "d.zip").write_bytes(data)
    assert refused(tmp_path / "d.zip") in ("manifest.zip-damaged", "manifest.not-one-table")


def test_a_flipped_bit_in_an_entry_is_found(tmp_path: Path) -> None:
    path = zipped(tmp_path / "f.zip", {"manifest.csv": b"", "a.vcf": b"ACGT" * 9})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") - 3] ^= 0xFF
    path.write_bytes(content)
    assert refused(path) == "manifest.entry-damaged"


@pytest.mark.parametrize("names", [["a.vcf"], ["a.csv", "b.csv"], ["manifest.csv", "manifest.tsv"]])
def test_an_archive_holds_exactly_one_table(tmp_path: Path, names: list[str]) -> None:
    assert refused(zipped(tmp_path / "n.zip", dict.fromkeys(names, b""))) == "manifest.not-one-table"


def test_files_are_found_beside_the_table_by_path_or_by_their_only_name_and_rubbish_is_not_counted(tmp_path: Path) -> None:
    entries = ["in/manifest.csv", "in/a.vcf", "in/deep/b.vcf", "c.vcf", "x/d.vcf", "y/d.vcf", "__MACOSX/in/._a.vcf", "in/.DS_Store"]
    with archive.open_archive(zipped(tmp_path / "f.zip", dict.fromkeys(entries, b""))) as opened:
        pass  # its list of entries stays
    wanted = ["a.vcf", "./a.vcf", "in/a.vcf", "deep\\b.vcf", "b.vcf", "c.vcf", "d.vcf", "manifest.csv", "../c.vcf"]
    assert [opened.entry(name) for name in wanted] == [
        "in/a.vcf", "in/a.vcf", "in/a.vcf", "in/deep/b.vcf", "in/deep/b.vcf", "c.vcf", None, None, None,
    ]  # fmt: skip
    assert opened.unnamed({"in/a.vcf"}) == ["c.vcf", "in/deep/b.vcf", "x/d.vcf", "y/d.vcf"]


def test_an_archive_within_an_archive_is_only_a_file_that_no_test_accepts(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as packed:
        packed.writestr("a.vcf", b"x")
    with archive.open_archive(zipped(tmp_path / "o.zip", {"manifest.csv": b"", "a.zip": inner.getvalue()})) as opened:
        assert b"".join(opened.chunks("a.zip")) == inner.getvalue()
