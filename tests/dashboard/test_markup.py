"""What every page must keep to: the strict content policy and one stylesheet."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.urls import reverse

from tests.dashboard.people import Ward, read

TEMPLATES = sorted(path for path in (settings.BASE_DIR / "templates").rglob("*.html"))
SCRIPTS = sorted((settings.BASE_DIR / "static" / "js").glob("*.js"))
INLINE = re.compile(
    r"<style|\sstyle=|<script(?![^>]*\ssrc=)|\son[a-z]+=|hx-on|javascript:|https?://(?!www\.w3\.org)", re.IGNORECASE
)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(settings.BASE_DIR)))
def test_no_template_carries_inline_script_or_style_or_a_foreign_address(path):
    assert not INLINE.findall(path.read_text())


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_script_evaluates_text_or_writes_markup(path):
    assert not re.findall(r"\beval\(|new Function|innerHTML|insertAdjacentHTML|document\.write|https?://", path.read_text())


@pytest.mark.django_db
def test_every_page_carries_the_policy_and_no_page_can_be_framed():
    ward = Ward()
    response = ward.analyst().get(reverse("order", args=[ward.order().pk]))
    policy = response["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert response["X-Frame-Options"] == "DENY" and response["Referrer-Policy"] == "same-origin"


@pytest.mark.django_db
def test_htmx_evaluates_nothing_and_keeps_no_page_in_the_browsers_store():
    page = Ward().analyst().get(reverse("worklist")).content.decode()
    for setting in ('"allowEval":false', '"includeIndicatorStyles":false', '"selfRequestsOnly":true', '"historyCacheSize":0'):
        assert setting in page


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("page", "marked"), [("questions", '"/questions/" aria-current="page"'), ("question-new", '"/questions/" aria-current="true"')]
)
def test_the_bar_says_where_a_page_lies(page, marked):
    shown = read(Ward().analyst(), page)
    assert marked in shown and 'href="/" aria-current' not in shown


def test_the_stylesheet_has_both_schemes_and_a_print_form():
    css = Path(settings.BASE_DIR / "static" / "helicase.css").read_text()
    for part in ("prefers-color-scheme: dark", "@media print", "max-width: 560px"):
        assert part in css
    assert not re.search(r"url\(|@import", css)


def test_every_colour_of_the_picture_has_its_counterpart_in_the_dark():
    reports = settings.BASE_DIR / "platform" / "reports"
    drawn = "".join((reports / f"{name}.py").read_text() for name in ("drawing", "svg", "common_picture", "track_picture"))
    css = (settings.BASE_DIR / "static" / "reports" / "report.css").read_text()
    colours = set(re.findall(r"#[0-9a-f]{6}", drawn))
    assert len(colours) > 5 and colours <= set(re.findall(r'\[(?:fill|stroke)="(#[0-9a-f]{6})"\]', css))
