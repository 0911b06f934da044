"""Ledgers for universes: correct ones, and ones with a planted bug in clocks, holds, crashes, signatures or state."""

import asyncio
import hashlib
import json
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tests.testing.applications import Books
from workbench.client.webhooks.verify import SECONDARY, SIGNATURE, hmac_signature, sign
from workbench.testing import Universe


class Ledger(Books):
    """The correct ledger, which books completed transactions."""

    def start(self) -> None:
        self.database.execute("CREATE TABLE IF NOT EXISTS holds (id TEXT PRIMARY KEY, cents INTEGER)")

    async def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        if not self.signed(headers, body):
            return 401
        event = json.loads(body)
        with self.database:
            if self.is_new(event):
                self.handle(event)
        return 200

    def handle(self, event: dict[str, Any]) -> None:
        if event["resource"] != "transaction":
            return
        spend, key = event["body"]["spend"], event["body"]["id"]
        if event["action"] == "completed":
            self.book(key, spend["amount"])
        self.hold(key, event["action"], spend)

    def hold(self, key: str, action: str, spend: Mapping[str, Any]) -> None:
        pass


class PlainCode(Ledger):
    """The base of synchronous ledgers."""

    def receive(self, headers: Mapping[str, str], body: bytes) -> int:  # type: ignore[override]
        if not self.signed(headers, body):
            return 401
        event = json.loads(body)
        with self.database:
            if self.is_new(event):
                self.handle(event)
        return 200


class LedgerOfPlainCode(PlainCode):
    """Correct and synchronous."""


class LedgerByDay(Ledger):
    """Correct: it books under the local date of the machine's clock, and sums all days."""

    def start(self) -> None:
        self.database.execute("CREATE TABLE IF NOT EXISTS days (id TEXT, day TEXT, cents INTEGER)")

    def book(self, transaction: str, cents: int) -> None:
        day = datetime.now().astimezone().date().isoformat()
        self.database.execute("INSERT INTO days VALUES (?, ?, ?)", (transaction, day, cents))

    def books(self) -> Mapping[str, Any]:
        return dict(self.database.execute("SELECT id, SUM(cents) FROM days GROUP BY id").fetchall())


class LedgerWithAReplayWindow(Ledger):
    """Correct: it refuses transactions that were authorized in the future by the machine's clock."""

    async def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        event = json.loads(body) if hmac_signature(headers, body, [self.key.encode()]) else None
        if event is not None:
            spend = event["body"].get("spend") or {}
            at = datetime.fromisoformat(spend.get("authorizedAt") or "2000-01-01T00:00:00Z").timestamp()
            if at > time.time() + 60:
                return 400
        return await super().receive(headers, body)


class LedgerThatForgetsSafely(Ledger):
    """Correct: it forgets ids after thirty days of the machine's clock."""

    memory = 30 * 86_400.0

    def is_new(self, event: dict[str, Any]) -> bool:
        self.database.execute("DELETE FROM seen WHERE at < ?", (time.time() - self.memory,))
        found = self.database.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (event["id"], time.time()))
        return bool(found.rowcount)


class LedgerOfLines(Ledger):
    """Correct: it stores a row for each event with the event's id as key, and sums the rows."""

    def start(self) -> None:
        self.database.execute("CREATE TABLE IF NOT EXISTS lines (id TEXT PRIMARY KEY, of TEXT, cents INTEGER)")

    async def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        if not self.signed(headers, body):
            return 401
        event = json.loads(body)
        if (event["resource"], event["action"]) == ("transaction", "completed"):
            line = (event["id"], event["body"]["id"], event["body"]["spend"]["amount"])
            with self.database:
                self.database.execute("INSERT OR IGNORE INTO lines VALUES (?, ?, ?)", line)
        return 200

    def books(self) -> Mapping[str, Any]:
        return dict(self.database.execute("SELECT of, SUM(cents) FROM lines GROUP BY of").fetchall())


class LedgerWithAnInbox(Ledger):
    """Correct: it stores each delivery, and books new events each minute in the transaction that stores their ids."""

    def start(self) -> None:
        self.database.execute("CREATE TABLE IF NOT EXISTS inbox (body BLOB, is_booked INTEGER)")

    async def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        if not self.signed(headers, body):
            return 401
        with self.database:
            self.database.execute("INSERT INTO inbox VALUES (?, 0)", (body,))
        return 200

    async def main(self) -> None:
        while True:
            waiting = self.database.execute("SELECT rowid, body FROM inbox WHERE NOT is_booked").fetchall()
            for row, body in waiting:
                event = json.loads(body)
                with self.database:
                    if self.is_new(event):
                        self.handle(event)
                    self.database.execute("UPDATE inbox SET is_booked = 1 WHERE rowid = ?", (row,))
            await asyncio.sleep(60)


class LedgerThatForgetsAfterTenMinutes(LedgerThatForgetsSafely):
    memory = 600.0


class LedgerThatForgetsByMonotonicTime(Ledger):
    """Keeps ids in memory for ten minutes of `time.monotonic`, so a crash loses them too."""

    def start(self) -> None:
        super().start()
        self.ids: dict[str, float] = {}

    def is_new(self, event: dict[str, Any]) -> bool:
        now = time.monotonic()
        self.ids = {key: at for key, at in self.ids.items() if at > now - 600}
        is_new = event["id"] not in self.ids
        self.ids[event["id"]] = now
        return is_new


class LedgerOfToday(Ledger):
    """Ignores postings of another day than today by the machine's clock."""

    def handle(self, event: dict[str, Any]) -> None:
        if event["resource"] == "transaction" and "postedAt" in event["body"]["spend"]:
            posted = datetime.fromisoformat(event["body"]["spend"]["postedAt"])
            if posted.date() == datetime.now(posted.tzinfo).date():
                super().handle(event)


class LedgerByLocalMonth(Ledger):
    """Books under the local month, and shows only the current month."""

    def start(self) -> None:
        self.database.execute("CREATE TABLE IF NOT EXISTS months (id TEXT, month TEXT, cents INTEGER)")

    def book(self, transaction: str, cents: int) -> None:
        month = f"{datetime.now():%Y-%m}"  # noqa: DTZ005 - the bug
        self.database.execute("INSERT INTO months VALUES (?, ?, ?)", (transaction, month, cents))

    def books(self) -> Mapping[str, Any]:
        query = "SELECT id, SUM(cents) FROM months WHERE month = ? GROUP BY id"
        return dict(self.database.execute(query, (time.strftime("%Y-%m"),)).fetchall())


class LedgerOfAuthorizedAmounts(Ledger):
    """Books authorized amounts instead of settled amounts."""

    def handle(self, event: dict[str, Any]) -> None:
        if event["resource"] == "transaction" and event["action"] == "completed":
            spend = event["body"]["spend"]
            self.book(event["body"]["id"], spend["authorizedAmount"] if spend["amount"] > 0 else spend["amount"])


class LedgerOfBodiesWrittenAgain(Ledger):
    """Verifies the signature of JSON that it has parsed and serialized again."""

    def signed(self, headers: Mapping[str, str], body: bytes) -> bool:
        again = json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False).encode()
        return super().signed(headers, again)


class LedgerOfPrefixes(Ledger):
    """Compares only as many characters of a signature as were sent, so an empty signature is accepted."""

    def signed(self, headers: Mapping[str, str], body: bytes) -> bool:
        sent = [headers.get(name, "") for name in (SIGNATURE, SECONDARY)]
        return any(sign(body, self.key).startswith(text) for text in sent)


class LedgerOfContents(Ledger):
    """Treats completions with the same card and amount as one event."""

    def is_new(self, event: dict[str, Any]) -> bool:
        content = {
            "card": event["body"].get("spend", {}).get("cardId"),
            "amount": event["body"].get("spend", {}).get("amount"),
        }
        digest = hashlib.sha256(json.dumps([event["action"], content]).encode()).hexdigest()
        return super().is_new({**event, "id": digest if event["action"] == "completed" else event["id"]})


class LedgerOfOneSchema(Ledger):
    """Refuses events with members that it does not know."""

    async def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        if self.signed(headers, body) and set(json.loads(body)) - {
            "id",
            "resource",
            "action",
            "version",
            "body",
            "eventReceivedAt",
        }:
            return 400
        return await super().receive(headers, body)


class LedgerInMemory(Ledger):
    """Keeps its books in memory, and never waits, commits or calls the service."""

    def start(self) -> None:
        self.kept: dict[str, int] = {}
        self.ids: set[str] = set()

    async def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        if not self.signed(headers, body):
            return 401
        event = json.loads(body)
        if event["id"] not in self.ids and (event["resource"], event["action"]) == ("transaction", "completed"):
            key = event["body"]["id"]
            self.kept[key] = self.kept.get(key, 0) + event["body"]["spend"]["amount"]
        self.ids.add(event["id"])
        return 200

    def books(self) -> Mapping[str, Any]:
        return dict(self.kept)


_IDS: set[str] = set()
_BOOKS: dict[str, int] = {}


class LedgerOfModuleIds(Ledger):
    """Keeps ids in a global variable."""

    def is_new(self, event: dict[str, Any]) -> bool:
        is_new = event["id"] not in _IDS
        _IDS.add(event["id"])
        return is_new


class LedgerOfModuleBooks(LedgerInMemory):
    """Keeps its books in a global variable."""

    def start(self) -> None:
        self.kept, self.ids = _BOOKS, set()


class LedgerWithHolds(Ledger):
    """Correct, with holds: it uses the latest state of each transaction, in any order of the events."""

    def start(self) -> None:
        self.database.execute("CREATE TABLE IF NOT EXISTS states (id TEXT, sequence INTEGER, cents INTEGER)")

    def hold(self, key: str, action: str, spend: Mapping[str, Any]) -> None:
        ranks = {"requested": 0, "created": 1, "updated": 2, "completed": 3}
        rank = ranks[action] * 10**9 - (spend["amount"] if action == "updated" else 0)
        if spend.get("authorizationUpdateAmount", 0) > 0:
            rank = ranks["updated"] * 10**9 - 10**8 + spend["amount"]
        is_open = spend["status"] == "pending" and action != "completed" and spend["amount"] > 0
        held = spend["amount"] if is_open else 0
        self.database.execute("INSERT INTO states VALUES (?, ?, ?)", (key, rank, held))

    def holds(self) -> Mapping[str, Any]:
        query = "SELECT id, cents, MAX(sequence) FROM states GROUP BY id"
        return {key: cents for key, cents, _ in self.database.execute(query).fetchall()}


class LedgerThatForgetsIncrements(LedgerWithHolds):
    """Ignores increases of an authorization."""

    def hold(self, key: str, action: str, spend: Mapping[str, Any]) -> None:
        if spend.get("authorizationUpdateAmount", 0) <= 0:
            super().hold(key, action, spend)


class LedgerWithLateHolds(LedgerWithHolds):
    """Uses the event that arrived last, so an authorization that arrives after the settlement holds again."""

    def hold(self, key: str, action: str, spend: Mapping[str, Any]) -> None:
        (count,) = self.database.execute("SELECT COUNT(*) FROM states WHERE id = ?", (key,)).fetchone()
        is_open = spend["status"] == "pending" and action != "completed" and spend["amount"] > 0
        held = spend["amount"] if is_open else 0
        self.database.execute("INSERT INTO states VALUES (?, ?, ?)", (key, count, held))


class LedgerThatKeepsExpiredHolds(LedgerWithHolds):
    """Ignores updates to zero, so it keeps holds that expired or were reversed."""

    def hold(self, key: str, action: str, spend: Mapping[str, Any]) -> None:
        if action != "updated" or spend["amount"]:
            super().hold(key, action, spend)


class LedgerThatKeepsItsLock(Ledger):
    """Stores a lock in its database until it has booked, so a crash leaves the lock."""

    async def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        if not self.signed(headers, body):
            return 401
        with self.database:
            self.database.execute("CREATE TABLE IF NOT EXISTS locks (id TEXT PRIMARY KEY)")
            if not self.database.execute("INSERT OR IGNORE INTO locks VALUES (?)", ("books",)).rowcount:
                return 503
        status = await super().receive(headers, body)
        with self.database:
            self.database.execute("DELETE FROM locks")
        return status


RIGHT = (
    Ledger, LedgerOfPlainCode, LedgerByDay, LedgerWithAReplayWindow, LedgerThatForgetsSafely, LedgerWithHolds,
    LedgerOfLines, LedgerWithAnInbox,
)  # fmt: skip
LOST, ONCE, AGREE = "no event is lost", "each event counts once", "the books agree with the service"
HOLDS, ACKNOWLEDGED, OUTLIVES = "holds agree with the service", "events are acknowledged", "nothing outlives a universe"
CLOCKS: dict[type[Books], tuple[str, ...]] = {
    LedgerThatForgetsAfterTenMinutes: (ONCE,),
    LedgerThatForgetsByMonotonicTime: (ONCE,),
    LedgerOfToday: (LOST,),
    LedgerByLocalMonth: (LOST,),
}
"""Ledgers with a bug that involves the machine's clock."""
WRONG: dict[type[Books], tuple[str, ...]] = {
    **CLOCKS,
    **{type(f"{bug.__name__}InPlainCode", (PlainCode, bug), {}): rules for bug, rules in CLOCKS.items()},
    LedgerOfAuthorizedAmounts: (AGREE, LOST, ONCE),
    LedgerOfBodiesWrittenAgain: (ACKNOWLEDGED,),
    LedgerOfPrefixes: ("forgeries are refused",),
    LedgerOfContents: (LOST,),
    LedgerOfOneSchema: ("unknown versions are acknowledged", ACKNOWLEDGED),
    LedgerInMemory: (LOST,),
    LedgerOfModuleIds: (OUTLIVES,),
    LedgerOfModuleBooks: (OUTLIVES,),
    LedgerThatForgetsIncrements: (HOLDS,),
    LedgerWithLateHolds: (HOLDS,),
    LedgerThatKeepsExpiredHolds: (HOLDS,),
    LedgerThatKeepsItsLock: (ACKNOWLEDGED, LOST),
}
"""Ledgers with a bug, each with the invariants that the bug may break."""


def forget() -> None:
    """Clear the global variables."""
    _IDS.clear()
    _BOOKS.clear()


def has_books(universe: Universe) -> None:
    """Check that the application has booked only posted transactions."""
    assert dict(universe.application.books()).keys() <= {key for key, _ in universe.posted}
