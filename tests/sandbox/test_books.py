"""A webhook handler that follows only the published rules ends with the sandbox's books.

The rules: release the hold on `reversed`, increase it on `pending` with a positive update, compare declines with
lower-case words, and reject `completed` without `postedAt`.
"""

import json
import random
from collections import Counter

import attrs
import pytest

from tests.sandbox.driver import Api
from workbench.sandbox import Sandbox
from workbench.sandbox.internals import internals
from workbench.service.interface.vocabulary import DeclineReason

WORDS = {reason.replace("_", " ") for reason in DeclineReason}
MONTH = 30


@attrs.define
class Account:
    """A handler's state of one card."""

    held: int = 0
    posted: int = 0
    refunded: int = 0


class Handler:
    """Computes the books of cards from events, which may arrive twice."""

    def __init__(self) -> None:
        self.accounts: dict[str, Account] = {}
        self.declines: Counter[str] = Counter()
        self.holds: dict[str, int] = {}
        self._seen: set[str] = set()

    def __call__(self, event) -> None:
        if event["resource"] != "transaction" or event["id"] in self._seen:
            return
        self._seen.add(event["id"])
        key, spend = event["body"]["id"], event["body"]["spend"]
        account = self.accounts.setdefault(spend["cardId"], Account())
        update = spend.get("authorizationUpdateAmount", 0)
        match event["action"], spend["status"]:
            case "requested", "pending":
                return  # the service has not decided on the authorization
            case "created", "pending":
                self._hold(account, key, spend["amount"])
            case "created", "declined":
                assert spend["declinedReason"] in WORDS
                self.declines[spend["declinedReason"]] += 1
            case "updated", "reversed":
                assert update < 0
                self._hold(account, key, self.holds[key] + update)
                assert self.holds[key] == spend["amount"]
            case "updated", "pending":
                assert update > 0
                self._hold(account, key, self.holds[key] + update)
            case "completed", "completed":
                if "postedAt" not in spend:
                    raise ValueError("completed without postedAt")
                self._hold(account, key, 0)
                account.posted += max(spend["amount"], 0)
                account.refunded -= min(spend["amount"], 0)
            case other:
                raise ValueError(f"unexpected: {other}")

    def _hold(self, account: Account, key: str, amount: int) -> None:
        account.held += amount - self.holds.get(key, 0)
        self.holds[key] = amount


def traffic(api: Api, dice: random.Random) -> None:
    """Make a month of random purchases, with reversals, settlements and refunds."""
    cards = api.guide["cards"]["active"]
    held: list[tuple[str, int]] = []
    posted: list[tuple[str, int]] = []
    for _ in range(MONTH):
        for _ in range(dice.randrange(10, 25)):
            more = {"declineReason": dice.choice(list(DeclineReason))} if dice.random() < 0.1 else {}
            cents = dice.choice((dice.randrange(1, 20_000), 10**9 if dice.random() < 0.1 else 500))
            answer = api.authorize(dice.choice(cards), cents, **more).body
            if answer["status"] == "authorized":
                held.append((answer["transactionId"], cents))
        dice.shuffle(held)
        for transaction, cents in [held.pop() for _ in range(len(held) // 2)]:
            luck = dice.random()
            if luck < 0.15:
                assert api.reverse(transaction).status == 200
                continue
            if luck < 0.35 and cents > 1:
                cents = dice.randrange(1, cents)
                assert api.reverse(transaction, newAmount=cents).status == 200
            cents = cents if luck < 0.8 else dice.randrange(1, cents + 1)
            assert api.settle(transaction, amount=cents).status == 200
            posted.append((transaction, cents))
        for transaction, cents in dice.sample(posted, len(posted) // 20):
            api.refund(transaction, amount=dice.randrange(1, cents + 1))  # the refund may exceed the remaining amount
        api.sandbox.advance(days=1)


@pytest.mark.slow
@pytest.mark.parametrize("behavior", ["documented", "observed"])
def test_the_books_of_a_handler_are_those_of_the_sandbox(behavior):
    """After a month the handler's held, posted and refunded amounts equal the sandbox's, despite repeated events."""
    dice = random.Random(7)
    api = Api(Sandbox(behavior=behavior))
    before = {card: api.sandbox.balance(card) for card in api.guide["cards"]["active"]}
    traffic(api, dice)
    handler = Handler()
    after, due = 0, [...]
    while due:
        due, after = internals(api.sandbox).drain(after)
        for _, _, body in due:
            for _ in range(1 + (dice.random() < 0.1)):
                handler(json.loads(bytes(body)))

    assert len(handler.accounts) == len(before)
    assert set(handler.declines) == WORDS
    for card, account in handler.accounts.items():
        now, first = api.sandbox.balance(card), before[card]
        assert account == Account(now.held, now.posted - first.posted, now.refunded - first.refunded)
        assert now.available == now.limit - now.held - now.posted + now.refunded
