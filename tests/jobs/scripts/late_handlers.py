"""Handle events: a failed handler is retried, a handler that is added later gets stored events, and one is async.

Needs: base.
"""

import asyncio

import workbench as wb

KEY = "a-signing-key-0123"
delivery = wb.events.sample("user.updated", KEY)
with wb.Inbox("events.db", keys=[KEY]) as inbox:
    tries = []

    @inbox.on("user.updated")
    def updated(event):
        tries.append(event.id)
        if len(tries) == 1:
            raise ValueError("the database is away")

    status = inbox.respond(delivery.headers, delivery.body)
    assert status < 300, status  # the event is stored and acknowledged, and the handler will be retried
    assert [failure.handler for failure in inbox.failures()], "the failure is listed"
    inbox.retry()
    inbox.respond(delivery.headers, delivery.body)
    assert len(tries) == 2, tries
    assert not inbox.failures()

with wb.Inbox("events.db", keys=[KEY]) as inbox:  # this part runs later in another process
    late = []

    @inbox.on("user.updated")
    def added_later(event):
        late.append(event.id)

    inbox.run_handlers()
    assert late == tries[:1], late


async def main():
    async with await wb.connect_async() as api:
        seen = []

        @api.inbox.on("transaction.created")
        async def created(event):
            await asyncio.sleep(0)
            seen.append(event.kind)

        card = api.sandbox.guide()["cards"]["active"][0]
        await api.simulate_authorization(
            card_id=card, amount=100, currency="USD", merchant_name="Example Books", merchant_category_code="5942"
        )
        await api.inbox.wait("transaction.created", timeout=5)
        assert seen == ["transaction.created"], seen


asyncio.run(main())
