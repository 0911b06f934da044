"""A webhook handler behind HTTP for tests of the HTTP mode: `python -m tests.testing.served right 8000 folder key`.

The kind is "right", "checks, then acts", "two commits", "fastapi" (a correct one with two workers), or one of `PAYING`, which
also call the service at the port in API_PORT to refund a part of each large purchase. Only "fastapi" and `PAYING` import
libraries, so that the others start quickly.
"""

import hmac
import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PAYING = ("pays once", "retries blindly", "gives up")
LEAST, BONUS = 2_000, 100
BOOK = "INSERT INTO books VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET cents = cents + excluded.cents"


def connect(folder: str | Path) -> sqlite3.Connection:
    return sqlite3.connect(Path(folder) / "books.db", timeout=20, isolation_level=None)


def booking(event: dict[str, Any]) -> tuple[str, int] | None:
    """Return the transaction and the cents that an event books, or None."""
    completed = (event["resource"], event["action"]) == ("transaction", "completed")
    return (event["body"]["id"], event["body"]["spend"]["amount"]) if completed else None


def take_once(database: sqlite3.Connection, event: dict[str, Any], *, pays: bool = False) -> None:
    """Book a new event in the database transaction that stores its id."""
    booked = booking(event)
    database.execute("BEGIN IMMEDIATE")
    if database.execute("INSERT OR IGNORE INTO seen VALUES (?)", (event["id"],)).rowcount and booked:
        database.execute(BOOK, booked)
        if pays and booked[1] >= LEAST:
            database.execute("INSERT OR IGNORE INTO refunds VALUES (?, 'due')", booked[:1])
    database.execute("COMMIT")


def pay(kind: str, folder: Path, api_key: str) -> None:
    """Send due refunds in an endless loop. The kind "retries blindly" sends no idempotency key."""
    import httpx

    url = f"http://127.0.0.1:{os.environ['API_PORT']}/v1/simulate/transactions"
    with closing(connect(folder)) as database, httpx.Client(timeout=2, trust_env=False) as client:
        while True:
            for (transaction,) in database.execute("SELECT id FROM refunds WHERE state = 'due'").fetchall():
                headers = {"Api-Key": api_key, "Idempotency-Key": f"bonus-{transaction}"}
                if kind == "retries blindly":
                    del headers["Idempotency-Key"]
                state = "done"
                try:
                    answer = client.post(f"{url}/{transaction}/refund", json={"amount": BONUS}, headers=headers)
                    if answer.status_code >= 300:
                        state = "due" if answer.status_code >= 500 else "refused"
                except httpx.ConnectError:  # the universe has already ended
                    state = "due"
                except httpx.HTTPError:
                    state = "unknown" if kind == "gives up" else "due"
                database.execute("UPDATE refunds SET state = ? WHERE id = ?", (state, transaction))
            time.sleep(0.02)


def empty(database: sqlite3.Connection) -> None:
    for table in ("seen", "books", "refunds"):
        database.execute(f"DELETE FROM {table}")


def is_signed(body: bytes, key: str, headers: Mapping[str, str]) -> bool:
    expected = hmac.digest(key.encode(), body, "sha256").hex()
    return expected in (headers.get("signature"), headers.get("secondary-signature"))


def fastapi_application() -> Any:
    """Return the application of one worker. Environment variables contain its folder and key."""
    from fastapi import FastAPI, Request, Response

    folder, key = os.environ["BOOKS_FOLDER"], os.environ["BOOKS_KEY"]
    application = FastAPI()

    @application.get("/books")
    def books() -> dict[str, int]:
        with closing(connect(folder)) as database:
            return dict(database.execute("SELECT id, cents FROM books").fetchall())

    @application.post("/reset")
    def reset() -> Response:
        with closing(connect(folder)) as database:
            empty(database)
        return Response(status_code=204)

    @application.post("/webhooks")
    async def webhooks(request: Request) -> Response:
        body = await request.body()
        if not is_signed(body, key, request.headers):
            return Response(status_code=401)
        with closing(connect(folder)) as database:
            take_once(database, json.loads(body))
        return Response(status_code=200)

    return application


class Handler(BaseHTTPRequestHandler):
    """A webhook handler that books each `transaction.completed` event."""

    kind, folder, key = "right", Path(), ""

    def do_GET(self) -> None:
        with closing(connect(self.folder)) as database:
            if self.path == "/unknown":
                undecided = database.execute("SELECT id FROM refunds WHERE state IN ('due', 'unknown')").fetchall()
                return self.answer(200, undecided)
            return self.answer(200, dict(database.execute("SELECT id, cents FROM books").fetchall()))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        with closing(connect(self.folder)) as database:
            if self.path == "/reset":
                empty(database)
                return self.answer(204, None)
            if not is_signed(body, self.key, self.headers):
                return self.answer(401, None)
            self.take(database, json.loads(body))
        return self.answer(200, None)

    def take(self, database: sqlite3.Connection, event: dict[str, Any]) -> None:
        if self.kind == "right" or self.kind in PAYING:
            return take_once(database, event, pays=self.kind in PAYING)
        booked = booking(event)
        if database.execute("SELECT 1 FROM seen WHERE id = ?", (event["id"],)).fetchone():
            return None
        if self.kind == "checks, then acts":
            time.sleep(0.002)
        if booked:
            database.execute(BOOK, booked)
        if self.kind == "two commits":
            time.sleep(0.004)
        database.execute("INSERT OR IGNORE INTO seen VALUES (?)", (event["id"],))
        return None

    def answer(self, status: int, body: Any) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


class Server(ThreadingHTTPServer):
    """A server that can reuse the port of a killed one."""

    allow_reuse_address = True
    request_queue_size = 64


def main(kind: str, port: str, folder: str, key: str) -> None:
    Handler.kind, Handler.folder, Handler.key = kind, Path(folder), key
    with closing(sqlite3.connect(Path(folder) / "books.db")) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY)")
        database.execute("CREATE TABLE IF NOT EXISTS books (id TEXT PRIMARY KEY, cents INTEGER)")
        database.execute("CREATE TABLE IF NOT EXISTS refunds (id TEXT PRIMARY KEY, state TEXT)")
    if kind in PAYING:
        threading.Thread(target=pay, args=(kind, Path(folder), os.environ["API_KEY"]), daemon=True).start()
    if kind != "fastapi":
        return Server(("127.0.0.1", int(port)), Handler).serve_forever()
    import uvicorn

    os.environ |= {"BOOKS_FOLDER": folder, "BOOKS_KEY": key}
    factory = "tests.testing.served:fastapi_application"
    return uvicorn.run(factory, factory=True, port=int(port), workers=2, log_level="critical")


if __name__ == "__main__":
    main(*sys.argv[1:])
