"""A former name says the new one.

Needs: base.
"""

import workbench as wb

api = wb.connect()
FORMER = {
    "compare_behavior": lambda: wb.compare,
    "wb.testing.explore": lambda: wb.chaos,
    "wb.reports.spend": lambda: wb.tables.spend,
    "wb.to_frame": lambda: wb.frame,
    "wb.errors.NotArmed": lambda: wb.NotArmed,
    "inbox.stored": lambda: api.inbox.kept,
    "the types of requests and results are private": lambda: wb.bulk.BulkResult,
    "api.inbox.events()": lambda: api.events,
    "sandbox.cards.lock": lambda: api.sandbox.lock_card,
    "wb.to_frame(journal.list())": lambda: api.journal.export,
}
for new, former in FORMER.items():
    try:
        former()
    except AttributeError as error:
        assert new in str(error), error
    else:
        raise AssertionError(f"a former name of {new} still works")
