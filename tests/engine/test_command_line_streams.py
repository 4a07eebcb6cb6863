"""What the command line does when files are large, broken, cut off or full, and when somebody interrupts it."""

from __future__ import annotations

import gzip
import io
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.command_line import bgzf, output, running, source
from engine.config import EngineConfig
from engine.engine import Engine
from engine.errors import InvalidRequest
from engine.loading import load
from engine.request import REFERENCE, Score
from tests.engine.vcf_cases import BASES, HEADER, Command, snv, write_vcf

pytestmark = pytest.mark.usefixtures("proven_once")


@pytest.fixture(scope="module")
def engine(checkpoint: Path) -> Engine:
    return load(checkpoint, config=EngineConfig(blocks=320, block_size=16, slots=4, self_test=False, poison_free_blocks=True))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("one\t300", "it has 2 columns between tabs, and the header names 8"),
        ("one 300 . A C . . .", "it has 1 columns"),
        ("one\t300\t.\tA\tC\t.\t.\t.\tGT\t0/1", "it has 10 columns"),
        ("one\tx\t.\tA\tC\t.\t.\t.", "POS x is not a position"),
        ("one\t²\t.\tA\tC\t.\t.\t.", "POS ² is not a position"),
        ("one\t-5\t.\tA\tC\t.\t.\t.", "POS -5 is not a position"),
        (f"one\t{'9' * 5000}\t.\tA\tC\t.\t.\t.", "POS 99999999999999999999 is not a position"),
        ("one\t2147483648\t.\tA\tC\t.\t.\t.", "POS 2147483648 is not a position"),
        ("one\t300\t.\t\tC\t.\t.\t.", "REF is empty"),
        ("one\t300\t.\tA\tC,\t.\t.\t.", "an ALT is empty"),
        ("one\t300\t.\tA\tC\t.\t.\tK\0", "it holds a zero byte"),
        ("##fileformat=VCFv4.2", "a line of a header stands among the records"),
    ],
    ids=lambda text: text[:12].encode("ascii", "replace").decode().replace("\t", "_").replace("\0", "0"),
)
def test_a_line_that_no_vcf_may_hold_is_left_out_and_told(command: Command, folder: Path, line: str, words: str) -> None:
    vcf = write_vcf(folder, snv(300), snv(301))
    before, last = vcf.read_text().rsplit("one", 1)
    vcf.write_text(f"{before}{line}\none{last}")
    assert [record.pos for record in command.scored(vcf, status=1)] == [300, 301]
    (said,) = command.error()
    assert said.startswith(f"engine: line 4 was left out: {words}")


@pytest.mark.parametrize("columns", ["GT\t\t0/1", "GT\t0/1\t", "\t0/1\t0/1"], ids=["first", "last", "FORMAT"])
def test_a_record_with_an_empty_sample_is_left_out_and_told(command: Command, folder: Path, columns: str) -> None:
    """Other programs would stop reading there."""
    names = HEADER.splitlines()[1] + "\tFORMAT\tAnna\tBert\n"
    vcf = write_vcf(folder, f"{snv(300)} GT 0/1 ./.", header=f"##fileformat=VCFv4.3\n{names}")
    whole = vcf.read_text()
    vcf.write_text(whole + whole.splitlines()[-1].replace("GT\t0/1\t./.", columns) + "\n")
    assert len(command.scored(vcf, status=1)) == 1
    assert command.error() == ["engine: line 4 was left out: FORMAT or a sample is empty"]


def test_of_many_broken_lines_the_first_are_told_and_all_are_counted(command: Command, folder: Path) -> None:
    vcf = write_vcf(folder, snv(300))
    vcf.write_text(vcf.read_text() + "broken\n" * 50)
    assert len(command.scored(vcf, status=1)) == 1
    assert command.error()[5:] == ["engine: 50 lines were left out in all"]


def test_windows_line_ends_and_a_missing_last_one_are_read(command: Command, folder: Path) -> None:
    vcf = write_vcf(folder, snv(300), snv(301))
    plain = [str(record) for record in command.scored(vcf)]
    vcf.write_bytes(vcf.read_bytes().replace(b"\n", b"\r\n").rstrip())
    assert [str(record) for record in command.scored(vcf)] == plain


@pytest.mark.parametrize("position", [0, 900, 901, 2147483647])
def test_a_place_at_or_beyond_the_end_is_kept(command: Command, folder: Path, position: int) -> None:
    (record,) = command.scored(write_vcf(folder, f"one {position} . {BASES[899]} N"), status=int(position != 900))
    assert record.pos == position


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the VCF is empty"),
        (b"##fileformat=VCFv4.2\n", "no line with the names of its columns"),
        (b"##fileformat=VCFv4.2\n#CHROM\tPOS\n", "line 2: before the first record stands the line #CHROM POS ID"),
        (b"one\t300\t.\tA\tC\n", "line 1: a VCF begins with"),
        (gzip.compress(HEADER.encode() * 999)[:40], "is not whole"),
        (gzip.compress(HEADER.encode())[:-6], "is not whole"),
        (b"\xff\xfe\x00", "line 1: a VCF begins with"),
        (None, "No such file"),
    ],
    ids=["empty", "meta only", "two names", "no header", "gzip cut", "gzip without its sum", "binary", "absent"],
)
def test_what_is_no_vcf_is_one_line_and_nothing_is_written(
    command: Command, folder: Path, content: bytes | None, words: str
) -> None:
    path = folder / "in.vcf"
    if content is not None:
        path.write_bytes(content)
    assert words in command.refused(path)


def test_a_bgzip_file_without_its_end_is_not_whole(command: Command, folder: Path) -> None:
    """Cut between two blocks, which nothing but the mark at the end can tell."""
    packed = io.BytesIO()
    bgzf.Writer(packed).finish()
    path = folder / "in.vcf.gz"
    path.write_bytes(bgzf._block(write_vcf(folder, snv(300)).read_bytes()))
    assert "the mark at the end of a bgzip file is missing" in command.refused(path)
    path.write_bytes(path.read_bytes() + packed.getvalue())
    assert len(command.scored(path)) == 1


def test_a_file_that_breaks_off_later_leaves_no_result(command: Command, folder: Path) -> None:
    vcf = write_vcf(folder, *map(snv, range(300, 340)))
    (folder / "cut.vcf.gz").write_bytes(gzip.compress(vcf.read_bytes())[:-9])
    assert "is not whole" in command.refused(folder / "cut.vcf.gz")
    assert names(folder) == {"reference.fa", "in.vcf", "cut.vcf.gz"}


def test_ctrl_c_leaves_no_half_file_and_the_old_one_stays(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "out.vcf").write_text("old\n")

    def interrupted(self: Engine) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Engine, "step", interrupted)
    assert command(write_vcf(folder, snv(300)), "--out", folder / "out.vcf") == 130
    assert command.error() == ["engine: interrupted"]
    assert (folder / "out.vcf").read_text() == "old\n"
    assert names(folder) == {"reference.fa", "in.vcf", "out.vcf"}


def test_the_result_may_take_the_place_of_what_was_read(command: Command, folder: Path) -> None:
    vcf = write_vcf(folder, snv(300))
    assert command(vcf, "--out", vcf, "--quiet") == 0
    assert "HELICASE_DELTA=" in vcf.read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("name", ["/dev/full", "link.vcf.gz"])
def test_a_full_disk_is_one_sentence(command: Command, folder: Path, name: str) -> None:
    (folder / "link.vcf.gz").symlink_to("/dev/full")
    out = folder / name  # which is the device itself where the name begins with a slash
    assert command(write_vcf(folder, snv(300)), "--out", out, "--quiet") == 2
    assert command.error() == [f"engine: {out}: cannot be written: No space left on device"]


def test_what_does_not_fit_leaves_nothing_behind(folder: Path) -> None:
    """A limit on the size of files is how a process can be refused room for a real one."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(OSError, match="cannot be written: File too large"), output.opened(folder / "out.vcf") as out:
            for _ in range(100):
                out.write("x" * 9_999 + "\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(folder) == set()


def test_the_reference_is_not_overwritten(command: Command, folder: Path) -> None:
    before = command.reference.read_bytes()
    assert command(write_vcf(folder, snv(300)), "--out", command.reference) == 2
    assert command.error() == ["engine: --out would take the place of the reference"]
    assert command.reference.read_bytes() == before


def test_a_folder_that_is_not_there_is_one_line(command: Command, folder: Path) -> None:
    assert command(write_vcf(folder, snv(300)), "--out", folder / "none" / "out.vcf") == 2
    assert command.error() == [f"engine: {folder / 'none' / 'out.vcf'}: No such file or directory"]


def test_a_reader_that_goes_away_is_no_fault(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, content: object) -> int:
            raise BrokenPipeError

    with monkeypatch.context() as patched:
        patched.setattr("sys.stdout", io.TextIOWrapper(io.BufferedWriter(Closed(), 16), write_through=True))
        assert command(write_vcf(folder, snv(300)), "--quiet") == 141
    assert command.error() == []


@pytest.mark.parametrize("size", [0, 1, 0xFF00 - 1, 0xFF00, 200_000])
def test_bgzip_is_gzip_in_blocks_and_equal_content_gives_equal_bytes(folder: Path, size: int) -> None:
    content = bytes(hash((size, place)) % 256 for place in range(size))
    for name, piece in (("a.gz", 1 << 20), ("b.gz", 999)):
        with output.opened(folder / name) as out:
            for start in range(0, size, piece):
                out.write(content[start : start + piece].decode("utf-8", "surrogateescape"))
    with gzip.open(folder / "a.gz") as packed:
        assert packed.read() == content
    assert (folder / "a.gz").read_bytes() == (folder / "b.gz").read_bytes()


def test_a_source_knows_how_much_of_it_was_read(folder: Path) -> None:
    (folder / "text").write_bytes(b"line\n" * 100_000)
    with source.opened(folder / "text") as file:
        lines = file.lines()
        next(lines)
        assert file.share is not None and 0 < file.share < 0.5
        assert (sum(1 for _ in lines), file.share) == (99_999, 1.0)


def test_a_line_without_an_end_does_not_fill_the_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_LONGEST", 100)
    (folder / "text").write_bytes(b"x" * 1000)
    with source.opened(folder / "text") as file, pytest.raises(InvalidRequest, match="line 1 is longer"):
        next(file.lines())


def numbered(number: int, length: int = 6) -> Score:
    """A different request for every number below 4⁶."""
    return Score((1, *(3 + (number >> 2 * place) % 4 for place in range(length))))


def test_items_come_back_in_order_and_little_is_read_ahead(engine: Engine) -> None:
    taken = 0

    def asked() -> Iterator[tuple[int, list[Score]]]:
        nonlocal taken
        for taken in range(1, 401):
            yield taken, [numbered(taken), numbered(taken + 400)][: taken % 3]

    for count, (item, outcomes) in enumerate(running.flow(engine, asked()), 1):
        assert (item, len(outcomes)) == (count, count % 3)
        assert taken - item <= 2 * 16 * engine.scheduler.config.slots
        assert all(outcome.error is None for outcome in outcomes)
    assert count == 400


def test_heavy_items_are_read_ahead_one_at_a_time(engine: Engine) -> None:
    taken = 0

    def asked() -> Iterator[tuple[int, list[Score]]]:
        nonlocal taken
        for taken in range(1, 9):
            yield taken, [numbered(taken)]

    for item, _ in running.flow(engine, asked(), weight=lambda _: running.WAITING):
        assert taken == item


def test_no_slot_is_empty_between_two_items(engine: Engine) -> None:
    """Two hundred windows through four slots: only at the very end does a step compute fewer than four."""
    computed: list[int] = []
    run = engine.runner.run

    def watched(batch):  # type: ignore[no-untyped-def]
        computed.append(len(batch.rows))
        return run(batch)

    engine.runner.run = watched  # type: ignore[method-assign]
    try:
        asked = ((place, [Score((1, *([3 + place % 4] * (place % 90 + 30))))]) for place in range(200))
        assert sum(1 for _ in running.flow(engine, asked)) == 200
    finally:
        engine.runner.run = run  # type: ignore[method-assign]
    assert all(rows == 4 for rows in computed[:-4])


def test_equal_requests_close_to_each_other_are_computed_once(engine: Engine) -> None:
    before = engine.scheduler.tokens
    request = Score((1, 3, 4, 5, 6) * 9, REFERENCE)
    found = list(running.flow(engine, ((place, [request]) for place in range(50))))
    assert engine.scheduler.tokens - before <= len(request.tokens)
    assert len({id(outcomes[0]) for _, outcomes in found}) == 1
