"""Receive webhooks with Flask: `gunicorn examples.webhooks_flask:app --workers 4`, and in a process of its own
`flask --app examples.webhooks_flask handle`, which handles what they store.
"""

import threading

from flask import Flask, Response, request

from examples.ledger import books, inbox

app = Flask(__name__)


@app.post("/webhooks")
def webhooks() -> Response:
    """Store a delivery, and acknowledge it."""
    return Response(status=inbox.respond(request.headers.items(), request.get_data()))


@app.get("/books")
def show_books() -> dict[str, int]:
    """Return what each transaction posted, in cents."""
    return books()


@app.cli.command()
def handle() -> None:
    """Handle events until the process is ended."""
    with inbox.running():
        threading.Event().wait()
