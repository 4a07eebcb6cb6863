import pytest


@pytest.fixture(autouse=True)
def static_files_need_not_be_collected(settings):
    """WhiteNoise warns of a missing `staticfiles` folder, and warnings are errors here."""
    settings.WHITENOISE_AUTOREFRESH = True
