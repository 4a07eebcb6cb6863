"""What became of a delivery goes up through one ordered list, and through nothing else."""

from notices import outcomes


def test_who_hears_of_deliveries_that_ended_and_in_which_order() -> None:
    assert [f"{function.__module__}.{function.__qualname__}" for function in outcomes.registered()] == [
        "reports.delivery_notices.hear"
    ]
