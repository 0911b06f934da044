"""What a panel shows: each resource as rows, with what a row opens to. Reads alone; nothing here has an effect."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import attrs

from workbench import chains
from workbench.errors import InvalidRequest
from workbench.faces.values import NO_FUNDS, TEST_CHAINS
from workbench.interface import walk
from workbench.interface.assumptions import assumptions


@attrs.frozen(kw_only=True)
class View:
    """Rows of plain values in named columns, the thing behind each row, and the id that others know it by."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    things: tuple[Any, ...] = attrs.field(repr=False)
    ids: tuple[str, ...]
    frame: Any = attrs.field(default=None, repr=False)  # the typed frame, where the rows came from one
    notes: tuple[str, ...] = ()


def view(columns: tuple[str, ...], found: Iterable[tuple[tuple[Any, ...], Any, str]], *notes: str) -> View:
    """Put rows, things and ids together; a column in which nothing stands is left out."""
    held = list(found)
    kept = [place for place in range(len(columns)) if not held or any(row[place] is not None for row, _, _ in held)]
    return View(
        columns=tuple(columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row, _, _ in held),
        things=tuple(thing for _, thing, _ in held),
        ids=tuple(key for _, _, key in held),
        notes=notes,
    )


def contracts(api: Any) -> View:
    """Give the contracts, a row for each token."""
    listed = api.list_contracts()
    notes = (f"{NO_FUNDS}: these are chains without money.",) if any(o.chain_id in TEST_CHAINS for o in listed) else ()

    def rows() -> Iterator[tuple[tuple[Any, ...], Any, str]]:
        for one in listed:
            chain = str(chains.chain_of(one.chain_id)) if type(one.chain_id) is int else str(one.chain_id)
            for token in one.tokens or (None,):
                held = (
                    (None,) * 4
                    if token is None
                    else (token.address, token.balance, token.exchange_rate, token.advance_rate)
                )
                yield (chain, one.id, *held, one.deposit_address), one, one.id

    columns = ("chain", "contract_id", "token", "balance", "exchange_rate", "advance_rate", "deposit_address")
    return view(columns, rows(), *notes)


def _guide(api: Any) -> Mapping[str, Any]:
    sandbox = getattr(api, "_sandbox", None)
    found: Mapping[str, Any] = {} if sandbox is None else sandbox.guide()
    return found


def _events(api: Any) -> list[Any]:
    inbox = getattr(api, "inbox", None)
    return [] if inbox is None else inbox.kept()


def entries(api: Any) -> list[Any]:
    """Give the calls with an effect that the client's journal knows, oldest first."""
    return [] if api.info()["journal"] == "none" else list(api.journal)


def _answered(api: Any, *operations: str) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Give the entries of operations that were done, with their masked answers."""
    for entry in entries(api):
        if entry.operation in operations and entry.end == "done" and isinstance(entry.answer, Mapping):
            yield entry, entry.answer


def users(api: Any) -> View:
    """Give users, companies and owners known here: from the sandbox's guide, calls of this journal, and events."""
    known: dict[str, dict[str, Any]] = {}

    def meet(key: Any, **facts: Any) -> None:
        if isinstance(key, str):
            known.setdefault(key, {"id": key, "kind": "user"}).update(facts)

    guide = _guide(api)
    for status, ids in guide.get("users", {}).items():
        for key in ids:
            meet(key, application_status=str(status), known_from="guide of the sandbox")
    for company in guide.get("companies", ()):
        meet(company["id"], kind="company", known_from="guide of the sandbox")
        for owner in company["owners"]:
            meet(owner["id"], kind="owner", application_status=str(owner["status"]), known_from="guide of the sandbox")
    for entry, answer in _answered(api, "create_user_application", "update_user"):
        meet(
            answer.get("id"), application_status=answer.get("applicationStatus"), seen=entry.started,
            known_from=f"journal {entry.id}", external_id=answer.get("externalId"),
        )  # fmt: skip
    for kept in _events(api):
        if kept.event.kind == "user.updated":
            status = kept.event.body.application_status
            meet(kept.event.body.id, application_status=str(status), seen=kept.arrived, known_from="event")
    columns = ("id", "kind", "application_status", "external_id", "seen", "known_from")
    return view(columns, ((tuple(one.get(name) for name in columns), one, one["id"]) for one in known.values()))


def payment_accounts(api: Any) -> View:
    """Give payment accounts made or deleted here; the service lists none."""
    known: dict[str, dict[str, Any]] = {
        key: {"id": key, "known_from": "guide of the sandbox"} for key in _guide(api).get("payment_accounts", ())
    }
    for entry, answer in _answered(api, "create_payment_account"):
        key = str(answer.get("id"))
        known[key] = {
            "id": key, "nickname": answer.get("nickname"), "type": answer.get("type"), "made": entry.started,
            "known_from": f"journal {entry.id}", "answer": answer,
        }  # fmt: skip
    for entry in entries(api):
        if entry.operation == "delete_payment_account" and entry.end == "done":
            key = str(entry.request.get("paymentAccountId"))
            known.setdefault(key, {"id": key, "known_from": f"journal {entry.id}"})["deleted"] = entry.started
    columns = ("id", "nickname", "type", "made", "deleted", "known_from")
    rows = ((tuple(one.get(name) for name in columns), one, key) for key, one in known.items())
    return view(columns, rows, "The service has no list of payment accounts: these are the ones known here.")


def disputes(api: Any) -> View:
    """Give disputes known here."""
    known = {
        key: {"id": key, "status": str(status), "known_from": "guide of the sandbox"}
        for status, ids in _guide(api).get("disputes", {}).items()
        for key in ids
    }
    for entry, answer in _answered(api, "update_dispute"):
        key = str(answer.get("id") or entry.request.get("disputeId"))
        known[key] = {"id": key, "status": str(answer.get("status") or ""), "known_from": f"journal {entry.id}"}
    columns = ("id", "status", "known_from")
    return view(columns, ((tuple(one.get(name) for name in columns), one, key) for key, one in known.items()))


def rewards(api: Any, user_id: str, **asked: Any) -> View:
    """Give the rewards activity of a user, all pages that the interface reaches."""
    from workbench.tables.reads import read_rewards

    return of_frame(read_rewards(api, [user_id], progress=False, **asked).frame(), "id")


def of_frame(frame: Any, key: str) -> View:
    """Give a typed frame as rows; the frame goes with them for exports and charts."""
    every = {str(name): _values(frame[name]) for name in frame.columns if name != "user_id"}
    kept = {name: values for name, values in every.items() if not values or any(one is not None for one in values)}
    names, columns = tuple(kept), list(kept.values())
    rows = tuple(zip(*columns, strict=True))
    ids = tuple(str(value) for value in frame[key].tolist()) if key in names else ("",) * len(rows)
    things = tuple(_Lazy(names, row) for row in rows)
    return View(
        columns=names, rows=rows, things=things, ids=ids, frame=frame, notes=tuple(frame.attrs.get("notes", ()))
    )


@attrs.frozen
class _Lazy:
    """A row that becomes a mapping when it is opened."""

    names: tuple[str, ...]
    row: tuple[Any, ...]

    def mapping(self) -> dict[str, Any]:
        return {name: value for name, value in zip(self.names, self.row, strict=True) if value is not None}


def thing_of(thing: Any) -> Any:
    """Give what a row opens to, as faces take it."""
    return thing.mapping() if isinstance(thing, _Lazy) else thing


def _values(column: Any) -> list[Any]:
    empty = column.isna().tolist()
    values = column.dt.to_pydatetime().tolist() if str(column.dtype).startswith("datetime") else column.tolist()
    return [None if gone else value for value, gone in zip(values, empty, strict=True)]


def transactions(api: Any) -> View:
    """Give the transactions that events told of, each as its newest event says."""
    newest: dict[str, Any] = {}
    for kept in _events(api):
        if kept.event.kind.startswith("transaction.") and isinstance(getattr(kept.event.body, "id", None), str):
            newest[kept.event.body.id] = kept
    columns = ("id", "status", "amount", "currency", "merchant_name", "card_id", "event", "arrived")

    def rows() -> Iterator[tuple[tuple[Any, ...], Any, str]]:
        for key, kept in newest.items():
            spend = getattr(kept.event.body, "spend", None)
            facts = [
                getattr(spend, name, None) for name in ("status", "amount", "currency", "merchant_name", "card_id")
            ]
            yield (key, *facts, kept.event.kind, kept.arrived), kept.event, key

    return view(columns, rows(), "Amounts are in cents.")


def sequences(_: Any) -> View:
    """Give the sequences of the catalogue, each with its file."""
    from workbench.sequences import catalogue

    columns = ("name", "steps", "doc")
    return view(columns, (((name, len(one.steps), one.doc), one, name) for name, one in catalogue.items()))


def events(api: Any) -> View:
    """Give the events received."""
    columns = ("sequence", "kind", "about", "arrived", "verified", "times", "id")
    rows = (
        (
            (one.sequence, one.event.kind, getattr(one.event.body, "id", None), one.arrived, one.verified, one.times, one.event.id),
            one.event,
            str(getattr(one.event.body, "id", one.event.id)),
        )
        for one in _events(api)
    )  # fmt: skip
    return view(columns, rows)


def deliveries(api: Any) -> View:
    """Give the deliveries of the sandbox to registered endpoints, and what the inbox refused."""
    sandbox = getattr(api, "_sandbox", None)
    found = [] if sandbox is None else sandbox.deliveries()
    refused = [
        {"state": f"refused: {one.reason}", "at": one.at}
        for one in getattr(getattr(api, "inbox", None), "refusals", ())
    ]
    rows = [*found, *refused]
    columns = tuple(
        dict.fromkeys(name for row in rows for name, value in row.items() if not isinstance(value, list | dict))
    )
    note = "Deliveries go to endpoints: api.sandbox.register_endpoint(url) makes one." if sandbox is not None else ""
    made = (((tuple(row.get(name) for name in columns)), row, str(row.get("event_id", ""))) for row in rows)
    return view(columns or ("state",), made, *([note] if note and not rows else []))


def journal(api: Any) -> View:
    """Give the calls with an effect and how they ended."""
    columns = ("started", "end", "operation", "what", "environment", "id")
    rows = ((tuple(getattr(one, name) for name in columns), _entry(one), one.id) for one in entries(api))
    return view(columns, ((tuple(map(_text, row)), thing, key) for row, thing, key in rows))


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value


def _entry(one: Any) -> dict[str, Any]:
    said = {
        name: getattr(one, name) for name in ("id", "what", "operation", "environment", "started", "ended", "status")
    }
    said |= {"end": str(one.end), "error": one.error, "request": dict(one.request), "answer": one.answer}
    said |= {"next step": one.next_step, "resend of": one.resend_of}
    return {name: value for name, value in said.items() if value not in (None, {}, [])}


def guesses(_: Any) -> View:
    """Give every guess about the service."""
    columns = ("where", "value", "known", "reason", "id")
    rows = ((tuple(_text(getattr(one, name)) for name in columns), one, one.id) for one in assumptions())
    return view(columns, rows)


VIEWS: Mapping[str, Callable[[Any], View]] = {
    "contracts": contracts, "users": users, "payment accounts": payment_accounts, "disputes": disputes,
    "transactions": transactions, "sequences": sequences, "events": events, "deliveries": deliveries,
    "journal": journal, "assumptions": guesses,
}  # fmt: skip
"""The tabs of a panel that need no question; rewards ask for a user first."""


def events_about(api: Any, key: str) -> list[Any]:
    """Give the events that name an id anywhere in their body."""
    return [kept.event for kept in _events(api) if key and mentions(kept.event.body, key)]


def made_by(api: Any, key: str) -> list[Any]:
    """Give the journal's entries whose request or answer names an id, oldest first."""
    return [
        one for one in entries(api) if key and (_names(one.request, key) or _names(one.answer, key) or one.id == key)
    ]


def _names(value: Any, key: str) -> bool:
    if isinstance(value, Mapping):
        return any(_names(one, key) for one in value.values())
    if isinstance(value, list | tuple):
        return any(_names(one, key) for one in value)
    return bool(value == key)


def mentions(record: Any, key: str) -> bool:
    """Whether a record holds a text anywhere."""
    if walk.is_record(record):
        return any(mentions(getattr(record, one.name), key) for one in walk.members(type(record)))
    return _names(record, key)


def read(name: str, api: Any) -> View:
    """Give a view by its name.

    Raises:
        InvalidRequest: There is none of that name.
        WorkbenchError: As the call behind it.
    """
    make = VIEWS.get(name)
    if make is None:
        raise InvalidRequest(f"the views are {', '.join(VIEWS)}", of="browse")
    return make(api)
