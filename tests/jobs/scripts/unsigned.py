"""Open an inbox without keys, and get an error.

Needs: base.
"""

import workbench as wb

try:
    wb.Inbox(keys=[])
except wb.WorkbenchError as error:
    assert "accept_unsigned" in str(error)
else:
    raise AssertionError("an inbox without keys")
