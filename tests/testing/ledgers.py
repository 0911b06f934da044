"""Ledgers for universes: right ones and ones with a planted bug about clocks, holds, crashes, signatures and state."""

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
    """The right one: it books what is completed, and holds what is open."""

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
    """What makes a ledger one that is not asynchronous."""

    def receive(self, headers: Mapping[str, str], body: bytes) -> int:  # type: ignore[override]
        if not self.signed(headers, body):
            return 401
        event = json.loads(body)
        with self.database:
            if self.is_new(event):
                self.handle(event)
        return 200


class LedgerOfPlainCode(PlainCode):
    """Right, and not asynchronous."""


class LedgerByDay(Ledger):
    """Right: it books under days of UTC, from the event, and sums them."""

    def start(self) -> None:
        self.database.execute("CREATE TABLE IF NOT EXISTS days (id TEXT, day TEXT, cents INTEGER)")

    def book(self, transaction: str, cents: int) -> None:
        day = datetime.now().astimezone().date().isoformat()
        self.database.execute("INSERT INTO days VALUES (?, ?, ?)", (transaction, day, cents))

    def books(self) -> Mapping[str, Any]:
        return dict(self.database.execute("SELECT id, SUM(cents) FROM days GROUP BY id").fetchall())


class LedgerWithAReplayWindow(Ledger):
    """Right: it refuses deliveries that say they are from the future; by the machine's clock."""

    async def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        event = json.loads(body) if hmac_signature(headers, body, [self.key.encode()]) else None
        if event is not None:
            spend = event["body"].get("spend") or {}
            at = datetime.fromisoformat(spend.get("authorizedAt") or "2000-01-01T00:00:00Z").timestamp()
            if at > time.time() + 60:
                return 400
        return await super().receive(headers, body)


class LedgerThatForgetsSafely(Ledger):
    """Right: it forgets ids after thirty days by the machine's clock."""

    memory = 30 * 86_400.0

    def is_new(self, event: dict[str, Any]) -> bool:
        self.database.execute("DELETE FROM seen WHERE at < ?", (time.time() - self.memory,))
        found = self.database.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (event["id"], time.time()))
        return bool(found.rowcount)


class LedgerOfLines(Ledger):
    """Right: a line for each event, whose id is the key of the table; the books are sums."""

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
    """Right: it stores each delivery, and books new events each minute, in the transaction that notes their ids."""

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
    """Forgets ids after ten minutes by `time.monotonic`, in memory; a crash forgets them as well."""

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
    """A batch at midnight drops what is of another day, by the machine's date."""

    def handle(self, event: dict[str, Any]) -> None:
        if event["resource"] == "transaction" and "postedAt" in event["body"]["spend"]:
            posted = datetime.fromisoformat(event["body"]["spend"]["postedAt"])
            if posted.date() == datetime.now(posted.tzinfo).date():
                super().handle(event)


class LedgerByLocalMonth(Ledger):
    """Keys its months by local time, and shows the current month alone."""

    def start(self) -> None:
        self.database.execute("CREATE TABLE IF NOT EXISTS months (id TEXT, month TEXT, cents INTEGER)")

    def book(self, transaction: str, cents: int) -> None:
        month = f"{datetime.now():%Y-%m}"  # noqa: DTZ005 - the bug
        self.database.execute("INSERT INTO months VALUES (?, ?, ?)", (transaction, month, cents))

    def books(self) -> Mapping[str, Any]:
        query = "SELECT id, SUM(cents) FROM months WHERE month = ? GROUP BY id"
        return dict(self.database.execute(query, (time.strftime("%Y-%m"),)).fetchall())


class LedgerOfAuthorizedAmounts(Ledger):
    """Books what was authorized, not what was settled."""

    def handle(self, event: dict[str, Any]) -> None:
        if event["resource"] == "transaction" and event["action"] == "completed":
            spend = event["body"]["spend"]
            self.book(event["body"]["id"], spend["authorizedAmount"] if spend["amount"] > 0 else spend["amount"])


class LedgerOfBodiesWrittenAgain(Ledger):
    """Verifies the signature over JSON that it has read and written again."""

    def signed(self, headers: Mapping[str, str], body: bytes) -> bool:
        again = json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False).encode()
        return super().signed(headers, again)


class LedgerOfPrefixes(Ledger):
    """Compares as much of a signature as was sent, so none is enough."""

    def signed(self, headers: Mapping[str, str], body: bytes) -> bool:
        sent = [headers.get(name, "") for name in (SIGNATURE, SECONDARY)]
        return any(sign(body, self.key).startswith(text) for text in sent)


class LedgerOfContents(Ledger):
    """Takes events with the same content for one."""

    def is_new(self, event: dict[str, Any]) -> bool:
        content = {
            "card": event["body"].get("spend", {}).get("cardId"),
            "amount": event["body"].get("spend", {}).get("amount"),
        }
        digest = hashlib.sha256(json.dumps([event["action"], content]).encode()).hexdigest()
        return super().is_new({**event, "id": digest if event["action"] == "completed" else event["id"]})


class LedgerOfOneSchema(Ledger):
    """Refuses an event with members that it does not know."""

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
    """Keeps its books in memory, and never waits, commits or calls."""

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
    """Remembers ids in its module."""

    def is_new(self, event: dict[str, Any]) -> bool:
        is_new = event["id"] not in _IDS
        _IDS.add(event["id"])
        return is_new


class LedgerOfModuleBooks(LedgerInMemory):
    """Keeps its books in its module."""

    def start(self) -> None:
        self.kept, self.ids = _BOOKS, set()


class LedgerWithHolds(Ledger):
    """Right, with holds: the last state that events show, whatever their order."""

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
    """Holds what was authorized first."""

    def hold(self, key: str, action: str, spend: Mapping[str, Any]) -> None:
        if spend.get("authorizationUpdateAmount", 0) <= 0:
            super().hold(key, action, spend)


class LedgerWithLateHolds(LedgerWithHolds):
    """Holds again when the authorization comes after the settlement."""

    def hold(self, key: str, action: str, spend: Mapping[str, Any]) -> None:
        (count,) = self.database.execute("SELECT COUNT(*) FROM states WHERE id = ?", (key,)).fetchone()
        is_open = spend["status"] == "pending" and action != "completed" and spend["amount"] > 0
        held = spend["amount"] if is_open else 0
        self.database.execute("INSERT INTO states VALUES (?, ?, ?)", (key, count, held))


class LedgerThatKeepsExpiredHolds(LedgerWithHolds):
    """Frees a hold when it is settled, and never otherwise."""

    def hold(self, key: str, action: str, spend: Mapping[str, Any]) -> None:
        if action != "updated" or spend["amount"]:
            super().hold(key, action, spend)


class LedgerThatKeepsItsLock(Ledger):
    """Takes a lock in its file, and frees it when it has booked; a crash leaves it."""

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
"""The ledgers with a bug about the machine's clock."""
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
"""The ledgers with a bug, and the invariants by which it may show."""


def forget() -> None:
    """Empty what the module holds."""
    _IDS.clear()
    _BOOKS.clear()


def has_books(universe: Universe) -> None:
    """Check by the application itself what it has booked."""
    assert dict(universe.application.books()).keys() <= {key for key, _ in universe.posted}
