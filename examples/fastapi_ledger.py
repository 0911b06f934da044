"""Keep a ledger of card spending from webhooks, with FastAPI: `uvicorn examples.fastapi_ledger:app --workers 4`.

All workers use one inbox file. Any of them may handle an event, whichever received it, and each event counts once.
"""

import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

from fastapi import FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool

import workbench as wb

PATH = os.environ.get("INBOX", "events.db")
inbox = wb.Inbox(PATH, keys=[os.environ["WORKBENCH_WEBHOOK_KEY"]])


@inbox.on("transaction.completed", name="ledger", atomic=True)
def record(event: wb.records.Event[wb.records.TransactionChanged], db: sqlite3.Connection) -> None:
    """Record the amount of a settlement, or the negative amount of a refund. The order of events does not matter."""
    spend = event.body.spend
    if spend is None:
        return
    db.execute("CREATE TABLE IF NOT EXISTS ledger(event_id TEXT PRIMARY KEY, transaction_id TEXT, cents INTEGER)")
    db.execute("INSERT INTO ledger VALUES (?, ?, ?)", (event.id, event.body.id, spend.amount))


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    """Run the handlers in threads while the application runs."""
    with inbox.running():
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/webhooks")
async def webhooks(request: Request) -> Response:
    """Store a delivery, and acknowledge it."""
    status = await run_in_threadpool(inbox.respond, request.headers.items(), await request.body())
    return Response(status_code=status)


@app.get("/books")
def books() -> dict[str, int]:
    """Return the posted cents by transaction id."""
    with closing(sqlite3.connect(PATH)) as db:
        exists = db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'ledger'").fetchone()
        return dict(db.execute("SELECT transaction_id, sum(cents) FROM ledger GROUP BY 1")) if exists else {}
