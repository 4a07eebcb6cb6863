"""The life of an order, written down a second time from the contract; and no code sets a state beside the one that may."""

import ast
from pathlib import Path

from orders.machines import ORDER

PLATFORM = Path(__file__).resolve().parents[2] / "platform"

# PLATFORM, “Order, run, job”: draft → submitted → accepted | rejected → in analysis → awaiting review → [awaiting second review] →
# reported; cancelled aside.
FORWARD = {
    "draft": {"submitted"},
    "submitted": {"accepted", "rejected"},
    "accepted": {"in_analysis"},
    "in_analysis": {"awaiting_review"},
    "awaiting_review": {"awaiting_second_review", "reported"},
    "awaiting_second_review": {"reported"},
    "reported": set(),
}
RETURNED = {"awaiting_review", "awaiting_second_review"}  # by a reviewer, to be looked at again
OPEN = FORWARD.keys() - {"reported"}
WRONG_PATIENT = FORWARD.keys() - {"draft"}  # entered in error, whatever had become of it

# Who sets a state, and why beside `audit.services.transition`.
SETTERS = {
    "audit/services.py": "the one function",
    "engine_queue/moving.py": "jobs have no version: their attempt fences them (decision 0006)",
    "engine_queue/errands.py": "an errand is no clinical row and has no machine",
    "orders/manifests/placing.py": "rows of a manifest, whose own trigger holds the edges",
}


def test_an_order_goes_no_other_way_than_the_contract_says() -> None:
    expected = {
        state: onward
        | ({"cancelled"} if state in OPEN else set())
        | ({"in_analysis"} if state in RETURNED else set())
        | ({"awaiting_review"} if state == "awaiting_second_review" else set())  # what was signed first is taken back
        | ({"entered_in_error"} if state in WRONG_PATIENT else set())
        for state, onward in FORWARD.items()
    }
    assert {state: set(targets) for state, targets in ORDER.edges.items()} == expected
    assert ORDER.initial == {"draft", "submitted"}
    assert not {"on_hold", "held", "failed", "needs_attention"} & ORDER.states  # flags beside the state


def sets_a_state(node: ast.AST) -> bool:
    """`row.state = …`, and `.update(state=…)`."""
    match node:
        case ast.Assign(targets=targets):
            return any(isinstance(target, ast.Attribute) and target.attr == "state" for target in targets)
        case ast.Call(func=ast.Attribute(attr="update"), keywords=keywords):
            return any(keyword.arg == "state" for keyword in keywords)
    return False


def test_nothing_sets_a_state_beside_the_functions_that_are_named_here() -> None:
    found = {
        path.relative_to(PLATFORM).as_posix()
        for path in PLATFORM.rglob("*.py")
        if "migrations" not in path.parts and any(map(sets_a_state, ast.walk(ast.parse(path.read_text()))))
    }
    assert found - SETTERS.keys() == set(), "use audit.services.transition"
    assert sets_a_state(ast.parse("order.state = 'x'").body[0])
    assert sets_a_state(ast.parse("rows.filter(pk=1).update(state='x')", mode="eval").body)
