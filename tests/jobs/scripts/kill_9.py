"""Kill a program with `kill -9` during a call: the journal has every call.

Needs: server.
"""

import signal
import subprocess
import sys

import workbench as wb

CODE = """
import sys, workbench as wb
with wb.connect(sys.argv[1], journal="calls.db") as api:
    card = api.sandbox.guide()["cards"]["active"][0]
    for n in range(100_000):
        api.simulate_authorization(
            card_id=card, amount=100 + n, currency="USD", merchant_name="Shop", merchant_category_code="5942"
        )
        print(n, flush=True)
"""
sandbox = wb.Sandbox()
before = len(sandbox.records("transaction"))
with sandbox.serve() as url:
    worker = subprocess.Popen([sys.executable, "-c", CODE, url], stdout=subprocess.PIPE, text=True)
    while int(worker.stdout.readline()) < 50:
        pass
    worker.send_signal(signal.SIGKILL)
    worker.communicate()
carried_out = len(sandbox.records("transaction")) - before
outcomes = [str(entry.outcome) for entry in wb.Journal("calls.db").list()]
assert outcomes.count("done") >= 51 and len(outcomes) >= carried_out
assert len(outcomes) - outcomes.count("done") <= 1
