"""Receive webhooks with FastAPI: `uvicorn examples.webhooks_fastapi:app --workers 4`.

All workers use one inbox file. An event is handled by one of them, whichever received it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool

from examples.ledger import books, inbox


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    """Run the handlers in threads of their own while the application runs."""
    with inbox.running():
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/webhooks")
async def webhooks(request: Request) -> Response:
    """Store a delivery, and acknowledge it."""
    status = await run_in_threadpool(inbox.respond, request.headers.items(), await request.body())
    return Response(status_code=status)


@app.get("/books")
def show_books() -> dict[str, int]:
    """Return what each transaction posted, in cents."""
    return books()
