"""A webhook handler behind HTTP for tests of the HTTP mode: `python -m tests.testing.served right 8000 folder key`.

It is right, or checks then acts, or makes two durable writes; it runs in the background, and writes its process id to the folder.
"""

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from workbench.webhooks.verify import SECONDARY, SIGNATURE, sign

BOOK = "INSERT INTO books VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET cents = cents + excluded.cents"


class Handler(BaseHTTPRequestHandler):
    """Books each `transaction.completed`."""

    kind, folder, key = "right", Path(), ""

    def database(self) -> sqlite3.Connection:
        return sqlite3.connect(self.folder / "books.db", timeout=20, isolation_level=None)

    def do_GET(self) -> None:
        with closing(self.database()) as database:
            self.answer(200, dict(database.execute("SELECT id, cents FROM books").fetchall()))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        with closing(self.database()) as database:
            if self.path == "/reset":
                database.execute("DELETE FROM seen")
                database.execute("DELETE FROM books")
                return self.answer(204, None)
            if sign(body, self.key) not in (self.headers.get(SIGNATURE), self.headers.get(SECONDARY)):
                return self.answer(401, None)
            self.take(database, json.loads(body))
        return self.answer(200, None)

    def take(self, database: sqlite3.Connection, event: dict[str, Any]) -> None:
        completed = (event["resource"], event["action"]) == ("transaction", "completed")
        booked = (event["body"]["id"], event["body"]["spend"]["amount"]) if completed else None
        if self.kind == "right":
            database.execute("BEGIN IMMEDIATE")
            if database.execute("INSERT OR IGNORE INTO seen VALUES (?)", (event["id"],)).rowcount and booked:
                database.execute(BOOK, booked)
            database.execute("COMMIT")
            return
        if database.execute("SELECT 1 FROM seen WHERE id = ?", (event["id"],)).fetchone():
            return
        if self.kind == "checks, then acts":
            time.sleep(0.002)
        if booked:
            database.execute(BOOK, booked)
        if self.kind == "two commits":
            time.sleep(0.004)
        database.execute("INSERT OR IGNORE INTO seen VALUES (?)", (event["id"],))

    def answer(self, status: int, body: Any) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


class Server(ThreadingHTTPServer):
    """A server that comes up on the port that a killed one had."""

    allow_reuse_address = True
    request_queue_size = 64


def main(kind: str, port: str, folder: str, key: str) -> None:
    Handler.kind, Handler.folder, Handler.key = kind, Path(folder), key
    with closing(sqlite3.connect(Path(folder) / "books.db")) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY)")
        database.execute("CREATE TABLE IF NOT EXISTS books (id TEXT PRIMARY KEY, cents INTEGER)")
    (Path(folder) / "pid").write_text(str(os.getpid()), encoding="utf-8")
    Server(("127.0.0.1", int(port)), Handler).serve_forever()


if __name__ == "__main__":
    if sys.argv[1] == "--start":
        subprocess.Popen([sys.executable, "-m", "tests.testing.served", *sys.argv[2:]], start_new_session=True)
    else:
        main(*sys.argv[1:])
