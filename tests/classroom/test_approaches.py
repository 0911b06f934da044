"""Approaches: learners who solved an exercise the same way are one group, whichever tool they used."""

import os
from collections.abc import Callable
from itertools import product
from typing import Any
from unittest.mock import patch

import pytest

import workbench as wb
from tests.course.lessons import SEED, shortcuts
from workbench.base.errors import UsageError
from workbench.course.classroom import ClassServer
from workbench.course.classroom.approaches import approach, mark

Steps = list[tuple[str, dict[str, Any]]]
BOOK: tuple[str, dict[str, Any]] = ("simulate_authorization", {"amount": 20_000})
SHORTER: tuple[str, dict[str, Any]] = ("simulate_reversal", {"new_amount": 15_000})
SETTLE: tuple[str, dict[str, Any]] = ("settle", {})


def refund(cents: int) -> tuple[str, dict[str, Any]]:
    return "simulate_refund", {"amount": cents}


WAYS: dict[str, Steps] = {
    "one refund": [BOOK, SHORTER, SETTLE, refund(2_500)],
    "two refunds": [BOOK, SHORTER, SETTLE, refund(1_500), refund(1_000)],
    "two bookings": [BOOK, ("simulate_reversal", {"new_amount": wb.FULL}), BOOK, SHORTER, SETTLE, refund(2_500)],
    "two reversals": [BOOK, ("simulate_reversal", {"new_amount": 18_000}), SHORTER, SETTLE, refund(2_500)],
}
"""Ways to solve purchases-1, as steps on the last transaction."""
VERBS = {
    "simulate_authorization": "authorize",
    "simulate_reversal": "reverse",
    "simulate_refund": "refund",
}


def solve(api: Any, steps: Steps, tool: str) -> None:
    """Run steps by a tool: method, form, bulk, terminal or sequence."""
    short = shortcuts({"api": api, "contract": api.list_contracts()[0], "token": "", "admin": "", "to": ""})
    step, ref = short["step"], short["ref"]
    scripted, transaction, place = [], "", ""
    for number, (operation, values) in enumerate(steps):
        book = operation == "simulate_authorization"
        given = {**(short["COFFEE"] if book else {}), **values}
        if tool == "sequence":
            place = f"step {number}" if book else place
            target = {} if book else {"transaction_id": ref(f"{place}.transaction_id")}
            scripted.append(step(f"step {number}", operation, **target, **given))
            continue
        target = {} if book else {"transaction_id": transaction}
        if operation == "settle":
            short["TERMINAL"]("sandbox", "settle", transaction) if tool == "terminal" else api.sandbox.settle(
                transaction
            )
        elif tool == "terminal":
            full = {name: "FULL" if value is wb.FULL else value for name, value in given.items()}
            short["TERMINAL"]("transactions", VERBS[operation], **target, **full)
        else:
            run: Callable[..., Any] = {"form": short["FORM"], "method": lambda call, **named: call(**named)}.get(
                tool, lambda call, **named: short["BULK"](call, named)
            )
            run(getattr(api, operation), **target, **given)
        transaction = api.sandbox.events()[-1].payload["body"]["id"]
    if scripted:
        short["SEQUENCE"](*scripted)


TOOLS = ("method", "form", "bulk", "terminal", "sequence")
LINES = (
    "simulate_authorization → authorized; "
    "simulate_reversal(transaction_id=authorization.transaction_id) → authorized; "
    "settle(id=authorization.transaction_id); "
    "simulate_refund(transaction_id=authorization.transaction_id) → settled"
)


@pytest.mark.parametrize("tool", TOOLS)
def test_each_tool_is_the_same_approach(tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Earlier calls, reads, attempts that were refused, and the case of ids do not matter."""
    with wb.connect(seed=SEED) as api:
        solve(api, WAYS["two bookings"], "method")
        api.list_contracts()
        begun = mark(api.sandbox)
        with pytest.raises(wb.NotFound):
            api.simulate_refund(transaction_id="00000000-0000-4000-8000-000000000000", amount=1)
        solve(api, WAYS["one refund"], tool)

        assert approach(api.sandbox, begun) == LINES


def test_an_exercise_of_reads_has_the_reads() -> None:
    """Where no call had an effect, the reads are the approach, and a refusal that stays is one."""
    with wb.connect(seed=SEED) as api:
        api.list_contracts()
        begun = mark(api.sandbox)
        api.list_contracts()
        with pytest.raises(wb.NotFound):
            api.simulate_refund(transaction_id="00000000-0000-4000-8000-000000000000", amount=1)
        assert approach(api.sandbox, begun) == "simulate_refund → 404"
        begun = mark(api.sandbox)
        api.list_contracts()
        api.list_contracts()
        assert approach(api.sandbox, begun) == "list_contracts, again"


def test_controls_and_choices_are_shown() -> None:
    """Controls stand where they were used, with references; choices by their names, without values."""
    with wb.connect(seed=SEED) as api:
        user = api.sandbox.create.user()
        api.sandbox.review(user.id, "denied")
        for reason in ("cvv_mismatch", "blocked_mcc"):
            solve(api, [("simulate_authorization", {"decline_reason": reason})], "method")

        assert approach(api.sandbox) == (
            "create_user; review(id=create user.id); simulate_authorization(decline_reason) → declined, again"
        )


@pytest.mark.slow
def test_thirty_learners_with_four_ways_are_four_groups() -> None:
    """A comment reaches the group, and who comes later with the same way; it survives a restart of the server."""
    names = [f"Learner {number}" for number in range(1, 31)]
    wanted: dict[str, set[str]] = {way: set() for way in WAYS}
    server = ClassServer([*names, "Late"])
    with server.serve() as url:
        codes = {learner.name: learner.code for learner in server.learners}

        def learn(name: str, way: str, tool: str) -> Any:
            with patch.dict(os.environ, {"WORKBENCH_CLASS": f"{url}/{codes[name]}"}), wb.connect(seed=SEED) as api:
                wb.course.begin("02", api)
                solve(api, WAYS["two refunds"], "method")  # as the notebook's cells do, before the exercise
                wb.course.task("purchases-1")
                solve(api, WAYS[way], tool)
                checked = wb.course.check("purchases-1", api)
                assert checked.ok
                return checked

        for name, (way, tool) in zip(names, list(product(WAYS, TOOLS)) * 2, strict=False):
            wanted[way].add(name)
            learn(name, way, tool)
        board = server.board()
        groups: dict[str, set[str]] = {}
        for row in board["learners"]:
            if result := row["results"].get("purchases-1"):
                groups.setdefault(result["approach"], set()).add(row["learner"])
        with pytest.raises(UsageError, match="somebody used"):
            server.act([], "comment", exercise="purchases-1", approach="nobody's", text="Well done.")
        done = server.act([], "comment", exercise="purchases-1", approach=LINES, text="Shortest way.")
        late = learn("Late", "one refund", "terminal")

        assert sorted(groups.values(), key=min) == sorted(wanted.values(), key=min)
        assert set(done["done"]) == wanted["one refund"]
        assert {row.name for row in server.learners if server.results.entries("note", row.name)} == wanted[
            "one refund"
        ] | {"Late"}
        assert "purchases-1: Shortest way." in str(late)
    server.close()
