"""A clock and a service for tests, which neither wait nor need a network."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from workbench.client.calls.client import Client
from workbench.client.calls.pace import Clock

URL = "https://api.example.com/v1"
KEY = "canary-key-3b1f9d77"
CARD = "3f2a0b1c-0000-4000-8000-000000000001"
TRANSACTION = "3f2a0b1c-0000-4000-8000-000000000002"
AUTHORIZED = {"transactionId": TRANSACTION, "status": "authorized"}
PURCHASE = {
    "card_id": CARD, "amount": 1250, "currency": "USD", "merchant_name": "Corner Grocery",
    "merchant_category_code": "5411",
}  # fmt: skip


class FakeClock(Clock):
    """A clock that moves only when the client sleeps."""

    def __init__(self) -> None:
        self.at = 1000.0
        self.start = datetime(2026, 3, 1, 14, 2, 11, tzinfo=UTC)
        self.slept: list[float] = []
        self.chance = 1.0

    def now(self) -> datetime:
        return self.start + timedelta(seconds=self.at - 1000)

    def monotonic(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)

    def random(self) -> float:
        return self.chance


class Service:
    """A service that returns listed answers, repeats the last one, and counts the requests."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, int):
            return httpx.Response(answer, content=b"")
        if isinstance(answer, dict | list):
            return httpx.Response(200, json=answer)
        if callable(answer):
            made: httpx.Response = answer(request)
            return made
        assert isinstance(answer, httpx.Response)
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    @property
    def count(self) -> int:
        return len(self.requests)


def client_on(service: Callable[[httpx.Request], httpx.Response], **more: Any) -> Client:
    """Return a client whose transport is the service, with a fake clock."""
    settings: dict[str, Any] = {"base_url": URL, "api_key": KEY, "clock": FakeClock(), **more}
    return Client(transport=httpx.MockTransport(service), **settings)
