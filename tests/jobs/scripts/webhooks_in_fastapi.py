"""Receive webhooks in FastAPI: a delivery is accepted, and a forged one is refused.

Needs: test + fastapi.
"""

import asyncio

import httpx
from fastapi import FastAPI, Request, Response

import workbench as wb

KEY = "a-signing-key-0123"
inbox, seen = wb.Inbox(keys=[KEY]), []


@inbox.on("user.updated")
def updated(event):
    seen.append(event.id)


app = FastAPI()


@app.post("/hook")
async def hook(request: Request) -> Response:
    status = await asyncio.to_thread(inbox.respond, request.headers, await request.body())
    return Response(status_code=status)


async def deliver(headers, body):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        return (await client.post("/hook", headers=headers, content=body)).status_code


delivery = wb.events.sample("user.updated", KEY)
assert asyncio.run(deliver(delivery.headers, delivery.body)) < 300
assert asyncio.run(deliver({**delivery.headers, "signature": "0" * 64}, delivery.body)) >= 400
assert len(seen) == 1
