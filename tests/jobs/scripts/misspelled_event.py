"""Misspell an event kind, and get a suggestion.

Needs: base.
"""

import workbench as wb

with wb.connect() as api:
    for wrong, word in (
        (lambda: api.inbox.on("transaction.complete"), "transaction.completed"),
        (lambda: api.sandbox.add_fault(kind="refused", matching={"cardid": "x"}), "card_id"),
        (lambda: api.sandbox.settle(transactionid="x"), "transaction_id"),
    ):
        try:
            wrong()
        except wb.WorkbenchError as error:
            assert word in str(error), error
        else:
            raise AssertionError(word)
