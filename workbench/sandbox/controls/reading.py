"""Controls that read the state: events, requests, balances and stored records."""

from collections.abc import Iterable
from itertools import chain, compress
from operator import itemgetter
from typing import Annotated, Any

from workbench.base.schema.walk import build
from workbench.sandbox.context import not_found, wrong_argument
from workbench.sandbox.control_records import (
    CardBalance,
    RequestEntry,
    SandboxEvent,
    StoredRecord,
    from_json,
)
from workbench.sandbox.controls.declaration import ControlGroup, control
from workbench.sandbox.delivery import listed
from workbench.sandbox.guide import guide
from workbench.sandbox.people import links
from workbench.sandbox.store import Record
from workbench.service.interface.events import EVENT_KINDS

RECORD_KINDS = (
    "card",
    "transaction",
    "user",
    "company",
    "owner",
    "dispute",
    "payment_account",
    "payment_route",
    "contract",
    "deposit",
)


class ReadingControls(ControlGroup):
    """Read the state of the sandbox."""

    base_url: str

    @control(changes=False)
    def guide(self) -> Record:
        """Return the base URL, the keys with their permissions, and example ids of every kind and state. The session's
        tenant comes first.
        """
        full = self._engine.store.get("key", self._engine.full_key)["tenant"]
        return guide(self._engine.environment, self.base_url, self._tenant_id() or full)

    @control(changes=False)
    def events(
        self,
        kind: Annotated[str | None, EVENT_KINDS] = None,
        since: int | None = None,
        all_tenants: bool = False,
    ) -> list[SandboxEvent]:
        """Return the tenant's events in order, each with the request that caused it. Private values are masked in the
        repr.

        Args:
            kind: Only events of this kind, such as "user.updated".
            since: Only events after this sequence number.
            all_tenants: Whether to include all tenants.
        """
        rows = (row for row in self._engine.events(since or 0) if kind in (None, row["kind"]))
        return self._collect(listed(self._engine.environment, row) for row in self._theirs(rows, all_tenants))

    @control(changes=False)
    def _last_event(self) -> int:
        """Return the sequence number of the last event; 0 if there are none."""
        return self._engine.last_event

    @control(changes=False)
    def _world_id(self) -> str:
        """Return the id of this world. A reset changes the id, and so does the restart of a sandbox in memory."""
        return str(self._engine.store.get("meta", "made").get("world", ""))

    @control(changes=False)
    def requests(self, all_tenants: bool = False, reveal: bool = False) -> list[RequestEntry]:
        """Return the tenant's most recent requests and their responses, oldest first. Private values are masked.

        Args:
            all_tenants: Whether to include all tenants.
            reveal: Whether to show the private values of bodies and responses, and paths that are not served. Keys are
                never shown.
        """
        tenant = None if all_tenants else self._tenant_id()
        return self._collect(build(RequestEntry, entry) for entry in self._engine.log.entries(tenant, reveal=reveal))

    @control(changes=False)
    def balance(self, card_id: str) -> CardBalance:
        """Return the money of a card in cents: limit, available, held, posted, refunded.

        Args:
            card_id: Id of the card.
        """
        return from_json(CardBalance, self._record("card", card_id))

    @control(changes=False)
    def state(self, record_id: str, all_tenants: bool = False) -> StoredRecord:
        """Return the stored record of a tenant, with its kind. The record of a person also has the links to web
        pages. Private values are masked in the repr.

        Args:
            record_id: Id of the record, of any kind.
            all_tenants: Whether the record may belong to any tenant.
        """
        for kind in RECORD_KINDS:
            record = self._engine.store.get(kind, record_id.lower())
            if record is not None and any(self._theirs([record], all_tenants)):
                return self._stored(kind, record)
        raise not_found("Record")

    @control(changes=False)
    def records(self, kind: Annotated[str, RECORD_KINDS], all_tenants: bool = False) -> list[StoredRecord]:
        """Return the tenant's stored records of a kind, oldest first. Private values are masked in the repr.

        Args:
            kind: card, transaction, user, company, owner, dispute, payment_account, payment_route, contract or deposit.
            all_tenants: Whether to include all tenants.
        """
        records = self._theirs(self._engine.store.all(kind), all_tenants)
        return self._collect(self._stored(kind, row) for row in records)

    def _stored(self, kind: str, record: Record) -> StoredRecord:
        """Return a stored record. A person's record includes the links to web pages."""
        pages = links(self._engine.environment.settings, record) if kind in ("user", "owner") else {}
        return StoredRecord({"kind": kind, **record, **pages})

    @control(changes=False)
    def _changed(self, kind: Annotated[str, RECORD_KINDS], names: str = "", mark: str = "") -> list[Any]:
        """Return a mark, whether all records follow or only changed records, and a list of values for each member.

        The records are the tenant's, oldest first.

        Args:
            kind: Kind of the records, as for `records`.
            names: Names of members, separated by spaces; default: none, only the mark.
            mark: Mark from an earlier call; default: none, so the result has all records.
        """
        store = self._engine.store
        new, ids = store.changed(kind, mark)
        records = None if ids is None else [store.readable(kind, key) for key in ids]
        # None represents a deleted record, after which the result must contain all records
        is_all = records is None or None in records
        if not names:
            return [new, is_all]
        return [new, is_all, *self._members(kind, names, store.all(kind) if is_all else records or ())]

    def _members(self, kind: str, names: str, records: Iterable[Record]) -> list[Any]:
        members = ["tenant", *names.split()]
        try:
            values = list(chain.from_iterable(map(itemgetter(*members), records)))
        except KeyError as error:
            raise wrong_argument("names", "unknown", f"{error} is not a member of each {kind}") from None
        owners, *columns = (values[place :: len(members)] for place in range(len(members)))
        tenant = self._tenant_id()
        if any(owner != tenant for owner in set(owners)):
            theirs = [owner == tenant for owner in owners]
            columns = [list(compress(column, theirs)) for column in columns]
        return columns
