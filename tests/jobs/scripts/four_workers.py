"""Use one journal and one sandbox in four processes.

Needs: server.
"""

import subprocess
import sys

import workbench as wb

CODE = """
import sys, workbench as wb
with wb.connect(sys.argv[1], journal="calls.db") as api:
    card = api.sandbox.guide()["cards"]["active"][0]
    for n in range(25):
        api.simulate_authorization(
            card_id=card, amount=100 + n, currency="USD", merchant_name=sys.argv[2], merchant_category_code="5942"
        )
"""
sandbox = wb.Sandbox()
before = len(sandbox.records("transaction"))
with sandbox.serve() as url:
    workers = [subprocess.Popen([sys.executable, "-c", CODE, url, f"Shop {n}"]) for n in range(4)]
    assert [worker.wait(60) for worker in workers] == [0] * 4
    assert len(sandbox.records("transaction")) == before + 100
journal = wb.Journal("calls.db")
assert {str(entry.outcome) for entry in journal.list()} == {"done"} and len(journal.list()) == 100
