"""The deliveries of a campaign: a month of an embedded sandbox's events, and what goes wrong with them, all from one seed."""

import random
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from workbench.interface import strict_json
from workbench.session import connect
from workbench.webhooks.verify import SECONDARY, SIGNATURE, sign

KEY = "chaos-signing-key-1"
ROTATED_KEY = "chaos-signing-key-2"
_FORGER = "not-the-signing-key"
_SHOPS = (("Example Market", "5411"), ("Example Books", "5942"), ("Example Fuel", "5541"), ("Example Hotel", "7011"))
_UNACKNOWLEDGED = 12  # events that are delivered again after a crash
_JSON = {"content-type": "application/json"}


@attrs.frozen(kw_only=True)
class Plan:
    """What goes wrong, as shares of the deliveries between 0 and 1, and how much traffic there is."""

    purchases: int = 300
    duplicates: float = 0.08
    reordered: float = 0.10
    delayed: float = 0.03  # so far that the service would have given up and sent again
    lost_acknowledgements: float = 0.05
    forged: float = 0.04
    unknown_kinds: float = 0.02
    unknown_versions: float = 0.03
    rotation: bool = True  # of the signing key, half way: the previous key signs the secondary header
    crashes: int = 1


@attrs.frozen(kw_only=True)
class Step:
    """One thing that is done to the handler: a delivery of a kind, or a crash."""

    number: int
    kind: str  # "event", "duplicate", "reordered", "unknown version", "unknown kind", "forged" or "crash"
    name: str  # resource and action
    event_id: str = ""
    transaction: str = ""
    cents: int | None = None  # what it posts; None: nothing
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    body: bytes = attrs.field(default=b"", repr=False)

    @property
    def genuine(self) -> bool:
        """Whether it is an event of the service that a handler has to accept."""
        return self.kind not in ("forged", "crash")

    def __str__(self) -> str:
        posts = "" if self.cents is None else f", posts {self.cents} cents"
        return f"{self.number}: {self.kind} {self.name} {self.event_id[:8]}{posts}".rstrip()


def events(plan: Plan, seed: int) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return the events of a month of purchases, and what each transaction posts, in cents, as the sandbox books it."""
    chance = random.Random(seed)
    with connect(seed=seed, journal=False) as api:
        cards = api.guide()["cards"]["active"]
        made = [_purchase(api, chance, cards) for _ in range(plan.purchases)]
        posted = {one: (state := api.sandbox.state(one))["settled"] - state["refunded"] for one in made}
        found = [one["event"] for one in api.sandbox.events()]
    return [dict(one) for one in found if one["resource"] == "transaction"], posted


def _purchase(api: Any, chance: random.Random, cards: list[str]) -> str:
    merchant, category = chance.choice(_SHOPS)
    cents = chance.randint(100, 9_999)
    declined = {"decline_reason": "cvv_mismatch"} if chance.random() < 0.1 else {}
    made = api.simulate_authorization(
        card_id=chance.choice(cards), amount=cents, currency="USD", merchant_name=merchant,
        merchant_category_code=category, **declined,
    )  # fmt: skip
    transaction = str(made.transaction_id)
    if not declined and api.sandbox.state(transaction)["status"] == "authorized":
        story = chance.random()
        if story < 0.1:
            api.simulate_reversal(transaction_id=transaction, new_amount=0)
        elif story < 0.9:
            if story < 0.25:
                api.simulate_reversal(transaction_id=transaction, new_amount=cents // 2)
            api.sandbox.settle(transaction)
            for part in (4, 5)[: chance.choice((0, 0, 1, 2))]:
                if cents // part // 2:
                    api.simulate_refund(transaction_id=transaction, amount=cents // part // 2)
    if chance.random() < 0.2:
        api.sandbox.advance(hours=chance.randint(1, 12))
    return transaction


def steps(found: list[dict[str, Any]], plan: Plan, seed: int, key: str = KEY) -> list[Step]:
    """Return what is done to the handler, in order."""
    chance = random.Random(seed + 1)
    placed: list[tuple[float, Step]] = []
    rotated_at = len(found) / 2 if plan.rotation else len(found) + 1
    for position, event in enumerate(found):
        keys = (ROTATED_KEY, key) if position >= rotated_at else (key,)
        placed += _placed(event, position, keys, plan, chance)
    ordered = [step for _, step in sorted(placed, key=lambda entry: entry[0])]
    for crash in range(plan.crashes, 0, -1):
        at = len(ordered) * crash // (plan.crashes + 1)
        last = [step for step in ordered[:at] if step.genuine][-_UNACKNOWLEDGED:]
        again = [attrs.evolve(step, kind="duplicate") for step in last]  # the service does not know that they arrived
        ordered[at:at] = [Step(number=0, kind="crash", name=""), *again]
    return [attrs.evolve(step, number=number) for number, step in enumerate(ordered, 1)]


def _placed(
    event: dict[str, Any], position: int, keys: tuple[str, ...], plan: Plan, chance: random.Random
) -> Iterator[tuple[float, Step]]:
    kind, at = "event", float(position)
    if chance.random() < plan.unknown_versions:
        kind, event = "unknown version", {**event, "version": "1.9.0", "addedLater": {"members": ["of", "1.9.0"]}}
    if chance.random() < plan.reordered:
        kind, at = "reordered" if kind == "event" else kind, position + chance.uniform(1, 8)
    elif chance.random() < plan.delayed:
        kind, at = "reordered" if kind == "event" else kind, position + chance.uniform(50, 200)
    yield at, _step(kind, event, keys)
    if chance.random() < plan.duplicates:
        yield at + chance.choice((0.5, 3.5, 40.5)), _step("duplicate", event, keys)
    if chance.random() < plan.lost_acknowledgements:
        yield at + 0.25, _step("duplicate", event, keys)
    if chance.random() < plan.forged:
        yield at + 0.75, _step("forged", {**event, "id": _identity(chance)}, (_FORGER,))
    if chance.random() < plan.unknown_kinds:
        body = {"id": _identity(chance)}
        unknown = {**body, "resource": "loyalty", "action": "expired", "version": "1.0.0", "body": body}
        yield at + 0.6, _step("unknown kind", unknown, keys)


def _identity(chance: random.Random) -> str:
    return f"{chance.getrandbits(32):08x}-0000-4000-8000-{chance.getrandbits(48):012x}"


def _step(kind: str, event: dict[str, Any], keys: tuple[str, ...]) -> Step:
    body = strict_json.dumps(event)
    headers = {**_JSON, **{name: sign(body, key) for name, key in zip((SIGNATURE, SECONDARY), keys, strict=False)}}
    name = f"{event['resource']}.{event['action']}"
    transaction = event["body"]["id"] if event["resource"] == "transaction" else ""
    cents = event["body"]["spend"]["amount"] if name == "transaction.completed" else None
    return Step(
        number=0, kind=kind, name=name, event_id=event["id"], transaction=transaction, cents=cents, headers=headers, body=body
    )  # fmt: skip
