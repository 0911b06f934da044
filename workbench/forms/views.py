"""The contents of a panel: each resource as rows, with the record that each row opens to. Reads only, no effects."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import attrs

from workbench import chains
from workbench.client.base import journal_of
from workbench.interface import walk
from workbench.interface.assumptions import assumptions
from workbench.rendering.values import NO_FUNDS, TEST_CHAINS
from workbench.session import sandbox_of

_GUIDE = "guide of the sandbox"


@attrs.frozen(kw_only=True)
class View:
    """Rows of plain values in named columns, the thing that each row opens to, and its id."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    things: tuple[Any, ...] = attrs.field(repr=False)
    ids: tuple[str, ...]
    frame: Any = attrs.field(default=None, repr=False)  # the typed frame, where the rows came from one
    notes: tuple[str, ...] = ()

    def thing(self, number: int) -> Any:
        """Return what a row opens to: a record, or a mapping of its columns."""
        thing = self.things[number]
        if thing is not None:
            return thing
        row = zip(self.columns, self.rows[number], strict=True)
        return {name: value for name, value in row if value is not None}


def view(columns: tuple[str, ...], found: Iterable[tuple[tuple[Any, ...], Any, str]], *notes: str) -> View:
    """Return rows with their things and ids; empty columns are omitted."""
    held = list(found)
    kept = [place for place in range(len(columns)) if not held or any(row[place] is not None for row, _, _ in held)]
    return View(
        columns=tuple(columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row, _, _ in held),
        things=tuple(thing for _, thing, _ in held),
        ids=tuple(key for _, _, key in held),
        notes=notes,
    )


def _of_facts(columns: tuple[str, ...], found: Mapping[str, Mapping[str, Any]], *notes: str) -> View:
    return view(columns, ((tuple(map(facts.get, columns)), facts, key) for key, facts in found.items()), *notes)


# What a session knows where the service has no list: the sandbox's guide, the journal, received events.


def guide(api: Any) -> Mapping[str, Any]:
    """Return the ids that the sandbox of a session lists; nothing for another service."""
    return {} if sandbox_of(api) is None else api.guide()


def received(api: Any) -> list[Any]:
    """Return the received events, each with its time of arrival."""
    inbox = getattr(api, "inbox", None)
    return [] if inbox is None else inbox.stored()


def entries(api: Any) -> list[Any]:
    """Return the calls with an effect in the client's journal, oldest first."""
    return list(journal_of(api) or ())


def _done(api: Any, *operations: str) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Yield the entries of completed operations, with their masked answers."""
    for entry in entries(api):
        if entry.operation in operations and entry.outcome == "done":
            yield entry, entry.answer if isinstance(entry.answer, Mapping) else {}


def events_about(api: Any, key: str) -> list[Any]:
    """Return the events that contain an id anywhere in their body."""
    return [kept.event for kept in received(api) if key and mentions(kept.event.body, key)]


def calls_about(api: Any, key: str) -> list[Any]:
    """Return the journal's entries whose id, request or answer is or contains an id, oldest first."""
    return [one for one in entries(api) if key and (mentions([one.id, one.request, one.answer], key))]


def mentions(value: Any, key: str) -> bool:
    """Whether a record, mapping or list contains a text."""
    if walk.is_record(value):
        return any(mentions(getattr(value, one.name), key) for one in walk.members(type(value)))
    if isinstance(value, Mapping):
        return any(mentions(one, key) for one in value.values())
    if isinstance(value, list | tuple):
        return any(mentions(one, key) for one in value)
    return bool(value == key)


# The tabs.


def contracts(api: Any) -> View:
    """Return the contracts, a row for each token."""
    listed = api.list_contracts()
    notes = (f"{NO_FUNDS}: these are test chains.",) if any(one.chain_id in TEST_CHAINS for one in listed) else ()

    def rows() -> Iterator[tuple[tuple[Any, ...], Any, str]]:
        for one in listed:
            chain = str(chains.chain_of(one.chain_id)) if type(one.chain_id) is int else str(one.chain_id)
            for token in one.tokens or (None,):
                held = [getattr(token, name, None) for name in ("address", "balance", "exchange_rate", "advance_rate")]
                yield (chain, one.id, *held, one.deposit_address), one, one.id

    columns = ("chain", "contract_id", "token", "balance", "exchange_rate", "advance_rate", "deposit_address")
    return view(columns, rows(), *notes)


def users(api: Any) -> View:
    """Return the known users, companies and owners: from the sandbox's guide, the journal, and events."""
    known: dict[str, dict[str, Any]] = {}

    def add(key: Any, **facts: Any) -> None:
        if isinstance(key, str):
            known.setdefault(key, {"id": key, "kind": "user"}).update(facts)

    listed = guide(api)
    for status, ids in listed.get("users", {}).items():
        for key in ids:
            add(key, application_status=str(status), known_from=_GUIDE)
    for company in listed.get("companies", ()):
        add(company["id"], kind="company", known_from=_GUIDE)
        for owner in company["owners"]:
            status, where = str(owner["status"]), company["id"]
            add(owner["id"], kind="owner", application_status=status, company_id=where, known_from=_GUIDE)
    for entry, answer in _done(api, "create_user_application", "update_user"):
        add(
            answer.get("id"), application_status=answer.get("applicationStatus"), seen=entry.started,
            known_from=f"journal {entry.id}", external_id=answer.get("externalId"),
        )  # fmt: skip
    for kept in received(api):
        if kept.event.kind == "user.updated":
            status = str(kept.event.body.application_status)
            add(kept.event.body.id, application_status=status, seen=kept.arrived, known_from="event")
    return _of_facts(("id", "kind", "application_status", "external_id", "seen", "known_from"), known)


def payment_accounts(api: Any) -> View:
    """Return the known payment accounts, created or deleted; the service has no list."""
    known: dict[str, dict[str, Any]] = {
        key: {"id": key, "known_from": _GUIDE} for key in guide(api).get("payment_accounts", ())
    }
    for entry, answer in _done(api, "create_payment_account"):
        if answer:
            key = str(answer.get("id"))
            known[key] = {
                "id": key, "nickname": answer.get("nickname"), "type": answer.get("type"), "created": entry.started,
                "known_from": f"journal {entry.id}", "answer": answer,
            }  # fmt: skip
    for entry, _ in _done(api, "delete_payment_account"):
        key = str(entry.request.get("paymentAccountId"))
        known.setdefault(key, {"id": key, "known_from": f"journal {entry.id}"})["deleted"] = entry.started
    columns = ("id", "nickname", "type", "created", "deleted", "known_from")
    return _of_facts(columns, known, "The service has no list of payment accounts: only known accounts are shown.")


def disputes(api: Any) -> View:
    """Return the known disputes."""
    known = {
        key: {"id": key, "status": str(status), "known_from": _GUIDE}
        for status, ids in guide(api).get("disputes", {}).items()
        for key in ids
    }
    for entry, answer in _done(api, "update_dispute"):
        key = str(answer.get("id") or entry.request.get("disputeId"))
        known[key] = {"id": key, "status": str(answer.get("status") or ""), "known_from": f"journal {entry.id}"}
    return _of_facts(("id", "status", "known_from"), known)


def rewards(api: Any, user_id: str, **filters: Any) -> View:
    """Return the rewards activity of a user, all pages that the interface reaches, with its frame."""
    from workbench.tables.rewards import read

    frame = read(api, [user_id], progress=False, **filters).frame()
    every = {str(name): _values(frame[name]) for name in frame.columns if name != "user_id"}
    kept = {name: values for name, values in every.items() if not values or any(one is not None for one in values)}
    rows = tuple(zip(*kept.values(), strict=True))
    ids = tuple(str(value) for value in frame["id"].tolist()) if "id" in kept else ("",) * len(rows)
    notes = tuple(frame.attrs.get("notes", ()))
    return View(columns=tuple(kept), rows=rows, things=(None,) * len(rows), ids=ids, frame=frame, notes=notes)


def _values(column: Any) -> list[Any]:
    empty = column.isna().tolist()
    values = column.dt.to_pydatetime().tolist() if str(column.dtype).startswith("datetime") else column.tolist()
    return [None if missing else value for value, missing in zip(values, empty, strict=True)]


def transactions(api: Any) -> View:
    """Return the transactions known from events, a row each with its amounts; a row opens to its latest event."""
    from workbench.tables.card_transactions import MONEY
    from workbench.tables.card_transactions import transactions as made_of

    frame = made_of(api)
    latest = {
        getattr(one.event.body, "id", None): one.event for one in received(api) if one.event.resource == "transaction"
    }
    columns = ("transaction_id", "status", *MONEY, "currency", "merchant_name", "card_id", "updated_at")
    rows = zip(*(_values(frame[name]) for name in columns), strict=True)
    made = view(("id", *columns[1:]), ((row, latest.get(row[0]), row[0]) for row in rows), "Amounts are in cents.")
    return attrs.evolve(made, frame=frame)


def sequences(_: Any) -> View:
    """Return the sequences of the catalogue, each with its file."""
    from workbench.sequences import catalogue

    return view(
        ("name", "steps", "doc"), (((name, len(one.steps), one.doc), one, name) for name, one in catalogue.items())
    )


def events(api: Any) -> View:
    """Return the received events."""
    rows = []
    for one in received(api):
        about = getattr(one.event.body, "id", None)
        values = (one.sequence, one.event.kind, about, one.arrived, one.verified, one.times, one.event.id)
        rows.append((values, one.event, str(getattr(one.event.body, "id", one.event.id))))
    return view(("sequence", "kind", "about", "arrived", "verified", "times", "id"), rows)


def deliveries(api: Any) -> View:
    """Return the deliveries of the sandbox to registered endpoints, and those that the inbox refused."""
    sandbox = sandbox_of(api)
    rows = [] if sandbox is None else [walk.given(row) for row in sandbox.deliveries()]
    refusals = getattr(getattr(api, "inbox", None), "refusals", ())
    rows += [{"state": f"refused: {one.reason}", "at": one.at} for one in refusals]
    columns = tuple(
        dict.fromkeys(name for row in rows for name, value in row.items() if not isinstance(value, tuple | list | dict))
    )
    hint = "Deliveries go to endpoints: register one with api.sandbox.register_endpoint(url)."
    found = ((tuple(map(row.get, columns)), row, str(row.get("event_id", ""))) for row in rows)
    return view(columns or ("state",), found, *([hint] if sandbox is not None and not rows else []))


def journal(api: Any) -> View:
    """Return the calls with an effect and their outcomes."""
    columns = ("started", "outcome", "operation", "what", "environment", "id")
    details = ("id", "what", "operation", "environment", "started", "ended", "status", "outcome", "error", "answer")

    def thing(one: Any) -> dict[str, Any]:
        facts = {name: _text(getattr(one, name)) for name in details}
        facts |= {"request": dict(one.request), "next step": one.next_step, "resend of": one.resend_of}
        return {name: value for name, value in facts.items() if value not in (None, {}, [])}

    return view(columns, ((_texts(one, columns), thing(one), one.id) for one in entries(api)))


def assumed(_: Any) -> View:
    """Return all assumptions about the service."""
    columns = ("where", "value", "confidence", "reason", "id")
    return view(columns, ((_texts(one, columns), one, one.id) for one in assumptions()))


def _texts(one: Any, columns: Iterable[str]) -> tuple[Any, ...]:
    return tuple(_text(getattr(one, name)) for name in columns)


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value  # members of an enum as plain text


VIEWS: Mapping[str, Callable[[Any], View]] = {
    "contracts": contracts, "users": users, "payment accounts": payment_accounts, "disputes": disputes,
    "transactions": transactions, "sequences": sequences, "events": events, "deliveries": deliveries,
    "journal": journal, "assumptions": assumed,
}  # fmt: skip
"""The tabs of a panel that need no input; rewards need a user."""
