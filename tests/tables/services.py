"""A minimal rewards service behind a transport, for tests of reads."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qs

import httpx
import orjson

from workbench.client.calls.client import AsyncClient, Client

Row = dict[str, Any]
Answer = httpx.Response | Exception | None


def user_id(n: int) -> str:
    return f"00000000-0000-4000-8000-{n:012}"


def row(n: int, **more: Any) -> Row:
    kind = "redeemed" if n % 3 == 2 else "earned"
    return {"type": kind, "id": f"r{n}", "points": f"{n}.5", "createdAt": f"2026-01-{n % 28 + 1:02}T00:00:00Z", **more}


class Service:
    """A service of rewards rows by user.

    Args:
        rows: Rows by user id.
        before: Function of query and call number that may return another answer or an error; None: the service answers.
        ignores: Names of query parameters that the service ignores.
    """

    def __init__(
        self, rows: dict[str, list[Row]], *, before: Callable[[dict[str, str], int], Answer] = lambda query, call: None,
        ignores: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.rows = rows
        self.before = before
        self.ignores = ignores
        self.asked: list[dict[str, str]] = []
        self.by_user: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        query = {name: values[0] for name, values in parse_qs(request.url.query.decode()).items()}
        with self._lock:
            self.asked.append(query)
            self.by_user[query["userId"]] += 1
            call = len(self.asked)
        instead = self.before(query, call)
        if isinstance(instead, Exception):
            raise instead
        if instead is not None:
            return instead
        there = self.rows.get(query["userId"])
        if there is None:
            return refusal(404, "NotFoundError", "User not found")
        if "type" in query and "type" not in self.ignores:
            there = [one for one in there if one.get("type") == query["type"]]
        limit = 20 if "limit" in self.ignores else int(query["limit"])
        offset = 0 if "offset" in self.ignores else int(query["offset"])
        assert limit <= 100
        assert offset <= 10_000
        return httpx.Response(200, content=orjson.dumps({"items": there[offset : offset + limit]}))

    def client(self) -> Client:
        return Client(base_url="http://127.0.0.1:1/v1", api_key="test-key", transport=httpx.MockTransport(self))

    def async_client(self) -> AsyncClient:
        return AsyncClient(base_url="http://127.0.0.1:1/v1", api_key="test-key", transport=httpx.MockTransport(self))


def refusal(status: int, error: str, message: str, **headers: str) -> httpx.Response:
    body = {"statusCode": status, "error": error, "message": message}
    return httpx.Response(status, json=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def usual(users: int = 5, rows: int = 150) -> dict[str, list[Row]]:
    return {user_id(u): [row(u * 10_000 + i) for i in range(rows)] for u in range(users)}
