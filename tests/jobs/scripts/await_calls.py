"""Await calls, gather several, and cancel one.

Needs: base.
"""

import asyncio

import workbench as wb


async def main():
    async with await wb.connect_async() as api:
        card = api.sandbox.guide()["cards"]["active"][0]
        asked = {"card_id": card, "currency": "USD", "merchant_name": "Example Books", "merchant_category_code": "5942"}
        answers = await asyncio.gather(*(api.simulate_authorization(amount=100 + n, **asked) for n in range(20)))
        assert len({answer.transaction_id for answer in answers}) == 20
        task = asyncio.create_task(api.simulate_authorization(amount=999, **asked))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert {str(entry.outcome) for entry in api.journal.list()} <= {"done", "not_sent", "unknown"}


asyncio.run(main())
