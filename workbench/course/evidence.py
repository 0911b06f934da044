"""Evidence for a task in a sandbox: records before and after, and the requests and events since the task began."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

import attrs

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
"""Members that are derived from other records, by kind."""
_NUMBERS = re.compile(r"nonce|tokens\.[0-9]+\.balance")
"""Contract members whose changes a task can expect. A mark contains their values, and only hashes of everything else,
because it is stored unencrypted.
"""
Facts = dict[str, Any]
Record = Mapping[str, Any]


def flat(value: object) -> Iterator[tuple[str, Any]]:
    """Yield the members of a value by dotted path, in Python names."""
    for path, inner in leaves_of(value, items=True):
        yield ".".join(snake(name) for name in re.findall(r"[^][.]+", path) if name != "members"), inner


def digest(record: Record) -> str:
    """Return a short hash of a record, without the members that are derived from other records."""
    content = {name: value for name, value in record.items() if name not in _FOLLOWS.get(str(record.get("kind")), ())}
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:16]


_DELIVERY = ("endpoint", "event_id", "kind", "state")


def _deliveries(sandbox: "Sandbox") -> Iterator[Record]:
    """Yield each delivery attempt, with the fields of its delivery and its event body."""
    bodies = {event.payload["id"]: event.payload["body"] for event in sandbox.events()}
    for delivery in sandbox.deliveries():
        about = {name: getattr(delivery, name) for name in _DELIVERY}
        for attempt in delivery.attempts:
            yield {**bodies.get(delivery.event_id, {}), **about, "status": attempt.status, "fault": attempt.fault}


LISTED: Mapping[str, Callable[[Any], Iterable[Record]]] = {
    "endpoint": lambda sandbox: ({"id": endpoint.id} for endpoint in sandbox.endpoints()),
    "delivery": _deliveries,
}
"""Kinds of which tasks examine unchanged records, too. The functions list the records."""


def mark(sandbox: "Sandbox") -> Facts:
    """Return the state of a sandbox as JSON: hashes of all records, the last request and the last event."""
    records = Evidence(sandbox, {}).records
    requests = sandbox.requests(all_tenants=True)
    return {
        "world": internals(sandbox).world_id(),
        "request": signature(requests[-1]) if requests else "",
        "event": internals(sandbox).last_event(),
        "records": {id_: digest(record) for id_, record in records.items()},
        "contracts": {
            id_: {path: str(value) for path, value in flat(record) if _NUMBERS.fullmatch(path)}
            for id_, record in records.items()
            if record["kind"] == "contract"
        },
        "others": [],
    }


def signature(entry: Any) -> str:
    """Return text that identifies a request in the log. Only requests that changed a record have an id."""
    return f"{entry.method} {entry.path} {entry.status} {entry.at.isoformat()} {entry.seconds} {entry.request_id or ''}"


def absorb(state: Facts, sandbox: "Sandbox", before: Facts) -> None:
    """Exclude changes by others, such as the trainer, from a task, so that they do not count as the learner's changes.

    Args:
        state: Mark of the task.
        sandbox: The sandbox after the other changes.
        before: Mark of the sandbox before these changes.
    """
    changed = {id_: digest(record) for id_, record in Evidence(sandbox, before).changed.items()}
    state["others"] += [*(changed.keys() - before["records"].keys())]
    state["others"] += [event.payload["id"] for event in sandbox.events(since=before["event"])]
    state["records"] |= changed


@attrs.frozen
class Evidence:
    """Records, requests and events of a sandbox since a mark.

    Attributes:
        sandbox: The sandbox.
        state: State that was stored when the task began.
    """

    sandbox: Any
    state: Facts

    @property
    def names(self) -> Facts:
        """Values that a task can refer to: the guide of the sandbox in its initial state, and the task's facts."""
        return {**first_guide(self.sandbox.seed), **self.state["facts"]}

    @cached_property
    def actions(self) -> str:
        """Hash of what the learner did since the task began."""
        changed, requests = map(digest, self.changed.values()), map(signature, self.requests)
        return digest({"changed": [*changed], "requests": [*requests], "answers": self.state["answers"]})

    @cached_property
    def records(self) -> dict[str, Record]:
        """Return all records of the sandbox by id, in the kinds that tasks compare."""
        return {record["id"]: dict(record) for kind in KINDS for record in self.sandbox.records(kind, all_tenants=True)}

    @cached_property
    def changed(self) -> dict[str, Record]:
        """Return the created and changed records, and the ids of deleted records."""
        before = self.state["records"]
        now = {id_: record for id_, record in self.records.items() if before.get(id_) != digest(record)}
        return {**now, **{id_: {"id": id_, "kind": "deleted"} for id_ in before if id_ not in self.records}}

    @cached_property
    def requests(self) -> list[Any]:
        """Return the learner's requests since the task began, oldest first."""
        log = list(self.sandbox.requests(all_tenants=True, reveal=True))
        begun = next((number for number, entry in enumerate(log, 1) if signature(entry) == self.state["request"]), 0)
        others = self.state["others"]  # ids of records and events that the learner did not cause
        return [
            entry
            for entry in log[begun:]
            if entry.operation in OPERATIONS
            and not (isinstance(entry.answer, Mapping) and entry.answer.get("transactionId") in others)
        ]

    def called(self, operation: str, status: int, fault: bool) -> list[Record]:
        """Return the requests of an operation, with a status or (`fault`) with any injected fault, as flat members."""
        return [
            _call(entry)
            for entry in self.requests
            if entry.operation == operation
            and (entry.fault if fault else entry.status == status and entry.fault in (None, "", "lost"))
        ]

    def events(self, kind: str, everything: bool = False) -> list[Record]:
        """Return the events of a kind as flat members, with `event_id` and `cause`. `everything` adds older events."""
        since = 0 if everything else self.state["event"]
        return [
            {**dict(flat(event.payload["body"])), "event_id": event.payload["id"], "cause": event.cause}
            for event in self.sandbox.events(kind, since=since)
            if event.payload["id"] not in self.state["others"]
        ]


def operator(sandbox: Any, ca_file: str | None = None) -> Client:
    """Return a client for calls that are not the learner's. Injected faults do not affect these calls."""
    transport = internals(sandbox).direct(faults=False) if isinstance(sandbox, Sandbox) else None
    key = sandbox.full_key
    return Client(base_url=sandbox.base_url, api_key=key, transport=transport, journal=False, ca_file=ca_file)


@lru_cache(maxsize=4)
def first_guide(seed: int) -> Mapping[str, Any]:
    """Return the guide of a sandbox with this seed in its initial state."""
    return dict(Sandbox(seed).guide())


def _call(entry: Any) -> Record:
    """Return a request's arguments as flat members, with the answer, and whether the request was carried out."""
    path = OPERATIONS[entry.operation].in_path((entry.path or "").removeprefix(PREFIX))
    sent = {**(entry.body or {}), **(path or {})}
    answer = {f"answer.{path}": value for path, value in flat(entry.answer or {})}
    return {**dict(flat(sent)), **answer, "carried_out": "yes" if entry.status < 300 else "no"}
