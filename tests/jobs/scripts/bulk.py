"""Send one request for each row.

Needs: tables.
"""

import workbench as wb

with wb.connect() as api:
    users = api.sandbox.guide()["users"]["approved"][:5]
    rows = [{"user_id": user, "first_name": f"Ada{n}"} for n, user in enumerate(users)]
    result = wb.bulk.run(api.update_user, rows)
    assert [str(row.outcome) for row in result] == ["done"] * 5
