"""Rotate a key while the program runs.

Needs: base.
"""

import workbench as wb

sandbox = wb.Sandbox()
keys = iter(["expired-key-0123456789", sandbox.full_key])
with wb.Client(base_url=sandbox.base_url, api_key=lambda: next(keys), transport=sandbox.transport()) as api:
    assert api.list_contracts()
