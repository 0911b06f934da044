"""Processes that use one sandbox file and are killed. Each purchase is noted before the call and after the response."""

import itertools
import json
import os
import threading
from pathlib import Path
from typing import Any

from tests.service.plain import Plain
from workbench.sandbox import Request, Sandbox
from workbench.sandbox.internals import internals

PURCHASE = {"amount": 100, "currency": "USD", "merchantCategoryCode": "5411"}


def call(path: Path, name: str, notes: Path) -> None:
    """Make purchases as fast as possible in this process."""
    sandbox = Sandbox(path=path)
    card = sandbox.guide()["cards"]["active"][0]
    headers = {"api-key": sandbox.full_key, "content-type": "application/json"}

    def buy(body: Any) -> Any:
        answer = internals(sandbox).engine.answer(
            Request("POST", "/v1/simulate/transactions/authorize", "", headers, json.dumps(body).encode())
        )
        assert answer.status == 200, answer
        return json.loads(answer.body)

    _purchase(buy, card, name, notes)


def serve(path: Path, name: str, notes: Path) -> None:
    """Make purchases over HTTP from six concurrent senders, whose writes share transactions."""
    with Sandbox(path=path).serve() as url:
        senders = [threading.Thread(target=_sender, args=(url, f"{name}-{i}", notes)) for i in range(6)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()


def _sender(url: str, name: str, notes: Path) -> None:
    with Plain(url) as plain:
        card = plain.guide["cards"]["active"][0]
        _purchase(lambda body: plain.call("POST", "/simulate/transactions/authorize", body), card, name, notes)


def _purchase(buy: Any, card: str, name: str, notes: Path) -> None:
    """Make purchases at unique merchants, so that each purchase can be identified."""
    written = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for number in itertools.count():
        merchant = f"{name}-{number}"
        os.write(written, f"{merchant} sent\n".encode())
        found = buy({"cardId": card, "merchantName": merchant, **PURCHASE})
        os.write(written, f"{merchant} {found['transactionId']}\n".encode())
