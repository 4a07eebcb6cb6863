"""Reason codes are stable, spelled alike, and documented."""

from __future__ import annotations

import re
from pathlib import Path

from foundation import reasons
from foundation.file_reasons import FileReason
from foundation.reasons import Reason

PAGE = Path(__file__).parents[2] / "docs" / "reason-codes.md"


def test_the_page_is_made_from_the_registry():
    assert PAGE.read_text() == reasons.page()


def test_a_code_has_a_domain_and_a_name():
    assert all(re.fullmatch(r"[a-z0-9]+(\.[a-z0-9-]+)+", code) for code in reasons.ALL)


def test_a_retired_code_is_never_used_again():
    assert not reasons.RETIRED & reasons.WORDS.keys()


def test_words_are_filled_in_and_braces_of_a_file_stay_text():
    assert FileReason.VCF_UNKNOWN_CONTIG.say(contig="{x}", reference="r") == "Contig “{x}” is not in the reference r."


def test_an_identity_in_question_is_told_with_what_this_version_can_do_about_it():
    words = Reason.IDENTITY_MISMATCH.words
    assert "until a person has decided who it is" in words and "must settle" not in reasons.page()
