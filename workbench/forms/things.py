"""What a session can see, by kind: rows of plain values, and the thing that each row opens to. Reads only, no effects."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import attrs

from workbench import chains
from workbench.client.base import journal_of
from workbench.interface import walk
from workbench.interface.assumptions import assumptions
from workbench.rendering.values import NO_FUNDS, TEST_CHAINS
from workbench.sandbox.results import StoredRecord
from workbench.session import sandbox_of, sandbox_times


@attrs.frozen
class Column:
    """A column: its name, what its values are, and the kind of thing that an id leads to."""

    name: str
    kind: str = "text"  # or "id", "address", "money" (cents), "number", "time", "status"
    to: str | None = None


@attrs.frozen(kw_only=True)
class Rows:
    """Rows of plain values in columns, the thing that each row opens to, and its id."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...] = attrs.field(repr=False)
    things: tuple[Any, ...] = attrs.field(repr=False)
    ids: tuple[str, ...] = attrs.field(repr=False)
    names: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """What is shown instead of an id that leads to another thing: the digits of a card, a masked name."""
    frame: Any = attrs.field(default=None, repr=False)  # the typed frame, where the rows came from one
    notes: tuple[str, ...] = ()

    def facts(self, number: int) -> dict[str, Any]:
        """Return the values of a row by the names of their columns."""
        return {one.name: value for one, value in zip(self.columns, self.rows[number], strict=True)}


def _rows(
    columns: Iterable[Column], found: Iterable[tuple[str, Mapping[str, Any], Any]], *notes: str, newest: bool = True,
    names: Mapping[str, str] | None = None,
) -> Rows:  # fmt: skip
    """Return rows from (id, values by column, thing); columns without any value are omitted, the newest row is first."""
    held = list(found)
    if newest:
        held.reverse()
    kept = [one for one in columns if not held or any(facts.get(one.name) is not None for _, facts, _ in held)]
    return Rows(
        columns=tuple(kept),
        rows=tuple(tuple(facts.get(one.name) for one in kept) for _, facts, _ in held),
        things=tuple(thing for _, _, thing in held),
        ids=tuple(key for key, _, _ in held),
        names=names or {},
        notes=notes,
    )


# What a session knows where the service has no list: the records of the sandbox, the journal, received events.


def records(api: Any, kind: str) -> list[Any]:
    """Return the records of a kind that the sandbox stores; none for another service."""
    sandbox = sandbox_of(api)
    return [] if sandbox is None else sandbox.records(kind)


def received(api: Any) -> list[Any]:
    """Return the received events, each with its time of arrival, by the sandbox's clock where there is one."""
    inbox = getattr(api, "inbox", None)
    if inbox is None:
        return []
    stored, times = inbox.stored(), sandbox_times(api)
    return [attrs.evolve(one, arrived=times.get(one.event.id, one.arrived)) for one in stored]


def entries(api: Any, *operations: str) -> list[Any]:
    """Return the calls with an effect in the journal, oldest first; of some operations, those that were carried out."""
    found = list(journal_of(api) or ())
    return [one for one in found if one.operation in operations and one.outcome == "done"] if operations else found


def names(api: Any) -> dict[str, str]:
    """Return what to call the cards, people and companies that the sandbox stores, by their ids. Names are masked."""
    found = {one["id"]: f"•••• {one['last4']}" for one in records(api, "card")}
    found |= {one["id"]: name for kind in ("owner", "user") for one in records(api, kind) if (name := _person(one))}
    return found | {one["id"]: name for one in records(api, "company") if (name := one.shown().get("name"))}


def tokens(api: Any, member: str) -> Iterator[tuple[str, str, int]]:
    """Yield the tokens of the contracts that the sandbox stores: in words, address, chain; or the chains alone."""
    for one in records(api, "contract"):
        chain = str(chains.chain_of(one["chain_id"]))
        for token in one["tokens"]:
            address = token["address"]
            words = f"{token['symbol']}, {token['balance']} on {chain}, {address[:6]}…{address[-4:]}"
            yield words if member == "token" else chain, address, one["chain_id"]


def mentions(value: Any, key: str) -> bool:
    """Whether a record, mapping or list contains a text."""
    if walk.is_record(value):
        return any(mentions(getattr(value, one.name), key) for one in walk.members(type(value)))
    if isinstance(value, Mapping):
        return any(mentions(one, key) for one in value.values())
    if isinstance(value, list | tuple):
        return any(mentions(one, key) for one in value)
    return bool(value == key)


def stamp(api: Any) -> tuple[Any, ...]:
    """Return what changes when the sandbox, the inbox or the journal does, and not when something is read."""
    sandbox, inbox = sandbox_of(api), getattr(api, "inbox", None)
    return (
        len(entries(api)), None if inbox is None else inbox.mark(), None if sandbox is None else sandbox.last_event(),
    )  # fmt: skip


def _time(milliseconds: Any) -> datetime | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)


def _answer(entry: Any) -> Mapping[str, Any]:
    return entry.answer if isinstance(entry.answer, Mapping) else {}


def _merged(*sources: Iterable[tuple[Any, Mapping[str, Any], Any]]) -> list[tuple[str, dict[str, Any], Any]]:
    """Merge what several sources know of each id: later ones replace values, a record of the sandbox other things."""
    known: dict[str, tuple[dict[str, Any], Any]] = {}
    for source in sources:
        for key, facts, thing in source:
            if isinstance(key, str):
                held, first = known.setdefault(key, ({"id": key}, thing))
                held.update({name: value for name, value in facts.items() if value is not None})
                if first is None or isinstance(thing, StoredRecord):
                    known[key] = held, thing
    return [(key, facts, facts if thing is None else thing) for key, (facts, thing) in known.items()]


# The kinds.


def contracts(api: Any) -> Rows:
    """Return the contracts, a row for each token."""
    listed = api.list_contracts()
    notes = (f"{NO_FUNDS}: these are test chains.",) if any(one.chain_id in TEST_CHAINS for one in listed) else ()

    def found() -> Iterator[tuple[str, dict[str, Any], Any]]:
        for one in listed:
            chain = str(chains.chain_of(one.chain_id)) if type(one.chain_id) is int else str(one.chain_id)
            for token in one.tokens or (None,):
                facts = {name: getattr(token, name, None) for name in ("balance", "exchange_rate", "advance_rate")}
                facts["token"] = getattr(token, "address", None)
                value, credit = credit_of(token, 100), credit_of(token, getattr(token, "advance_rate", None))
                yield (
                    f"{one.id} {facts['token']}",
                    {
                        "chain": chain, "contract_id": one.id, **facts,
                        "value_cents": value, "credit_cents": credit, "deposit_address": one.deposit_address, "chain_id": one.chain_id,
                    },
                    one,
                )  # fmt: skip

    columns = (
        Column("chain"), Column("contract_id", "id"), Column("token", "address"), Column("balance", "number"),
        Column("exchange_rate", "number"), Column("advance_rate", "number"), Column("value_cents", "money"), Column("credit_cents", "money"),
        Column("deposit_address", "address"),
    )  # fmt: skip
    return _rows(columns, found(), *notes, newest=False)


def credit_of(token: Any, percent: Any) -> int | None:
    """Return the cents that a percentage of a token is worth: balance, times exchange rate, times percentage."""
    try:
        return int(Decimal(token.balance) * Decimal(str(token.exchange_rate)) * Decimal(str(percent)))
    except (AttributeError, ArithmeticError, TypeError, ValueError):
        return None


def _person(one: Any) -> str | None:
    shown = one.shown()
    name = " ".join(str(shown.get(part) or "") for part in ("first_name", "last_name")).strip()
    return name or None


def users(api: Any) -> Rows:
    """Return the known users and owners: from the sandbox, the journal, and events. Names are masked."""

    def stored(kind: str) -> Iterator[tuple[str, dict[str, Any], Any]]:
        for one in records(api, kind):
            yield (
                one["id"],
                {
                    "kind": kind, "name": _person(one), "application_status": str(one["status"]),
                    "external_id": one.get("external_id"), "company_id": one.get("company_id"),
                    "is_active": one.get("is_active"), "updated": _time(one.get("updated_at")),
                },
                one,
            )  # fmt: skip

    called = (
        (
            _answer(one).get("id"),
            {
                "kind": "user", "application_status": _answer(one).get("applicationStatus"), "updated": one.started,
                "external_id": _answer(one).get("externalId"),
            },
            _answer(one),
        )
        for one in entries(api, "create_user_application", "update_user")
    )  # fmt: skip
    reported = (
        (
            kept.event.body.id,
            {"kind": "user", "application_status": str(kept.event.body.application_status), "updated": kept.arrived},
            kept.event.body,
        )
        for kept in received(api)
        if kept.event.kind == "user.updated"
    )
    columns = (
        Column("name"), Column("id", "id"), Column("kind"), Column("application_status", "status"),
        Column("external_id"), Column("company_id", "id", "companies"), Column("updated", "time"),
    )  # fmt: skip
    sandbox = (*stored("owner"), *stored("user"))
    return _rows(columns, _merged(called, reported, sandbox), names=names(api))


def companies(api: Any) -> Rows:
    """Return the companies of the sandbox; the service has no list."""
    columns = (
        Column("name"), Column("id", "id"), Column("application_status", "status"), Column("owners", "number"),
        Column("external_id"),
    )  # fmt: skip
    found = (
        (one["id"], {**one.shown(), "application_status": str(one["status"]), "owners": len(one["owners"])}, one)
        for one in records(api, "company")
    )
    return _rows(columns, found, "The service has no list of companies: only those of the sandbox are shown.")


def cards(api: Any) -> Rows:
    """Return the known cards: those of the sandbox, or those that transactions name."""
    columns = (
        Column("card"), Column("id", "id"), Column("status", "status"), Column("user_id", "id", "users"),
        Column("limit_cents", "money"), Column("available_cents", "money"), Column("held_cents", "money"),
        Column("posted_cents", "money"),
    )  # fmt: skip
    stored = (
        (
            one["id"],
            {
                "card": f"•••• {one['last4']}", "status": str(one["status"]), "user_id": one["user"],
                **{f"{name}_cents": one[name] for name in ("limit", "available", "held", "posted")},
            },
            one,
        )
        for one in records(api, "card")
    )  # fmt: skip
    seen = (
        (spend.card_id, {"card": spend.card_id[:8], "user_id": spend.user_id}, None)
        for kept in received(api)
        if (spend := getattr(kept.event.body, "spend", None)) is not None and isinstance(spend.card_id, str)
    )
    return _rows(columns, _merged(seen, stored), names=names(api))


MONEY = ("amount", "held", "posted", "refunded", "net")


def transactions(api: Any) -> Rows:
    """Return the transactions that the sandbox stores; of another service those known from events."""
    columns = (
        Column("authorized_at", "time"), Column("merchant_name"), Column("amount_cents", "money"),
        Column("status", "status"), Column("id", "id"), Column("card_id", "id", "cards"), Column("user_id", "id", "users"),
        *(Column(f"{name}_cents", "money") for name in MONEY[1:]), Column("declined_reason"), Column("posted_at", "time"),
        Column("merchant_category_code"), Column("currency", "hidden"),
    )  # fmt: skip
    found = _stored_transactions(api) if sandbox_of(api) is not None else _reported_transactions(api)
    return _rows(columns, sorted(found, key=lambda one: str(one[1].get("authorized_at") or "")), names=names(api))


def _stored_transactions(api: Any) -> Iterator[tuple[str, dict[str, Any], Any]]:
    for one in records(api, "transaction"):
        posted, refunded, status = one["settled"], one["refunded"], str(one["status"])
        money = (one["authorized"], one["held"], posted, refunded, posted - refunded)
        facts = {
            name: one.get(name)
            for name in ("id", "merchant_name", "merchant_category_code", "currency", "declined_reason")
        }
        yield (
            one["id"],
            {
                **facts, **{f"{name}_cents": cents for name, cents in zip(MONEY, money, strict=True)},
                "status": "refunded" if status == "settled" and 0 < posted <= refunded else status,
                "card_id": one["card"], "user_id": one["user"],
                "authorized_at": _time(one["authorized_at"]), "posted_at": _time(one["posted_at"]),
            },
            one,
        )  # fmt: skip


def _reported_transactions(api: Any) -> Iterator[tuple[str, dict[str, Any], Any]]:
    from workbench.tables.card_transactions import transactions as from_events

    frame = from_events(getattr(api, "inbox", ()))
    latest = {getattr(one.event.body, "id", None): one.event for one in received(api)}
    values = {str(name): _values(frame[name]) for name in frame.columns}
    for number, key in enumerate(values["transaction_id"]):
        facts = {name: column[number] for name, column in values.items()}
        money = {f"{name}_cents": facts["authorized" if name == "amount" else name] for name in MONEY}
        yield key, {**facts, **money, "id": key}, latest.get(key)


def payment_accounts(api: Any) -> Rows:
    """Return the known payment accounts, created or deleted; the service has no list."""
    stored = (
        (
            one["id"],
            {
                "nickname": one["members"].get("nickname"), "type": one["members"].get("type"),
                "user_id": one["members"].get("user_id"), "created": _time(one["created_at"]),
            },
            one,
        )
        for one in records(api, "payment_account")
    )  # fmt: skip
    made = (
        (
            _answer(one).get("id"),
            {
                "nickname": _answer(one).get("nickname"), "type": _answer(one).get("type"),
                "user_id": _answer(one).get("userId"), "created": one.started,
            },
            _answer(one),
        )
        for one in entries(api, "create_payment_account")
    )  # fmt: skip
    gone = (
        (str(one.request.get("paymentAccountId")), {"deleted": one.started}, None)
        for one in entries(api, "delete_payment_account")
    )
    columns = (
        Column("nickname"), Column("id", "id"), Column("type"), Column("user_id", "id", "users"),
        Column("created", "time"), Column("deleted", "time"),
    )  # fmt: skip
    note = "The service has no list of payment accounts: only known accounts are shown."
    return _rows(columns, _merged(stored, made, gone), note, names=names(api))


def disputes(api: Any) -> Rows:
    """Return the known disputes."""
    stored = (
        (
            one["id"],
            {
                "status": str(one["status"]), "transaction_id": one["transaction"], "created": _time(one["created_at"]),
                "resolved": _time(one["resolved_at"]),
            },
            one,
        )
        for one in records(api, "dispute")
    )  # fmt: skip
    called = (
        (
            str(_answer(one).get("id") or one.request.get("disputeId")),
            {"status": str(_answer(one).get("status") or "")},
            None,
        )
        for one in entries(api, "update_dispute")
    )
    columns = (
        Column("id", "id"), Column("status", "status"), Column("transaction_id", "id", "transactions"),
        Column("created", "time"), Column("resolved", "time"),
    )  # fmt: skip
    merchants = {one["id"]: one["merchant_name"] for one in records(api, "transaction")}
    return _rows(columns, _merged(called, stored), names=merchants)


_KINDS = {"points": "number", "transaction_amount_cents": "money", "status": "status", "type": "status", "id": "id"}


def rewards(api: Any, users: Iterable[str], **filters: Any) -> Rows:
    """Return the rewards activity of users, all pages that the interface reaches, with its frame."""
    from workbench.tables.rewards import read

    frame = read(api, list(users), progress=False, **filters).frame()
    several = frame["user_id"].nunique() > 1
    every = {str(name): _values(frame[name]) for name in frame.columns if several or name != "user_id"}
    kept = {name: values for name, values in every.items() if not values or any(one is not None for one in values)}
    rows = tuple(zip(*kept.values(), strict=True))
    ids = tuple(str(value) for value in frame["id"].tolist()) if "id" in kept else ("",) * len(rows)
    columns = tuple(
        Column(name, "id", "users") if name == "user_id"
        else Column(name, _KINDS.get(name, "time" if name.endswith("_at") else "text"))
        for name in kept
    )  # fmt: skip
    notes = tuple(frame.attrs.get("notes", ()))
    return Rows(
        columns=columns, rows=rows, things=(None,) * len(rows), ids=ids, names=names(api), frame=frame, notes=notes
    )  # fmt: skip


def _values(column: Any) -> list[Any]:
    empty = column.isna().tolist()
    values = column.dt.to_pydatetime().tolist() if str(column.dtype).startswith("datetime") else column.tolist()
    return [None if missing else value for value, missing in zip(values, empty, strict=True)]


def events(api: Any) -> Rows:
    """Return the received events."""
    columns = (
        Column("arrived", "wall" if sandbox_of(api) is None else "time"), Column("kind"), Column("about", "id", "any"), Column("id", "id"), Column("verified"),
        Column("times", "number"), Column("sequence", "number"),
    )  # fmt: skip
    found = (
        (
            kept.event.id,
            {
                "sequence": kept.sequence, "kind": kept.event.kind, "about": getattr(kept.event.body, "id", None),
                "arrived": kept.arrived, "verified": kept.verified, "times": kept.times, "id": kept.event.id,
            },
            kept.event,
        )
        for kept in received(api)
    )  # fmt: skip
    return _rows(columns, found)


def deliveries(api: Any) -> Rows:
    """Return the deliveries of the sandbox to registered endpoints, and those that the inbox refused."""
    sandbox = sandbox_of(api)
    found: list[tuple[str, Mapping[str, Any], Any]] = [
        (one.id, {**walk.given(one), "at": one.attempts[-1].at if one.attempts else one.due}, one)
        for one in (() if sandbox is None else sandbox.deliveries())
    ]
    found += [
        (f"refused-{number}", {"state": f"refused: {one.reason}", "at": one.at}, None)
        for number, one in enumerate(getattr(getattr(api, "inbox", None), "refusals", ()))
    ]
    columns = (
        Column("at", "time"), Column("state", "status"), Column("kind"), Column("event_id", "id", "events"),
        Column("tried", "number"), Column("endpoint", "id"), Column("due", "time"), Column("held"),
    )  # fmt: skip
    hint = "Deliveries go to endpoints: register one with api.sandbox.register_endpoint(url)."
    return _rows(columns, found, *([hint] if sandbox is not None and not found else []))


def requests(api: Any) -> Rows:
    """Return the calls with an effect from the journal, and the requests that the sandbox received."""
    columns = (
        Column("started", "time"), Column("what"), Column("outcome", "status"), Column("status_code", "number"),
        Column("operation"), Column("log"), Column("id", "id"),
    )  # fmt: skip
    sandbox = sandbox_of(api)
    served = [
        (
            one.request_id or f"request-{number}",
            {
                "what": f"{one.method} {one.path or 'a path that is not served'}", "status_code": one.status,
                "outcome": "done" if one.status < 400 else "refused", "operation": one.operation, "log": "sandbox",
                "id": one.request_id,
            },
            {name: value for name, value in walk.given(one).items() if value not in (None, ())},
        )
        for number, one in enumerate(() if sandbox is None else sandbox.requests())
    ]  # fmt: skip
    called = [
        (
            one.id,
            {
                "started": one.started, "what": one.what, "outcome": str(one.outcome), "status_code": one.status,
                "operation": one.operation, "log": "journal", "id": one.id,
            },
            call_facts(one),
        )
        for one in entries(api)
    ]  # fmt: skip
    return _rows(columns, [*served, *called])


def call_facts(one: Any) -> dict[str, Any]:
    """Return what the journal says of a call."""
    names = ("id", "what", "operation", "environment", "started", "ended", "status", "outcome", "error", "answer")
    facts = {name: _plain(getattr(one, name)) for name in names}
    facts |= {"request": dict(one.request), "next step": one.next_step, "resend of": one.resend_of}
    return {name: value for name, value in facts.items() if value not in (None, {}, [])}


def sequences(_: Any) -> Rows:
    """Return the sequences of the catalogue, each with its file."""
    from workbench.sequences import catalogue

    columns = (Column("name"), Column("steps", "number"), Column("doc"))
    found = ((name, {"name": name, "steps": len(one.steps), "doc": one.doc}, one) for name, one in catalogue.items())
    return _rows(columns, found, newest=False)


def assumed(_: Any) -> Rows:
    """Return all assumptions about the service."""
    columns = (Column("where"), Column("value"), Column("confidence", "status"), Column("reason"), Column("id"))
    found = ((one.id, {each.name: _plain(getattr(one, each.name)) for each in columns}, one) for one in assumptions())
    return _rows(columns, found, newest=False)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value  # members of an enum as plain text


KINDS: Mapping[str, Callable[[Any], Rows]] = {
    "contracts": contracts, "users": users, "companies": companies, "cards": cards, "transactions": transactions,
    "payment accounts": payment_accounts, "disputes": disputes, "events": events, "deliveries": deliveries,
    "requests": requests, "sequences": sequences, "assumptions": assumed,
}  # fmt: skip
"""The lists of a panel that need no input; rewards need a user."""
