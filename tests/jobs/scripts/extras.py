"""Read how to install a missing extra.

Needs: base.
"""

import workbench as wb

try:
    wb.Sandbox().serve().__enter__()
except ImportError as error:
    assert "pip install" in str(error) and ".whl" in str(error), error
else:
    raise AssertionError("the base install serves")
