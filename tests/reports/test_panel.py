"""The results panel of the order page: sorted, filtered, paged, raw."""

import re

import pytest
from django.db import connection
from django.template.loader import render_to_string
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from engine_queue.models import Run
from reports import selectors
from reports.selectors import Asked, ResultFilter, asked, query
from tests.reports import cases

pytestmark = pytest.mark.django_db
LIMITED = re.compile(r"LIMIT|COUNT\(")


@pytest.fixture
def order():
    return cases.scored_order(variants=60, delta=lambda n: None if n == 7 else cases.wave(n))


def panel(order, **wanted):
    return selectors.results_panel(cases.analyst(order), order, **wanted)


def test_rows_come_by_delta_lowest_first_and_raw(order):
    stored = sorted(r.delta for r in cases.run_of(order).results.exclude(delta=None))
    assert [row.delta for row in panel(order).rows] == stored[: selectors.PAGE]


@pytest.mark.parametrize(
    ("sort", "key"), [("-delta", lambda r: -r.delta), ("magnitude", lambda r: -abs(r.delta)), ("file", lambda r: r.ordinal)]
)
def test_other_orders_sort_by_what_they_say(order, sort, key):
    shown = [row for row in panel(order, sort=sort).rows if row.delta is not None]
    assert shown == sorted(shown, key=key)


def test_failed_results_stand_at_the_end(order):
    assert panel(order, page=2).rows[-1].failure == "engine.no-score"


def test_the_head_counts_everything_whatever_the_filter(order):
    found = panel(order, filter=ResultFilter(outcome="failed"))
    assert (found.total, found.failed, found.matching, len(found.rows)) == (60, 1, 1, 1)


def test_a_range_of_positions_keeps_what_lies_in_it(order):
    found = panel(order, filter=ResultFilter(contig="contig1", start=203, end=204))
    assert {row.position for row in found.rows} == {203, 204} and found.matching == 6


def test_a_flag_keeps_its_rows_and_is_offered(order):
    found = panel(order, filter=ResultFilter(flag="window.cut-at-end"))
    assert [row.ordinal for row in found.rows] == [0] and found.flags == ("window.cut-at-end",)


def test_a_page_past_the_end_is_the_last_one(order):
    found = panel(order, page=99)
    assert (found.asked.page, found.pages, len(found.rows), found.next_query) == (2, 2, 10, "")


@pytest.mark.parametrize(
    "junk", [{"page": "x"}, {"page": "-1"}, {"sort": "'; DROP"}, {"start": "1e9"}, {"end": "9" * 40}, {"flag": "\0"}]
)
def test_junk_in_the_address_asks_for_nothing(junk):
    assert asked(junk) == Asked()


def test_the_query_string_reads_back_to_the_same_question():
    wanted = Asked("magnitude", ResultFilter("scored", "chr 1&2", 5, 900, "vcf.filter"), 3)
    parameters = RequestFactory().get(f"/?{query(wanted)}").GET
    assert asked(parameters) == wanted


def test_turning_pages_and_sorting_read_one_page_and_draw_nothing_again(order):
    actor = cases.analyst(order)
    first = selectors.results_panel(actor, order)
    with CaptureQueriesContext(connection) as seen:
        again = selectors.results_panel(actor, order, sort="file", page=2)
    assert again.picture == first.picture != "" and len(seen) == 5  # one looks for a background
    assert [query["sql"] for query in seen if "engine_queue_result" in query["sql"] and not LIMITED.search(query["sql"])] == []


def test_when_results_were_added_the_picture_is_drawn_anew():
    order = cases.scored_order(variants=3, finished=False)
    early = cases.run_of(order)
    Run.objects.filter(pk=early.pk).update(items_done=2)
    actor = cases.analyst(order)
    selectors.results_panel(actor, order)
    Run.objects.filter(pk=early.pk).update(items_done=3)
    with CaptureQueriesContext(connection) as seen:
        assert selectors.results_panel(actor, order).total == 3
    assert len(seen) > 4


def test_while_scoring_goes_on_the_panel_shows_what_is_committed():
    order = cases.scored_order(finished=False)
    found = panel(order)
    assert (found.complete, found.total, found.expected) == (False, 10, 10)


def test_the_partial_rounds_for_the_eye_and_keeps_the_value(order):
    found = panel(order)
    html = render_to_string("reports/_results.html", {"panel": found, "order": order})
    lowest = found.rows[0].delta
    assert f'<data value="{lowest}"><b>{f"{lowest:.3f}".replace("-", "−")}</b>' in html


def test_an_order_without_results_yet_says_what_will_be_here():
    order = cases.scored_order(finished=False)
    empty = panel(order, filter=ResultFilter(contig="chrX"))
    assert "No result matches this filter" in render_to_string("reports/_results.html", {"panel": empty, "order": order})
