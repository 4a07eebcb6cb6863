"""Tell open pages that a question has moved on: by the same road as an order's hints."""

from orders import hints
from questions.models import Question


def changed(question: Question) -> None:
    """After the commit, hint at the question's pages, once. Never breaks the caller."""
    hints.tell(question.pk, [f"question.{question.pk}"], 0)
