"""HTTP conventions beyond the document, which a behavior turns on."""

import json
from typing import Any

import pytest

import workbench as wb
from workbench.sandbox import Request, Response, Sandbox
from workbench.sandbox.internals import internals

PURCHASE = {"amount": 100, "currency": "USD", "merchantName": "Corner Grocery", "merchantCategoryCode": "5411"}


def ask(sandbox: Sandbox, *, changes: dict[str, Any] | None = None, key: bool = True, **headers: str) -> Response:
    """Authorize a purchase with some headers."""
    body = json.dumps({"cardId": sandbox.guide()["cards"]["active"][0], **PURCHASE, **(changes or {})}).encode()
    given = {"content-type": "application/json", **({"api-key": sandbox.full_key} if key else {})}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    return internals(sandbox).engine.answer(Request("POST", "/v1/simulate/transactions/authorize", "", given, body))


def get(sandbox: Sandbox) -> Response:
    """Read the contracts."""
    return internals(sandbox).engine.answer(
        Request("GET", "/v1/issuing/tenants/contracts", "", {"api-key": sandbox.full_key})
    )


@pytest.mark.parametrize("behavior, status", [("documented", 401), ("observed", 200)])
def test_keys_as_bearer_tokens(behavior: Any, status: int) -> None:
    """`observed` accepts a key in Authorization: Bearer, and no behavior accepts another scheme."""
    sandbox = Sandbox(behavior=behavior)

    assert ask(sandbox, key=False, authorization=f"Bearer {sandbox.full_key}").status == status
    assert ask(sandbox, key=False, authorization=f"Basic {sandbox.full_key}").status == 401


def test_a_write_with_an_idempotency_key_happens_once() -> None:
    """For 24 hours an equal write gets the stored response, and a different write with the key gets 409."""
    sandbox = Sandbox(behavior="observed")
    first, again = (ask(sandbox, idempotency_key="one") for _ in range(2))
    other = ask(sandbox, idempotency_key="one", changes={"amount": 101})
    refused = [ask(sandbox, idempotency_key="two", changes={"amount": -1}).status for _ in range(2)]
    sandbox.advance(days=1)
    later = ask(sandbox, idempotency_key="one")

    assert (first.status, again.status, again.body) == (200, 200, first.body)
    assert [one.headers.get("idempotency-cached") for one in (first, again)] == [None, "true"]
    assert again.headers["idempotency-key"] == "one"
    assert (other.status, refused, later.status) == (409, [400, 400], 200)
    assert later.body != first.body
    assert [ask(sandbox, idempotency_key=key).status for key in ("x" * 256, "")] == [400, 400]


def test_idempotency_keys_mean_nothing_by_default() -> None:
    """The document has no idempotency keys, so by default a repeated key has no effect."""
    sandbox = Sandbox()
    first, again = (ask(sandbox, idempotency_key="one") for _ in range(2))

    assert first.body != again.body
    assert "idempotency-key" not in again.headers


def test_rate_limit_on_demand() -> None:
    """Each response states the limit. Requests above it are refused until the clock's minute ends."""
    sandbox = Sandbox(behavior={"rate_limit": 2})
    answers = [get(sandbox) for _ in range(3)]
    sandbox.clock.advance(seconds=int(answers[2].headers["retry-after"]))

    assert [one.status for one in answers] == [200, 200, 429]
    assert [one.headers["x-ratelimit-remaining"] for one in answers] == ["1", "0", "0"]
    assert answers[0].headers["x-ratelimit-limit"] == "2"
    assert get(sandbox).status == 200


@pytest.mark.parametrize("behavior, name, city", [("documented", 14, 11), ("observed", 25, 13)])
def test_merchant_texts(behavior: Any, name: int, city: int) -> None:
    """In observed events merchant texts are padded with blanks."""
    sandbox = Sandbox(behavior=behavior)
    ask(sandbox)
    spend = sandbox.events()[-1].payload["body"]["spend"]

    assert (len(spend["merchantName"]), len(spend["merchantCity"])) == (name, city)


def test_a_later_release_can_be_rehearsed():
    """A behavior can remove the alias, add members and values, change the event version, and require a role."""
    api = wb.connect(
        behavior={
            "deprecated_alias": False, "unknown_members": True, "unknown_values": ["status", "type"], "event_version": "1.2.0",
            "tightened_roles": {"list_contracts": "contracts:list"},
        }
    )  # fmt: skip
    guide, sandbox = api.sandbox.guide(), api.sandbox
    made = api.simulate_authorization(
        card_id=guide["cards"]["active"][0],
        amount=100,
        currency="USD",
        merchant_name="x",
        merchant_category_code="5411",
    )
    items = api.list_rewards_activity(user_id=guide["rewards_users"][0]["id"], limit=2).items
    event = api.inbox.events()[-1]
    alias = internals(sandbox).engine.answer(Request("GET", "/v1/automations", "", {"api-key": sandbox.full_key}))
    with pytest.raises(wb.errors.Forbidden):
        api.list_contracts()

    assert (str(made.status), made.extra) == ("addedLater", {"addedLater": True})
    assert [(str(item.type), item.extra["addedLater"]) for item in items] == [("addedLater", True)] * 2
    assert (event.version, str(event.body.spend.status), event.body.extra) == (
        "1.2.0",
        "addedLater",
        {"addedLater": True},
    )
    assert alias.status == 404
    assert (
        internals(sandbox).engine.answer(Request("GET", "/v1/payment-routes", "", {"api-key": sandbox.full_key})).status
        == 200
    )
