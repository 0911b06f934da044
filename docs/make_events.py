"""Write docs/events.md from the declarations of workbench/service/interface/events.py: `python docs/make_events.py`."""

from collections.abc import Iterator
from pathlib import Path

from docs.make_interface import table, type_words
from workbench.base.schema.fields import OPEN
from workbench.base.schema.walk import Member, Nested, leaves
from workbench.service.interface.events import EVENT_KINDS, ORDER, EventKind

PAGE = Path(__file__).parent / "events.md"
INTRODUCTION = """# Events

This page lists the events that the service sends, with their members, values and order. `workbench docs user.updated` prints the description
of an event, and `wb.events.sample("user.updated")` creates an example. [Receive webhooks](service.md#receive-webhooks) shows how to receive events.

The interface document does not contain the items marked **assumed**.

## Signatures and key rotation

| Header | Content |
|---|---|
| `Signature` | hex HMAC-SHA256 of the raw body with the signing key (**assumed**; by default the API key) |
| `Secondary-Signature` | during a key rotation, the HMAC-SHA256 of the raw body with the other key (**assumed**) |

A delivery is genuine if either signature was made with one of your keys. An inbox checks both headers. Before a rotation begins, pass both keys: `wb.Inbox(keys=[NEW, OLD])`.
Remove the old key when the service no longer signs with it. Without an inbox, compute the signature over the raw bytes before you
parse them, and compare in constant time (`hmac.compare_digest`). To try a rotation, call `api.sandbox.update_endpoint(id, signing_key=NEW)`: the sandbox then sends both headers.

## Order

Deliveries can arrive out of order or more than once. Rely on an event's status and amounts, not on the order of arrival, and store the envelope's id
to recognize duplicates. Events are sent in this order:
"""
LAST = """
## How to book a transaction

- On `pending`, hold `amount`. On `reversed`, hold the new `amount` and release the rest of the hold. On `declined`, do nothing.
- On `completed`, post `amount` and release the hold. A negative `amount` is a refund. If `postedAt` is missing, nothing was posted.
"""


def kind_lines(kind: EventKind) -> Iterator[str]:
    """Yield the section of a kind of event."""
    yield f"## {kind.name}\n\n{kind.doc}." + (f" **Assumed**: {kind.assumed}." if kind.assumed else "")
    rows = [
        (
            f"`{wire}`",
            type_words(one),
            one.about.doc,
            ", ".join(
                [
                    *(["required"] if one.about.needed or one.required else []),
                    *(["optional"] if wire in kind.optional else []),
                    *([one.about.privacy.value] if one.about.privacy is not OPEN else []),
                ]
            ),
        )
        for wire, one in wire_leaves(kind.body)
        if not isinstance(one.kind, Nested) and wire not in kind.never
    ]
    yield from table(("Member", "Type and rule", "Meaning", ""), rows)
    for path, words in kind.words.items():
        yield f"`{path}`"
        yield from table(("Value", "Meaning"), ((f"`{word}`", meaning) for word, meaning in words.items()))


def kind_differences(kind: EventKind, same: EventKind) -> Iterator[str]:
    """Yield the differences between a kind's members and those of another kind with the same body."""
    more = {wire: one.about.doc for wire, one in wire_leaves(kind.body) if wire in same.never - kind.never}
    rows = [(f"`{wire}`", doc, "optional" if wire in kind.optional else "") for wire, doc in more.items()]
    if rows:
        yield from table(("Further member", "Meaning", ""), rows)
    if less := sorted(kind.never - same.never):
        yield f"`{kind.name}` has no {', '.join(f'`{wire}`' for wire in less)}.\n"


def wire_leaves(cls: type[object]) -> Iterator[tuple[str, Member]]:
    """Yield the members of a body with their dotted wire paths."""
    names = {one.name: one.wire for path, one in leaves(cls)}
    for path, one in leaves(cls):
        yield ".".join(names.get(name, name) for name in path.split(".")), one


def page() -> str:
    """Return the page."""
    lines = [INTRODUCTION.rstrip("\n")]
    order = [(what, ", then ".join(f"`{one}`" for one in events) or "no event") for what, events in ORDER.items()]
    lines += table(("What happens", "Events"), order)
    lines += ["All events have the same [envelope](interface.md#common-envelope).\n"]
    seen: set[type[object]] = set()
    for kind in EVENT_KINDS.values():
        if kind.body in seen:
            same = next(one for one in EVENT_KINDS.values() if one.body is kind.body)
            lines += [f"## {kind.name}\n\n{kind.doc}. The event has the same members as `{same.name}`.", ""]
            lines += kind_differences(kind, same)
        else:
            seen.add(kind.body)
            lines += kind_lines(kind)
    return "\n".join(lines).rstrip("\n") + "\n" + LAST


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
