"""Evidence for a task in a sandbox: records before and after, and the requests and events since the task began."""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from functools import cached_property, lru_cache
from typing import Any

from workbench.base.schema.walk import flat as leaves_of
from workbench.base.schema.walk import snake
from workbench.client.calls.client import Client
from workbench.sandbox import Sandbox
from workbench.sandbox.internals import internals
from workbench.service.interface.table import OPERATIONS, PREFIX

KINDS = (
    "card", "transaction", "user", "company", "owner", "dispute", "payment_account", "payment_route", "contract",
    "deposit",
)  # fmt: skip
"""Kinds of records that are compared before and after."""
_FOLLOWS = {"card": ("available", "held", "posted", "refunded"), "user": ("rewards", "updated_at")}
"""Members that follow from other records."""
_NUMBERS = re.compile(r"nonce|tokens\.[0-9]+\.balance")
"""Members of contracts that are stored at the beginning, so that a difference can be expected."""
PURCHASE: Mapping[str, Any] = {"currency": "USD", "merchant_category_code": "5411"}
CALLED = "called with"
"""Member of a flat request with the names of its arguments; no argument has a blank in its name."""
OPERATION, STATUS, FAULT, SIGNATURE = "of operation", "status code", "injected fault", "in the log"
"""Members of a flat request that identify it."""
Facts = dict[str, Any]
Record = Mapping[str, Any]


def flat(value: object) -> Iterator[tuple[str, Any]]:
    """Yield the members of a value by dotted path, in Python names."""
    for path, inner in leaves_of(value, items=True):
        names = path.replace("]", "").replace("[", ".").split(".")
        yield ".".join(snake(name) for name in names if name not in ("", "members")), inner


def digest(record: Record) -> str:
    """Return a short hash of a record, without the members that are derived from other records."""
    left_out = _FOLLOWS.get(str(record.get("kind")), ())
    content = {name: value for name, value in record.items() if name not in left_out}
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:16]


def all_records(sandbox: "Sandbox") -> dict[str, Record]:
    """Return the records of a sandbox by id."""
    return {record["id"]: dict(record) for kind in KINDS for record in sandbox.records(kind, all_tenants=True)}


_DELIVERY = ("endpoint", "event_id", "kind", "state")


def _deliveries(sandbox: "Sandbox") -> Iterator[Record]:
    """Yield each delivery attempt, with the fields of its delivery and its event body."""
    bodies = {event.payload["id"]: event.payload["body"] for event in sandbox.events()}
    for delivery in sandbox.deliveries():
        about = {**bodies.get(delivery.event_id, {}), **{name: getattr(delivery, name) for name in _DELIVERY}}
        for attempt in delivery.attempts:
            yield {**about, "status": attempt.status, "fault": attempt.fault}


LISTED: Mapping[str, Callable[[Any], Iterable[Record]]] = {
    "endpoint": lambda sandbox: ({"id": endpoint.id} for endpoint in sandbox.endpoints()),
    "delivery": _deliveries,
}
"""Kinds whose records are all examined, changed or not, by the function that lists them."""


def mark(sandbox: "Sandbox") -> Facts:
    """Return the initial state of a task as JSON: hashes of all records, the last request and the last event."""
    records = all_records(sandbox)
    requests = sandbox.requests(all_tenants=True)
    contracts = {id_: record for id_, record in records.items() if record["kind"] == "contract"}
    return {
        "world": internals(sandbox).world_id(),
        "request": signature(requests[-1]) if requests else "",
        "event": internals(sandbox).last_event(),
        "records": {id_: digest(record) for id_, record in records.items()},
        "numbers": {id_: _numbers(record) for id_, record in contracts.items()},
        "others": [],
    }


def signature(entry: Any) -> str:
    """Return an identifier for a request in the log. The log numbers only requests that have events."""
    return f"{entry.method} {entry.path} {entry.status} {entry.at.isoformat()} {entry.seconds} {entry.request_id or ''}"


def _numbers(record: Record) -> dict[str, str]:
    return {path: str(value) for path, value in flat(record) if _NUMBERS.fullmatch(path)}


def as_number(value: object) -> Decimal | None:
    """Return a value as a number; None if it is not a number."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None


def absorb(state: Facts, sandbox: "Sandbox", before: Mapping[str, str], last_event: int) -> None:
    """Exclude the changes of other people from a task, so that their records and events do not count as the learner's.

    Args:
        state: Mark of the task.
        sandbox: The sandbox after the other changes.
        before: Hashes of the sandbox's records before these changes.
        last_event: Number of the last event before these changes.
    """
    after = {id_: digest(record) for id_, record in all_records(sandbox).items()}
    state["records"].update({id_: hash_ for id_, hash_ in after.items() if before.get(id_) != hash_})
    state["others"] += [event.payload["id"] for event in sandbox.events(since=last_event)]


class Evidence:
    """Records, requests and events of a sandbox since a mark.

    Args:
        sandbox: The sandbox.
        state: State that was stored when the task began.
        fetched: Ids of the events that the learner's inbox has read.
    """

    def __init__(self, sandbox: "Sandbox", state: Facts, fetched: Collection[str] = ()) -> None:
        self.sandbox = sandbox
        self.state = state
        self._fetched = fetched

    @property
    def guide(self) -> Mapping[str, Any]:
        """Return the guide of the sandbox in its initial state."""
        return first_guide(self.sandbox.seed)

    @cached_property
    def records(self) -> dict[str, Record]:
        """Return the records by id."""
        return all_records(self.sandbox)

    @cached_property
    def changed(self) -> dict[str, Record]:
        """Return the created and changed records, and the ids of deleted records."""
        before = self.state["records"]
        now = {id_: record for id_, record in self.records.items() if before.get(id_) != digest(record)}
        return {**now, **{id_: {"id": id_, "kind": "deleted"} for id_ in before if id_ not in self.records}}

    @cached_property
    def calls(self) -> list[Record]:
        """Return the learner's requests since the task began as flat members, oldest first."""
        log = list(self.sandbox.requests(all_tenants=True, reveal=True))
        last = self.state["request"]
        begun = next((number for number, entry in enumerate(log, 1) if last and signature(entry) == last), 0)
        calls = (_call(entry) for entry in log[begun:] if entry.operation in OPERATIONS)
        live = set(self.state.get("live", ()))
        return [call for call in calls if call.get("answer.transaction_id") not in live]

    def called(self, operation: str, status: int | None) -> list[Record]:
        """Return the flattened requests of an operation with a status; None for requests with an injected fault."""
        calls = [call for call in self.calls if call[OPERATION] == operation]
        if status is None:
            return [call for call in calls if call[FAULT]]
        return [call for call in calls if call[STATUS] == status and call[FAULT] in ("", "lost")]

    def add_live(self, transaction: str) -> None:
        """Exclude one of the task's own purchases from the learner's changes."""
        self.state["live"].append(transaction)
        self.state["records"][transaction] = digest(self.sandbox.state(transaction))

    def events(self, kind: str, everything: bool = False) -> list[Record]:
        """Return the events of a kind as flat members, with `event_id`, `cause` and `fetched`."""
        since = 0 if everything else self.state["event"]
        events = list(self.sandbox.events(kind, since=since))
        return [self._event(event) for event in events if event.payload["id"] not in self.state["others"]]

    def _event(self, event: Any) -> Record:
        id_ = event.payload["id"]
        fetched = id_ in self._fetched or id_ in self._delivered
        return {**dict(flat(event.payload["body"])), "event_id": id_, "cause": event.cause, "fetched": fetched}

    @cached_property
    def _delivered(self) -> set[str]:
        return {delivery.event_id for delivery in self.sandbox.deliveries(state="delivered")}


def operator(sandbox: Any, ca_file: str | None = None) -> Client:
    """Return a client for events in a world that the learner does not cause. Injected faults do not affect it."""
    transport = internals(sandbox).direct(faults=False) if isinstance(sandbox, Sandbox) else None
    key = sandbox.full_key
    return Client(base_url=sandbox.base_url, api_key=key, transport=transport, journal=False, ca_file=ca_file)


@lru_cache(maxsize=4)
def first_guide(seed: int) -> Mapping[str, Any]:
    """Return the guide of a sandbox with this seed in its initial state."""
    return dict(Sandbox(seed).guide())


def _call(entry: Any) -> Record:
    """Return a request with its arguments, the members of its answer, and the other facts that a criterion can name."""
    operation = OPERATIONS[entry.operation]
    sent = {**(entry.body or {}), **(operation.in_path((entry.path or "").removeprefix(PREFIX)) or {})}
    answer = entry.answer if isinstance(entry.answer, Mapping) else {}
    members = dict(flat(sent)) | {f"answer.{path}": value for path, value in flat(answer)}
    members |= {OPERATION: operation.name, STATUS: entry.status, FAULT: entry.fault or "", SIGNATURE: signature(entry)}
    return {**members, "carried_out": "yes" if entry.status < 300 else "no", CALLED: {snake(name) for name in sent}}
