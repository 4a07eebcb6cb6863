"""The platform itself, as one command starts it: nothing stands in for anything."""

import re
import shutil
import socket
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from tests.services import ROOT
from tests.setup import tracked
from tests.setup.stand_in import Running, kill_all, processes_of, start, wait_until_none_is_left

pytestmark = pytest.mark.flow

PATIENCE_S = 240.0  # for a first start with everything else of two cores at work


class Visitor:
    """Somebody who reads pages without a browser."""

    def __init__(self, address: str) -> None:
        self.address = address
        cookies = urllib.request.HTTPCookieProcessor(CookieJar())
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)

    def read(self, path: str, form: dict[str, str] | None = None) -> str:
        data = urllib.parse.urlencode(form).encode() if form else None
        with self._opener.open(self.address + path, data, timeout=30) as response:
            return str(response.read().decode())

    def log_in(self, email: str, password: str) -> None:
        token = first(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.read("/login/"))
        page = self.read("/login/", {"csrfmiddlewaretoken": token, "username": email, "password": password})
        assert 'id="worklist-live"' in page

    def demo_order(self) -> tuple[str, str]:
        """Address and accession of the one order on the worklist."""
        return re.findall(r'href="(/orders/[0-9a-f-]{36}/)">([^<]+)</a>', self.read("/"))[0]

    def progress(self, order: str) -> tuple[int, int]:
        page = self.read(order)
        return int(first(r'data-done="(\d+)"', page)), int(first(r'data-total="(\d+)"', page))


def first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found, text[-2000:]
    return found[1]


def password_of(email: str, running: Running) -> str:
    return running.wait_for(rf"^ +{re.escape(email)} +\S+$").split()[1]


@pytest.fixture
def copy(open_folder: Path) -> Iterator[Path]:
    """The working tree in a folder with a space in its name, with this environment linked."""
    root = open_folder / "a copy"
    for path in tracked.files("--cached", "--others", "--exclude-standard"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, root / path)
    (root / ".venv").symlink_to(sys.prefix)
    yield root
    kill_all(root)


def test_the_platform_starts_scores_its_demo_order_and_has_it_after_a_kill(copy: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = taken.getsockname()[1]
        running = start(copy, patience_s=PATIENCE_S, PORT=str(busy))
        visitor = Visitor(running.ready())
    assert int(visitor.address.rsplit(":", 1)[1]) > busy
    email = "analyst@demo.helicase.example"
    password = password_of(email, running)
    visitor.log_in(email, password)
    order, accession = visitor.demo_order()
    deadline = time.monotonic() + PATIENCE_S
    while (progress := visitor.progress(order)) != (96, 96):
        assert time.monotonic() < deadline, progress
        time.sleep(0.2)

    kill_all(copy)
    running.end()
    wait_until_none_is_left(copy)

    again = start(copy, patience_s=PATIENCE_S)
    visitor = Visitor(again.ready())
    assert email not in again.text  # passwords are printed once
    visitor.log_in(email, password)
    assert visitor.demo_order() == (order, accession)
    assert visitor.progress(order) == (96, 96)
    assert again.end() == 0
    assert processes_of(copy) == []
