"""A right handler with a ledger, and ten with one planted bug each."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from workbench.testing.chaos import KEY
from workbench.webhooks.verify import SECONDARY, SIGNATURE, sign


class Ledger:
    """Books each `transaction.completed` once. What `disk` holds survives a restart, as a database does."""

    def __init__(self) -> None:
        self.disk: dict[str, Any] = {"seen": [], "cents": {}}
        self.start()

    def start(self) -> None:
        self.seen = set(self.disk["seen"])

    def restart(self) -> None:
        self.start()

    def books(self) -> Mapping[str, int]:
        return dict(self.disk["cents"])

    def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        if not self.signed(headers, body):
            return 401
        event = json.loads(body)
        if not self.is_new(event):
            return 200
        self.handle(event)
        return 200

    def signed(self, headers: Mapping[str, str], body: bytes) -> bool:
        return sign(body, KEY) in (headers.get(SIGNATURE), headers.get(SECONDARY))

    def is_new(self, event: dict[str, Any]) -> bool:
        if event["id"] in self.seen:
            return False
        self.seen.add(event["id"])
        self.disk["seen"].append(event["id"])
        return True

    def handle(self, event: dict[str, Any]) -> None:
        if (event["resource"], event["action"]) == ("transaction", "completed"):
            self.add(event["body"]["id"], event["body"]["spend"]["amount"])

    def add(self, transaction: str, cents: int) -> None:
        self.disk["cents"][transaction] = self.disk["cents"].get(transaction, 0) + cents


class CountsRepetitions(Ledger):
    """Does not look whether it has seen an event."""

    def is_new(self, event: dict[str, Any]) -> bool:
        return True


class CountsATransactionOnce(Ledger):
    """Tells events apart by the transaction, so a refund is a repetition."""

    def is_new(self, event: dict[str, Any]) -> bool:
        key = (event["body"].get("id"), event["action"])
        if key in self.seen:
            return False
        self.seen.add(key)
        return True


class ChecksNoSignature(Ledger):
    """Accepts everything."""

    def signed(self, headers: Mapping[str, str], body: bytes) -> bool:
        return True


class ChecksThatThereIsASignature(Ledger):
    """Looks at the header alone."""

    def signed(self, headers: Mapping[str, str], body: bytes) -> bool:
        return SIGNATURE in headers


class ChecksOneHeader(Ledger):
    """Refuses what the other key signs while a key is rotated."""

    def signed(self, headers: Mapping[str, str], body: bytes) -> bool:
        return headers.get(SIGNATURE) == sign(body, KEY)


class ForgetsInACrash(Ledger):
    """Keeps what it has seen in memory alone."""

    def start(self) -> None:
        self.seen = set()


class LosesItsBooksInACrash(Ledger):
    """Writes the books later than it acknowledges."""

    def restart(self) -> None:
        for transaction in list(self.disk["cents"])[-3:]:
            del self.disk["cents"][transaction]
        self.start()


class FailsOnUnknownKinds(Ledger):
    """Knows the kinds of today alone."""

    def handle(self, event: dict[str, Any]) -> None:
        if event["resource"] != "transaction":
            raise ValueError(event["resource"])
        super().handle(event)

    def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        try:
            return super().receive(headers, body)
        except ValueError as error:
            self.seen.discard(json.loads(body)["id"])
            return 500 if str(error) else 400


class SkipsUnknownVersions(Ledger):
    """Ignores an event of a version it does not know."""

    def handle(self, event: dict[str, Any]) -> None:
        if event["version"] in ("1.0.0", "1.1.0"):
            super().handle(event)


class TakesTheLastAmount(Ledger):
    """Lets the event that arrives last say the amount."""

    def handle(self, event: dict[str, Any]) -> None:
        if event["resource"] == "transaction" and event["action"] in ("updated", "completed"):
            body = event["body"]
            settled = 0 if event["action"] == "updated" else body["spend"]["amount"]
            if settled >= 0:
                self.disk["cents"][body["id"]] = settled
            else:
                self.add(body["id"], settled)


WRONG: Mapping[str, Callable[[], Ledger]] = {
    "each event counts once": CountsRepetitions,
    "the books are right": CountsATransactionOnce,
    "forgeries are refused": ChecksNoSignature,
    "forgeries are refused ": ChecksThatThereIsASignature,
    "both keys are accepted while one is rotated": ChecksOneHeader,
    "nothing is lost in a crash": ForgetsInACrash,
    "nothing is lost in a crash ": LosesItsBooksInACrash,
    "unknown kinds are acknowledged": FailsOnUnknownKinds,
    "unknown versions are handled": SkipsUnknownVersions,
    "the order of arrival does not matter": TakesTheLastAmount,
}
"""Handlers with a bug, by the invariant that the verdict has to name."""
