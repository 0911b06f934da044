"""Read the lists of a panel from a session: rows of plain values, with the record that each row opens."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from itertools import chain, compress
from operator import sub
from typing import Any

import attrs

from workbench.base.schema import walk
from workbench.client.calls.base import journal_of
from workbench.client.session import AsyncSession, Session, sandbox_of, sandbox_times
from workbench.client.webhooks.inbox import last_event
from workbench.sandbox.control_records import private_members
from workbench.sandbox.internals import internals
from workbench.screens.panel.cells import (
    Facts,
    Found,
    Rows,
    columns_of,
    rows_of,
    rows_of_frame,
)
from workbench.service import chains
from workbench.service.interface.assumptions import assumptions
from workbench.service.rendering.text import NO_FUNDS, TEST_CHAINS


def _facts(x: object, members: str) -> Facts:
    """Return members of a record or mapping by column name. In a column of numbers, a list becomes its length.

    Args:
        members: The columns, as for `columns_of`.
    """
    facts = {}
    for column in columns_of(members):
        value = x
        for name in column.path.split("."):
            value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
        if column.kind == "number" and isinstance(value, list | tuple):
            value = len(value)
        facts[column.name] = str(value) if isinstance(value, str) else value
    return facts


# Sources for kinds that the service cannot list: records of the sandbox, the journal, and received events.


def records(api: object, kind: str) -> list[Any]:
    """Return the sandbox's stored records of a kind; empty for a real service."""
    sandbox = sandbox_of(api)
    return [] if sandbox is None else sandbox.records(kind)


def received(api: object) -> list[Any]:
    """Return the received events with arrival times, on the sandbox's clock if known."""
    inbox = getattr(api, "inbox", None)
    if inbox is None:
        return []
    stored, times = inbox.stored(), sandbox_times(api)
    return [attrs.evolve(event, arrived=times.get(event.event.id, event.arrived)) for event in stored]


def entries(api: Any, *operations: str) -> list[Any]:
    """Return the journal's calls with an effect, oldest first. With `operations`, return only their completed calls."""
    calls = list(journal_of(api) or ())
    done = [entry for entry in calls if entry.operation in operations and entry.outcome == "done"]
    return done if operations else calls


_LABELED = {
    "card": "id last4",
    "owner": "id first_name last_name",
    "user": "id first_name last_name",
    "company": "id name",
}
"""Members that form the label of a record, by kind."""


class Labels:
    """Masked labels of the sandbox's cards, people and companies by id. Changed labels are read again."""

    def __init__(self, api: object) -> None:
        self.of: dict[str, str] = {}
        self._sandbox = sandbox_of(api)
        self._marks = dict.fromkeys(_LABELED, "")

    def read(self) -> bool:
        """Read the labels, and return whether a known label changed."""
        read: dict[str, str] = {}
        private = private_members()
        for kind, members in _LABELED.items() if self._sandbox is not None else ():
            self._marks[kind], _, ids, *columns = internals(self._sandbox).changed(kind, members, self._marks[kind])
            masks = [private[name].mask if name in private else str for name in members.split()[1:]]
            for key, *texts in zip(ids, *map(map, masks, columns), strict=True):
                if label := " ".join(filter(None, texts)):
                    read[key] = f"•••• {label}" if kind == "card" else label
        if differs := any(self.of.get(key, label) != label for key, label in read.items()):
            self.of = {**self.of}  # a new mapping, because rows that were read earlier keep the old one
        self.of |= read
        return differs


def names(api: object) -> dict[str, str]:
    """Return masked labels of the sandbox's cards, people and companies by id."""
    labels = Labels(api)
    labels.read()
    return labels.of


def tokens(api: object, member: str) -> Facts:
    """Return the token addresses or the chains in the stored contracts, by description."""
    found: Facts = {}
    for record in records(api, "contract"):
        chain = str(chains.chain_of(record["chain_id"]))
        for token in record["tokens"]:
            address = token["address"]
            if member == "token":
                found[f"{token['symbol']}, {token['balance']} on {chain}, {address[:6]}…{address[-4:]}"] = address
            else:
                found[chain] = record["chain_id"]
    return found


def iso(value: object) -> str | None:
    """Return a time in UTC in the format that the page parses; None for any other value."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds") if isinstance(value, datetime) else None


def mentions(value: object, key: str) -> bool:
    """Return whether a value is equal to `key`, or a record, mapping or list contains an equal value at any depth."""
    if walk.is_record(value):
        value = walk.given(value)
    if isinstance(value, Mapping):
        value = [*value.values()]
    return any(mentions(item, key) for item in value) if isinstance(value, list | tuple) else value == key


def now(api: object) -> datetime:
    """Return the time of the sandbox; without a sandbox, return the system time."""
    sandbox = sandbox_of(api)
    moment: datetime = datetime.now(UTC) if sandbox is None else sandbox.clock.now()
    return moment


_READS = {"users": "user owner company", "companies": "company", "contracts": "contract"}
"""Kinds of sandbox records on which a list depends. Lists that are not named here depend on all changes."""


def stamp(api: object, name: str = "") -> tuple[Any, ...]:
    """Return a value that changes when the sandbox, the inbox or the journal changes, but not when they are read.

    Args:
        name: Name of a list. If a sandbox knows the records of the list, only their changes change the value.
    """
    sandbox, inbox = sandbox_of(api), getattr(api, "inbox", None)
    if sandbox is not None and name in _READS:
        return tuple(internals(sandbox).changed(kind)[0] for kind in _READS[name].split())
    changes = None if sandbox is None else internals(sandbox).changes()
    # the hash also changes when a person resolves a call
    calls = hash(tuple(entry.final_outcome for entry in entries(api)))
    return calls, None if inbox is None else last_event(inbox), changes


def _known(objects: Iterable[Any], members: str, thing: str = "", **more: object) -> list[Found]:
    """Return a row for each record, call or event that has an id.

    Args:
        members: The columns, as for `columns_of`, including `id`.
        thing: Path of the record that the row opens, within the object; default: the object itself.
        more: Further values of each row.
    """
    facts = [
        ({**more, **_facts(item, members)}, _facts(item, f"of={thing}")["of"] if thing else item) for item in objects
    ]
    return [(values["id"], values, thing or None) for values, thing in facts if isinstance(values["id"], str)]


def _merged(*sources: Iterable[Found]) -> list[Found]:
    """Merge the rows of several sources by id. Later values replace earlier values."""
    known: dict[str, Found] = {}
    for key, facts, thing in chain.from_iterable(sources):
        _, held, first = known.get(key, (key, {}, None))
        values = {name: value for name, value in facts.items() if value is not None}
        known[key] = key, {**held, **values}, first or thing
    return [(key, facts, thing or facts) for key, facts, thing in known.values()]


# Readers of the lists, by name in `KINDS`.


def health(api: object) -> Rows:
    """Return the problems of a session by cause, most urgent first, each with its fix."""
    if not isinstance(api, Session | AsyncSession):
        return rows_of("", (), "Only a session can report its health; this is a client.")
    state = api.health()
    troubles = enumerate(map(attrs.asdict, state), start=1)
    listed = ((str(number), trouble, trouble) for number, trouble in troubles)
    assumed = f"{len(state.assumptions)} unconfirmed assumptions in use: {', '.join(state.assumptions)}."
    versions = ", ".join(f"{name} {version}" for name, version in state.versions.items())
    notes = ["No problems."] * state.ok + [assumed] * bool(state.assumptions) + [f"Versions: {versions}."]
    columns = "kind:status what count:number fix last:time operation:hidden rule:hidden member:hidden"
    return rows_of(columns, listed, *notes, newest=False)


def contracts(api: Any) -> Rows:
    """Return the tokens of all contracts, one row per token."""
    listed = api.list_contracts()
    notes = [f"{NO_FUNDS}: these are test chains."] * any(contract.chain_id in TEST_CHAINS for contract in listed)
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
        "credit_cents:money deposit_address:address chain_id:hidden"
    )
    return rows_of(columns, listed_rows, *notes, newest=False)


def credit_of(token: Any, percent: object) -> int | None:
    """Return the credit in cents that a percentage of a token backs: balance × exchange rate × percentage."""
    try:
        return int(Decimal(token.balance) * Decimal(str(token.exchange_rate)) * Decimal(str(percent)))
    except (AttributeError, ArithmeticError, TypeError, ValueError):
        return None


def users(api: object) -> Rows:
    """Return the sandbox's users and owners; for a real service, users in the journal and events. Names are masked."""
    columns = (
        "name=label id:id kind application_status:status=status external_id company_id:id>companies "
        "updated:time=updated_at"
    )
    if sandbox_of(api) is not None:
        people = [*records(api, "owner"), *records(api, "user")]
        return rows_of(columns, _known(people, columns), names=names(api))
    members = "id=answer.id application_status=answer.applicationStatus external_id=answer.externalId updated=started"
    called = _known(entries(api, "create_user_application", "update_user"), members, "answer", kind="user")
    events = (event for event in received(api) if event.event.kind == "user.updated")
    members = "id=event.body.id application_status=event.body.application_status updated=arrived"
    return rows_of(columns, _merged(called, _known(events, members, "event.body", kind="user")))


def companies(api: object) -> Rows:
    """Return the companies of the sandbox. The service has no list of companies."""
    columns = "name=label id:id application_status:status=status owners:number external_id"
    note = "The service has no list of companies: only the sandbox's companies are shown."
    return rows_of(columns, _known(records(api, "company"), columns), note, names=names(api))


def cards(api: object) -> Rows:
    """Return the sandbox's cards; for a real service, the cards in transaction events."""
    columns = (
        "card=label id:id status:status user_id:id>users=user limit_cents:money=limit available_cents:money=available "
        "held_cents:money=held posted_cents:money=posted"
    )
    if sandbox_of(api) is None:
        seen = _known(received(api), "id=event.body.spend.card_id user_id=event.body.spend.user_id")
        return rows_of(columns, _merged((key, facts, None) for key, facts, _ in seen))
    return rows_of(columns, _known(records(api, "card"), columns), names=names(api))


_TRANSACTION = columns_of(
    "authorized_at:time merchant_name amount_cents:money=authorized status:status id:id card_id:id>cards=card "
    "user_id:id>users=user held_cents:money=held posted_cents:money=settled refunded_cents:money=refunded "
    "net_cents:money declined_reason posted_at:time merchant_category_code currency:hidden"
)
_STORED = [column for column in _TRANSACTION if column.name != "net_cents"]


class Transactions:
    """Reader of the sandbox's stored transactions, or of a real service's transactions from events.

    For a sandbox, only changed transactions are read again. They replace the values in the rows that were returned
    before.
    """

    def __init__(self, api: object) -> None:
        self._api, self._labels, self._mark = api, Labels(api), ""
        self._rows: Rows | None = None

    def __call__(self) -> Rows:
        sandbox, rows = sandbox_of(self._api), self._rows
        if sandbox is None:
            return _of_events(self._api)
        if self._labels.read():
            self._mark = ""  # labels changed, so all rows are read again
        members = " ".join(column.path for column in _STORED)
        self._mark, is_all, *stored = internals(sandbox).changed("transaction", members, self._mark)
        ids, cells = _of_books(stored)
        if rows is not None and not is_all:
            rows.put(ids, cells)
            return rows
        self._rows = Rows(
            columns=_TRANSACTION,
            cells=cells,
            things=sandbox.state,
            ids=ids,
            names=self._labels.of,
            newest="authorized_at",
        )
        return self._rows


def transactions(api: object) -> Rows:
    """Return the sandbox's stored transactions, or a real service's transactions from events."""
    return Transactions(api)()


def _of_events(api: object) -> Rows:
    """Return the transactions that are known from events."""
    from workbench.analysis.reports.history import history

    by_id = {getattr(event.event.body, "id", ""): event.event for event in received(api)}
    names_of = {"transaction_id": "id", "authorized_cents": "amount_cents"}
    frame = history(getattr(api, "inbox", None) or []).transactions().rename(columns=names_of)
    rows = rows_of_frame(frame.sort_values("authorized_at", kind="stable", na_position="first"))
    cells, ids = tuple(rows.column(column.name) for column in _TRANSACTION), rows.column("id")
    return Rows(columns=_TRANSACTION, cells=cells, things=by_id.get, ids=ids, names=names(api), newest="")


def _of_books(stored: Iterable[list[Any]]) -> tuple[list[str], tuple[list[Any], ...]]:
    """Return the ids and cells of stored transactions, with the values of `history.transactions` but without a frame.

    Args:
        stored: The values of each member.
    """
    cells = {column.name: values for column, values in zip(_STORED, stored, strict=True)}
    posted, refunded, statuses = cells["posted_cents"], cells["refunded_cents"], cells["status"]
    cells["net_cents"] = list(map(sub, posted, refunded))
    for number in compress(range(len(refunded)), refunded):
        if statuses[number] == "settled" and 0 < posted[number] <= refunded[number]:
            statuses[number] = "refunded"
    cells["declined_reason"] = [reason and reason.replace("_", " ") for reason in cells["declined_reason"]]
    cells["currency"] = [code.lower() for code in cells["currency"]]
    return cells["id"], tuple(cells[column.name] for column in _TRANSACTION)


def payment_accounts(api: object) -> Rows:
    """Return the known payment accounts, created or deleted. The service has no list of payment accounts."""
    columns = (
        "nickname=members.nickname id:id type=members.type user_id:id>users=members.user_id created:time=created_at "
        "deleted:time"
    )
    stored = _known(records(api, "payment_account"), columns)
    members = "id=answer.id nickname=answer.nickname type=answer.type user_id=answer.userId created=started"
    created = _known(entries(api, "create_payment_account"), members, "answer")
    gone = _known(entries(api, "delete_payment_account"), "id=request.paymentAccountId deleted=started", "answer")
    known = _merged(created, gone)
    if sandbox_of(api) is not None:  # a reset or undo changes the sandbox's accounts, but not the journal's calls
        held = {key for key, *_ in stored}
        known = [row for row in known if "deleted" in row[1] and row[0] not in held]
    note = "The service has no list of payment accounts: only known accounts are shown."
    return rows_of(columns, [*known, *stored], note, names=names(api))


def disputes(api: object) -> Rows:
    """Return the known disputes. `posted_cents` is the posted amount of the disputed transaction."""
    columns = (
        "id:id status:status transaction_id:id>transactions=transaction posted_cents:money=settled "
        "created:time=created_at resolved:time=resolved_at currency:hidden"
    )
    sandbox = sandbox_of(api)
    if sandbox is None:
        called = _known(entries(api, "update_dispute"), "id=request.disputeId status=answer.status", "answer")
        return rows_of(columns, _merged(called))
    listed, merchants = [], {}
    for record in records(api, "dispute"):
        spend = sandbox.state(record["transaction"])
        merchants[spend["id"]] = spend["merchant_name"]
        listed.append((record["id"], _facts({**spend, **record}, columns), record))
    return rows_of(columns, listed, names=merchants)


def rewards(api: Any, users: Iterable[str] = ()) -> Rows:
    """Return the rewards activity of users from all pages that can be read, with its typed frame."""
    from workbench.analysis.rewards.reading import fetch

    frame = fetch(api, list(users), progress=False).frame()
    kind = "id" if frame["user_id"].nunique() > 1 else "hidden"
    rows = rows_of_frame(frame, f"type:status user_id:{kind}>users")
    return attrs.evolve(rows, ids=[key or "" for key in rows.column("id")], names=names(api))


def events(api: object) -> Rows:
    """Return the events that the session's inbox received."""
    arrived = "wall" if sandbox_of(api) is None else "time"
    columns = (
        f"arrived:{arrived} kind=event.kind about:id>any=event.body.id id:id=event.id verified times:number "
        "sequence:number"
    )
    return rows_of(columns, _known(received(api), columns, "event"))


def deliveries(api: object) -> Rows:
    """Return the sandbox's deliveries to registered endpoints, and the deliveries that the inbox did not store."""
    sandbox, listed = sandbox_of(api), list[Found]()
    for delivery in () if sandbox is None else sandbox.deliveries():
        at = delivery.attempts[-1].at if delivery.attempts else delivery.due
        listed.append((delivery.id, {**walk.given(delivery), "at": at}, delivery))
    for number, refusal in enumerate(getattr(getattr(api, "inbox", None), "refusals", ())):
        listed.append((f"refused-{number}", {"state": f"refused: {refusal.reason}", "at": refusal.at}, None))
    columns = "at:time state:status kind event_id:id>events tried:number endpoint:id due:time held"
    hint = "Deliveries go to endpoints: register one with api.sandbox.register_endpoint(url)."
    return rows_of(columns, listed, *([hint] if sandbox is not None and not listed else []))


def requests(api: object) -> Rows:
    """Return the calls with an effect from the journal, and the requests that the sandbox received."""
    sandbox, listed = sandbox_of(api), list[Found]()
    for number, request in enumerate(() if sandbox is None else sandbox.requests()):
        facts = _facts(request, "status_code=status operation id=request_id") | {
            "what": f"{request.method} {request.path or 'a path that is not served'}",
            "outcome": "done" if request.status < 400 else "refused",
            "log": "sandbox",
        }
        listed.append((request.request_id or f"request-{number}", facts, request))
    members, evidence = "started what outcome status_code=status operation id", evidence_of(api)
    for entry in entries(api):
        facts = {**_facts(entry, members), "log": "journal"}
        if entry.id in evidence:
            facts["evidence"] = evidence[entry.id].verdict.replace("_", " ")
        listed.append((entry.id, facts, call_facts(entry, evidence)))
    return rows_of("started:time what outcome:status evidence status_code:number operation log id:id", listed)


def evidence_of(api: Any) -> Facts:
    """Return the evidence about calls with an unknown outcome, by the call's id in the journal."""
    journal = journal_of(api)
    if journal is None or not (unknown := journal.unknown()):
        return {}
    return {seen.attempt: seen for seen in journal.evidence_of(unknown)}


def call_facts(call: Any, evidence: Facts) -> Facts:
    """Return the values of a journal entry by column."""
    facts = _facts(call, "id what operation environment started ended status outcome error answer")
    seen = evidence.get(call.id)
    if seen is not None:
        record = f'api.journal.resolve("{call.id}", "{seen.outcome}")' if seen.outcome else seen.next_step
        facts |= {"evidence": seen.reason, "next step": record}
    facts |= {"request": dict(call.request), "resend of": call.resend_of}
    return {name: value for name, value in facts.items() if value not in (None, {}, [])}


def sequences(_: object) -> Rows:
    """Return the name, number of steps and description of each sequence in the catalogue."""
    from workbench.runs.sequences import catalogue

    columns = "name steps:number doc"
    listed = ((name, _facts(sequence, columns), sequence) for name, sequence in catalogue.items())
    return rows_of(columns, listed, newest=False)


def assumed(_: object) -> Rows:
    """Return all assumptions about the service."""
    columns = "where value confidence:status reason id"
    return rows_of(columns, _known(assumptions(), columns), newest=False)


KINDS: Mapping[str, Callable[[Any], Rows]] = {
    "health": health,
    "contracts": contracts, "users": users, "companies": companies, "cards": cards, "transactions": transactions,
    "payment accounts": payment_accounts, "disputes": disputes, "rewards": rewards, "events": events,
    "deliveries": deliveries, "requests": requests, "sequences": sequences, "assumptions": assumed,
}  # fmt: skip
"""Lists of a panel that need no input; rewards need a user."""
