"""Deliveries to receivers on another machine: each is fetched once, and posted only to registered URLs."""

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

from workbench.base.system.http_post import PostResult
from workbench.sandbox.relay import DeliveryRelay, RelayClient

URL = "http://127.0.0.1:9/hook"


def fetch(relay: DeliveryRelay, *urls: str) -> list[dict[str, Any]]:
    return asyncio.run(relay.fetch(urls, wait=False))


def posted(relay: DeliveryRelay, url: str) -> tuple[threading.Thread, list[PostResult], int]:
    """Post a delivery in a thread, wait until it can be fetched, and return thread, results and number."""
    results: list[PostResult] = []
    thread = threading.Thread(target=lambda: results.append(relay.post(url, {"signature": "s"}, b"{}")))
    thread.start()
    while not (numbers := list(relay._waiting)):
        assert thread.is_alive()
    return thread, results, numbers[0]


def test_a_delivery_is_fetched_once_by_its_process_and_answered() -> None:
    relay = DeliveryRelay()
    fetch(relay, URL)
    thread, results, number = posted(relay, URL)

    assert fetch(relay, "http://127.0.0.1:9/other") == []
    assert [given["number"] for given in fetch(relay, URL)] == [number]
    assert fetch(relay, URL) == []
    relay.answer([{"number": number + 1, "status": 500, "error": None, "length": 0}])
    relay.answer([{"number": number, "status": 401, "error": None, "length": 15}])
    thread.join()
    assert results == [PostResult(status=401, length=15)]


def test_a_delivery_that_was_not_fetched_is_not_answered() -> None:
    relay = DeliveryRelay()
    fetch(relay, URL)
    thread, results, number = posted(relay, URL)
    relay.answer([{"number": number, "status": 200, "error": None, "length": 0}])
    assert not results
    fetch(relay, URL)
    relay.answer([{"number": number, "status": 200, "error": None, "length": 0}])
    thread.join()

    assert results[0].accepted


def test_without_a_process_that_asks_the_delivery_fails_at_once() -> None:
    assert DeliveryRelay().post(URL, {}, b"{}").error == "no process that registered this URL is connected"


def test_a_client_posts_only_to_urls_of_its_own_machine_that_it_registered() -> None:
    asked: list[Mapping[str, Any]] = []
    ended = threading.Event()

    def ask(_: str, __: str, content: Mapping[str, Any]) -> Any:
        asked.append(content)
        deliveries = [
            {"number": number, "url": url, "headers": {}, "body": "{}"}
            for number, url in enumerate((URL, "http://127.0.0.1:10/", "http://10.0.0.1/"))
        ]
        if len(asked) == 3:
            ended.set()
            raise RuntimeError  # simulates a closed client
        return {"deliveries": deliveries if len(asked) == 2 else []}

    client = RelayClient(ask)
    client.add(URL)
    assert ended.wait(30)

    errors = [result["error"] for result in asked[2]["results"]]
    assert errors == ["connection refused", *["not sent: this process did not register the URL"] * 2]
