"""`learn` on a session makes at most seven reads, has no effect, and reports what the answers show."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

import workbench as wb
from tests.client.doubles import CARD, Service, client_on
from tests.each import each
from workbench.base.errors import Forbidden, NotFound, NotSent, ServiceFailure, Unauthorized, UnexpectedAnswer

ROWS = [
    {
        "type": "earned" if number % 2 else "redeemed",
        "id": str(number),
        "createdAt": f"2026-01-{28 - number:02}T00:00:00Z",
        **({"reason": "CARD_SPEND"} if number % 2 else {}),
    }
    for number in range(22)
]


def service(page: Callable[[httpx.QueryParams], list[Any]]) -> tuple[Any, list[httpx.Request]]:
    """Return a client of a service that answers rewards with a page, and the list of its requests."""
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        if "contracts" in request.url.path:
            return httpx.Response(200, json=[])
        return httpx.Response(200, json={"items": page(request.url.params)})

    return client_on(answer), asked


def found(learned: Any) -> dict[str, str]:
    return {finding.id: finding.status for finding in learned.findings}


def test_the_sandbox_keeps_its_assumptions() -> None:
    """On the sandbox, assumptions about parameters are confirmed, and no call has an effect."""
    api = wb.connect()
    learned = wb.learn(api, user_id=api.sandbox.guide()["rewards_users"][0]["id"])
    statuses = found(learned)

    assert learned.ok
    assert {
        name for name in ("limit", "offset", "type") if statuses[f"list_rewards_activity.{name}"] != "confirmed"
    } == set()
    assert (len(api.journal), len(api.sandbox.requests()) <= 7) == (0, True)


KNOWS: dict[str, Callable[[list[Any], httpx.QueryParams], list[Any]]] = {
    "type": lambda rows, query: [row for row in rows if query.get("type") in (None, row["type"])],
    "offset": lambda rows, query: rows[int(query.get("offset", 0)) :],
    "limit": lambda rows, query: rows[: int(query.get("limit", 50))],
}


@pytest.mark.parametrize("ignored", [*KNOWS, "nothing"])
def test_a_name_that_is_ignored_is_refuted(ignored: str) -> None:
    """If the answers do not depend on a parameter, its assumed name is refuted."""

    def page(query: httpx.QueryParams) -> list[Any]:
        rows = ROWS
        for name, apply in KNOWS.items():
            rows = rows if name == ignored else apply(rows, query)
        return rows

    api, asked = service(page)
    learned = wb.learn(api, user_id=CARD)
    shown = {name: found(learned)[f"list_rewards_activity.{name}"] for name in KNOWS}

    assert {**dict.fromkeys(KNOWS, "confirmed"), **({ignored: "refuted"} if ignored in KNOWS else {})} == shown
    assert len(asked) <= 7
    assert "list_rewards_activity" not in str(learned.behavior)
    if ignored in KNOWS:
        assert not learned.ok
        assert f"list_rewards_activity.{ignored}" in learned.to_toml()


def test_what_any_answer_would_look_like_shows_nothing() -> None:
    """An answer without rows confirms no parameter."""
    api, _ = service(lambda _: [{"type": "earned", "id": "1"}][:0])
    shown = found(wb.learn(api, user_id=CARD))

    assert {shown[f"list_rewards_activity.{name}"] for name in KNOWS} == {"not seen"}


@each(
    "answer, error",
    [
        (401, Unauthorized), (403, Forbidden), (404, NotFound), (500, ServiceFailure), (httpx.ConnectError("x"), NotSent),
        (httpx.Response(200, content=b"<html>"), UnexpectedAnswer),
    ],
    ids=repr,
)  # fmt: skip
def test_a_service_that_cannot_be_read_is_an_error(answer: Any, error: type[Exception]) -> None:
    """If the first read is refused or gets no answer, its error is raised."""
    with pytest.raises(error):
        wb.learn(client_on(Service(answer)), user_id=CARD)
