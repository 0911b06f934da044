"""An old log and a new handler: twelve changed handlers, with exactly the transactions in which the books differ."""

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.testing.applications import Shop, Till
from workbench import testing
from workbench.base.schema import strict_json


@cache
def log() -> tuple[bytes, ...]:
    """Forty purchases, every other one with a refund; one of them reversed, one not in US dollars' usual category."""
    api = wb.connect(seed=3, journal=False)
    cards = api.sandbox.guide()["cards"]["active"]
    for i in range(40):
        made = api.simulate_authorization(
            card_id=cards[i % len(cards)], amount=500 + 100 * i, currency="USD", merchant_name=f"Shop {i % 4}",
            merchant_category_code=("5411", "5942")[i % 2],
        ).transaction_id  # fmt: skip
        if i % 10 == 9:
            api.simulate_reversal(transaction_id=made, new_amount=0)
            continue
        api.sandbox.settle(str(made))
        if i % 2:
            api.simulate_refund(transaction_id=made, amount=50)
    events = [one.payload for one in api.sandbox.events()]
    return tuple(strict_json.dumps(dict(event)) for event in events if event["resource"] == "transaction")


def completed() -> list[dict[str, Any]]:
    return [event for body in log() if (event := strict_json.loads(body))["action"] == "completed"]


def changed(handle: Callable[[Shop, dict[str, Any]], None]) -> type[Shop]:
    class Changed(Shop):
        def handle(self, event: dict[str, Any]) -> None:
            handle(self, event)

    return Changed


def spend(event: dict[str, Any]) -> dict[str, Any]:
    return event["body"].get("spend") or {}


def unless(condition: Callable[[dict[str, Any]], object]) -> type[Shop]:
    """A handler that skips the completions that meet a condition."""

    def handle(shop: Shop, event: dict[str, Any]) -> None:
        if event["action"] != "completed" or not condition(event):
            Shop.handle(shop, event)

    return changed(handle)


def with_amount(amount: Callable[[int], int]) -> type[Shop]:
    def handle(shop: Shop, event: dict[str, Any]) -> None:
        if event["action"] == "completed":
            shop.book(event["body"]["id"], amount(spend(event)["amount"]))

    return changed(handle)


def is_refund(event: dict[str, Any]) -> bool:
    return bool(spend(event)["amount"] < 0)


CHANGES: dict[str, tuple[type[Shop], Callable[[dict[str, Any]], object]]] = {
    "no refunds": (unless(is_refund), is_refund),
    "no purchases": (unless(lambda e: not is_refund(e)), lambda e: not is_refund(e)),
    "absolute amounts": (with_amount(abs), is_refund),
    "no small ones": (unless(lambda e: abs(spend(e)["amount"]) < 100), lambda e: abs(spend(e)["amount"]) < 100),
    "no large ones": (unless(lambda e: spend(e)["amount"] > 4_000), lambda e: spend(e)["amount"] > 4_000),
    "one shop left out": (
        unless(lambda e: spend(e)["merchantName"].strip() == "Shop 2"), lambda e: spend(e)["merchantName"].strip() == "Shop 2"
    ),
    "one category left out": (
        unless(lambda e: spend(e)["merchantCategoryCode"] == "5942"), lambda e: spend(e)["merchantCategoryCode"] == "5942"
    ),
    "one cent more": (with_amount(lambda cents: cents + 1), lambda e: True),
    "capped": (with_amount(lambda cents: min(cents, 3_000)), lambda e: spend(e)["amount"] > 3_000),
    "whole dollars": (with_amount(lambda cents: cents // 100 * 100), lambda e: spend(e)["amount"] % 100),
    "twice from 20 dollars": (
        with_amount(lambda cents: cents * 2 if cents >= 2_000 else cents), lambda e: spend(e)["amount"] >= 2_000
    ),
    "refunds of 50 ignored": (unless(lambda e: spend(e)["amount"] == -50), lambda e: spend(e)["amount"] == -50),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_handler_is_compared_by_transaction(change: str) -> None:
    application, affected = CHANGES[change]
    result = testing.regress(log(), Shop, application)
    events = [event for event in completed() if affected(event)]

    assert {row.transaction for row in result.differences} == {event["body"]["id"] for event in events}
    assert result.first.endswith(events[0]["id"])
    assert not result.ok


def test_the_same_handler_agrees_with_itself_also_where_it_is_not_asynchronous() -> None:
    result = testing.regress(log(), Shop, Till)

    assert result.ok
    assert result.events == len(log())
    assert "The books agree" in str(result)


def test_an_empty_log_agrees_with_nothing() -> None:
    result = testing.regress((), Till, Till)

    assert not result.ok
    assert "agree" not in str(result)
    assert "Nothing to compare" in str(result)


def test_an_answer_that_differs_is_counted() -> None:
    class Refuses(Shop):
        async def take(self, event: dict[str, Any]) -> int:
            await asyncio.sleep(1)
            await super().take(event)
            return 204

    assert testing.regress(log(), Shop, Refuses).answers == len(log())


def test_a_log_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "events.ndjson"
    file.write_bytes(b"\n".join(log()) + b"\n\n")

    assert testing.regress(file, Shop, Shop).events == len(log())


def test_a_line_that_is_not_an_event_is_named(tmp_path: Path) -> None:
    file = tmp_path / "events.ndjson"
    file.write_bytes(log()[0] + b"\n[]\n")

    with pytest.raises(wb.InvalidRequest, match="line 2"):
        testing.regress(file, Shop, Shop)


@pytest.mark.soak
def test_a_hundred_thousand_events_take_a_minute() -> None:
    first: Sequence[bytes] = log()
    bodies = [
        body.replace(b'"id":"', f'"id":"{i:04x}'.encode()) if i else body
        for i in range(100_000 // len(first) + 1)
        for body in first
    ][:100_000]
    began = time.process_time()
    result = testing.regress(bodies, Shop, Shop)
    seconds = time.process_time() - began

    print(result, f"{seconds:.0f} s of processor time")
    assert result.ok
    assert seconds < 60
