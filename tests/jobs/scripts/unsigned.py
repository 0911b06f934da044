"""An inbox without keys is an error.

Needs: base.
"""

import workbench as wb

try:
    wb.Inbox(keys=[])
except wb.WorkbenchError as error:
    assert "accept_unsigned" in str(error)
else:
    raise AssertionError("an inbox without keys")
