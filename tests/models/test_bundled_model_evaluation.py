"""The model does what its card says, and the card says what was measured."""

import json
import re

import pytest

from models.training import card
from models.training.evaluate import MEASURED, evaluate, file_hash
from models.training.measures import QUICK


@pytest.fixture(scope="module")
def quick():
    return evaluate(card.FOLDER, QUICK)


@pytest.fixture(scope="module")
def recorded():
    return json.loads((card.FOLDER / "evaluation.json").read_text())


def test_nonsense_is_told_from_synonymous(quick):
    assert quick["variants"][0]["nonsense"]["auroc"] > 0.95


def test_the_model_beats_every_markov_chain_on_heldout_genes(quick):
    bits = quick["bits_per_base"][0]
    assert bits["model"] < min(bits["markov"].values())


def test_a_quick_measurement_agrees_with_the_recorded_one(quick, recorded):
    assert quick["bits_per_base"][0]["model"] == pytest.approx(recorded["bits_per_base"][0]["model"], abs=0.03)
    areas = [record["variants"][0]["nonsense"]["auroc"] for record in (quick, recorded)]
    assert areas[0] == pytest.approx(areas[1], abs=0.03)


def test_the_record_was_measured_on_the_shipped_files(recorded):
    assert recorded["scale"] == "full"
    assert recorded["files"] == {name: file_hash(card.FOLDER / name) for name in MEASURED}


def test_the_card_holds_exactly_the_recorded_figures():
    assert (card.FOLDER / "CARD.md").read_text(encoding="utf-8") == card.render(card.FOLDER)


def test_the_template_of_the_card_holds_no_measured_figure():
    prose = re.sub(r"\{[^}]*\}", "", card.TEMPLATE.read_text(encoding="utf-8"))
    assert set(re.findall(r"(?<!\w)\d+\.\d+", prose)) == {"0.5"}  # chance


def test_the_card_says_what_the_model_is_not():
    text = (card.FOLDER / "CARD.md").read_text(encoding="utf-8")
    assert all(f"It knows nothing of {subject}" in text for subject in ("missense", "human sequence"))
    assert "no clinical model" in text
