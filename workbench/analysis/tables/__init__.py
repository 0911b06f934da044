"""Convert records to typed, exact and masked DataFrames, with their caveats in `attrs`.

`wb.to_frame` makes frames and `wb.to_file` writes them. `wb.rewards.fetch` and `wb.events.read_log` read data of any
size.
"""
