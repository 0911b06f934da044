"""Set-up and grading of drills: `set_up_fraud_burst` and `fraud_burst` belong to the drill `fraud-burst`.

A set-up receives the ids of the purchases in `drills.toml` and returns the facts of the drill; a check yields what is
missing.
"""

import contextlib
import secrets
import socket
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from workbench.base.errors import OutcomeUnknown
from workbench.base.remedies import Remedy
from workbench.base.schema import strict_json
from workbench.base.system.http_post import check_url, post
from workbench.client.session import Session
from workbench.sandbox.contracts import example_bank
from workbench.service.interface.vocabulary import DeclineReason

Facts = dict[str, Any]
_FRAUD = "Quick Gift Cards"
_OWED = 500  # cents


def requests_since(api: Session, facts: Facts) -> list[Any]:
    """Return the requests since the drill began; all stored ones if its beginning is no longer logged."""
    kept = api.sandbox.requests(all_tenants=True)
    begun: int = facts["requests"]
    return list(kept[begun:] if len(kept) >= begun else kept)


# a webhook booked twice


def booking(api: Session, transaction: str) -> Facts:
    """Return the booking for the event that completed a transaction."""
    events = [event.payload for event in api.sandbox.events("transaction.completed")]
    event = next(event for event in reversed(events) if event["body"]["id"] == transaction)
    return {"event": event["id"], "transaction": transaction, "cents": event["body"]["spend"]["amount"]}


def set_up_duplicate_bookings(api: Session, bought: Sequence[str]) -> Facts:
    rows = [booking(api, transaction) for transaction in bought]
    return {"ledger": [*rows[:2], rows[1], *rows[2:5], rows[4], *rows[5:]], "bookings": len(rows) + 2}


def duplicate_bookings(api: Session, facts: Facts) -> Iterator[str]:
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


def set_up_unknown_refunds(api: Session, bought: Sequence[str]) -> Facts:
    for transaction, fault in zip(bought, ("lost", "closed", "lost", None), strict=True):
        if fault:
            api.sandbox.add_fault(fault, of="simulate_refund", times=1)
        with contextlib.suppress(OutcomeUnknown):
            api.simulate_refund(transaction_id=transaction, amount=_OWED)
        api.sandbox.clear_faults()
    return {"transactions": list(bought)}


def unknown_refunds(api: Session, facts: Facts) -> Iterator[str]:
    for transaction in facts["transactions"]:
        refunded = api.sandbox.state(transaction)["refunded"]
        if refunded != _OWED:
            yield f"transaction {transaction}: {refunded} cents were refunded, not {_OWED}."
        entries = [entry for entry in api.journal.list(operation="simulate_refund") if transaction in entry.what]
        done = [
            entry
            for entry in api.journal.list(operation="simulate_refund", outcome="done")
            if transaction in entry.what
        ]
        if any(entry.is_unknown for entry in entries):
            yield f"transaction {transaction}: the outcome of a refund is still unknown in the journal."
        elif len(done) != 1:
            yield f"transaction {transaction}: the journal should show one refund as done; a call was resolved wrongly."


# a rotated signing key


def _closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def set_up_rotated_key(api: Session, bought: Sequence[str]) -> Facts:
    port = _closed_port()
    endpoint = api.sandbox.register_endpoint(f"http://127.0.0.1:{port}/webhooks", signing_key="drill-key-0001")
    for key in ("drill-key-0002", "drill-key-0003"):
        api.sandbox.update_endpoint(endpoint.id, signing_key=key)
    after, until = _missed(api, bought)
    return {"port": port, "endpoint": endpoint.id, "signing_key": "drill-key-0003", "after": after, "until": until}


def _missed(api: Session, bought: Sequence[str]) -> tuple[int, int]:
    """Settle purchases, and return the number of the last event before and after."""
    after = api.sandbox._last_event()
    for transaction in bought:
        api.sandbox.settle(transaction)
    return after, api.sandbox._last_event()


def rotated_key(api: Session, facts: Facts) -> Iterator[str]:
    missing = tuple(_undelivered(api, facts))
    yield from missing
    event = api.sandbox.events(since=facts["after"])[0].payload
    url = f"http://127.0.0.1:{facts['port']}/webhooks"
    accepted = [_accepts_forged(url, forged) for forged in (event, {**event, "id": str(uuid.uuid4())})]
    if None in accepted:
        yield "the endpoint does not answer: keep the receiver running while you check."
    elif any(accepted):
        yield "the receiver accepted a forged delivery."
    elif not missing:
        new = _buy_again(api, facts)
        if not (_delivered(api, event["id"], url) and _delivered(api, new["id"], url)):
            yield "the receiver refused a genuine delivery, signed with the current key."
        elif _accepts_forged(url, new):
            yield "the receiver accepted a forged delivery."


def _accepts_forged(url: str, event: Mapping[str, Any]) -> bool | None:
    """Deliver an event with a random signature, and return whether it was accepted; None without an answer."""
    headers = {"content-type": "application/json", "signature": secrets.token_hex(32)}
    result = post(check_url(url), headers, strict_json.dumps(event), seconds=2)
    return None if result.status is None else result.accepted


def _buy_again(api: Session, facts: Facts) -> Mapping[str, Any]:
    """Make one more purchase of the live traffic, and return its event, which no receiver can have recorded."""
    after = api.sandbox._last_event()
    bought = api.allowing(again=True).simulate_authorization(
        card_id=api.sandbox.guide()["cards"]["active"][0],
        amount=100,
        currency="USD",
        merchant_name="Example Coffee",
        merchant_category_code="5814",
    )
    facts["live"].append(str(bought.transaction_id))
    event: Mapping[str, Any] = api.sandbox.events(since=after)[0].payload
    return event


def _delivered(api: Session, event: str, url: str) -> bool:
    """Deliver an event, and return whether the receiver at a URL accepted it."""
    api.sandbox.resend(event)
    api.sandbox.flush(timeout=5)
    endpoints = {endpoint.id for endpoint in api.sandbox.endpoints() if endpoint.url == url}
    return any(
        delivery.event_id == event and delivery.endpoint in endpoints
        for delivery in api.sandbox.deliveries(state="delivered")
    )


def _undelivered(api: Session, facts: Facts) -> Iterator[str]:
    done = {delivery.event_id for delivery in api.sandbox.deliveries(state="delivered")}
    since = api.sandbox.events(since=facts["after"])
    due = [event.payload["id"] for event in since if event.sequence <= facts["until"]]
    left = len([event for event in due if event not in done])
    if left:
        yield f"{left} of {len(due)} events have not been delivered."


# a withdrawal with the wrong decimals


def set_up_wrong_decimals(api: Session, bought: Sequence[str]) -> Facts:
    contract = api.sandbox.guide()["contracts"][0]
    token = contract["tokens"][0]
    first, second = contract["admin_addresses"][:2]
    api.sign_withdrawal(
        chain_id=contract["chain_id"],
        token=token["address"],
        amount="400000",
        is_amount_native=False,
        admin_address=first,
        recipient_address=second,
        collateral_contract_id=contract["id"],
    )
    return {
        "contract": contract["id"],
        "token": token["address"],
        "admin": first,
        "recipient": second,
        "before": token["balance"],
        "nonce": contract["nonce"],
    }


def wrong_decimals(api: Session, facts: Facts) -> Iterator[str]:
    held = api.sandbox.state(facts["contract"])
    moved = Decimal(facts["before"]) - Decimal(held["tokens"][0]["balance"])
    if moved != 40:
        yield f"{moved} tokens were withdrawn, not 40."
    if held["nonce"] - facts["nonce"] > 1:
        yield "more than one withdrawal was executed."


# a rewards report that stops at an offset


def set_up_cut_rewards(api: Session, bought: Sequence[str]) -> Facts:
    users = api.sandbox.guide()["rewards_users"]
    return {"user": next(user["id"] for user in users if user["beyond_paging"]), "answers": {}}


def cut_rewards(api: Session, facts: Facts) -> Iterator[str]:
    kinds: tuple[Literal["earned", "redeemed"], ...] = ("earned", "redeemed")
    for kind in kinds:
        said = facts["answers"].get(kind)
        if said is None:
            call = Remedy("drill", action="answer", arguments=f"({kind}=…)", drill="cut-rewards")
            yield f"the number of {kind} items is not reported yet: {call}."
        elif type(said) is not int or said < 1 or not _ends_at(api, facts["user"], kind, said):
            yield f"{said} is not the number of {kind} items."


def _ends_at(api: Session, user: str, kind: Literal["earned", "redeemed"], count: int) -> bool:
    """Return whether a page ending at an offset contains the last item of a kind."""
    if count > 10_000:
        return False
    return len(api.list_rewards_activity(user_id=user, type=kind, limit=2, offset=count - 1).items) == 1


# questions of cardholders


def _reported(facts: Facts, drill: str, right: Facts) -> Iterator[str]:
    """Yield the questions of a drill that have no answer, or a wrong one."""
    for name, value in right.items():
        said = facts["answers"].get(name)
        if said is None:
            call = Remedy("drill", action="answer", arguments=f"({name}=…)", drill=drill)
            yield f"{name} is not reported yet: {call}."
        elif str(said).lower() != str(value).lower():
            yield f"{name} is not {said}."


def set_up_read_a_card(api: Session, bought: Sequence[str]) -> Facts:
    _, stay, _, returned, _ = bought
    api.simulate_reversal(transaction_id=stay, new_amount=9_000)
    api.simulate_refund(transaction_id=returned, amount=1_500)
    return {"card": api.sandbox.state(stay)["card"], "answers": {}}


def read_a_card(api: Session, facts: Facts) -> Iterator[str]:
    balance = api.sandbox.balance(facts["card"])
    right = {"held": balance.held, "net": balance.posted - balance.refunded, "available": balance.available}
    yield from _reported(facts, "read-a-card", right)


_PRICE_OF_ELECTRONICS = 15_000


def set_up_why_declined(api: Session, bought: Sequence[str]) -> Facts:
    card = api.sandbox.state(bought[0])["card"]
    for cents, merchant, code, reason in (
        (2_000, "Example Fuel", "5541", "invalid_pin"),
        (_PRICE_OF_ELECTRONICS, "Example Electronics", "5732", "card_locked"),
    ):
        api.simulate_authorization(
            card_id=card,
            amount=cents,
            currency="USD",
            merchant_name=merchant,
            merchant_category_code=code,
            decline_reason=DeclineReason(reason),
        )
    api.sandbox.cards.lock(card)
    return {"card": card, "answers": {}}


def why_declined(api: Session, facts: Facts) -> Iterator[str]:
    yield from _reported(facts, "why-declined", {"reason": "card_locked"})
    if api.sandbox.state(facts["card"])["status"] != "active":
        yield "the card cannot be used."
    bought = [row for row in api.sandbox.records("transaction") if row["card"] == facts["card"]]
    again = [row for row in bought if row["authorized"] == _PRICE_OF_ELECTRONICS and row["status"] == "authorized"]
    if len(again) != 1:
        yield f"{len(again)} purchases at Example Electronics are authorized, not one."


def set_up_where_is_my_refund(api: Session, bought: Sequence[str]) -> Facts:
    kept, returned, _ = bought
    api.simulate_refund(transaction_id=returned, amount=6_500)
    card = api.sandbox.state(kept)["card"]
    return {"card": card, "returned": returned, "answers": {}, "own": booking(api, returned)}


def where_is_my_refund(api: Session, facts: Facts) -> Iterator[str]:
    refund = facts["own"]
    right = {"event": refund["event"], "refunded": -refund["cents"], "missing": 8_000 + refund["cents"]}
    yield from _reported(facts, "where-is-my-refund", right)
    if api.sandbox.state(facts["returned"])["refunded"] > -refund["cents"]:
        yield "more was refunded than the merchant gave back."


_PRICE = 4_500


def set_up_charged_twice(api: Session, bought: Sequence[str]) -> Facts:
    once, first, second, third, refunded = bought
    api.simulate_refund(transaction_id=refunded, amount=_PRICE)
    customers = {"Ann": once, "Ben": first, "Cleo": third}
    cards = {name: api.sandbox.state(transaction)["card"] for name, transaction in customers.items()}
    return {"cards": cards, "pairs": {"Ann": [once], "Ben": [first, second], "Cleo": [third, refunded]}}


def charged_twice(api: Session, facts: Facts) -> Iterator[str]:
    paid_once = []
    for transactions in facts["pairs"].values():
        given_back = sum(api.sandbox.state(transaction)["refunded"] for transaction in transactions)
        paid_once.append(given_back == _PRICE * (len(transactions) - 1))
    if not all(paid_once):  # without their names, which are the answer
        yield f"{sum(paid_once)} of {len(paid_once)} customers have paid for one book in the end."


# a burst of fraud on one card


def set_up_fraud_burst(api: Session, bought: Sequence[str]) -> Facts:
    states = [api.sandbox.state(transaction) for transaction in bought]
    own = [transaction for transaction in states if transaction["merchant_name"] != _FRAUD]
    return {
        "card": states[0]["card"],
        "own": {transaction["id"]: [transaction["held"], transaction["settled"]] for transaction in own},
    }


def fraud_burst(api: Session, facts: Facts) -> Iterator[str]:
    if api.sandbox.state(facts["card"])["status"] not in ("locked", "canceled"):
        yield "the card can still be used."
    all_ = [transaction for transaction in api.sandbox.records("transaction") if transaction["card"] == facts["card"]]
    fraud = [transaction for transaction in all_ if transaction["merchant_name"] == _FRAUD]
    open_holds = sum(transaction["held"] > 0 for transaction in fraud)
    kept = sum(transaction["settled"] - transaction["refunded"] for transaction in fraud)
    if open_holds:
        yield f"{open_holds} holds of the fraud are still open."
    if kept:
        yield f"{kept} cents of the fraud were settled and not given back."
    for transaction_id, (held, settled) in facts["own"].items():
        now = api.sandbox.state(transaction_id)
        if (now["held"], now["settled"], now["refunded"]) != (held, settled, 0):
            yield f"transaction {transaction_id} is the cardholder's own, and was changed."


# applications that do not move


def set_up_stuck_reviews(api: Session, bought: Sequence[str]) -> Facts:
    users = api.sandbox.guide()["users"]
    waiting = ("pending", "needsInformation", "needsVerification", "manualReview", "tosNotAccepted")
    return {"users": {status: users[status][0] for status in waiting}}


def stuck_reviews(api: Session, facts: Facts) -> Iterator[str]:
    for user in facts["users"].values():
        now = api.sandbox.state(user)
        if now["status"] != "approved":
            yield f"user {user} is {now['status']}, not approved."
    informed = _updates(api, facts)[facts["users"]["needsInformation"]]
    if not informed:
        yield "the applicant that needed information gave none: a review was decided without it."


def _updates(api: Session, facts: Facts) -> Counter[str]:
    """Return the number of updates of each user since the drill began."""
    updated = [
        request
        for request in requests_since(api, facts)
        if request.operation == "update_user" and request.status == 200
    ]
    return Counter(str(request.path).rpartition("/")[2] for request in updated)


# too many requests


def set_up_rate_limits(api: Session, bought: Sequence[str]) -> Facts:
    users = api.sandbox.guide()["users"]["approved"][6:18]
    api.sandbox.add_fault("status", of="update_user", status=429, probability=0.34, retry_after=0)
    return {"external_ids": {user: f"partner-{number:04}" for number, user in enumerate(users, 1)}}


def rate_limits(api: Session, facts: Facts) -> Iterator[str]:
    updates = _updates(api, facts)
    for user, wanted in facts["external_ids"].items():
        if api.sandbox.state(user)["external_id"] != wanted:
            yield f"user {user} does not have the id {wanted}."
        elif updates[user] > 1:
            yield f"user {user} was updated {updates[user]} times."
    if others := [user for user in updates if user not in facts["external_ids"]]:
        yield f"{len(others)} other users were updated."


# a lost endpoint with a backlog


def set_up_lost_endpoint(api: Session, bought: Sequence[str]) -> Facts:
    endpoint = api.sandbox.register_endpoint(f"http://127.0.0.1:{_closed_port()}/webhooks")
    after, until = _missed(api, bought)
    for _ in range(8):
        api.sandbox.flush(timeout=2)
        api.sandbox.advance(days=1)
    return {"endpoint": endpoint.id, "after": after, "until": until}


def lost_endpoint(api: Session, facts: Facts) -> Iterator[str]:
    yield from _undelivered(api, facts)
    if any(endpoint.id == facts["endpoint"] for endpoint in api.sandbox.endpoints()):
        yield "the lost endpoint is still registered."


# a migration interrupted half way


def _account(user: str, bank: str) -> Facts:
    account = example_bank("Ada", "Example", "000123456789", bank)
    return {"type": "externalFiatAccount", "user_id": user, "external_fiat_account": account}


def set_up_half_migration(api: Session, bought: Sequence[str]) -> Facts:
    users = api.sandbox.guide()["users"]["approved"][2:10]
    old = {user: str(api.create_payment_account(**_account(user, "Old Bank")).id) for user in users}
    for number, user in enumerate(users[:5]):
        api.create_payment_account(**_account(user, "New Bank"))
        if number < 3:
            api.delete_payment_account(payment_account_id=old[user])
    return {"users": users, "example": _account(users[0], "New Bank")}


def half_migration(api: Session, facts: Facts) -> Iterator[str]:
    banks: dict[str, Counter[str]] = {user: Counter() for user in facts["users"]}
    for record in api.sandbox.records("payment_account"):
        members = record["members"]
        if members.get("user_id") in banks:
            banks[members["user_id"]][members["external_fiat_account"]["bank_name"]] += 1
    for user, held in banks.items():
        new, old = held["New Bank"], held["Old Bank"]
        if new != 1 or old:
            yield f"user {user} has {new} accounts at New Bank and {old} at Old Bank."
