"""List the requests that reached the sandbox.

Needs: base.
"""

import workbench as wb

with wb.connect() as api:
    api.list_contracts()
    assert [(row.operation, row.status) for row in api.sandbox.requests()] == [("list_contracts", 200)]
