"""What the example applications do with events: they keep the state of each transaction, as the last event reported it."""

import os
import sqlite3

import workbench as wb
from workbench.interface.events import Event

inbox = wb.Inbox(os.environ.get("INBOX", "events.db"), keys=[os.environ["WORKBENCH_WEBHOOK_KEY"]])


@inbox.on("transaction.*", name="ledger", atomic=True, ordered=True)
def record(event: Event, db: sqlite3.Connection) -> None:
    """Record the state of a transaction, exactly once for each event and in the order of their arrival."""
    db.execute(
        "CREATE TABLE IF NOT EXISTS ledger(transaction_id TEXT PRIMARY KEY, card_id TEXT, cents INTEGER, status TEXT)"
    )
    spend = event.body.spend
    db.execute(
        "INSERT OR REPLACE INTO ledger VALUES (?, ?, ?, ?)", (event.body.id, spend.card_id, spend.amount, spend.status)
    )
