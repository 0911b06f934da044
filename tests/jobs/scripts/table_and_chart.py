"""Convert records to a DataFrame, and draw a chart.

Needs: tables.
"""

import workbench as wb

with wb.connect() as api:
    frame = wb.to_frame(api.list_contracts())
    assert len(frame) > 0
    user = api.sandbox.guide()["rewards_users"][0]["id"]
    rewards = wb.rewards.fetch(api, [user])
    axes = wb.charts.points_chart(rewards)
    assert axes.get_title() or axes.get_xlabel() or axes.get_ylabel()
