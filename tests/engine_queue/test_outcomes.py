"""Facts go up through two ordered lists, and through nothing else."""

from engine_queue import outcomes


def names(functions: list[object]) -> list[str]:
    return [f"{function.__module__}.{function.__qualname__}" for function in functions]  # type: ignore[attr-defined]


def test_who_hears_what_happens_and_in_which_order() -> None:
    before, listeners = outcomes.registered()
    assert names([*before]) == ["orders.progress.lock_order", "questions.progress.lock_question"]
    assert names([*listeners]) == [
        "orders.progress.apply", "orders.attention_notices.hear", "reports.backgrounds.hear", "drift.recording.hear",
        "questions.progress.apply",
    ]  # fmt: skip
