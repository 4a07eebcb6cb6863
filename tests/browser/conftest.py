"""One demonstration, one web process and one browser for all tests here; a copy of the database and a window for each.

While playwright runs, its event loop holds this thread, and Django refuses to block it. So whatever reads or writes the database is
done before, or elsewhere.
"""

import shutil

import pytest
from django.contrib.auth.hashers import make_password
from playwright.sync_api import sync_playwright

from accounts.models import User
from config import demo
from tests.browser.served import FLAGS, Person, Served, elsewhere, sealed, uploads_checked
from tests.engine_queue.workers import crowd
from tests.factories import PASSWORD

CHROMIUM = shutil.which("chromium")
DEMONSTRATION, BROWSED = "helicase_demonstration", "helicase_browsed"


@pytest.fixture(scope="package")
def demonstration(databases, django_db_blocker):
    """The demonstration laboratory, in a database that is only copied; Django's settings lead to the copies."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine (Debian: apt-get install chromium)")
    databases.clone(DEMONSTRATION)
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as environment:
        before = databases.point_django_to(DEMONSTRATION)
        demo.seed()
        User.objects.update(password=make_password(PASSWORD))
        databases.point_django_to(BROWSED)
        for variable, value in {**databases.urls(BROWSED), "DEMO": "1"}.items():
            environment.setenv(variable, value)
        yield
        databases.point_django_to(before)
    for name in (BROWSED, DEMONSTRATION):
        databases.drop(name)


@pytest.fixture(scope="package")
def platform(demonstration, tmp_path_factory):
    """The web process; it starts with the first test."""
    with crowd(tmp_path_factory.mktemp("web")) as made:
        yield Served(made)


@pytest.fixture(scope="package")
def browser(platform):
    """Debian's chromium."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def served(platform, databases, valkey_url, tmp_path):
    """The demonstration laboratory as it was made, served. Workers are started by the tests that need them."""
    databases.drop(BROWSED)
    databases.clone(BROWSED, template=DEMONSTRATION)
    elsewhere(lambda: sealed(tmp_path / "anchors"))
    platform.start_web()
    with crowd(tmp_path) as platform.workers:
        yield platform


@pytest.fixture
def checked(served):
    """Uploads get their verdict."""
    with uploads_checked():
        yield


@pytest.fixture
def person(browser, served):
    """Logs somebody in; afterwards no page may have broken the content policy or thrown an error."""
    everybody = []

    def make(mailbox, **options):
        made = Person(browser, served, **options)
        everybody.append(made)
        made.come_in(f"{mailbox}@demo.helicase.example")
        return made

    yield make
    complaints = [complaint for one in everybody for complaint in one.complaints]
    for one in everybody:
        one.context.close()
    assert complaints == []
