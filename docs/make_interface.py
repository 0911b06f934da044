"""Write docs/interface.md from the declarations of workbench/service/interface: `python docs/make_interface.py`.

Sections have the names that docstrings, help and notebooks cite ("Endpoints 3", "Limits"), so that `anchors` can turn each
citation into links. This file contains the texts that the declarations lack (transitions, keys, versions, notes).
"""

import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from workbench.base.schema import walk
from workbench.base.schema.fields import Reason
from workbench.service.interface import formats, transitions, vocabulary
from workbench.service.interface.assumptions import BEHAVIORS
from workbench.service.interface.events import EVENT_KINDS, MINIMUM_DEPOSIT, Event
from workbench.service.interface.table import KEY_HEADER, OPERATIONS, PREFIX, VERSION, Failure, Operation

PAGE = Path(__file__).parent / "interface.md"
SECTIONS = (
    "Resources", "States and transitions", "Endpoints", "Authentication", "Events", "Errors", "Limits", "Versioning", "Address types", "Assumed behavior",
)  # fmt: skip
INTRODUCTION = f"""# The interface

This page describes the card issuing service as the workbench knows it: each resource, state, endpoint, event, error and limit.
Docstrings, help and notebooks cite the sections of this page ("Source: Endpoints 3"). Paths are relative to a base URL that ends in
`{PREFIX}`, and bodies are JSON. The [glossary](glossary.md) explains the domain terms.

What the interface document does not state is marked **assumed**, with the reason and the [confidence](assumptions.md#how-well-an-assumption-is-known).
"""
AUTHENTICATION = f"""
Each request carries an API key in the header `{KEY_HEADER}`. The key belongs to one [tenant](glossary.md#tenant) and gives access only to
that tenant's data. A missing or wrong key is answered with 401. Restricted keys have [roles](glossary.md#role), and a call without the
required role is answered with 403.
"""
VERSIONING = f"""
- All paths begin with `{PREFIX}`. The published description of the interface has version `{VERSION}`.
- Payment routes moved from `/automations` to `/payment-routes`. The old paths still work and are deprecated, without a known date of removal.
- A contract has a `contractVersion`. An event has a `version`: `1.1.0` added `statusChangeReason` to `user.updated`.
  The status `tosNotAccepted` was added without a new version.
"""
DOCUMENTED = {("", "authorize"), ("", "decline"), ("authorized", "reduce"), ("authorized", "reverse"), ("settled", "refund"),
              ("tosNotAccepted", "accept_terms"), ("", "file")}  # fmt: skip
"""Transitions that the interface document states. All other transitions are assumed."""
ADDRESSES = {
    "EvmOrSolanaWalletAddress": formats.WALLET,
    "EVM address": formats.EVM_ADDRESS,
    "Solana address": formats.SOLANA_ADDRESS,
    "Stellar address": formats.STELLAR_ADDRESS,
}
STATES = {
    "Application status": (
        "application",
        transitions.APPLICATION,
        (
            "Users, companies and owners have an application status; [the glossary](glossary.md#application) explains it. Three statuses occur "
            "in events but not in responses: `notStarted`, `exempt`, `tosNotAccepted`. The actions `review` and `conclude` set the status that the review decides."
        ),
    ),
    "Simulated card transaction": (
        "transaction",
        transitions.TRANSACTION,
        "Only the sandbox has the state `reversed`. [Assumptions](assumptions.md#simulate_reversal) describes how responses and events show it.",
    ),
    "Disputes": ("dispute", transitions.DISPUTE, "A client can only set `canceled`. All other statuses are assumed."),
    "Cards": ("card", transitions.CARD, "The statuses of cards are assumed."),
}
NOTES = {
    "Endpoints 1": "Available to tenants that issue corporate cards.",
    "Endpoints 2": "The role `contractsAndSignatures:read` is not enough.",
    "Endpoints 4": "Without `newAmount` the entire authorization is reversed. The hold is released or reduced, and nothing is posted.",
    "Endpoints 5": "Without `amount` the full settled amount is refunded.",
    "Endpoints 8": (
        "A self-managed tenant cannot change a wallet while the user has collateral contracts on the wallet's family of chains. A "
        "provider-managed tenant can change `walletAddress` to a wallet that is already an admin of all the team's EVM contracts."
    ),
    "Endpoints 11": (
        "No earlier call is required. A provider-managed tenant sends at least one of the three wallet addresses, and the wallet "
        "becomes an owner of the user's contract."
    ),
    "Endpoints 12": "Redemptions of travel bookings with status `PENDING` or `FAILED` are not listed.",
    "user.updated": (
        "If the status is `tosNotAccepted`, `applicationCompletionLink` leads the user to the terms. After acceptance, another event reports "
        "`approved`. The only known `statusChangeReason` is `provider_initiated`: the service itself made the change."
    ),
    "microDeposit.received": (
        "The event is sent only for routes with a fiat deposit address. The deposit is recorded, but no transaction is created and "
        "nothing is converted. Most micro deposits [verify the ownership of an account](glossary.md#micro-deposit)."
    ),
}
"""Statements of the interface document about a section that no declaration contains."""


def slug(heading: str) -> str:
    """Return the anchor that Markdown viewers give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(source: str) -> list[str]:
    """Return the anchors on this page that a citation such as `Resources, "User"; Endpoints 3-5` names.

    Raises:
        ValueError: A part of the citation names no section.
    """
    found = []
    for part in re.split(
        r";\s*|,\s+(?=Endpoints|Events|Errors|Limits|Authentication|Versioning|User\b)", source.strip().rstrip(".")
    ):
        if match := re.fullmatch(r"Endpoints (\d[\d, and-]*)", part):
            for number in re.finditer(r"(\d+)-(\d+)|\d+", match[1]):
                first, last = number[1] or number[0], number[2] or number[0]
                found += [f"endpoints-{n}" for n in range(int(first), int(last) + 1)]
        elif match := re.fullmatch(r'(?:Resources|Events), ("[^"]+"(?:, "[^"]+")*)(?:, [\w ]+)?', part):
            found += [slug(name) for name in re.findall(r'"([^"]+)"', match[1])]
        elif match := re.fullmatch(r"Events, ([\w ]+)", part):
            found.append(slug(match[1]))
        elif part in SECTIONS:
            found.append(slug(part))
        elif part.lower() == "assumed":
            found.append("assumed-behavior")
        else:
            raise ValueError(f"no section is called {part!r}")
    return found


def cell(text: object) -> str:
    """Return text for a cell of a table."""
    return str(text).replace("|", r"\|").replace("\n", " ")


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> list[str]:
    """Return a Markdown table, without the columns that are empty in every row."""
    names, lines = list(head), [[cell(value) for value in row] for row in rows]
    kept = [at for at in range(len(names)) if any(line[at] for line in lines)]
    first, *rest = (f"| {' | '.join(line[at] for at in kept)} |" for line in [names, *lines])
    return ["", first, "|" + "---|" * len(kept), *rest, ""]


def codes(names: Iterable[object]) -> str:
    """Return names as code, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)


def words(cls: type[Any]) -> str:
    """Return the first paragraph of a docstring, without its citation."""
    return " ".join(re.split(r"\s*(?:Source:|\n\n)", inspect.getdoc(cls) or "")[0].split())


def section_of(cls: type[Any]) -> str:
    """Return the resource of a record, as cited in the docstring of the record or its module."""
    for text in (cls.__doc__, inspect.getdoc(inspect.getmodule(cls))):
        if found := re.search(r'Resources, "([^"]+)"', text or ""):
            return found[1]
    return ""


def type_words(one: walk.Member) -> str:
    """Return a description of a member's type and rule."""
    named = [name for name, rule in ADDRESSES.items() if rule.pattern == one.about.rule.pattern]
    if named:
        return f"{'list of ' if isinstance(one.kind, walk.Array) else ''}[{named[0]}](#address-types)"
    if one.about.rule.format == "uuid":
        return "UUID"
    return ", ".join(filter(None, [kind_words(one.kind), walk.rule_words(one).replace(" or FULL", "")]))


def kind_words(kind: walk.Kind) -> str:
    """Return a description of a member's JSON type."""
    match kind:
        case walk.Array(of=inner):
            return f"list of {kind_words(inner)}"
        case walk.Nested(of=inner):
            heading = section_of(inner)
            return f"[{inner.__name__}](#{slug(heading)})" if heading else inner.__name__
        case walk.Integer() | walk.Choice():
            return ""  # `rule_words` describes the allowed values
        case walk.Boolean():
            return "true or false"
        case walk.DecimalNumber(text=True):
            return "decimal number as text"
        case walk.DecimalNumber() | walk.Numeric():
            return "number"
        case walk.DateTime():
            return "time (ISO 8601)"
        case walk.Untyped():
            return "any value"
    return "" if isinstance(kind, walk.Date) else "text"


def field_rows(fields: Iterable[walk.Member], *, path: str | None = None, method: str = "") -> Iterator[list[str]]:
    """Yield the row of each field of a record; with `path`, of a request."""
    for one in fields:
        place = "" if path is None else "path" if f"{{{one.wire}}}" in path else "query" if method == "GET" else "body"
        meaning = one.about.doc + (
            f". Default `{str(one.about.otherwise).lower()}`" if one.about.otherwise is not None else ""
        )
        can_be_left_out = one.about.otherwise is not None or one.kind == walk.Integer(full=True)
        marks = ["required"] if not can_be_left_out and (one.required or (path is None and one.about.needed)) else []
        marks += ["assumed"] if one.about.assumed else []
        yield [f"`{one.wire}`", place, type_words(one), meaning, ", ".join(marks)]


def reasons(rows: Iterable[tuple[str, Reason | None]]) -> list[str]:
    """Return the assumptions, one line for each reason."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for name, reason in rows:
        if reason:
            grouped.setdefault((reason, str(reason.confidence)), []).append(name)
    lines = [
        f"- **assumed**: {codes(names)}: {reason} (*{confidence}*)" for (reason, confidence), names in grouped.items()
    ]
    return [*lines, ""] if lines else []


def fields(cls: type[Any], *, path: str | None = None, method: str = "") -> list[str]:
    """Return the table of a record's fields, its rules over several fields, and its assumptions."""
    listed = walk.members(cls)
    lines = table(("Field", "In", "Type and rule", "Meaning", ""), field_rows(listed, path=path, method=method))
    lines += [
        f"- {rule.doc}." + (f" **Assumed**: {rule.assumed}." if rule.assumed else "") for rule in walk.cross_rules(cls)
    ]
    return lines + reasons((one.wire, one.about.assumed) for one in listed)


def resources() -> Iterator[str]:
    """Yield the resources, in the order in which the endpoints first return them."""
    yield "## Resources\n\n### Address types"
    yield from table(
        ("Name", "Pattern", "In words"), ((name, f"`{rule.pattern}`", rule.says) for name, rule in ADDRESSES.items())
    )
    grouped: dict[str, list[type[Any]]] = {}
    for operation in OPERATIONS.values():
        for cls in walk.records(operation.answer):
            if (heading := section_of(cls)) and cls not in grouped.setdefault(heading, []) and walk.members(cls):
                grouped[heading].append(cls)
    for heading, records in grouped.items():
        yield f"### {heading}"
        for cls in records:
            yield f"\n**{cls.__name__}**: {words(cls)}"
            yield from fields(cls)


def states() -> Iterator[str]:
    """Yield the states of each record and the transitions between them."""
    yield "## States and transitions\n"
    yield "The tables list the transitions in the sandbox. Transitions that the document does not state are marked **assumed**."
    for heading, (kind, moves, note) in STATES.items():
        grouped: dict[tuple[str, str, str, str], list[str]] = {}
        for (before, action), row in moves.items():
            mark = "" if (before, action) in DOCUMENTED else "assumed"
            after = f"`{row.to}`" if row.to else "as decided"
            key = (f"`{action}`", after, f"`{row.emits}`" if row.emits else "", mark)
            grouped.setdefault(key, []).append(f"`{before}`" if before else "(new)")
        yield f"\n### {heading}\n\n{note}\n\n![States of one {kind}](images/charts/states-{kind}.svg)"
        yield from table(
            ("From", "Action", "To", "Event", ""),
            (["any" if len(befores) > 8 else ", ".join(befores), *key] for key, befores in grouped.items()),
        )


def failure_row(failure: Failure) -> list[str]:
    """Return the row of a failure, without the endpoints that return it."""
    return [str(failure.status), f"`{failure.error}`", f"`{failure.message}`", failure.when]


def endpoint(operation: Operation[..., Any]) -> Iterator[str]:
    """Yield the section of one operation."""
    yield f"\n### {operation.source}\n"
    yield f"`{operation.name}`: `{operation.method} {operation.path}`\n"
    yield operation.doc
    if note := NOTES.get(operation.source):
        yield note
    if operation.sandbox_only:
        yield "The endpoint exists only in sandboxes. Production answers with 404."
    if operation.roles:
        yield f"The key needs the [role](glossary.md#role) {codes(sorted(operation.roles))}."
    if walk.members(operation.request):
        yield from fields(operation.request, path=operation.path, method=operation.method)
    else:
        yield "\nThe request has no parameters and no body.\n"
    answer = operation.answer
    named = f"{'a list of ' if operation.many else ''}[{answer.__name__}](#{slug(section_of(answer))})"
    yield f"Response {operation.success}: {named if walk.members(answer) else 'no body'}.\n"
    yield from reasons([("response", operation.assumed)])
    yield f"[Errors](#errors): {', '.join(str(status) for status in sorted({failure.status for failure in operation.failures}))}.\n"


def events() -> Iterator[str]:
    """Yield the kinds of events."""
    yield "## Events\n\nEvents are delivered as [webhooks](glossary.md#webhook), each in the same envelope.\n\n### Common envelope"
    yield from fields(Event)
    for kind in EVENT_KINDS.values():
        if not kind.assumed:
            yield f"### {kind.name}\n\n{kind.doc}. Version `{kind.version}`. {NOTES.get(kind.name, '')}\n"
            yield f"[Its members](events.md#{slug(kind.name)})\n"
            yield from reasons((one.wire, one.about.assumed) for one in walk.members(kind.body))
    yield "### Links from operations to events\n"
    yield "A change of an application's status causes `user.updated`. The kinds of events in this table are assumed:\n"
    assumed = [kind for kind in EVENT_KINDS.values() if kind.assumed]
    yield from table(
        ("Event", "Sent when"), ((f"[{kind.name}](events.md#{slug(kind.name)})", kind.doc) for kind in assumed)
    )
    yield "The members of these events are assumed, too:\n"
    records = dict.fromkeys(cls for kind in assumed for cls in walk.records(kind.body))
    members = {
        (one.about.assumed, one.about.assumed.confidence)
        for cls in records
        for one in walk.members(cls)
        if one.about.assumed
    }
    yield from (f"- {reason} (*{confidence}*)" for reason, confidence in sorted(members))
    yield ""


def errors() -> Iterator[str]:
    """Yield all failures, with the operations that return them."""
    yield "## Errors\n\nAn error has a JSON body with `statusCode` (a whole number), `error` and `message` (texts)."
    grouped: dict[Failure, list[str]] = {}
    for operation in OPERATIONS.values():
        for failure in operation.failures:
            grouped.setdefault(failure, []).append(operation.source.removeprefix("Endpoints "))
    rows = sorted(grouped.items(), key=lambda pair: (pair[0].status, pair[0].error))
    yield from table(
        ("Status", "Error", "Message", "When", "Endpoints", ""),
        ([*failure_row(failure), ", ".join(f"[{n}](#endpoints-{n})" for n in numbers), "assumed" if failure.assumed else ""]
         for failure, numbers in rows),
    )  # fmt: skip
    yield from reasons((f"{row.status} {row.message}", row.assumed) for row, _ in rows)


def limits() -> Iterator[str]:
    """Yield the limits that do not belong to a field."""
    yield "## Limits"
    yield "\nThe tables of fields state further lengths and ranges.\n"
    yield f"- `externalId` is unique within the tenant.\n- Deposits below {MINIMUM_DEPOSIT} USD are not processed; they cause `microDeposit.received`."
    for name in ("rate_limits", "lengths_elsewhere", "whole_numbers"):
        yield f"- **assumed**: {BEHAVIORS[name].says} ({BEHAVIORS[name].reason})."


def behaviors() -> Iterator[str]:
    """Yield the reference to assumed behavior."""
    yield "\n## Assumed behavior\n\n[Assumptions](assumptions.md) describes the behavior that the document does not state."


def lines() -> Iterator[str]:
    """Yield the page, a paragraph or a line at a time."""
    yield INTRODUCTION
    yield from resources()
    yield from states()
    yield "## Endpoints"
    for operation in OPERATIONS.values():
        yield from endpoint(operation)
    yield f"## Authentication\n{AUTHENTICATION}"
    yield f"The document names these roles: {codes(vocabulary.Role)}.\n"
    yield from events()
    yield from errors()
    yield from limits()
    yield f"\n## Versioning\n{VERSIONING}"
    yield from behaviors()


def page() -> str:
    """Return the page."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines())).strip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
