"""The picture: well-formed, free of style and script, legible from one variant to thousands."""

import itertools
import math
import re
import xml.etree.ElementTree as ET

import pytest

from reports import locus, svg
from reports.content import Gene
from reports.locus import Point

SVG = "{http://www.w3.org/2000/svg}"
MANY = [Point("c", 100 + n // 3, -abs(math.sin(n)) * 6, "A>C") for n in range(2400)]
GENES = [Gene("c", 50, 400, "+", "lexA"), Gene("c", 390, 900, "-", "dinF"), Gene("other", 1, 9, "+", "elsewhere")]


def points(*deltas):
    return [Point("c", 1000 + 10 * n, delta, "A>C") for n, delta in enumerate(deltas)]


CASES = {
    "one": points(-2.5),
    "zero": points(0.0),
    "all positive": points(1.0, 2.0, 9.5),
    "both signs": points(-3.0, 0.0, 4.0),
    "tiny": points(-1e-9, 3e-9),
    "huge": points(-1e6, 2e5),
    "same place": [Point("c", 5, -1.0, "A>C"), Point("c", 5, -1.0, "A>G")],
    "several contigs": [Point(f"chr{k}", n, n * k - 9.0, "A>C") for k in range(9) for n in range(9)],
    "position 1": [Point("c", 1, -1.0, "A>C")],
    "sticks": MANY[:900],
    "density": MANY,
}


SHEETS = pytest.mark.parametrize("sheet", [locus.PAGE, locus.TELEPHONE], ids=lambda sheet: sheet.name)


def parsed(text):
    return ET.fromstring(text)  # noqa: S314 -- our own picture


def texts(drawn):
    return [element.text for element in parsed(drawn).iter(f"{SVG}text")]


@SHEETS
@pytest.mark.parametrize("drawn", CASES.values(), ids=CASES)
def test_every_case_is_well_formed_and_carries_neither_style_nor_script(drawn, sheet):
    root = parsed(svg.draw(drawn, GENES, sheet=sheet))
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "g", "line", "rect", "circle", "text"}
    assert not any(name == "style" or name.startswith("on") or "href" in name for e in root.iter() for name in e.attrib)


@SHEETS
@pytest.mark.parametrize("drawn", CASES.values(), ids=CASES)
def test_nothing_is_drawn_outside_the_picture(drawn, sheet):
    root = parsed(svg.draw(drawn, GENES, sheet=sheet))
    _, _, width, height = map(float, root.get("viewBox").split())
    for text in root.iter(f"{SVG}text"):
        left, right = extent(text)
        assert left >= 0 and right <= width and 0 <= float(text.get("y")) <= height, text.text
    for circle in root.iter(f"{SVG}circle"):
        assert sheet.left <= float(circle.get("cx")) <= width


@SHEETS
@pytest.mark.parametrize("drawn", CASES.values(), ids=CASES)
def test_no_two_figures_of_the_position_axis_touch(drawn, sheet):
    for group in parsed(svg.draw(drawn, GENES, sheet=sheet)).iter(f"{SVG}g"):
        figures = [
            extent(t) for t in group.findall(f"{SVG}text") if re.fullmatch("[0-9,]+", t.text) and t.get("text-anchor") == "middle"
        ]
        assert all(before[1] < after[0] for before, after in itertools.pairwise(figures))


def extent(text):
    """Left and right edge of a text, as wide as its letters are at most."""
    width = len(text.text) * locus.CHARACTER
    left = float(text.get("x")) - width * {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor")]
    return left, left + width


def test_it_says_in_words_what_it_shows():
    root = parsed(svg.draw(points(-2.5, 1.25), [], failed=3))
    assert root.get("role") == "img" and root.get("aria-labelledby") == "locus-title-page locus-words-page"
    words = root.find(f"{SVG}desc").text
    assert "2 variants scored, 3 failed" in words and "Δ from −2.50 to 1.25" in words


def test_one_variant_is_told_in_the_singular():
    words = parsed(svg.draw(points(1.25), [])).find(f"{SVG}desc").text
    assert words.startswith("1 variant scored, 0 failed.") and ": 1 variant at " in words


def test_when_everything_failed_it_says_so():
    assert "No variant could be scored." in svg.draw([], [], failed=4)


def test_without_variants_there_is_no_picture():
    assert svg.draw([], []) == ""


@SHEETS
def test_labels_never_overlap(sheet):
    (panel,) = locus.panels(MANY[:100], [], height=240, sheet=sheet)
    boxes = [locus._box(label) for label in panel.labels]
    assert boxes and not any(a.meets(b) for n, a in enumerate(boxes) for b in boxes[n + 1 :])


def test_the_largest_change_is_labelled_in_either_direction():
    assert "1,020 A>C 7.00" in texts(svg.draw(points(-1.0, -2.0, 7.0, 0.5), []))
    assert "1,010 A>C −2.00" in texts(svg.draw(points(-1.0, -2.0, 0.0, 0.5), []))


def test_thousands_of_variants_become_columns_and_the_picture_stays_small():
    drawn = svg.draw(MANY, [])
    assert "median of each column" in drawn and len(drawn) < 150_000


def test_a_density_column_keeps_the_extremes():
    (panel,) = locus.panels(MANY, [], height=240)
    columns = locus.columns(panel)
    assert min(c.low for c in columns) == min(p.delta for p in MANY)
    assert max(c.high for c in columns) == max(p.delta for p in MANY)


def test_genes_of_the_contig_are_drawn_in_lanes_with_their_strand():
    drawn = svg.draw(MANY[:90], GENES)
    assert "lexA →" in drawn and "elsewhere" not in drawn
    (panel,) = locus.panels(MANY, GENES, height=240)
    assert [(lane, gene.name) for lane, gene in panel.genes] == [(0, "lexA"), (1, "dinF")]


def test_contigs_beyond_the_panels_are_named_as_missing():
    assert "3 more contigs are in the table only" in svg.draw(CASES["several contigs"], [])


def test_a_name_cannot_break_out_of_its_place():
    drawn = svg.draw([Point('"><script>x</script>', 5, -1.0, "A>C")], [Gene('"><script>x</script>', 1, 500, "+", "</text><style>")])
    assert "<script" not in drawn and "<style" not in drawn
    parsed(drawn)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-7.3, 2.2), (-9.5, 2.6), (-1e-7, 0.0), (0.0, 3e8), (-25.1, 5.1)])
def test_the_axis_holds_zero_and_every_value_and_has_few_ticks(low, high):
    scale = locus.delta_scale([low, high], start=200, end=20)
    assert scale.low <= min(low, 0) and scale.high >= max(high, 0)
    assert 3 <= len(scale.ticks) <= 7 and 0 in scale.ticks
