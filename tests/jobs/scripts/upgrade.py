"""A former name says the new one.

Needs: base.
"""

import workbench as wb

try:
    wb.compare  # noqa: B018
except AttributeError as error:
    assert "compare_behavior" in str(error), error
else:
    raise AssertionError("a former name still works")
