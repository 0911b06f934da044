"""Applications for universes: correct ones, and applications with one planted bug each and the invariants that it breaks.

The application books the posted amounts of card transactions, and refunds 100 cents of each purchase of at least 20 dollars.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import workbench as wb
from workbench.client.webhooks.verify import SECONDARY, SIGNATURE, sign
from workbench.testing import Universe

BONUS = 100
LEAST = 2_000
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY, at REAL)",
    "CREATE TABLE IF NOT EXISTS books (id TEXT PRIMARY KEY, cents INTEGER)",
    "CREATE TABLE IF NOT EXISTS refunds (id TEXT PRIMARY KEY, state TEXT)",
    "CREATE TABLE IF NOT EXISTS known (id TEXT PRIMARY KEY)",
)


class Books:
    """The base of the asynchronous and the synchronous application."""

    def __init__(self, universe: Universe) -> None:
        self.universe = universe
        self.key = universe.key
        self.database = universe.database()
        for table in SCHEMA:
            self.database.execute(table)
        self.start()

    def start(self) -> None:
        """Prepare the state in memory."""

    def signed(self, headers: Mapping[str, str], body: bytes) -> bool:
        return sign(body, self.key) in (headers.get(SIGNATURE), headers.get(SECONDARY))

    def is_new(self, event: dict[str, Any]) -> bool:
        found = self.database.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (event["id"], self.universe.now))
        return bool(found.rowcount)

    def handle(self, event: dict[str, Any]) -> None:
        if (event["resource"], event["action"]) == ("transaction", "completed"):
            transaction, cents = event["body"]["id"], event["body"]["spend"]["amount"]
            self.book(transaction, cents)
            if cents >= LEAST:
                self.owe(transaction)

    def book(self, transaction: str, cents: int) -> None:
        self.database.execute(
            "INSERT INTO books VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET cents = cents + excluded.cents",
            (transaction, cents),
        )

    def owe(self, transaction: str) -> None:
        self.database.execute("INSERT OR IGNORE INTO refunds VALUES (?, 'due')", (transaction,))

    def due(self) -> list[str]:
        return [row[0] for row in self.database.execute("SELECT id FROM refunds WHERE state = 'due'").fetchall()]

    def paid(self, transaction: str, state: str) -> None:
        # before the commit: after it, the refund is not due any more, so no retry would resolve these calls
        for entry in self.universe.journal.unknown():
            if entry.idempotency_key == self.idempotency_key(transaction):
                self.universe.journal.resolve(entry.id, "done" if state == "done" else "not_sent", note="sent again")
        with self.database:
            self.database.execute("UPDATE refunds SET state = ? WHERE id = ?", (state, transaction))

    def idempotency_key(self, transaction: str) -> str:
        return f"bonus-{transaction}"

    def books(self) -> Mapping[str, Any]:
        return dict(self.database.execute("SELECT id, cents FROM books").fetchall())


class Shop(Books):
    """The correct asynchronous application."""

    def start(self) -> None:
        self.api = self.universe.connect_async()

    async def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        if not self.signed(headers, body):
            return 401
        return await self.take(json.loads(body))

    async def take(self, event: dict[str, Any]) -> int:
        with self.database:
            if self.is_new(event):
                self.handle(event)
        return 200

    async def main(self) -> None:
        while True:
            for transaction in self.due():
                await self.pay(transaction)
            await asyncio.sleep(300)

    async def pay(self, transaction: str) -> None:
        try:
            await self.send(transaction)
        except (wb.NotSent, wb.OutcomeUnknown, wb.errors.RateLimited):
            pass  # the refund is still due, so `main` sends it again
        except wb.ApiError:
            self.paid(transaction, "refused")
        else:
            self.paid(transaction, "done")

    async def send(self, transaction: str) -> None:
        with self.api.idempotency(self.idempotency_key(transaction)):
            await self.api.simulate_refund(transaction_id=transaction, amount=BONUS)


def bonuses_are_paid(universe: Universe) -> None:
    """Check that each purchase of at least 20 dollars got its bonus."""
    large = {transaction for transaction, cents in universe.posted if cents >= LEAST}
    paid = {target.split("/")[-2] for (target, _) in universe.refunds}
    assert large <= paid, f"no bonus was paid for {sorted(large - paid)}"


class CountsRepetitions(Shop):
    """Does not check whether an event was already handled."""

    def is_new(self, event: dict[str, Any]) -> bool:
        return True


class CountsATransactionOnce(Shop):
    """Identifies events by transaction and action, so a refund counts as a repetition of the purchase."""

    def is_new(self, event: dict[str, Any]) -> bool:
        return super().is_new({"id": f"{event['body'].get('id')} {event['action']}"})


class ChecksNoSignature(Shop):
    """Accepts deliveries without checking the signature."""

    def signed(self, headers: Mapping[str, str], body: bytes) -> bool:
        return True


class ChecksThatThereIsASignature(Shop):
    """Checks only that the signature header exists."""

    def signed(self, headers: Mapping[str, str], body: bytes) -> bool:
        return SIGNATURE in headers


class ChecksOneHeader(Shop):
    """Checks only the first signature, so it refuses deliveries during the rotation of a key."""

    def signed(self, headers: Mapping[str, str], body: bytes) -> bool:
        return headers.get(SIGNATURE) == sign(body, self.key)


class RemembersInMemory(Shop):
    """Keeps the ids of handled events only in memory."""

    def start(self) -> None:
        super().start()
        self.seen: set[str] = set()

    def is_new(self, event: dict[str, Any]) -> bool:
        if event["id"] in self.seen:
            return False
        self.seen.add(event["id"])
        return True


class WritesLater(Shop):
    """Acknowledges events at once, and books them each minute."""

    def start(self) -> None:
        super().start()
        self.waiting: list[dict[str, Any]] = []

    async def take(self, event: dict[str, Any]) -> int:
        self.waiting.append(event)
        return 200

    async def main(self) -> None:
        while True:
            with self.database:
                while self.waiting:
                    if self.is_new(event := self.waiting.pop()):
                        self.handle(event)
            for transaction in self.due():
                await self.pay(transaction)
            await asyncio.sleep(60)


class FailsOnUnknownKinds(Shop):
    """Fails on kinds of events that it does not know."""

    def handle(self, event: dict[str, Any]) -> None:
        if event["resource"] not in ("transaction", "card", "user"):
            raise ValueError(event["resource"])
        super().handle(event)


class SkipsUnknownVersions(Shop):
    """Ignores events with a version that it does not know."""

    def handle(self, event: dict[str, Any]) -> None:
        if event["version"] in ("1.0.0", "1.1.0"):
            super().handle(event)


class TakesTheLastAmount(Shop):
    """Books the amount of the event that arrives last."""

    def handle(self, event: dict[str, Any]) -> None:
        if event["resource"] == "transaction" and event["action"] in ("created", "completed"):
            body = event["body"]
            cents = body["spend"]["amount"]
            settled = 0 if event["action"] == "created" else cents
            if settled >= 0:
                self.database.execute("INSERT OR REPLACE INTO books VALUES (?, ?)", (body["id"], settled))
                if settled >= LEAST:
                    self.owe(body["id"])
            else:
                self.book(body["id"], settled)


class ChecksThenActs(Shop):
    """Checks whether an event is new, waits, and then books it."""

    async def take(self, event: dict[str, Any]) -> int:
        if self.database.execute("SELECT 1 FROM seen WHERE id = ?", (event["id"],)).fetchone():
            return 200
        await asyncio.sleep(0.002)
        with self.database:
            self.handle(event)
            self.is_new(event)
        return 200


class CommitsTheBooksFirst(Shop):
    """Commits twice: first the books, then the id of the event."""

    async def take(self, event: dict[str, Any]) -> int:
        if self.database.execute("SELECT 1 FROM seen WHERE id = ?", (event["id"],)).fetchone():
            return 200
        with self.database:
            self.handle(event)
        with self.database:
            self.is_new(event)
        return 200


class CommitsTheIdFirst(Shop):
    """Commits twice: first the id of the event, then the books."""

    async def take(self, event: dict[str, Any]) -> int:
        with self.database:
            if not self.is_new(event):
                return 200
        with self.database:
            self.handle(event)
        return 200


class CallsBeforeItRecords(Shop):
    """Pays as soon as a purchase arrives, and records the payment afterwards."""

    def idempotency_key(self, transaction: str) -> str:
        return f"bonus-{transaction}-{self.universe.now}"

    def owe(self, transaction: str) -> None:
        """Record nothing, because `take` pays the bonus at once."""

    async def take(self, event: dict[str, Any]) -> int:
        spend = event["body"].get("spend") or {}
        if event["action"] == "completed" and spend.get("amount", 0) >= LEAST:
            transaction = event["body"]["id"]
            if not self.database.execute("SELECT 1 FROM refunds WHERE id = ?", (transaction,)).fetchone():
                await self.send(transaction)
                with self.database:
                    self.database.execute("INSERT OR IGNORE INTO refunds VALUES (?, 'done')", (transaction,))
        return await super().take(event)


class AnswersBeforeItStores(Shop):
    """Answers before the task that stores the event has ended."""

    async def take(self, event: dict[str, Any]) -> int:
        self.task = asyncio.create_task(self.later(event))
        return 200

    async def later(self, event: dict[str, Any]) -> None:
        await asyncio.sleep(0.01)
        await super().take(event)


class RetriesBlindly(Shop):
    """Repeats calls with an unknown outcome without an idempotency key."""

    async def send(self, transaction: str) -> None:
        await self.api.simulate_refund(transaction_id=transaction, amount=BONUS)

    def paid(self, transaction: str, state: str) -> None:
        super().paid(transaction, state)
        for entry in self.universe.journal.unknown():
            self.universe.journal.resolve(entry.id, "not_sent", note="sent again")


class RetriesWithANewKey(RetriesBlindly):
    """Repeats calls with an unknown outcome with a new idempotency key."""

    async def send(self, transaction: str) -> None:
        with self.api.idempotency(f"{transaction}-{self.universe.now}"):
            await self.api.simulate_refund(transaction_id=transaction, amount=BONUS)


class LosesATimer(Shop):
    """Keeps a due bonus only in a timer."""

    def owe(self, transaction: str) -> None:
        self.timer = asyncio.get_running_loop().call_later(30, lambda: asyncio.ensure_future(self.pay(transaction)))


class ReadsStaleBooks(Shop):
    """Reads the booked amount, waits, and then writes the sum."""

    async def take(self, event: dict[str, Any]) -> int:
        with self.database:
            if not self.is_new(event):
                return 200
            if event["action"] == "completed":
                transaction = event["body"]["id"]
                row = self.database.execute("SELECT cents FROM books WHERE id = ?", (transaction,)).fetchone()
                await asyncio.sleep(5)
                total = (row[0] if row else 0) + event["body"]["spend"]["amount"]
                self.database.execute("INSERT OR REPLACE INTO books VALUES (?, ?)", (transaction, total))
                if event["body"]["spend"]["amount"] >= LEAST:
                    self.owe(transaction)
        return 200


class BooksUpdates(Shop):
    """Books updates as if they were completions."""

    def handle(self, event: dict[str, Any]) -> None:
        super().handle({**event, "action": "completed"} if event["action"] == "updated" else event)


class TakesUnknownAsRefused(Shop):
    """Treats every error, such as an unknown outcome, as a refusal, and gives up."""

    async def pay(self, transaction: str) -> None:
        try:
            await self.send(transaction)
        except wb.WorkbenchError:
            with self.database:
                self.database.execute("UPDATE refunds SET state = 'refused' WHERE id = ?", (transaction,))
        else:
            self.paid(transaction, "done")


class TakesUnknownAsDone(Shop):
    """Treats an unknown outcome as success."""

    async def pay(self, transaction: str) -> None:
        try:
            await self.send(transaction)
        except (wb.NotSent, wb.errors.RateLimited):
            return
        except wb.OutcomeUnknown:
            pass  # the bug: the refund counts as done
        self.paid(transaction, "done")


class GivesUpWhenItIsBusy(Shop):
    """Treats the status 429 as a refusal, and gives up."""

    async def pay(self, transaction: str) -> None:
        try:
            await super().send(transaction)
        except (wb.NotSent, wb.OutcomeUnknown):
            return
        except wb.ApiError:
            self.paid(transaction, "refused")
        else:
            self.paid(transaction, "done")


class BooksAuthorizations(Shop):
    """Books authorized amounts instead of settled amounts."""

    def handle(self, event: dict[str, Any]) -> None:
        if event["action"] == "created" and event["resource"] == "transaction":
            self.book(event["body"]["id"], event["body"]["spend"]["amount"])


class ForgetsOldEvents(Shop):
    """Remembers only the last three events."""

    def is_new(self, event: dict[str, Any]) -> bool:
        new = super().is_new(event)
        oldest = "SELECT id FROM seen ORDER BY at DESC, rowid DESC LIMIT -1 OFFSET 3"
        self.database.execute(f"DELETE FROM seen WHERE id IN ({oldest})")
        return new


class ForgetsAfterADay(Shop):
    """Forgets events after a day."""

    def is_new(self, event: dict[str, Any]) -> bool:
        self.database.execute("DELETE FROM seen WHERE at < ?", (self.universe.now - 86_400,))
        return super().is_new(event)


class BooksDollars(Shop):
    """Returns amounts as floats."""

    def books(self) -> Mapping[str, Any]:
        return {name: cents / 100 * 100 for name, cents in super().books().items()}


class RefusesRepetitions(Shop):
    """Answers 409 to a repeated event."""

    async def take(self, event: dict[str, Any]) -> int:
        with self.database:
            if not self.is_new(event):
                return 409
            self.handle(event)
        return 200


class IgnoresUnknownTransactions(Shop):
    """Ignores postings of a transaction whose creation has not arrived."""

    def handle(self, event: dict[str, Any]) -> None:
        if event["action"] == "created":
            self.database.execute("INSERT OR IGNORE INTO known VALUES (?)", (event["body"]["id"],))
        if self.database.execute("SELECT 1 FROM known WHERE id = ?", (event["body"]["id"],)).fetchone():
            super().handle(event)


class BooksRefundsAsPurchases(Shop):
    """Books refunds with a positive amount."""

    def book(self, transaction: str, cents: int) -> None:
        super().book(transaction, abs(cents))


class SharesATransaction(Shop):
    """Waits within a database transaction that other tasks can commit."""

    async def take(self, event: dict[str, Any]) -> int:
        if self.database.execute("SELECT 1 FROM seen WHERE id = ?", (event["id"],)).fetchone():
            return 200
        self.handle(event)
        await asyncio.sleep(0.05)
        self.is_new(event)
        self.database.commit()
        return 200


class SwallowsErrors(Shop):
    """Answers 200 even if it failed to handle the event."""

    async def take(self, event: dict[str, Any]) -> int:
        try:
            with self.database:
                if self.is_new(event) and event["action"] == "completed":
                    known = self.database.execute("SELECT id FROM known WHERE id = ?", (event["body"]["id"],))
                    self.book(known.fetchone()[0], event["body"]["spend"]["amount"])
                    if event["body"]["spend"]["amount"] >= LEAST:
                        self.owe(event["body"]["id"])
                elif event["action"] == "created":
                    self.database.execute("INSERT OR IGNORE INTO known VALUES (?)", (event["body"]["id"],))
        except TypeError:
            pass
        return 200


class MarksWhatFails(Shop):
    """Stores the id of an event before it handles the event, and keeps the id if handling fails."""

    async def take(self, event: dict[str, Any]) -> int:
        with self.database:
            if not self.is_new(event):
                return 200
        known = self.database.execute("SELECT id FROM known WHERE id = ?", (event["body"]["id"],)).fetchone()
        with self.database:
            if event["action"] == "created":
                self.database.execute("INSERT OR IGNORE INTO known VALUES (?)", (event["body"]["id"],))
            elif event["action"] == "completed":
                super().handle({**event, "body": {**event["body"], "id": known[0]}})
        return 200


class PaysAgainAfterAStart(RetriesBlindly):
    """Pays without an idempotency key: in a task for each event, and again after a start if no completion was recorded."""

    def owe(self, transaction: str) -> None:
        super().owe(transaction)
        self.task = asyncio.create_task(self.pay(transaction))


ONCE, LOST, AGREE = "each event counts once", "no event is lost", "the books agree with the service"
FORGED, ACKNOWLEDGED, REFUNDS = "forgeries are refused", "events are acknowledged", "no refund is made twice"
UNKNOWN, PAID = "unknown outcomes are resolved", "bonuses are paid"
PLANTED: Mapping[type[Shop], tuple[str, ...]] = {
    CountsRepetitions: (ONCE,),
    CountsATransactionOnce: (LOST, AGREE),
    ChecksNoSignature: (FORGED,),
    ChecksThatThereIsASignature: (FORGED,),
    ChecksOneHeader: (ACKNOWLEDGED,),
    RemembersInMemory: (ONCE,),
    WritesLater: (LOST, AGREE),
    FailsOnUnknownKinds: ("unknown kinds are acknowledged",),
    SkipsUnknownVersions: (LOST, ONCE, AGREE),
    TakesTheLastAmount: (LOST, ONCE, AGREE),
    ChecksThenActs: (ONCE,),
    CommitsTheBooksFirst: (ONCE,),
    CommitsTheIdFirst: (LOST,),
    CallsBeforeItRecords: (REFUNDS, UNKNOWN),
    AnswersBeforeItStores: (LOST,),
    RetriesBlindly: (REFUNDS,),
    RetriesWithANewKey: (REFUNDS,),
    LosesATimer: (PAID, UNKNOWN),
    ReadsStaleBooks: (LOST, ONCE, AGREE),
    BooksUpdates: (ONCE, AGREE, ACKNOWLEDGED),
    TakesUnknownAsRefused: (UNKNOWN, PAID),
    TakesUnknownAsDone: (PAID,),
    GivesUpWhenItIsBusy: (PAID,),
    BooksAuthorizations: (AGREE, ONCE),
    ForgetsOldEvents: (ONCE,),
    ForgetsAfterADay: (ONCE,),
    BooksDollars: ("amounts are whole cents",),
    RefusesRepetitions: (ACKNOWLEDGED,),
    IgnoresUnknownTransactions: (LOST,),
    BooksRefundsAsPurchases: (AGREE, ONCE, LOST),
    SharesATransaction: (ONCE,),
    SwallowsErrors: (LOST, AGREE),
    MarksWhatFails: (LOST, AGREE),
    PaysAgainAfterAStart: (REFUNDS,),
}
"""Applications with a bug, each with the invariants that the bug may break."""


class Till(Books):
    """The correct synchronous application."""

    def start(self) -> None:
        self.api = self.universe.connect()

    def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        if not self.signed(headers, body):
            return 401
        return self.take(json.loads(body))

    def take(self, event: dict[str, Any]) -> int:
        with self.database:
            if self.is_new(event):
                self.handle(event)
        return 200

    def main(self) -> None:
        for transaction in self.due():
            try:
                self.send(transaction)
            except (wb.NotSent, wb.OutcomeUnknown, wb.errors.RateLimited):
                pass  # the refund is still due, so the next run of `main` sends it again
            except wb.ApiError:
                self.paid(transaction, "refused")
            else:
                self.paid(transaction, "done")

    def send(self, transaction: str) -> None:
        with self.api.idempotency(self.idempotency_key(transaction)):
            self.api.simulate_refund(transaction_id=transaction, amount=BONUS)


class TillOfTwoCommits(Till):
    """Commits twice: first the books, then the id of the event."""

    def take(self, event: dict[str, Any]) -> int:
        if self.database.execute("SELECT 1 FROM seen WHERE id = ?", (event["id"],)).fetchone():
            return 200
        with self.database:
            self.handle(event)
        with self.database:
            self.is_new(event)
        return 200


class TillThatAcknowledgesFirst(Till):
    """Keeps events in memory, and books them each minute."""

    def start(self) -> None:
        super().start()
        self.waiting: list[dict[str, Any]] = []

    def take(self, event: dict[str, Any]) -> int:
        self.waiting.append(event)
        return 200

    def main(self) -> None:
        while self.waiting:
            super().take(self.waiting.pop())
        super().main()


class TillThatRetriesBlindly(Till):
    """Repeats calls with an unknown outcome without an idempotency key."""

    def send(self, transaction: str) -> None:
        self.api.simulate_refund(transaction_id=transaction, amount=BONUS)


class TillThatGivesUp(Till):
    """Treats an unknown outcome as a refusal."""

    def send(self, transaction: str) -> None:
        try:
            super().send(transaction)
        except wb.OutcomeUnknown:
            with self.database:
                self.database.execute("UPDATE refunds SET state = 'refused' WHERE id = ?", (transaction,))
            raise


PLANTED_IN_TILLS: Mapping[type[Till], tuple[str, ...]] = {
    TillOfTwoCommits: (ONCE,),
    TillThatAcknowledgesFirst: (LOST, AGREE),
    TillThatRetriesBlindly: (REFUNDS, UNKNOWN),
    TillThatGivesUp: (UNKNOWN, PAID),
}
"""Synchronous applications with a bug, each with the invariants that the bug may break."""
