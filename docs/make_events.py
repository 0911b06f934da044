"""Write docs/events.md from the declarations of workbench/service/interface/events.py: `python docs/make_events.py`."""

from collections.abc import Iterator
from pathlib import Path

from docs.make_interface import table, type_words
from workbench.base.schema.fields import OPEN
from workbench.base.schema.walk import Member, Nested, leaves
from workbench.service.interface.events import EVENT_KINDS, ORDER, EventKind

PAGE = Path(__file__).parent / "events.md"
INTRODUCTION = """# Events

Each event that the service sends, with the meaning of every member and value, and the order of events. `workbench docs user.updated` shows the same at a prompt, `wb.events.sample("user.updated")` makes an example, and
[Webhooks](interface.md#events) says how they are delivered and signed.

What is **assumed** is not in the interface document.

## Signatures, and a change of the key

| Header | Content |
|---|---|
| `Signature` | hex HMAC-SHA256 of the raw body with the signing key (**assumed**; by default the API key) |
| `Secondary-Signature` | while the key is changed, the same with the other key (**assumed**) |

A delivery is genuine if either header matches one of your keys. An inbox checks that: give it both keys, `wb.Inbox(keys=[NEW, OLD])`,
before the change begins, and remove the old one when the service no longer signs with it. Without an inbox, compare the raw bytes in
constant time (`hmac.compare_digest`), before parsing them. `api.sandbox.update_endpoint(id, signing_key=NEW)` lets you try it: the sandbox then sends both headers.

## Order

Deliveries can arrive out of order or more than once: use the status and the amounts of an event, not its position, and store the id of the
envelope to recognize a repeat. Events are sent in this order for
"""
LAST = """
## How to book a transaction

- On `pending`, hold `amount`. On `reversed`, hold the new `amount` and give back the rest. On `declined`, do nothing.
- On `completed`, post `amount` and release the hold; a negative `amount` is a refund. Without `postedAt` nothing was posted.
- `authorizationUpdateAmount` is the change of the hold; `amount` is already the new total.
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
        yield from table(("Word", "Meaning"), ((f"`{word}`", meaning) for word, meaning in words.items()))


def kind_differences(kind: EventKind, same: EventKind) -> Iterator[str]:
    """Yield how the members of a kind differ from those of another kind with the same body."""
    more = {wire: one.about.doc for wire, one in wire_leaves(kind.body) if wire in same.never - kind.never}
    rows = [(f"`{wire}`", doc, "optional" if wire in kind.optional else "") for wire, doc in more.items()]
    if rows:
        yield from table(("Further member", "Meaning", ""), rows)
    if less := sorted(kind.never - same.never):
        yield f"It has no {', '.join(f'`{wire}`' for wire in less)}.\n"


def wire_leaves(cls: type[object]) -> Iterator[tuple[str, Member]]:
    """Yield the members of a body, nested ones by their path, by wire names."""
    names = {one.name: one.wire for path, one in leaves(cls)}
    for path, one in leaves(cls):
        yield ".".join(names.get(name, name) for name in path.split(".")), one


def page() -> str:
    """Return the page."""
    lines = [INTRODUCTION.rstrip("\n")]
    order = [(what, ", then ".join(f"`{one}`" for one in events) or "nothing") for what, events in ORDER.items()]
    lines += table(("What happens", "Events"), order)
    lines += ["[The envelope](interface.md#common-envelope) is the same for all.\n"]
    seen: set[type[object]] = set()
    for kind in EVENT_KINDS.values():
        if kind.body in seen:
            same = next(one for one in EVENT_KINDS.values() if one.body is kind.body)
            lines += [f"## {kind.name}\n\n{kind.doc}. It has the members of `{same.name}`.", ""]
            lines += kind_differences(kind, same)
        else:
            seen.add(kind.body)
            lines += kind_lines(kind)
    return "\n".join(lines).rstrip("\n") + "\n" + LAST


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
