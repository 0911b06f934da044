"""A client with a journal in a separate process that is killed. A ledger has one line for each effect of its calls."""

import asyncio
import os
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx

from tests.client.doubles import CARD, KEY, URL
from workbench.client.calls.client import AsyncClient, Client
from workbench.client.calls.journal import Journal

KINDS = ("client", "threads", "awaited")


def settings(journal: Path, ledger: Path) -> dict[str, Any]:
    """Return the arguments of a client. Each of its requests adds a line to the ledger."""
    written = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def carry_out(request: httpx.Request) -> httpx.Response:
        os.write(written, request.content + b"\n")
        return httpx.Response(200, json={"id": CARD})

    transport = httpx.MockTransport(carry_out)
    return {"base_url": URL, "api_key": KEY, "transport": transport, "journal": Journal(journal)}


def call(kind: str, journal: Path, ledger: Path, name: str, state: str, ready: Connection) -> None:
    """Send updates until this process is killed, each with a unique id, sequentially or three at a time."""
    os.environ["WORKBENCH_STATE"] = state
    ready.send(kind)
    if kind == "awaited":
        asyncio.run(_awaited(settings(journal, ledger), name))
    api = Client(**settings(journal, ledger))
    senders = [threading.Thread(target=_sent, args=(api, f"{name}-{i}")) for i in range(3 if kind == "threads" else 1)]
    for sender in senders:
        sender.start()


def _sent(api: Client, name: str) -> None:
    for number in range(10**9):
        api.update_user(user_id=CARD, external_id=f"{name}-{number}")


async def _awaited(given: dict[str, Any], name: str) -> None:
    api = AsyncClient(**given)

    async def send(name: str) -> None:
        for number in range(10**9):
            await api.update_user(user_id=CARD, external_id=f"{name}-{number}")

    await asyncio.gather(*(send(f"{name}-{i}") for i in range(3)))
