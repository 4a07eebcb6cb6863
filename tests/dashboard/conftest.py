import pytest


@pytest.fixture(autouse=True)
def served_from_the_sources(settings):
    """Nothing is collected here: static files come from the finders, and WhiteNoise need not look for another folder."""
    settings.STATIC_ROOT = None
