"""Print a session and a user without keys and private values.

Needs: base.
"""

import workbench as wb

with wb.connect() as api:
    key = api.sandbox.full_key
    shown = f"{api!r} {api.info()} {vars(api)} {api.journal!r}"
    assert key not in shown
    user = api.update_user(
        user_id=api.sandbox.guide()["users"]["approved"][0], phone_country_code="1", phone_number="5550101"
    )
    assert "5550101" not in repr(user)
