"""Draw the screen of `workbench events watch`, as docs/images/watch.svg: `python docs/make_watch.py`."""

import asyncio
import contextlib
import re
from pathlib import Path

import workbench as wb
from workbench.terminal.watch import screen
from workbench.testing import session

PICTURE = Path(__file__).parent / "images" / "watch.svg"
PURCHASE = {"currency": "USD", "merchant_category_code": "5814"}


async def picture(api: wb.Session) -> str:
    """Return the screen after a purchase, a refund, a refused call and deliveries, with one event explained."""
    app = screen(api)
    async with app.run_test(size=(110, 26)) as pilot:
        card = api.sandbox.guide()["cards"]["active"][0]
        with wb.Inbox(keys=[api.sandbox.full_key]) as inbox, inbox.serve() as url:
            api.sandbox.register_endpoint(url)
            coffee = api.simulate_authorization(card_id=card, amount=420, merchant_name="Example Coffee", **PURCHASE)
            api.sandbox.settle(coffee.transaction_id)
            api.sandbox.flush(timeout=5)
        api.simulate_refund(transaction_id=coffee.transaction_id, amount=120)
        with contextlib.suppress(wb.ApiError):
            api.simulate_refund(transaction_id=coffee.transaction_id, amount=9_000)
        api.sandbox.flush(timeout=5)
        app.look()
        await pilot.press("up", "up", "w")
        await pilot.pause()
        return str(app.export_screenshot(title="workbench events watch"))


if __name__ == "__main__":
    with session() as api:
        drawn = asyncio.run(picture(api))
    PICTURE.write_text(re.sub(r"in \d+\.\d ms", "in 0.5 ms", drawn), encoding="utf-8")
    print(f"wrote {PICTURE}")
