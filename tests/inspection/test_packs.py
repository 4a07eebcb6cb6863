"""The pack of sealed events is checked by its own script, outside of Helicase: what is changed in it is found."""

import csv
import hashlib
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from accounts.roles import Role
from accounts.services import actor_for
from audit import anchors, keys, reads, sealing
from foundation import clock
from inspection import selectors
from tests.factories import make_user
from tests.inspection.test_audit_reports import House, read

pytestmark = pytest.mark.django_db


@pytest.fixture
def house() -> House:
    return House()


def seal_all(folder: Path | None = None) -> None:
    """As the sealer does, though this transaction has not committed; and an anchor, where there is a folder."""
    with connection.cursor() as cursor:
        cursor.execute(f"{sealing._UNSEALED} true ORDER BY e.id")
        head = sealing._chain(cursor, sealing.Sealer.take_up().head, cursor.fetchall())
    if folder is not None:
        anchors.Writer(folder, keys.signing()).write(head, clock.now())


def replaced(name: str, *pairs: tuple[str, str]) -> Callable[[Path], None]:
    """Words of one file exchanged, where they stand first."""

    def deed(pack: Path) -> None:
        text = (pack / name).read_bytes().decode()
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new, 1)
        (pack / name).write_bytes(text.encode())

    return deed


def links(pack: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (pack / "chain.jsonl").read_text().split("\n")[:-1]]


def relinked(pack: Path, made: list[dict[str, Any]]) -> None:
    (pack / "chain.jsonl").write_text("".join(json.dumps(one) + "\n" for one in made))


def forged(pack: Path, *, resume: bool) -> None:
    """An event, its row and its link made anew; the stretch ends there, or another begins behind it with the hash that is true."""
    replaced("events.csv", ("Lou Looker", "Max Other"))(pack)
    made = links(pack)
    place = next(n for n, link in enumerate(made) if "Lou Looker" in link.get("text", ""))
    link, before = made[place], made[place - 1].get("hash") or made[place - 1]["before"]
    behind = [{"after": link["seq"], "before": link["hash"]}, *made[place + 1 :]] if resume else []
    link["text"] = link["text"].replace("Lou Looker", "Max Other")
    link["digest"] = hashlib.sha256(link["text"].encode()).hexdigest()
    said = (link[name] for name in ("seq", "event", "organisation", "recipe", "sealed", "digest"))
    link["hash"] = hashlib.sha256("|".join(map(str, ("helicase-link-1", *said, before))).encode()).hexdigest()
    relinked(pack, [*made[: place + 1], *behind])


def without_row(pack: Path) -> None:
    rows = (pack / "events.csv").read_text().splitlines(keepends=True)
    (pack / "events.csv").write_text("".join(row for row in rows if "Lou Looker" not in row))


def said_to_be_unsealed(pack: Path) -> None:
    """A sealed event, with another name in its row, among those that are not sealed yet."""
    replaced("events.csv", ("Lou Looker", "Max Other"))(pack)
    event = next(str(link["event"]) for link in links(pack) if "Lou Looker" in link.get("text", ""))
    (pack / "unsealed.txt").write_text(f"{event}\n")


def unlinked(pack: Path) -> None:
    """The same of an old event, whose text is gone from its link."""
    made = links(pack)
    first = next(link for link in made if "text" in link)
    first.pop("text")
    relinked(pack, made)
    (pack / "unsealed.txt").write_text(f"{first['event']}\n")
    rows = list(csv.DictReader(io.StringIO((pack / "events.csv").read_bytes().decode())))
    old = next(row for row in rows if row["event"] == str(first["event"]))["time (UTC)"]
    replaced("events.csv", (old, (datetime.fromisoformat(old) - timedelta(hours=1)).isoformat()))(pack)


def relined(name: str, change: Callable[[list[str]], list[str]]) -> Callable[[Path], None]:
    return lambda pack: (pack / name).write_text("".join(change((pack / name).read_text().splitlines(keepends=True)))) and None


PACK_DEEDS: dict[str, Callable[[Path], object]] = {
    "a name": replaced("events.csv", ("Lou Looker", "Max Other")),
    "what was done": replaced("events.csv", ('""action"": ""order.viewed""', '""action"": ""order.placed""')),
    "from where": replaced("events.csv", ('""origin"": """"', '""origin"": ""page, 192.0.2.9""')),
    "why": replaced("events.csv", ('""reason"": """"', '""reason"": ""order.x""')),
    "a row's fact": replaced("events.csv", ('""priority"": ""routine', '""priority"": ""stat')),
    "a row gone": without_row,
    "a row twice": relined("events.csv", lambda rows: [*rows, rows[-1]]),
    "a row of a sealed event, said to be unsealed": said_to_be_unsealed,
    "a row of an old event, said to be unsealed": unlinked,
    "a link": replaced("chain.jsonl", ('"recipe": 1', '"recipe": 2')),
    "a link gone": relined("chain.jsonl", lambda lines: [*lines[:2], *lines[3:]]),
    "two links exchanged": relined("chain.jsonl", lambda lines: [lines[0], lines[2], lines[1], *lines[3:]]),
    "the end of the links": relined("chain.jsonl", lambda lines: lines[:-1]),
    "all links": relined("chain.jsonl", lambda lines: []),
    "an event made anew, the links ended": lambda pack: forged(pack, resume=False),
    "an event made anew, the links begun again": lambda pack: forged(pack, resume=True),
    "an anchor's hash": lambda pack: replaced("anchors.txt", (links(pack)[-1]["hash"], "0" * 64))(pack),
    "an anchor gone": relined("anchors.txt", lambda lines: []),
    "no anchors": lambda pack: (pack / "anchors.txt").unlink(),
    "no table": lambda pack: (pack / "events.csv").unlink(),
    "a file more": lambda pack: (pack / "more.csv").write_text("event\n"),
}


class TestProof:
    @pytest.fixture
    def unpacked(self, house, tmp_path, settings):
        settings.AUDIT_ANCHORS = tmp_path / "anchors"
        for name in ("Lou Looker", "Pat Looker"):
            house.look(house.order, name)
        seal_all(tmp_path / "anchors")
        report, _ = house.made("order", order=house.order.accession)
        assert selectors.report_for(house.actor, report.pk).shown["proven"]
        with zipfile.ZipFile(io.BytesIO(b"".join(selectors.whole(report)))) as pack:
            pack.extractall(tmp_path / "pack")
        return tmp_path / "pack"

    def verify(self, folder, *anchors):
        command = [sys.executable, "-I", "verify.py", ".", *map(str, anchors)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_as_it_was_made_it_is_good(self, unpacked, tmp_path):
        status, said = self.verify(unpacked, tmp_path / "anchors")
        assert status == 0 and said.startswith("as it was sealed: ") and "not sealed yet: 0" in said
        assert len((unpacked / "verify.py").read_text().splitlines()) <= 80
        imported = {
            line.split()[1] for line in (unpacked / "verify.py").read_text().splitlines() if line.startswith(("import ", "from "))
        }
        assert imported and imported <= sys.stdlib_module_names
        anchors.Writer(tmp_path / "others", keys.signing()).write(sealing.Head(), clock.now())
        assert self.verify(unpacked, tmp_path / "others")[0] == 1, "anchors of another installation"

    @pytest.mark.parametrize("deed", PACK_DEEDS)
    def test_what_was_changed_is_found_though_the_sums_were_made_anew(self, unpacked, deed):
        PACK_DEEDS[deed](unpacked)
        names = sorted(path.name for path in unpacked.iterdir() if path.name not in ("SHA256SUMS", "more.csv"))
        sums = "".join(f"{hashlib.sha256((unpacked / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
        (unpacked / "SHA256SUMS").write_text(sums)
        status, said = self.verify(unpacked)
        assert status == 1 and said

    def test_what_no_anchor_holds_is_named_apart_and_nothing_anchored_is_no_proof(self, house, tmp_path, settings):
        settings.AUDIT_ANCHORS = tmp_path / "anchors"
        house.look(house.order, "Lou Looker")
        seal_all()
        report, _ = house.made("order", order=house.order.accession)
        assert not report.shown["proven"] and "verify.py" not in selectors.files(report)
        seal_all(tmp_path / "anchors")
        house.look(house.order, "Max Looker")
        seal_all()
        report, tables = house.made("order", order=house.order.accession)
        newest = [row[-1] for row in tables["events.csv"][1:] if row[2] == "Max Looker"]
        assert report.shown["proven"] and read(report, "unsealed.txt").decode().split() == newest

    def test_letters_that_end_lines_elsewhere_do_not_end_them_here(self, house, tmp_path, settings):
        settings.AUDIT_ANCHORS = tmp_path / "anchors"
        odd = actor_for(make_user(role=Role.ANALYST, organisation=house.ward.laboratory, name="A\u2028B\x85C"))
        reads.seen(actor=odd, action="order.viewed", obj=house.order, organisation_id=house.ward.laboratory.pk)
        seal_all(tmp_path / "anchors")
        report, _ = house.made("order", order=house.order.accession)
        with zipfile.ZipFile(io.BytesIO(b"".join(selectors.whole(report)))) as pack:
            pack.extractall(tmp_path / "pack")
        assert self.verify(tmp_path / "pack")[0] == 0
