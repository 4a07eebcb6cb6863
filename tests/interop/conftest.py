import pytest

from tests.interop.caller import Site


@pytest.fixture
def site(db):
    return Site()


@pytest.fixture(autouse=True)
def served_from_the_sources(settings):
    settings.STATIC_ROOT = None
