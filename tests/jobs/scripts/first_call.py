"""Make a first call.

Needs: base.
"""

import workbench as wb

with wb.connect() as api:
    assert api.list_contracts()[0].chain_id == 84532
