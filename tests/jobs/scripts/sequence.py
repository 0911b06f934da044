"""Run a sequence of the catalogue, and read its ledger.

Needs: base.
"""

import workbench as wb

with wb.connect() as api:
    run = wb.sequences.run(api, wb.sequences.catalogue["refund-full"], amount=2500)
    assert run.ok, run.verdict
