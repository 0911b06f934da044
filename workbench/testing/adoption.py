"""Adopt the records of a recorded call into a twin, and list other states that the call may have found.

A record is adopted when it first occurs. It gets the members in the answer or event, and fictitious values for all
other members.
"""

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from workbench.base.schema.rules import UUID
from workbench.base.schema.walk import snake
from workbench.sandbox import cards, people, rewards
from workbench.sandbox.context import Seeds
from workbench.sandbox.store import Record, Store
from workbench.testing.facts import seconds_of
from workbench.testing.recorded import Exchange
from workbench.testing.twin import Change, Twin, outside

States = list[Change]
"""Other states in which a call may have found the service."""
_NAMES = {"first_name": "A", "last_name": "B", "email": "a@b.example"}
_NEW = Seeds(1)  # gives ids to records that the traffic does not name
_LIMIT = 10**15  # limit in cents of a card whose limit no event shows
_STATES = ("active", "locked", "canceled", "notActivated")
_DISPUTES = ("pending", "inReview", "canceled", "accepted", "rejected")
_TOKEN = {"symbol": "USDC", "decimals": 6, "balance": "0", "exchange_rate": "1", "advance_rate": "100"}


def snaked(value: object) -> Any:
    """Return a JSON value with attribute names instead of wire names."""
    if isinstance(value, Mapping):
        return {snake(name): snaked(item) for name, item in value.items()}
    return [snaked(item) for item in value] if isinstance(value, list) else value


def with_changes(kind: str, key: str, **changes: object) -> Change:
    """Return a function that changes a record's members."""
    return lambda twin: twin.store.save(kind, twin.store.get(kind, key), **changes)


@attrs.define
class Adoption:
    """Adopter of the records in calls and events. Later traffic supplies data that a record's first call lacks."""

    twin: Twin
    limits: dict[str, int] = attrs.field(factory=dict)  # limit of a card in cents, by card id
    holders: dict[str, str] = attrs.field(factory=dict)  # id of a card's user, by card id
    followed: set[str] = attrs.field(factory=set)  # transactions that have events, or that a call settled
    at: int = 0  # Unix time of the call or event, in milliseconds
    tenant: str = ""
    x: Any = None  # the call whose records are adopted
    shown: Record = attrs.field(factory=dict)  # members of the call's answer; empty if the call was refused

    @property
    def store(self) -> Store:
        """Store of the twin."""
        return self.twin.store

    def states(self, x: Exchange, at: float, tenant: str) -> States:
        """Adopt the records of a call, and return other states in which the call may have found the service."""
        self.x, self.at, self.tenant, self.shown = x, int(at * 1000), tenant, snaked(x.answered) if x.ok else {}
        if x.name not in _BY_OPERATION or x.status in (401, 404):
            return []
        with self.store:
            return _BY_OPERATION[x.name](self)

    def id_of(self, name: str) -> str:
        """Return an id from the request in lower case; empty if the value is not an id."""
        value = self.x.members.get(name)
        return value.lower() if isinstance(value, str) and UUID.fullmatch(value) else ""

    def adopt(self, kind: str, record: Record) -> Record:
        """Return a stored record. A new record is stored first, and the twin then knows its id."""
        self.twin.ids.add(record["id"])
        with self.store:
            return self.store.get(kind, record["id"]) or self.store.save(kind, record)

    def user(self, key: str, **members: object) -> Record:
        """Return a user. A new user is adopted first."""
        usual: Record = {"status": "approved", "reason": "", "terms": True, "is_active": True, **_NAMES}
        return self.adopt("user", people.new_user(key, self.tenant, self.at - 1_000, **{**usual, **members}))

    def card(self, key: str) -> Record:
        """Return a card. A new card is adopted first, with its holder."""
        holder = self.user(self.holders.get(key) or _NEW.uuid(f"holder:{key}"))
        return self.adopt("card", cards.new_card(key, holder, 1, self.limits.get(key, _LIMIT)))

    def company(self, key: str, owners: list[Record]) -> None:
        """Adopt a company with its owners, unless the company is known."""
        if self.store.get("company", key) is None:
            shown = {name: self.shown.get(name) for name in ("address", "external_id", "source_key")}
            owners = [self.adopt("owner", owner) for owner in owners]
            self.adopt("company", people.new_company(key, self.tenant, "C", owners, **shown))

    def owner(self, company: str, shown: Record) -> Record:
        """Return the record to store for an owner that an answer shows."""
        status, reason = shown.get("application_status", "approved"), shown.get("application_reason", "")
        return people.new_owner(shown["id"], self.tenant, company, status, reason=reason, **_NAMES)


def _authorized(of: Adoption) -> States:
    key, amount = of.id_of("cardId"), of.x.members.get("amount")
    if not key:
        return []
    card = of.card(key)
    states = [with_changes("card", key, status=status) for status in _STATES if status != card["status"]]
    if of.x.answered.get("status") == "declined" and isinstance(amount, int):
        states.append(with_changes("card", key, available=min(amount - 1, card["available"])))
    return states


def _transacted(of: Adoption) -> States:
    key = of.id_of("transactionId")
    if not key:
        return []
    record = of.store.get("transaction", key)
    if record is None:
        sent = of.x.members.get("amount") or of.x.members.get("newAmount")
        amount = sent if isinstance(sent, int) else 1_000
        card = of.card(_NEW.uuid(f"card:{key}"))
        held = {"status": "authorized", "authorized": amount, "held": amount}
        merchant = {"merchant_name": "M", "merchant_category_code": "5411"}
        record = of.adopt("transaction", cards.new_transaction(key, card, at=of.at, **held, **merchant))
        of.store.save("card", card, available=card["available"] - amount, held=card["held"] + amount)
    is_open = record["status"] == "authorized" and of.x.name != "settle" and key not in of.followed
    settle = outside(of.tenant, cards.settle, transaction_id=key, amount=record["held"])
    return [settle] if is_open else []


def _updated_user(of: Adoption) -> States:
    key, status = of.id_of("userId"), of.shown.get("application_status", "approved")
    if not key:
        return []
    state = {"status": status, "reason": of.shown.get("application_reason", "")}
    if of.store.get("user", key) is None:
        shown = {name: value for name, value in of.shown.items() if not name.endswith("_link")}
        of.user(key, **{**shown, **state, "id": key})
        return []
    return [*_taken(of), *([with_changes("user", key, **state)] if of.x.ok else [])]


def _applied(of: Adoption) -> States:
    if key := of.id_of("id"):
        of.user(key, status="notStarted" if of.x.ok else "approved")
    return [*_taken(of), *_teams(of)]


def _teams(of: Adoption) -> States:
    """Return the states in which the tenant has another kind of team."""
    return [with_changes("tenant", of.tenant, **{name: kind}) for name, kind in _TEAMS.items()]


def _taken(of: Adoption) -> States:
    """Return the state in which another user already has the external id."""
    key = f"{of.tenant}:{of.x.members.get('externalId')}"
    is_known = "externalId" not in of.x.members or of.store.get("external_id", key) is not None
    return [] if is_known else [lambda twin: twin.store.put("external_id", key, "another")]


def _updated_owner(of: Adoption) -> States:
    company, updated = of.id_of("companyId"), of.id_of("uboId")
    if company and updated:
        before = {"id": updated}
        rows = of.shown.get("ultimate_beneficial_owners", [before])
        of.company(company, [of.owner(company, before if row["id"] == updated else row) for row in rows])
    return []


def _disputed(of: Adoption) -> States:
    key = of.id_of("disputeId")
    if not key:
        return []
    text, sent = of.shown.get("text_evidence") or "", of.x.members.get("textEvidence")
    before = len(text) - (len(sent) + 1 if isinstance(sent, str) else 0)
    transaction = of.shown.get("transaction_id") or _NEW.uuid(f"disputed:{key}")
    of.twin.ids.add(transaction)
    members = {"tenant": of.tenant, "created_at": of.at, "status": "pending", "resolved_at": None}
    evidence = "x" * before or None
    dispute = of.adopt("dispute", {"id": key, "transaction": transaction, "text_evidence": evidence, **members})
    if dispute["status"] not in ("pending", "inReview"):
        return []
    resolved = {status: None if status == "inReview" else of.at for status in _DISPUTES if status != dispute["status"]}
    return [with_changes("dispute", key, status=status, resolved_at=at) for status, at in resolved.items()]


def _account(of: Adoption) -> States:
    if key := of.id_of("userId"):
        of.user(key)
    if key := of.id_of("companyId"):
        of.company(key, [of.owner(key, {"id": _NEW.uuid(f"owner:{key}")})])
    return _teams(of)


def _contracts(of: Adoption) -> States:
    listed = of.x.answer if of.x.ok and isinstance(of.x.answer, list) else []
    for raw in listed:
        contract = {"nonce": 0, **snaked(raw), "tenant": of.tenant}
        contract["tokens"] = [{**_TOKEN, **token} for token in contract["tokens"]]
        of.twin.ids.add(of.store.save("contract", contract)["id"])
    if listed:
        of.store.put("contracts_of", of.tenant, [raw["id"] for raw in listed])
    return []


def _rewards(of: Adoption) -> States:
    """Adopt the rows of a page. If rows have equal times, the first row in the list is the newest."""
    key, items = of.id_of("userId"), of.shown.get("items") or []
    if key:
        of.user(key)
        falls = bool(items) and items[0]["created_at"] >= items[-1]["created_at"]
        shown = {item["id"]: {**item, **_times(item)} for item in items[:: -1 if falls else 1]}
        known = {row["id"]: row for row in of.store.all(rewards.kept_in(key))}
        rows = {**(shown if falls else {}), **known, **shown}
        of.store.fill(rewards.kept_in(key), dict(sorted(rows.items(), key=lambda row: row[1]["at"])))
    return []


def _times(item: Mapping[str, Any]) -> dict[str, int]:
    names = {"at": "created_at", "posted": "posted_at", "minted": "minted_at"}
    return {name: int(at * 1000) for name, wire in names.items() if (at := seconds_of(item.get(wire))) is not None}


_TEAMS = {"team": "company", "management": "provider"}
_BY_OPERATION: Mapping[str, Callable[[Adoption], States]] = {
    "simulate_authorization": _authorized,
    "simulate_reversal": _transacted,
    "simulate_refund": _transacted,
    "settle": _transacted,
    "update_user": _updated_user,
    "create_user_application": _applied,
    "update_ubo": _updated_owner,
    "update_dispute": _disputed,
    "create_payment_account": _account,
    "list_contracts": _contracts,
    "list_rewards_activity": _rewards,
}
