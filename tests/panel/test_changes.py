"""After any sequence of actions, an open page that applied the changes equals a newly opened page."""

from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.panel.script import Engine, engine
from workbench.base.errors import WorkbenchError
from workbench.screens.panel.panel import Panel
from workbench.service.rendering import money

assert engine  # pytest finds this imported fixture by its name
ACTIONS = (
    "buy",
    "decline",
    "settle",
    "refund",
    "reverse",
    "dispute",
    "advance",
    "user",
    "rename",
    "reset",
    "snapshot",
    "restore",
)
STEPS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 99), st.booleans()), max_size=8)
LISTS = ("transactions", "cards", "users", "disputes")


def act(api: wb.Session, action: str, number: int) -> None:
    """Apply an action to a record, and ignore a refusal."""
    sandbox, cents = api.sandbox, 100 * (number + 1)
    cards = sandbox.guide()["cards"]["active"]
    ids = [record["id"] for record in sandbox.records("transaction")]
    key = ids[-1 - number % len(ids)] if ids else ""
    purchase = {
        "amount": cents,
        "currency": "USD",
        "merchant_name": f"Shop {number % 3}",
        "merchant_category_code": "5411",
    }
    try:
        if action == "buy":
            api.simulate_authorization(card_id=cards[number % len(cards)], **purchase)
        elif action == "decline":
            api.simulate_authorization(card_id=cards[0], **{**purchase, "amount": 10**9})
        elif action == "settle":
            sandbox.settle(key)
        elif action == "refund":
            api.simulate_refund(transaction_id=key, amount=wb.FULL if number % 2 else 1)
        elif action == "reverse":
            api.simulate_reversal(transaction_id=key, amount=wb.FULL)
        elif action == "dispute":
            sandbox.open_dispute(key)
        elif action == "advance":
            sandbox.advance(hours=number)
        elif action == "user":
            sandbox.create.user(first_name="Ada", last_name=f"N{number}")
        elif action == "rename":
            user = sandbox.records("user")[0]["id"]
            api.update_user(user_id=user, first_name=f"N{number}")
        elif action == "reset":
            sandbox.reset()
        elif action in ("snapshot", "restore"):
            getattr(sandbox, action)("one")
    except WorkbenchError:
        pass


def rows(panel: Panel, name: str, mark: object = None) -> dict[str, Any]:
    answer = panel.answer({"do": "rows", "list": name, "mark": mark})
    assert "error" not in answer, answer["error"]
    return answer


@pytest.mark.slow
@settings(deadline=None)
@given(steps=STEPS)
def test_a_page_that_stayed_open_holds_what_a_new_one_holds(engine: Engine, steps: Any) -> None:
    """The page polls after some of the actions, so it receives the changes of several actions together."""
    with wb.connect(seed=7) as api:
        panel = wb.browse(api)
        sent = {name: [rows(panel, name)] for name in LISTS}
        for action, number, asks in [*steps, ("advance", 1, True)]:
            act(api, action, number)
            for name, answers in sent.items() if asks else ():
                answer = rows(panel, name, answers[-1]["mark"])
                sent[name] = [*answers, answer] if "at" in answer else [answer]
        for name, answers in sent.items():
            opened = engine("table", rows(wb.browse(api), name), {})
            shown = engine("updated", answers[0], answers[1:], {})
            assert [(line["id"], line["cells"]) for line in shown["lines"]] == [
                (line["id"], line["cells"]) for line in opened["lines"]
            ], name
            assert shown["sums"] == opened["sums"]


def figures(panel: Panel, period: str) -> dict[str, dict[str, Any]]:
    answer = panel.answer({"do": "overview", "part": "tiles", "filters": {"range": period, "zone": "America/New_York"}})
    assert "error" not in answer, answer["error"]
    return {tile["label"]: tile for tile in answer["tiles"]}


def reported(api: wb.Session, panel: Panel) -> dict[str, str]:
    """Return the figures that the tiles should show, from the reports."""
    filters, now = panel.filters, api.sandbox.clock.now()
    everything = wb.history(api)
    history = everything.filter(tuple(map(str, filters.days(now))), tz=filters.zone)
    transactions, asked = everything.transactions(), history.approvals(freq=None)
    first, last = map(date.fromisoformat, filters.days(now))
    settled = transactions["posted_at"].dt.tz_convert(filters.zone).dt.date
    posted = transactions["posted_cents"][(settled >= first) & (settled <= last)]
    count = int(asked["authorizations"].sum())
    return {
        "Net spend": money(int(history.spend()["net_cents"].sum())),
        "Approval rate": f"{1 - asked['declined'].sum() / count:.1%}" if count else "–",
        "Open holds": money(int(transactions["held_cents"].sum())),
        "Posted": money(int(posted.sum())),
    }


@pytest.mark.slow
@settings(deadline=None, max_examples=settings.default.max_examples // 3)  # each example takes seconds
@given(steps=STEPS)
def test_tiles_are_the_reports(steps: Any) -> None:
    """Tiles that are updated incrementally equal the reports of a new history and the tiles of a new panel."""
    with wb.connect(seed=7) as api:
        panel = wb.browse(api)
        for action, number, asks in [*steps, ("advance", 1, True)]:
            act(api, action, number)
            if asks:
                figures(panel, "month")
        for period in ("month", "last", "year"):
            shown = figures(panel, period)
            expected = reported(api, panel)
            assert {label: shown[label]["figure"] for label in expected} == expected, period
            assert shown == figures(wb.browse(api), period)
            last = date.fromisoformat(panel.filters.days(api.sandbox.clock.now())[1])
            part = wb.history(api).filter((str(last - timedelta(days=29)), str(last)), tz=panel.filters.zone)
            days = part.spend((), freq="day")
            assert sum(shown["Net spend"]["line"]) == days["net_cents"].sum()
            assert {cents for cents in shown["Net spend"]["line"] if cents} == {*days["net_cents"]} - {0}


@pytest.mark.slow
def test_tiles_of_a_program_are_the_reports() -> None:
    """If transactions have no events, the note has the number and amount of changes without a time."""
    with wb.connect(seed=7, world="program") as api:
        panel = wb.browse(api)
        for period in ("month", "last", "year"):
            shown, expected = figures(panel, period), reported(api, panel)
            days = tuple(map(str, panel.filters.days(api.sandbox.clock.now())))
            left = wb.history(api).filter(days, tz=panel.filters.zone).spend().attrs["left_out"]
            cents, rows = (sum(row[name] for row in left) for name in ("net_cents", "rows"))

            assert {label: shown[label]["figure"] for label in expected} == expected, period
            assert shown["Net spend"]["note"].partition("; ")[2] == (
                f"without {rows:,} changes of unknown time ({cents / 100:,.2f} USD)" if rows else ""
            )
