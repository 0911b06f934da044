"""Explore a FastAPI application: the bug of booking an event twice is found and explained.

Needs: test + fastapi.
"""

import socket
import subprocess
import sys
from pathlib import Path

from workbench import testing

Path("shop.py").write_text("""
import json, os, sqlite3
from contextlib import closing
from fastapi import FastAPI, Request, Response
from workbench.client.webhooks.verify import hmac_signature

KEY, ONCE = "universe-signing-key-1", os.environ["ONCE"] == "yes"
app = FastAPI()

def database():
    connection = sqlite3.connect("books.db", timeout=20)
    connection.execute("CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY)")
    connection.execute("CREATE TABLE IF NOT EXISTS books (id TEXT, cents INTEGER)")
    return closing(connection)

@app.post("/webhooks")
async def webhooks(request: Request):
    body = await request.body()
    if not hmac_signature(request.headers, body, [KEY.encode()]):
        return Response(status_code=401)
    event = json.loads(body)
    with database() as books, books:
        new = books.execute("INSERT OR IGNORE INTO seen VALUES (?)", (event["id"],)).rowcount
        if (new or not ONCE) and (event["resource"], event["action"]) == ("transaction", "completed"):
            row = event["body"]["id"], event["body"]["spend"]["amount"]
            books.execute("INSERT INTO books VALUES (?, ?)", row)
    return Response(status_code=204)

@app.get("/books")
def books():
    with database() as books:
        return dict(books.execute("SELECT id, SUM(cents) FROM books GROUP BY id").fetchall())

@app.post("/reset")
def reset():
    with database() as books, books:
        books.execute("DELETE FROM seen")
        books.execute("DELETE FROM books")
""")


def explored(once):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "shop:app", "--port", str(port), "--log-level", "critical"]
    with subprocess.Popen(["env", f"ONCE={once}", *command]) as server:
        try:
            url = f"http://127.0.0.1:{port}"
            application = testing.HttpApplication(
                url=f"{url}/webhooks", books=f"{url}/books", reset=f"{url}/reset", patience=0.5
            )
            application.wait()
            return testing.explore(application, universes=15)
        finally:
            server.terminate()


explored("yes").check()
failure = explored("no").failure
assert failure is not None
assert failure.breach.invariant == "each event counts once", failure.breach
assert any("again" in moment.text or "at the same time" in moment.text for moment in failure.story)
