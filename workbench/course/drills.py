"""Drills: incidents made of seeded data, faults and live traffic, graded by what the service and the journal hold at the end.

run = wb.course.drill("fraud-burst", api)   # sets the incident up and shows the situation
run.check()                                 # what is still missing
run.debrief()                               # the time line, and what a good answer does
"""

import contextlib
import socket
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs

from workbench.course.learner import Display, read_stored, write_stored
from workbench.errors import InvalidRequest, OutcomeUnknown, visible
from workbench.http_post import check_url, post
from workbench.interface import strict_json
from workbench.rendering.layout import Cell, Grid, Sheet

Facts = dict[str, Any]
_PURCHASE: Mapping[str, Any] = {"currency": "USD", "merchant_category_code": "5411"}
_FRAUD = "Quick Gift Cards"
_OWED = 500  # cents
_FILE = "drills.json"


@attrs.frozen(kw_only=True)
class Drill:
    """An incident: what happened, and how it is set up and graded."""

    name: str
    title: str
    minutes: int
    situation: str
    answer: str = attrs.field(repr=False)
    set_up: Callable[[Any], Facts] = attrs.field(repr=False)
    missing: Callable[[Any, Facts], Iterator[str]] = attrs.field(repr=False)


def _buy(api: Any, card: str, amount: int, merchant: str = "Example Market", *, settle: bool = True) -> str:
    made = api.simulate_authorization(card_id=card, amount=amount, merchant_name=merchant, **_PURCHASE)
    if settle:
        api.sandbox.settle(made.transaction_id)
    return str(made.transaction_id)


# a webhook booked twice


def _set_up_bookings(api: Any) -> Facts:
    card = api.guide()["cards"]["active"][3]
    after = api.sandbox.last_event()
    for amount in (1_250, 480, 9_900, 3_075, 640, 2_210):
        _buy(api, card, amount)
    completed = [one["event"] for one in api.sandbox.events("transaction.completed", after)]
    rows = [
        {"event": event["id"], "transaction": event["body"]["id"], "cents": event["body"]["spend"]["amount"]}
        for event in completed
    ]
    return {"ledger": [*rows[:2], rows[1], *rows[2:5], rows[4], *rows[5:]], "bookings": len(rows) + 2}


def _bookings(api: Any, facts: Facts) -> Iterator[str]:
    booked: Counter[str] = Counter()
    for row in facts["ledger"]:
        booked[row["transaction"]] += row["cents"]
    for transaction, cents in booked.items():
        held = api.sandbox.state(transaction)
        posted = held["settled"] - held["refunded"]
        if cents != posted:
            yield f"transaction {transaction}: the ledger shows {cents} cents, the service posted {posted}."
    extra = len(facts["ledger"]) - facts["bookings"]
    if extra > 2:
        yield f"{extra} corrections were booked where two are enough."


# refunds with an unknown outcome


def _set_up_refunds(api: Any) -> Facts:
    card = api.guide()["cards"]["active"][4]
    bought = [_buy(api, card, 2_000) for _ in range(4)]
    for transaction, fault in zip(bought, ("lost", "closed", "lost", None), strict=True):
        if fault:
            api.sandbox.add_fault(fault, of="simulate_refund", times=1)
        with contextlib.suppress(OutcomeUnknown):
            api.simulate_refund(transaction_id=transaction, amount=_OWED)
        api.sandbox.clear_faults()
    return {"transactions": bought}


def _refunds(api: Any, facts: Facts) -> Iterator[str]:
    for transaction in facts["transactions"]:
        refunded = api.sandbox.state(transaction)["refunded"]
        if refunded != _OWED:
            yield f"transaction {transaction}: {refunded} cents were refunded, not {_OWED}."
        entries = [one for one in api.journal.list(operation="simulate_refund") if transaction in one.what]
        done = [one for one in api.journal.list(operation="simulate_refund", outcome="done") if transaction in one.what]
        if any(one.is_unknown for one in entries):
            yield f"transaction {transaction}: the outcome of a refund is still unknown in the journal."
        elif len(done) != 1:
            yield f"transaction {transaction}: the journal should show one refund as done; a call was resolved wrongly."


# a rotated signing key


def _closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _set_up_rotation(api: Any) -> Facts:
    port = _closed_port()
    endpoint = api.sandbox.register_endpoint(f"http://127.0.0.1:{port}/webhooks", signing_key="drill-key-0001")
    for key in ("drill-key-0002", "drill-key-0003"):
        api.sandbox.rotate_signing_key(endpoint.id, key)
    after = api.sandbox.last_event()
    for amount in (1_100, 1_200, 1_300):
        _buy(api, api.guide()["cards"]["active"][5], amount)
    return {"port": port, "endpoint": endpoint.id, "signing_key": "drill-key-0003", "after": after}


def _rotation(api: Any, facts: Facts) -> Iterator[str]:
    yield from _undelivered(api, facts)
    event = api.sandbox.events(since=facts["after"])[0]["event"]
    body = strict_json.dumps({**event, "id": "00000000-0000-4000-8000-000000000000"})
    forged = post(
        check_url(f"http://127.0.0.1:{facts['port']}/webhooks"),
        {"content-type": "application/json", "signature": "0" * 64},
        body,
        seconds=2,
    )
    if forged.status is None:
        yield "nothing answers at the endpoint: keep the receiver running while you check."
    elif forged.accepted:
        yield "the receiver accepted a forged delivery."


def _undelivered(api: Any, facts: Facts) -> Iterator[str]:
    done = {one.event_id for one in api.sandbox.deliveries(state="delivered")}
    due = [
        one["event"]["id"]
        for one in api.sandbox.events(since=facts["after"])
        if one["sequence"] <= facts.get("until", 2**53)
    ]
    left = len([event for event in due if event not in done])
    if left:
        yield f"{left} of {len(due)} events have not been delivered."


# a withdrawal with the wrong decimals


def _set_up_decimals(api: Any) -> Facts:
    contract = api.guide()["contracts"][0]
    token = contract["tokens"][0]
    first, second = contract["admin_addresses"][:2]
    api.sign_withdrawal(
        chain_id=contract["chain_id"], token=token["address"], amount="400000", is_amount_native=False, admin_address=first,
        recipient_address=second, collateral_contract_id=contract["id"],
    )  # fmt: skip
    return {
        "contract": contract["id"],
        "token": token["address"],
        "admin": first,
        "recipient": second,
        "before": token["balance"],
        "nonce": contract["nonce"],
    }


def _decimals(api: Any, facts: Facts) -> Iterator[str]:
    held = api.sandbox.state(facts["contract"])
    moved = Decimal(facts["before"]) - Decimal(held["tokens"][0]["balance"])
    if moved != 40:
        yield f"{moved} tokens were withdrawn, not 40."
    if held["nonce"] - facts["nonce"] > 1:
        yield "more than one withdrawal was executed."


# a rewards report that stops at an offset


def _set_up_rewards(api: Any) -> Facts:
    return {"user": next(one["id"] for one in api.guide()["rewards_users"] if one["beyond_paging"]), "answers": {}}


def _rewards(api: Any, facts: Facts) -> Iterator[str]:
    for kind in ("earned", "redeemed"):
        said = facts["answers"].get(kind)
        if said is None:
            yield f"the number of {kind} items is not reported yet: run.answer({kind}=…)."
        elif type(said) is not int or said < 1 or not _ends_at(api, facts["user"], kind, said):
            yield f"{said} is not the number of {kind} items."


def _ends_at(api: Any, user: str, kind: str, count: int) -> bool:
    """Whether the last item of a kind is the one before an offset, as far as the largest offset reaches."""
    last = (
        api.list_rewards_activity(user_id=user, type=kind, limit=2, offset=count - 1).items if count <= 10_000 else []
    )
    return len(last) == 1


# a burst of fraud on one card


def _set_up_fraud(api: Any) -> Facts:
    card = api.guide()["cards"]["active"][6]
    plan = [(4_200, "Example Market"), (50_000, _FRAUD), (50_000, _FRAUD), (1_150, "Example Coffee"), (45_000, _FRAUD),
            (30_000, _FRAUD), (2_700, "Example Fuel"), (50_000, _FRAUD), (50_000, _FRAUD), (800, "Example Coffee")]  # fmt: skip
    made = [
        _buy(api, card, cents, merchant, settle=number in (0, 2, 4, 8)) for number, (cents, merchant) in enumerate(plan)
    ]
    states = {one: api.sandbox.state(one) for one in made}
    return {
        "card": card,
        "fraud": [one for one in made if states[one]["merchant_name"] == _FRAUD],
        "own": {
            one: [state["held"], state["settled"]] for one, state in states.items() if state["merchant_name"] != _FRAUD
        },
    }


def _fraud(api: Any, facts: Facts) -> Iterator[str]:
    if api.sandbox.state(facts["card"])["status"] not in ("locked", "canceled"):
        yield "the card can still be used."
    states = [api.sandbox.state(one) for one in facts["fraud"]]
    open_holds = sum(one["held"] > 0 for one in states)
    kept = sum(one["settled"] - one["refunded"] for one in states)
    if open_holds:
        yield f"{open_holds} holds of the fraud are still open."
    if kept:
        yield f"{kept} cents of the fraud were settled and not given back."
    for one, (held, settled) in facts["own"].items():
        now = api.sandbox.state(one)
        if (now["held"], now["settled"], now["refunded"]) != (held, settled, 0):
            yield f"transaction {one} is the cardholder's own, and was changed."


# applications that do not move


def _set_up_reviews(api: Any) -> Facts:
    users = api.guide()["users"]
    waiting = {
        status: users[status][0]
        for status in ("pending", "needsInformation", "needsVerification", "manualReview", "tosNotAccepted")
    }
    return {"users": waiting, "after": api.sandbox.last_event()}


def _reviews(api: Any, facts: Facts) -> Iterator[str]:
    for user in facts["users"].values():
        now = api.sandbox.state(user)
        if now["status"] != "approved":
            yield f"user {user} is {now['status']}, not approved."
    updated = [
        one
        for one in api.sandbox.requests(all_tenants=True)
        if one.operation == "update_user" and str(one.path).endswith(facts["users"]["needsInformation"])
    ]
    if not any(one.status == 200 for one in updated):
        yield "the applicant that needed information gave none: a review was decided without it."


# too many requests


def _set_up_limits(api: Any) -> Facts:
    users = api.guide()["users"]["approved"][6:18]
    api.sandbox.add_fault("status", of="update_user", status=429, probability=0.34, retry_after=0)
    return {"external_ids": {user: f"partner-{number:04}" for number, user in enumerate(users, 1)}}


def _limits(api: Any, facts: Facts) -> Iterator[str]:
    updates = Counter(
        str(one.path).rpartition("/")[2]
        for one in api.sandbox.requests(all_tenants=True)
        if one.operation == "update_user" and one.status == 200
    )
    for user, wanted in facts["external_ids"].items():
        if api.sandbox.state(user)["external_id"] != wanted:
            yield f"user {user} does not have the id {wanted}."
        elif updates[user] > 1:
            yield f"user {user} was updated {updates[user]} times."
    if others := [user for user in updates if user not in facts["external_ids"]]:
        yield f"{len(others)} other users were updated."


# a lost endpoint with a backlog


def _set_up_endpoint(api: Any) -> Facts:
    endpoint = api.sandbox.register_endpoint(f"http://127.0.0.1:{_closed_port()}/webhooks")
    after = api.sandbox.last_event()
    for amount in (2_100, 2_200):
        _buy(api, api.guide()["cards"]["active"][7], amount)
    until = api.sandbox.last_event()
    for _ in range(8):
        api.sandbox.flush(within=2)
        api.sandbox.advance(days=1)
    return {"endpoint": endpoint.id, "after": after, "until": until}


def _endpoint(api: Any, facts: Facts) -> Iterator[str]:
    yield from _undelivered(api, facts)
    if any(one.id == facts["endpoint"] for one in api.sandbox.endpoints()):
        yield "the lost endpoint is still registered."


# a migration interrupted half way


def _account(user: str, bank: str) -> Facts:
    return {
        "type": "externalFiatAccount", "user_id": user,
        "external_fiat_account": {
            "beneficiary_type": "individual", "beneficiary_first_name": "Ada", "beneficiary_last_name": "Example", "currency": "usd", "third_party": False,
            "beneficiary_address": {"address_line1": "1 Example Street", "city": "Springfield", "region": "IL", "postal_code": "62701", "country_code": "US"},
            "bank_name": bank, "account_number": "000123456789", "routing_number": "000000000", "rail": "ach", "bank_account_type": "checking",
        },
    }  # fmt: skip


def _set_up_migration(api: Any) -> Facts:
    users = api.guide()["users"]["approved"][2:10]
    old = {user: str(api.create_payment_account(**_account(user, "Old Bank")).id) for user in users}
    for number, user in enumerate(users[:5]):
        api.create_payment_account(**_account(user, "New Bank"))
        if number < 3:
            api.delete_payment_account(payment_account_id=old[user])
    return {"users": users, "example": _account(users[0], "New Bank")}


def _migration(api: Any, facts: Facts) -> Iterator[str]:
    banks: dict[str, Counter[str]] = {user: Counter() for user in facts["users"]}
    for one in api.sandbox.records("payment_account"):
        members = one["members"]
        if members.get("user_id") in banks:
            banks[members["user_id"]][members["external_fiat_account"]["bank_name"]] += 1
    for user, held in banks.items():
        new, old = held["New Bank"], held["Old Bank"]
        if new != 1 or old:
            yield f"user {user} has {new} accounts at New Bank and {old} at Old Bank."


_PARTS: Mapping[str, tuple[Callable[[Any], Facts], Callable[[Any, Facts], Iterator[str]]]] = {
    "duplicate-bookings": (_set_up_bookings, _bookings),
    "unknown-refunds": (_set_up_refunds, _refunds),
    "rotated-key": (_set_up_rotation, _rotation),
    "wrong-decimals": (_set_up_decimals, _decimals),
    "cut-rewards": (_set_up_rewards, _rewards),
    "fraud-burst": (_set_up_fraud, _fraud),
    "stuck-reviews": (_set_up_reviews, _reviews),
    "rate-limits": (_set_up_limits, _limits),
    "lost-endpoint": (_set_up_endpoint, _endpoint),
    "half-migration": (_set_up_migration, _migration),
}
DRILLS: Mapping[str, Drill] = {
    name: Drill(
        name=name, title=texts["title"], minutes=texts["minutes"], situation=" ".join(texts["situation"].split()),
        answer=" ".join(texts["answer"].split()), set_up=_PARTS[name][0], missing=_PARTS[name][1],
    )
    for name, texts in tomllib.loads(Path(__file__).with_name("drills.toml").read_text(encoding="utf-8")).items()
}  # fmt: skip
"""All drills by name."""


class DrillRun:
    """A drill that was started on a session: its situation, its check and its debrief.

    Attributes:
        drill: What is drilled.
        facts: What the drill tells, such as ids; a dict.
    """

    def __init__(self, drill: Drill, api: Any, facts: Facts) -> None:
        self.drill = drill
        self.facts = facts
        self._api = api

    @property
    def ledger(self) -> list[Facts]:
        """The bookings of the drill's ledger: event, transaction and cents. Add one by `book`."""
        return [dict(row) for row in self.facts.get("ledger", ())]

    def book(self, transaction_id: str, cents: int) -> None:
        """Add a booking to the drill's ledger; a negative amount takes money back."""
        if "ledger" not in self.facts or type(cents) is not int:
            raise InvalidRequest("only duplicate-bookings has a ledger, and it takes whole cents", of="drill.book")
        self.facts["ledger"].append({"event": None, "transaction": transaction_id, "cents": cents})
        _keep(self)

    def answer(self, **values: Any) -> None:
        """Report what the drill asks for, as `answer(earned=120)`."""
        self.facts.setdefault("answers", {}).update(values)
        _keep(self)

    def check(self) -> Display:
        """Return whether the incident is solved, or what is missing."""
        missing = tuple(visible(what) for what in self.drill.missing(self._api, self.facts))
        if not missing:
            self.facts.setdefault("solved_at", _now())
            _keep(self)
        title = f"Drill {self.drill.name}: {self.drill.title}"
        if missing:
            return DrillResult(Sheet(title=title, status=_NOT_SOLVED, words=missing), missing)
        took = _minutes(self.facts["started_at"], self.facts["solved_at"])
        words = (
            f"Solved after {took} minutes; {self.drill.minutes} are planned.",
            "`run.debrief()` shows the time line and what a good answer does.",
        )
        return DrillResult(Sheet(title=title, status=_SOLVED, words=words), ())

    def debrief(self) -> Display:
        """Return what was done since the drill began, in order, and what a good answer does."""
        rows = tuple(
            (Cell((str(number),), "number"), Cell((visible(str(one.operation or one.method)),)), Cell((visible(str(one.path or "")),)), Cell((str(one.status),)))
            for number, one in enumerate(self._api.sandbox.requests(all_tenants=True)[self.facts["requests"]:], 1)
        )  # fmt: skip
        missing = tuple(visible(what) for what in self.drill.missing(self._api, self.facts))
        notes = (*(f"Still missing: {what}" for what in missing[:5]), f"A good answer: {self.drill.answer}")
        return Display(
            Grid(
                title=f"Drill {self.drill.name}: what the service received",
                columns=("#", "call", "path", "status"),
                rows=rows,
                total=len(rows),
                notes=notes,
            )
        )

    def stop(self) -> None:
        """End the drill: remove its fault rules, and forget it. What it made in the sandbox stays; `sandbox.reset()` removes it."""
        self._api.sandbox.clear_faults()
        for endpoint in self._api.sandbox.endpoints():
            if endpoint.id == self.facts.get("endpoint"):
                self._api.sandbox.remove_endpoint(endpoint.id)
        write_stored(_FILE, {name: one for name, one in read_stored(_FILE).items() if name != self.drill.name})

    def __repr__(self) -> str:
        return str(self._sheet())

    def _repr_html_(self) -> str:
        return self._sheet()._repr_html_()

    def _sheet(self) -> Display:
        shown = {name: value for name, value in self.facts.items() if name not in _INTERNAL}
        words = (
            self.drill.situation,
            f"Planned time: {self.drill.minutes} minutes. `run.check()` tells what is missing.",
        )
        lines = tuple(line for name, value in shown.items() for line in _lines(name, value))
        return Display(Sheet(title=f"Drill {self.drill.name}: {self.drill.title}", words=words, code=lines))


def _lines(name: str, value: Any) -> Iterator[str]:
    """Yield a fact as lines; lists and mappings have a line for each entry."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None or not value:
        yield f"facts[{name!r}] = {visible(str(value), 200)}"
    else:
        yield from (f"facts[{name!r}][{key!r}] = {visible(str(inner), 200)}" for key, inner in items)


class DrillResult(Display):
    """The result of a drill's check: `solved`, or what is `missing`."""

    def __init__(self, sheet: Sheet, missing: tuple[str, ...]) -> None:
        super().__init__(sheet)
        self.missing = missing
        self.solved = not missing


_SOLVED = Cell(("✓ solved",), "status:done")
_NOT_SOLVED = Cell(("○ not solved",), "status:planned")
_INTERNAL = frozenset(
    {
        "ledger",
        "requests",
        "started_at",
        "solved_at",
        "answers",
        "bookings",
        "after",
        "until",
        "own",
        "before",
        "nonce",
        "marker",
    }
)


def drill(name: str, api: Any) -> DrillRun:
    """Start a drill on a session's sandbox, or return the one that is on; see `DRILLS` for all.

    Args:
        name: Name of the drill, as "fraud-burst".
        api: The session.

    Raises:
        InvalidRequest: There is no such drill.
        WrongEnvironment: The session is on a real service.
    """
    found = DRILLS.get(name)
    if found is None:
        raise InvalidRequest(
            f"there is no drill {visible(str(name), 60)!r}; there are {', '.join(DRILLS)}", of="course.drill"
        )
    kept = read_stored(_FILE).get(name)
    if kept is not None and _is_on(api, kept):
        return DrillRun(found, api, kept)
    facts = found.set_up(api)
    facts |= {"marker": _marker(api), "started_at": _now(), "requests": len(api.sandbox.requests(all_tenants=True))}
    run = DrillRun(found, api, facts)
    _keep(run)
    return run


def _is_on(api: Any, facts: Facts) -> bool:
    """Whether a drill was set up in this sandbox: by its last event, or where there was none by the requests since."""
    number, *_ = facts["marker"]
    same = bool(facts["marker"] == _marker(api, facts["marker"]))
    return same and (number > 0 or len(api.sandbox.requests(all_tenants=True)) >= facts["requests"] > 0)


def _marker(api: Any, of: list[Any] | None = None) -> list[Any]:
    """Return where and what the last event is, or the event there; another sandbox has another one there."""
    number = api.sandbox.last_event() if of is None else of[0]
    found = [one["event"]["id"] for one in api.sandbox.events(since=number - 1) if one["sequence"] == number]
    return [number, *found]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _minutes(began: str, ended: str) -> int:
    return round((datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds() / 60)


def _keep(run: DrillRun) -> None:
    """Keep the facts of a drill, so that another cell or command continues it."""
    write_stored(_FILE, {**read_stored(_FILE), run.drill.name: run.facts})
