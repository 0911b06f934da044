"""Move the clock of the sandbox.

Needs: base.
"""

from datetime import timedelta

import workbench as wb

with wb.connect() as api:
    before = api.sandbox.clock.now()
    api.sandbox.advance(days=3)
    assert api.sandbox.clock.now() - before == timedelta(days=3)
