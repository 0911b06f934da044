"""Call a served sandbox from another process, and receive its webhooks.

Needs: server.
"""

import subprocess
import sys

import workbench as wb

with wb.Sandbox().serve() as url:
    code = f"import workbench as wb; print(len(wb.connect({url!r}).list_contracts()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 0
    with (
        wb.connect(url) as api,
        wb.Inbox(keys=[api.sandbox.guide()["api_keys"]["full"]]) as inbox,
        inbox.serve() as hook,
    ):
        api.sandbox.register_endpoint(hook)
        api.simulate_authorization(
            card_id=api.sandbox.guide()["cards"]["active"][0],
            amount=100,
            currency="USD",
            merchant_name="Shop",
            merchant_category_code="5942",
        )
        assert inbox.wait("transaction.created", timeout=20).kind == "transaction.created"
