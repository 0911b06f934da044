"""Two behaviors of the service, compared.

Needs: base.
"""

import workbench as wb

with wb.connect() as a, wb.connect() as b:
    assert wb.compare_behavior(a, b).ok
with wb.connect() as a, wb.connect(behavior="observed") as b:
    assert not wb.compare_behavior(a, b).ok
