"""Lists of the data that a session can see: rows of plain values, and the record that each row opens. Read-only."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from itertools import compress
from operator import sub
from typing import Any

import attrs

from workbench.base.schema import walk
from workbench.client.calls.base import journal_of
from workbench.client.session import AsyncSession, Session, sandbox_of, sandbox_times
from workbench.client.webhooks.inbox import last_event
from workbench.sandbox.control_records import StoredRecord
from workbench.sandbox.internals import internals
from workbench.service import chains, rendering
from workbench.service.interface.assumptions import assumptions
from workbench.service.rendering.text import NO_FUNDS, TEST_CHAINS, sentence

LINKED: Mapping[str, Mapping[str, str]] = {
    "companies": {"users": "company_id"},
    "users": {"cards": "user_id", "transactions": "user_id", "payment accounts": "user_id"},
    "cards": {"transactions": "card_id"},
    "transactions": {"disputes": "transaction_id", "events": "about"},
    "events": {"deliveries": "event_id"},
}
"""Linked lists of each kind of record, with the column that holds its id."""


@attrs.frozen
class Column:
    """A column: name, type of its values, and the kind of record that an id links to."""

    name: str
    kind: str = "text"  # or "id", "address", "money" (cents), "number", "time", "status"
    to: str | None = None

    @property
    def label(self) -> str:
        """Head of the column: `amount_cents` is "Amount", `card_id` is "Card", `id` is "ID"."""
        return sentence(rendering.label(re.sub(r"_id$" if self.kind == "id" else "_cents$", "", self.name)))


class Times(Sequence[datetime | None]):
    """Times in UTC, stored as milliseconds since 1970 and converted when they are read."""

    def __init__(self, stored: Sequence[int | None]) -> None:
        self.stored = stored

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, number: int) -> datetime | None:  # type: ignore[override]
        at = self.stored[number]
        return None if at is None else datetime.fromtimestamp(at / 1000, UTC)


class StoredRecords(Sequence[StoredRecord]):
    """Records of the sandbox by their ids, each read when its row is opened."""

    def __init__(self, sandbox: Any, ids: Sequence[str]) -> None:
        self._sandbox, self._ids = sandbox, ids

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, number: int) -> StoredRecord:  # type: ignore[override]
        record: StoredRecord = self._sandbox.state(self._ids[number])
        return record


@attrs.frozen(kw_only=True)
class Rows:
    """Rows of plain values in columns, with the id and the record of each."""

    columns: tuple[Column, ...]
    cells: tuple[Sequence[Any], ...] = attrs.field(repr=False)
    """The values of each column."""
    things: Sequence[Any] = attrs.field(repr=False)
    ids: Sequence[str] = attrs.field(repr=False)
    newest: str = ""
    """Column of times by which rows are shown, the newest first; default: in their order."""
    names: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """Label shown for the id of a linked record: the digits of a card, a masked name."""
    frame: Any = attrs.field(default=None, repr=False)  # the typed frame, where the rows came from one
    notes: tuple[str, ...] = ()

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of each row by its id."""
        return {key: number for number, key in enumerate(self.ids)}

    @cached_property
    def order(self) -> Sequence[int]:
        """Positions of the rows in the order in which they are shown."""
        cells: Any = self.column(self.newest)
        rows = range(len(self.ids))
        return sorted(rows, key=getattr(cells, "stored", cells).__getitem__)[::-1] if self.newest else rows

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The values of each row, in the order in which they are shown."""
        return [tuple(column[number] for column in self.cells) for number in self.order]

    def only(self, numbers: Sequence[int]) -> "Rows":
        """Return the rows at some positions, in their order, without their records."""
        cells = tuple([column[number] for number in numbers] for column in self.cells)
        ids = [self.ids[number] for number in numbers]
        return attrs.evolve(self, cells=cells, ids=ids, things=(), newest="", frame=None)

    def column(self, name: str) -> Sequence[Any]:
        """Return the values of a column; None for each row if there is no such column."""
        names = [column.name for column in self.columns]
        return self.cells[names.index(name)] if name in names else (None,) * len(self.ids)

    def facts(self, number: int) -> dict[str, Any]:
        """Return the values of a row by column name."""
        return {column.name: cells[number] for column, cells in zip(self.columns, self.cells, strict=True)}

    def known(self, number: int) -> dict[str, Any]:
        """Return all known values of a row by attribute name, for the arguments of actions."""
        thing = self.things[number]
        held = dict(thing) if isinstance(thing, Mapping) else walk.given(thing) if walk.is_record(thing) else {}
        return {**held, "id": self.ids[number], **self.facts(number)}


Found = tuple[str, Mapping[str, Any], Any]
"""An id, values by column, and the record that a row opens."""


def _rows(
    columns: str,
    entries: Iterable[Found],
    *notes: str,
    newest: bool = True,
    names: Mapping[str, str] | None = None,
) -> Rows:
    """Return rows, newest first; columns without any value are omitted.

    Args:
        columns: Each column as `name`, `name:kind`, `name:id>list`, or `name:label` for the label of the record itself.
    """
    known, called = list(entries), names or {}
    if newest:
        known.reverse()
    cells = {
        name: [called.get(key, facts.get(name)) if rest == "label" else facts.get(name) for key, facts, _ in known]
        for name, _, rest in (part.partition(":") for part in columns.split())
    }
    return _of_cells(columns, cells, [key for key, _, _ in known], [thing for _, _, thing in known], called, notes)


def _of_cells(
    columns: str,
    cells: Mapping[str, Sequence[object]],
    ids: Sequence[str],
    things: Sequence[object],
    names: Mapping[str, str],
    notes: tuple[str, ...] = (),
) -> Rows:
    """Return rows of the cells of each column, as of `_rows`."""
    kept, values = [], []
    for name, _, rest in (part.partition(":") for part in columns.split()):
        kind, _, to = rest.partition(">")
        if not ids or any(cell is not None for cell in cells[name]):
            kept.append(Column(name, "text" if kind in ("", "label") else kind, to or None))
            values.append(cells[name])
    return Rows(columns=tuple(kept), cells=tuple(values), things=things, ids=ids, names=names, notes=notes)


def _facts(x: object, members: str) -> dict[str, Any]:
    """Return members of a record or mapping by column name; stored times become times, enum members text.

    Args:
        members: Each as `name`, or as `column=path.of.the.member`.
    """
    facts = {}
    for column, _, path in (part.partition("=") for part in members.split()):
        value = x
        for name in (path or column).split("."):
            value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
        if type(value) is int and (path or column).endswith("_at"):
            value = datetime.fromtimestamp(value / 1000, UTC)
        facts[column] = str(value) if isinstance(value, str) else value
    return facts


# What a session knows where the service has no list: the records of the sandbox, the journal, received events.


def records(api: object, kind: str) -> list[Any]:
    """Return the sandbox's stored records of a kind; empty for a real service."""
    sandbox = sandbox_of(api)
    return [] if sandbox is None else sandbox.records(kind)


def received(api: object) -> list[Any]:
    """Return the received events, each with its time of arrival, by the sandbox's clock if there is one."""
    inbox = getattr(api, "inbox", None)
    if inbox is None:
        return []
    stored, times = inbox.stored(), sandbox_times(api)
    return [attrs.evolve(event, arrived=times.get(event.event.id, event.arrived)) for event in stored]


def _seen(api: object, *sources: Iterable[Found]) -> list[Found]:
    """Return what the journal and events say of records; nothing of a sandbox, which knows after a reset or an undo."""
    return [] if sandbox_of(api) is not None else [fact for source in sources for fact in source]


def entries(api: Any, *operations: str) -> list[Any]:
    """Return the journal's calls with an effect, oldest first; for given operations only those carried out."""
    calls = list(journal_of(api) or ())
    return (
        [entry for entry in calls if entry.operation in operations and entry.outcome == "done"] if operations else calls
    )


def names(api: object) -> dict[str, str]:
    """Return masked labels of the sandbox's cards, people and companies, by id."""
    sandbox = sandbox_of(api)
    if sandbox is None:
        return {}
    labels = {
        key: f"•••• {digits}" for key, digits in zip(*internals(sandbox).columns("card", "id last4"), strict=True)
    }
    for kind in ("owner", "user"):
        ids, *parts = internals(sandbox).columns(kind, "id first_name last_name")
        texts = {name: list(set(column)) for name, column in zip(("first_name", "last_name"), parts, strict=True)}
        masked = [dict(zip(texts[name], shown, strict=True)) for name, shown in StoredRecord(texts).shown().items()]
        for key, first, last in zip(ids, *parts, strict=True):
            if name := f"{masked[0][first] or ''} {masked[1][last] or ''}".strip():
                labels[key] = name
    return labels | {record["id"]: name for record in records(api, "company") if (name := record.shown().get("name"))}


def tokens(api: object, member: str) -> Iterator[tuple[str, str, int]]:
    """Yield the tokens of the stored contracts (description, address, chain), or only the chains."""
    for record in records(api, "contract"):
        chain = str(chains.chain_of(record["chain_id"]))
        for token in record["tokens"]:
            address = token["address"]
            text = f"{token['symbol']}, {token['balance']} on {chain}, {address[:6]}…{address[-4:]}"
            yield text if member == "token" else chain, address, record["chain_id"]


def iso(value: object) -> str | None:
    """Return a time in UTC in the format that the page parses; None for anything else."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds") if isinstance(value, datetime) else None


def mentions(value: object, key: str) -> bool:
    """Whether a record, mapping or list contains a text."""
    if walk.is_record(value):
        return any(mentions(getattr(value, member.name), key) for member in walk.members(type(value)))
    if isinstance(value, Mapping):
        return any(mentions(item, key) for item in value.values())
    if isinstance(value, list | tuple):
        return any(mentions(item, key) for item in value)
    return bool(value == key)


def now(api: object) -> datetime:
    """Return the time of the sandbox, or the system time without one."""
    sandbox = sandbox_of(api)
    moment: datetime = datetime.now(UTC) if sandbox is None else sandbox.clock.now()
    return moment


def stamp(api: object) -> tuple[Any, ...]:
    """Return a value that changes whenever the sandbox, the inbox or the journal changes, but not on reads."""
    sandbox, inbox = sandbox_of(api), getattr(api, "inbox", None)
    changes = None if sandbox is None else internals(sandbox).changes()
    calls = hash(tuple(entry.final_outcome for entry in entries(api)))  # which a resolution changes, too
    return calls, None if inbox is None else last_event(inbox), changes


def _known(objects: Iterable[Any], members: str, thing: str = "", **more: object) -> list[Found]:
    """Return what each record, call or event contains about an object: members as of `_facts`, with an `id`.

    Those without an id are skipped.

    Args:
        thing: Path of the object within the record; default: the record itself.
        more: Further values.
    """
    facts = [
        ({**more, **_facts(item, members)}, _facts(item, f"of={thing}")["of"] if thing else item) for item in objects
    ]
    return [(values["id"], values, thing or None) for values, thing in facts if isinstance(values["id"], str)]


def _merged(*sources: Iterable[Found]) -> list[Found]:
    """Merge the rows of several sources by id: later values win, and a sandbox record replaces other objects."""
    known: dict[str, tuple[dict[str, Any], Any]] = {}
    for source in sources:
        for key, facts, thing in source:
            held, first = known.setdefault(key, ({}, thing))
            held.update({name: value for name, value in facts.items() if value is not None})
            if first is None or isinstance(thing, StoredRecord):
                known[key] = held, thing
    return [(key, facts, facts if thing is None else thing) for key, (facts, thing) in known.items()]


def _cells_of_frame(frame: Any) -> dict[str, list[Any]]:
    """Return the columns of a frame as plain values."""
    columns = {}
    for name in frame.columns:
        column, empty = frame[name], frame[name].isna().tolist()
        values = column.dt.to_pydatetime().tolist() if str(column.dtype).startswith("datetime") else column.tolist()
        if _is_period(column):
            values = column.dt.strftime("%Y-%m-%d").tolist()
        columns[str(name)] = [None if missing else value for value, missing in zip(values, empty, strict=True)]
    return columns


def _is_period(column: Any) -> bool:
    """Whether a column holds days: of periods, which are named after their first day."""
    if column.dtype.kind != "M" or column.dt.tz is not None:
        return False
    days = column.dropna()
    return bool((days == days.dt.normalize()).all())


def rows_of_frame(frame: Any) -> Rows:
    """Return a frame as rows, with cents as money and typed times, numbers and statuses."""
    columns = []
    for name in map(str, frame.columns):
        dtype = str(frame[name].dtype).lower()
        kind = "id" if name.endswith("_id") or name == "id" else "text"
        if dtype.startswith("datetime") and not _is_period(frame[name]):
            kind = "time"
        if dtype.startswith(("int", "uint", "float", "double", "decimal")):
            kind = "money" if name.endswith("_cents") and dtype.startswith(("int", "uint")) else "number"
        if name in ("status", "outcome"):
            kind = "status"
        if len(frame) and frame[name].isna().all():
            kind = "hidden"
        columns.append(Column(name, kind))
    return Rows(
        columns=tuple(columns),
        cells=tuple(_cells_of_frame(frame).values()),
        things=(None,) * len(frame),
        ids=tuple(str(number) for number in range(1, len(frame) + 1)),
        frame=frame,
        notes=tuple(map(str, frame.attrs.get("notes", ()))),
    )


# The kinds.


def health(api: object) -> Rows:
    """Return the troubles of a session by cause, most urgent first, each with its fix."""
    if not isinstance(api, Session | AsyncSession):
        return _rows("", (), "The health is that of a session; this is a client.")
    state = api.health()
    listed = (
        (str(number), {**attrs.asdict(trouble), "id": None}, attrs.asdict(trouble))
        for number, trouble in enumerate(state, start=1)
    )
    assumed = f"{len(state.assumptions)} unconfirmed assumptions in use: {', '.join(state.assumptions)}."
    versions = ", ".join(f"{name} {version}" for name, version in state.versions.items())
    notes = (
        *(["No trouble."] if state.ok else []),
        *([assumed] if state.assumptions else []),
        f"Versions: {versions}.",
    )
    columns = "kind:status what count:number fix last:time operation:hidden rule:hidden member:hidden"
    return _rows(columns, listed, *notes, newest=False)


def contracts(api: Any) -> Rows:
    """Return the contracts, one row per token."""
    listed = api.list_contracts()
    notes = (
        (f"{NO_FUNDS}: these are test chains.",) if any(contract.chain_id in TEST_CHAINS for contract in listed) else ()
    )
    listed_rows = []
    for described in listed:
        chain = str(chains.chain_of(described.chain_id)) if type(described.chain_id) is int else str(described.chain_id)
        for token in described.tokens or (None,):
            facts = _facts(described, "contract_id=id deposit_address chain_id")
            facts |= _facts(token, "token=address balance exchange_rate advance_rate")
            values = {"value_cents": credit_of(token, 100), "credit_cents": credit_of(token, facts["advance_rate"])}
            listed_rows.append((f"{described.id} {facts['token']}", {"chain": chain, **facts, **values}, described))
    columns = (
        "chain contract_id:id token:address balance:number exchange_rate:number advance_rate:number value_cents:money "
        "credit_cents:money deposit_address:address"
    )
    return _rows(columns, listed_rows, *notes, newest=False)


def credit_of(token: Any, percent: object) -> int | None:
    """Return the cents that a percentage of a token is worth: balance × exchange rate × percentage."""
    try:
        return int(Decimal(token.balance) * Decimal(str(token.exchange_rate)) * Decimal(str(percent)))
    except (AttributeError, ArithmeticError, TypeError, ValueError):
        return None


def users(api: object) -> Rows:
    """Return the known users and owners: from the sandbox, the journal, and events. Names are masked."""
    people = [*records(api, "owner"), *records(api, "user")]
    stored = _known(people, "id kind application_status=status external_id company_id updated=updated_at")
    members = "id=answer.id application_status=answer.applicationStatus external_id=answer.externalId updated=started"
    called = _known(entries(api, "create_user_application", "update_user"), members, "answer", kind="user")
    events = (event for event in received(api) if event.event.kind == "user.updated")
    members = "id=event.body.id application_status=event.body.application_status updated=arrived"
    reported = _known(events, members, "event.body", kind="user")
    columns = "name:label id:id kind application_status:status external_id company_id:id>companies updated:time"
    return _rows(columns, _merged(_seen(api, called, reported), stored), names=names(api))


def companies(api: object) -> Rows:
    """Return the companies of the sandbox; the service has no list of companies."""
    company_rows = (
        (
            record["id"],
            {**record.shown(), "application_status": str(record["status"]), "owners": len(record["owners"])},
            record,
        )
        for record in records(api, "company")
    )
    note = "The service has no list of companies: only those of the sandbox are shown."
    return _rows("name id:id application_status:status owners:number external_id", company_rows, note)


def cards(api: object) -> Rows:
    """Return the known cards: those of the sandbox, or those that transactions name."""
    members = "id status user_id=user limit_cents=limit available_cents=available held_cents=held posted_cents=posted"
    stored = _known(records(api, "card"), members)
    bodies = (event.event.body for event in received(api))
    seen = [(key, facts, None) for key, facts, _ in _known(bodies, "id=spend.card_id user_id=spend.user_id")]
    columns = (
        "card:label id:id status:status user_id:id>users limit_cents:money available_cents:money held_cents:money "
        "posted_cents:money"
    )
    return _rows(columns, _merged(_seen(api, seen), stored), names=names(api))


_TRANSACTION = (
    "authorized_at:time merchant_name amount_cents:money status:status id:id card_id:id>cards user_id:id>users "
    "held_cents:money posted_cents:money refunded_cents:money net_cents:money declined_reason posted_at:time "
    "merchant_category_code currency:hidden"
)


def transactions(api: object) -> Rows:
    """Return the sandbox's stored transactions; for a real service those known from events."""
    sandbox = sandbox_of(api)
    columns: list[list[Any]] = [] if sandbox is None else internals(sandbox).columns("transaction", " ".join(_STORED))
    if columns:
        return _of_books(api, dict(zip(_STORED.values(), columns, strict=True)))
    from workbench.analysis.reports.history import history

    by_id = {getattr(event.event.body, "id", ""): event.event for event in received(api)}
    names_of = {"transaction_id": "id", "authorized_cents": "amount_cents"}
    frame = history(getattr(api, "inbox", None) or []).transactions().rename(columns=names_of)
    cells = _cells_of_frame(frame.sort_values("authorized_at", kind="stable", na_position="first").iloc[::-1])
    return _of_cells(_TRANSACTION, cells, cells["id"], [*map(by_id.get, cells["id"])], names(api))


_STORED = {
    "id": "id", "authorized_at": "authorized_at", "merchant_name": "merchant_name", "authorized": "amount_cents",
    "card": "card_id", "user": "user_id", "held": "held_cents", "settled": "posted_cents", "refunded": "refunded_cents",
    "posted_at": "posted_at", "merchant_category_code": "merchant_category_code", "status": "status",
    "declined_reason": "declined_reason", "currency": "currency",
}  # fmt: skip
"""Members of a stored transaction, each with its column."""


def _of_books(api: object, cells: dict[str, Any]) -> Rows:
    """Return stored transactions, newest first, with the values of `history.transactions` but without a frame."""
    posted, refunded, statuses = cells["posted_cents"], cells["refunded_cents"], cells["status"]
    cells["net_cents"] = list(map(sub, posted, refunded))
    for number in compress(range(len(refunded)), refunded):
        if statuses[number] == "settled" and 0 < posted[number] <= refunded[number]:
            statuses[number] = "refunded"
    reasons = {reason: reason and reason.replace("_", " ") for reason in set(cells["declined_reason"])}
    cells["declined_reason"] = [reasons[reason] for reason in cells["declined_reason"]]
    codes = {code: code.lower() for code in set(cells["currency"])}
    cells["currency"] = [codes[code] for code in cells["currency"]]
    cells |= {name: Times(cells[name]) for name in ("authorized_at", "posted_at")}
    rows = _of_cells(_TRANSACTION, cells, cells["id"], StoredRecords(sandbox_of(api), cells["id"]), names(api))
    return attrs.evolve(rows, newest="authorized_at")


def payment_accounts(api: object) -> Rows:
    """Return the known payment accounts, created or deleted; the service has no list of accounts."""
    members = "id nickname=members.nickname type=members.type user_id=members.user_id created=created_at"
    stored = _known(records(api, "payment_account"), members)
    members = "id=answer.id nickname=answer.nickname type=answer.type user_id=answer.userId created=started"
    created = _known(entries(api, "create_payment_account"), members, "answer")
    gone = _known(entries(api, "delete_payment_account"), "id=request.paymentAccountId deleted=started", "answer")
    columns = "nickname id:id type user_id:id>users created:time deleted:time"
    note = "The service has no list of payment accounts: only known accounts are shown."
    if sandbox_of(api) is not None:  # a reset or an undo removes accounts, and brings deleted ones back
        held = {key for key, *_ in stored}
        gone = [fact for fact in gone if fact[0] not in held]
        held |= {key for key, *_ in gone}
        created = [fact for fact in created if fact[0] in held]
    return _rows(columns, _merged(stored, created, gone), note, names=names(api))


def disputes(api: object) -> Rows:
    """Return the known disputes; `posted_cents` is the posted amount of the transaction."""
    members = "id status transaction_id=transaction created=created_at resolved=resolved_at"
    stored, sandbox = _known(records(api, "dispute"), members), sandbox_of(api)
    disputed = {facts["transaction_id"] for _, facts, _ in stored}
    columns = internals(sandbox).columns("transaction", "id merchant_name settled currency") if disputed else ()
    of = {key: values for key, *values in zip(*columns, strict=True) if key in disputed}
    amounts = {key: {"posted_cents": cents, "currency": code} for key, (_, cents, code) in of.items()}
    stored = [(key, {**facts, **amounts[facts["transaction_id"]]}, record) for key, facts, record in stored]
    called = _known(entries(api, "update_dispute"), "id=request.disputeId status=answer.status", "answer")
    shown = (
        "id:id status:status transaction_id:id>transactions posted_cents:money created:time resolved:time "
        "currency:hidden"
    )
    merchants = {key: merchant for key, (merchant, *_) in of.items()}
    return _rows(shown, _merged(_seen(api, called), stored), names=merchants)


_KINDS = {
    "user_id": "id>users",
    "points": "number",
    "transaction_amount_cents": "money",
    "status": "status",
    "type": "status",
    "id": "id",
}


def rewards(api: Any, users: Iterable[str], **filters: Any) -> Rows:
    """Return the rewards activity of users, all reachable pages, with its frame."""
    from workbench.analysis.rewards.reading import fetch

    frame = fetch(api, list(users), progress=False, **filters).frame()
    kinds = {str(name): "time" if str(name).endswith("_at") else "text" for name in frame.columns} | _KINDS
    several = frame["user_id"].nunique() > 1
    columns = " ".join(f"{name}:{kinds[name]}" for name in frame.columns if several or name != "user_id")
    cells, notes = _cells_of_frame(frame), tuple(frame.attrs.get("notes", ()))
    ids = [key or "" for key in cells["id"]]
    return attrs.evolve(_of_cells(columns, cells, ids, (None,) * len(ids), names(api), notes), frame=frame)


def events(api: object) -> Rows:
    """Return the received events."""
    members = "sequence kind=event.kind about=event.body.id arrived verified times id=event.id"
    arrived = "wall" if sandbox_of(api) is None else "time"
    columns = f"arrived:{arrived} kind about:id>any id:id verified times:number sequence:number"
    return _rows(columns, _known(received(api), members, "event"))


def deliveries(api: object) -> Rows:
    """Return the sandbox's deliveries to registered endpoints, and those that the inbox rejected."""
    sandbox = sandbox_of(api)
    listed: list[tuple[str, Mapping[str, Any], Any]] = [
        (
            delivery.id,
            {**walk.given(delivery), "at": delivery.attempts[-1].at if delivery.attempts else delivery.due},
            delivery,
        )
        for delivery in (() if sandbox is None else sandbox.deliveries())
    ]
    listed += [
        (f"refused-{number}", {"state": f"refused: {refusal.reason}", "at": refusal.at}, None)
        for number, refusal in enumerate(getattr(getattr(api, "inbox", None), "refusals", ()))
    ]
    columns = "at:time state:status kind event_id:id>events tried:number endpoint:id due:time held"
    hint = "Deliveries go to endpoints: register one with api.sandbox.register_endpoint(url)."
    return _rows(columns, listed, *([hint] if sandbox is not None and not listed else []))


def requests(api: object) -> Rows:
    """Return the calls with an effect from the journal, and the requests that the sandbox received."""
    sandbox = sandbox_of(api)
    listed: list[tuple[str, Mapping[str, Any], Any]] = []
    for number, request in enumerate(() if sandbox is None else sandbox.requests()):
        facts = _facts(request, "status_code=status operation id=request_id") | {
            "what": f"{request.method} {request.path or 'a path that is not served'}",
            "outcome": "done" if request.status < 400 else "refused",
            "log": "sandbox",
        }
        thing = {name: value for name, value in walk.given(request).items() if value not in (None, ())}
        listed.append((request.request_id or f"request-{number}", facts, thing))
    members = "started what outcome status_code=status operation id"
    calls, evidence = entries(api), evidence_of(api)
    for entry in calls:
        facts = {**_facts(entry, members), "log": "journal"}
        if entry.id in evidence:
            facts["evidence"] = evidence[entry.id].verdict.replace("_", " ")
        listed.append((entry.id, facts, call_facts(entry, evidence)))
    return _rows("started:time what outcome:status evidence status_code:number operation log id:id", listed)


def evidence_of(api: Any) -> dict[str, Any]:
    """Return the evidence on the journal's calls with an unknown outcome, by id."""
    journal = journal_of(api)
    if journal is None or not (unknown := journal.unknown()):
        return {}
    return {seen.attempt: seen for seen in journal.evidence_of(unknown)}


def call_facts(call: Any, evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a journal entry by column."""
    facts = _facts(call, "id what operation environment started ended status outcome error answer")
    seen = evidence.get(call.id)
    if seen is not None:
        record = f'api.journal.resolve("{call.id}", "{seen.outcome}")' if seen.outcome else seen.next_step
        facts |= {"evidence": seen.reason, "next step": record}
    facts |= {"request": dict(call.request), "resend of": call.resend_of}
    return {name: value for name, value in facts.items() if value not in (None, {}, [])}


def sequences(_: object) -> Rows:
    """Return the sequences of the catalogue, each with its file."""
    from workbench.runs.sequences import catalogue

    listed = (
        (name, {"name": name, "steps": len(sequence.steps), "doc": sequence.doc}, sequence)
        for name, sequence in catalogue.items()
    )
    return _rows("name steps:number doc", listed, newest=False)


def assumed(_: object) -> Rows:
    """Return all assumptions about the service."""
    listed = _known(assumptions(), "where value confidence reason id")
    return _rows("where value confidence:status reason id", listed, newest=False)


KINDS: Mapping[str, Callable[[Any], Rows]] = {
    "health": health,
    "contracts": contracts, "users": users, "companies": companies, "cards": cards, "transactions": transactions,
    "payment accounts": payment_accounts, "disputes": disputes, "events": events, "deliveries": deliveries,
    "requests": requests, "sequences": sequences, "assumptions": assumed,
}  # fmt: skip
"""Lists of a panel that need no input; rewards need a user."""
