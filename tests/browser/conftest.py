import shutil

import pytest
from playwright.sync_api import sync_playwright

from accounts.models import User
from config import demo
from tests.browser.served import FLAGS, Person, Served
from tests.engine_queue.workers import crowd
from tests.factories import PASSWORD

CHROMIUM = shutil.which("chromium")


@pytest.fixture
def served(clone_db, valkey_url, tmp_path, monkeypatch):
    """The demonstration laboratory, served by a real web process. Workers are started by the tests that need them."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine (Debian: apt-get install chromium)")
    monkeypatch.setenv("DEMO", "1")
    demo.seed()
    for user in User.objects.all():
        user.set_password(PASSWORD)
        user.save(update_fields=["password"])
    with crowd(tmp_path) as workers:
        made = Served(workers)
        made.start_web()
        yield made


@pytest.fixture
def browser(served):
    """Debian's chromium; closed before the database goes."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def person(browser, served):
    """Logs somebody in; afterwards no page may have broken the content policy or thrown an error."""
    everybody = []

    def make(mailbox, **options):
        made = Person(browser, served, **options)
        everybody.append(made)
        made.log_in(f"{mailbox}@demo.helicase.example", PASSWORD)
        return made

    yield make
    complaints = [complaint for one in everybody for complaint in one.complaints]
    for one in everybody:
        one.context.close()
    assert complaints == []
