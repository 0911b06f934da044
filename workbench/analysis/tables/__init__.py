"""Convert records to typed, exact and masked DataFrames, with caveats in `attrs`.

`wb.to_frame` makes frames and `wb.to_file` writes them. `wb.rewards.fetch` and `wb.events.read_log` read at any size.
"""
