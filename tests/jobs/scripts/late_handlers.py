"""A handler that fails is called again, and never twice after it is done.

Needs: base.
"""

import workbench as wb

with wb.Inbox("events.db", keys=["a-signing-key-0123"]) as inbox:
    tries = []

    @inbox.on("user.updated")
    def updated(event):
        tries.append(event.id)
        if len(tries) == 1:
            raise ValueError("the database is away")

    delivery = wb.events.sample("user.updated", "a-signing-key-0123")
    try:
        inbox.receive(delivery.headers, delivery.body)
    except ValueError:
        pass
    inbox.retry()
    inbox.receive(delivery.headers, delivery.body)
    assert len(tries) == 2, tries
