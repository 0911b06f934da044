"""Use production, where a write requires arming.

Needs: base.
"""

import workbench as wb

with wb.connect(environment="production") as api:
    user = api.sandbox.guide()["users"]["approved"][0]
    try:
        api.update_user(user_id=user, first_name="Ada")
    except wb.errors.NotArmed:
        api.arm(operations={"update_user"}, minutes=1, reason="a test")
        api.update_user(user_id=user, first_name="Ada")
    else:
        raise AssertionError("a write was not guarded")
