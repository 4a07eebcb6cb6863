"""Where every engine is made to preempt (`--forced-preemption`): which tests must not see that theirs do, and which are left out.

A test that counts steps, tokens or blocks, or looks at each step, is disturbed out of its sight: between what it is told before and
after, sequences leave and come back and passes stand still for STAT, and every figure and bit must be what it would have been. All
others are disturbed openly. `test_undisturbed.py` holds the names here to tests that exist.
"""

from __future__ import annotations

import pytest

from tests.engine import preempting_by_force

OUT_OF_SIGHT = {  # file: why, and which tests; where it is all of a file, that says so itself, by the marker `undisturbed`
    "test_forgetting.py": (
        "counts what is reused, and gives way by itself",
        """
        giving_way_often_leaves_no_more_behind_than_once
        what_is_built_on_something_forgotten_is_forgotten_too
        what_was_computed_between_two_times_is_forgotten_and_nothing_else
        who_comes_after_all_is_forgotten_takes_no_trunk_from_before
        """,
    ),
    "test_freezing.py": (
        "stops its passes itself, step by step",
        """
        a_pass_of_long_chunks_of_stat_is_stopped_for_a_short_one
        a_stop_without_stat_costs_nothing_and_counts_for_nothing
        at_a_limit_the_pass_goes_on_and_those_who_wait_are_counted
        cancelled_in_a_pass_that_stands_still_a_row_keeps_its_blocks_until_the_pass_has_ended
        no_token_is_computed_twice_and_nobody_gives_way
        slots_that_were_lent_are_given_back_by_lower_work
        stat_runs_all_its_steps_and_then_the_pass_goes_on
        where_stat_fits_only_without_the_pinned_blocks_the_pass_is_abandoned
        who_has_no_row_in_the_pass_gives_way_before_it_is_abandoned
        """,
    ),
    "test_freezing_attacked.py": (
        "stops its passes itself, step by step",
        """
        a_clock_that_is_set_back_does_not_let_a_pass_stand_still_for_longer
        a_pass_of_which_everything_is_cancelled_is_not_computed_to_its_end
        a_trunk_in_the_pass_whose_last_alternate_is_cancelled_goes_at_once
        nobody_who_comes_later_passes_a_trunk_in_the_pass_that_has_become_stat
        stop_without_drain_is_heard_between_two_layers
        what_is_forgotten_while_a_pass_stands_still_is_not_found_afterwards
        routine_goes_on_under_stat_that_needs_the_blocks_of_every_pass
        """,
    ),
    "test_freezing_loop.py": (
        "counts the layers of a stub",
        """
        a_pass_that_stands_still_is_not_taken_for_a_step_that_hangs
        a_stat_that_computes_beside_a_pass_is_cancelled_after_the_layer_that_runs
        a_stat_that_computes_is_held_after_the_layer_that_runs_and_others_in_its_pass_lose_nothing
        a_routine_request_stops_no_pass
        stat_starts_after_the_layer_that_runs_and_ends_first
        """,
    ),
    "test_interruptions.py": (
        "counts its own interruptions",
        """
        a_pass_that_is_stopped_without_stat_was_not_interrupted
        a_pass_that_stands_still_is_told_of_all_its_rows
        who_gives_way_says_from_when_to_when
        what_waits_at_a_trunk_is_where_the_trunk_is
        """,
    ),
    "test_isolation.py": (
        "counts steps by their memory",
        """
        what_was_computed_in_smaller_parts_says_so_and_halves_the_budget
        """,
    ),
    "test_long.py": (
        "counts tokens and chunks",
        """
        a_million_bases_are_scored_whole_in_constant_memory
        chunks_shrink_as_the_context_grows
        progress_is_told_while_it_runs
        short_ones_that_arrive_meanwhile_finish_in_as_many_steps_as_if_it_were_not_there
        twenty_bases_beside_a_hundred_thousand_take_the_step_they_would_take_alone
        """,
    ),
    "test_loop.py": (
        "counts steps, or holds a step back",
        """
        progress_is_known_while_a_request_runs
        what_is_no_longer_trusted_is_forgotten_between_two_steps
        who_asks_hears_of_progress_at_most_as_often_as_he_said
        stats_say_what_runs_and_what_waits
        """,
    ),
    "test_metrics.py": (
        "counts tokens",
        """
        tokens_are_counted_by_what_they_were_computed_for
        """,
    ),
    "test_scheduler.py": (
        "looks at each step",
        """
        below_stat_nobody_sends_anybody_away
        chunks_end_on_the_absolute_grid_or_at_the_target
        classes_enter_in_order_and_within_a_class_the_first_come
        small_ones_pass_a_large_one_that_does_not_fit_but_not_for_ever
        static_batching_computes_padding_that_continuous_batching_does_not
        """,
    ),
    "test_sliding_trunks.py": (
        "counts tokens and blocks",
        """
        a_hit_needs_only_the_blocks_of_the_last_window
        a_score_takes_up_scores_of_everything_and_blocks_of_the_last_window
        a_trunk_of_twice_the_pool_is_computed_once_for_its_window_and_all_alternates
        a_trunk_stands_aside_when_too_many_alternates_wait_and_goes_on_when_they_have_ended
        an_alternate_that_comes_when_its_trunk_has_slid_on_is_computed_by_itself_from_what_is_still_cached
        below_stat_nobody_takes_the_blocks_of_a_trunk_that_stands_aside
        who_keeps_its_beginning_to_itself_shares_nothing_under_a_window_either
        """,
    ),
    "test_swap.py": (
        "sends away itself, whoever it is, and counts tokens and blocks",
        """
        it_comes_back_where_it_was_and_computes_nothing_twice
        a_block_inside_which_it_stands_comes_back_too
        sums_and_alternatives_go_on_as_well
        blocks_that_drain_are_nobodys_until_they_have_been_copied_and_stat_is_next
        nobody_of_a_lower_class_takes_what_drains_for_stat
        a_pass_that_stands_still_does_not_go_on_while_blocks_drain_for_stat
        what_others_hold_is_not_copied_and_is_found_again
        when_what_others_held_is_gone_it_computes_again
        of_a_sliding_window_only_its_blocks_go
        a_trunk_goes_and_comes_back_and_its_alternates_wait_for_it
        where_computing_again_is_cheaper_nothing_is_copied
        where_the_arena_has_no_room_it_is_computed_again
        the_cheapest_of_a_class_gives_way_by_what_it_costs_to_have_it_back
        cancelling_leaks_nothing_in_any_state
        sent_away_in_the_very_step_in_which_it_came_back_it_stays_outside
        who_gives_way_goes_by_the_way_that_was_measured_to_be_cheaper
        """,
    ),
    "test_swap_again.py": (
        "sends away itself, whoever it is, and lets go on only who rests already",
        """
        whatever_happens_each_reads_its_own_tokens
        """,
    ),
    "test_swap_bits.py": (
        "sends away itself, whoever it is, and counts tokens",
        """
        before_any_step_and_to_any_tier
        control_blocks_that_are_freed_before_they_are_copied_are_seen
        under_a_sliding_window
        """,
    ),
    "test_swap_files.py": (
        "sends away itself, and counts files",
        """
        a_file_of_another_key_or_deployment_is_not_taken
        a_file_that_is_not_what_was_written_is_seen_and_computed_again
        a_folder_that_has_gone_keeps_it_there_too
        a_full_disk_keeps_what_it_was_to_take_in_the_arena
        a_slow_disk_holds_up_nobody_and_what_it_does_not_give_in_time_is_computed_again
        cancelling_leaves_no_file_and_no_slot
        the_cap_is_kept
        what_lies_in_files_comes_back_exactly
        """,
    ),
    "test_trace.py": (
        "counts steps and tokens",
        """
        every_computed_token_is_in_the_trace_with_its_kind_and_class
        times_of_a_step_are_in_order_and_steps_follow_each_other
        requests_come_and_go_in_it
        """,
    ),
    "test_trunks.py": (
        "counts tokens and steps",
        """
        a_branch_that_comes_late_costs_one_token_or_none_at_the_end_of_a_block
        a_stat_request_sends_nobody_away_for_blocks_that_it_shares_with_him
        a_trunk_goes_on_for_the_others_when_who_brought_it_is_cancelled
        a_window_and_its_alternates_cost_the_trunk_and_the_branches_and_no_token_more
        a_window_that_comes_again_finds_its_blocks_and_their_scores
        alternates_without_their_window_take_the_trunk_no_further_than_they_need
        private_requests_neither_read_nor_write
        when_a_trunk_fails_its_window_fails_and_alternates_do_without_it
        where_trunk_and_branch_do_not_fit_together_the_alternate_is_computed_alone
        who_begins_with_blocks_in_use_needs_room_for_the_rest_only
        what_is_found_and_in_nobodys_hands_is_charged
        """,
    ),
    "test_turns.py": (
        "counts the layers of a stub",
        """
        stat_of_another_engine_starts_after_the_layer_that_runs_and_the_pass_goes_on_from_there
        """,
    ),
    "test_urgency.py": (
        "counts steps, tokens and who gives way",
        """
        an_urgent_request_does_not_wait_for_a_slot
        an_urgent_request_does_not_wait_for_blocks
        beside_a_steady_stat_every_lower_sequence_has_its_turn
        no_more_are_sent_away_than_needed
        stat_sets_the_pace_of_its_steps_and_others_go_on_beside_it
        sums_and_alternatives_begin_anew_and_are_right
        the_low_class_progresses_under_a_steady_urgent_load
        the_lowest_class_goes_first_and_in_it_who_has_computed_least
        throughput_does_not_collapse_after_giving_way
        what_gave_way_loses_no_output_and_goes_on_from_its_own_blocks
        who_turns_out_needless_stays
        who_comes_back_has_room_for_all_it_needs_and_is_not_sent_away_at_once_again
        cancelling_leaks_no_block_in_any_state
        """,
    ),
    "test_waiting_at_trunks.py": (
        "counts steps, tokens and who gives way",
        """
        a_stat_alternate_computes_its_own_where_that_is_sooner_than_a_long_trunk
        a_stat_alternate_does_not_wait_for_the_routine_rest_of_its_trunk
        an_urgent_request_does_not_wait_for_every_branch_that_holds_blocks
        branches_keep_what_they_share_with_a_trunk_that_runs
        two_that_share_blocks_give_way_together
        who_is_not_sooner_alone_or_not_stat_waits_at_the_trunk
        """,
    ),
    "test_windows_through_engine.py": (
        "counts tokens",
        """
        a_scan_computes_two_tokens_a_site
        """,
    ),
}

LEFT_OUT = {
    "test_perfetto.py": (
        "follows a scenario of a real engine to the layer: which STAT stops whom there is not what is forced here",
        """
        a_flow_begins_in_a_span_of_its_stat_and_ends_in_one_of_whom_it_stopped
        """,
    ),
    "test_tracing.py": (
        "follows a scenario of a real engine to the layer: what happens to each there is not what is forced here",
        """
        the_scenario_shows_each_thing_where_it_is_said_to
        """,
    ),
}

TWICE = {  # files whose tests are played in every run both as ever and preempted: stubs for models, and schedulers of their own
    "test_forgetting.py",
    "test_policy.py",
    "test_scheduler.py",
    "test_sliding_trunks.py",
    "test_steering.py",
    "test_swap.py",
    "test_trunks.py",
    "test_urgency.py",
    "test_waiting_at_trunks.py",
    "test_windows_sequences.py",
}


def listed(table: dict[str, tuple[str, str]], item: pytest.Item) -> str:
    """Why a table names a test, by its function; blank: it does not."""
    why, names = table.get(item.path.name, ("", ""))
    return why if getattr(item, "originalname", item.name).removeprefix("test_") in names.split() else ""


def look_away(item: pytest.Item) -> None:
    """Let the schedulers that are made from here on preempt as this test can bear it; skip one that is left out."""
    if why := listed(LEFT_OUT, item):
        pytest.skip(f"not preempted by force: it {why}")
    marked = item.get_closest_marker("undisturbed") is not None
    preempting_by_force.seen = not marked and not listed(OUT_OF_SIGHT, item)
