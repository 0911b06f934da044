"""Money is conserved in any sequence of calls, compared with a small model."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from tests.sandbox.driver import Api
from workbench.sandbox import Sandbox

WORLD = Sandbox()
CENTS = st.integers(0, 3_000)


class Money(RuleBasedStateMachine):
    """Two cards, with any order of authorizations, reversals, settlements and refunds."""

    transactions = Bundle("transactions")

    def __init__(self):
        super().__init__()
        self.api = Api(WORLD.fork())
        self.cards = self.api.guide["cards"]["active"][1:3]
        self.model = {}  # by id: [card, authorized, held, settled, refunded, status]

    @rule(target=transactions, card=st.integers(0, 1), amount=st.integers(1, 3_000))
    def authorize(self, card, amount):
        transaction = self.api.authorized(amount, self.cards[card])
        self.model[transaction] = [self.cards[card], amount, amount, 0, 0, "authorized"]
        return transaction

    @rule(card=st.integers(0, 1), amount=st.integers(1, 3_000))
    def decline(self, card, amount):
        assert self.api.authorize(self.cards[card], amount, declineReason="blocked_mcc").body["status"] == "declined"

    @rule(transaction=transactions, amount=CENTS)
    def reverse(self, transaction, amount):
        one = self.model[transaction]
        fits = one[5] == "authorized" and amount <= one[2]

        assert (200 if fits else 400) == self.api.reverse(transaction, newAmount=amount).status
        if fits:
            one[2] = amount
            one[5] = "authorized" if amount else "reversed"

    @rule(transaction=transactions, amount=st.integers(1, 3_000))
    def settle(self, transaction, amount):
        one = self.model[transaction]
        fits = one[5] == "authorized" and amount <= one[2]

        assert (200 if fits else 400) == self.api.settle(transaction, amount=amount).status
        if fits:
            one[2], one[3], one[5] = 0, amount, "settled"

    @rule(transaction=transactions, amount=CENTS | st.none())
    def refund(self, transaction, amount):
        one = self.model[transaction]
        wanted = one[3] if amount is None else amount
        fits = one[5] == "settled" and wanted <= one[3] - one[4]

        answer = self.api.refund(transaction, **({} if amount is None else {"amount": amount}))
        assert (200 if fits else 400) == answer.status
        if fits:
            one[4] += wanted

    @invariant()
    def the_money_is_all_there(self):
        for card in self.cards:
            mine = [one for one in self.model.values() if one[0] == card]
            money = self.api.sandbox.balance(card)
            assert sum(one[2] for one in mine) == money.held
            assert sum(one[3] for one in mine) == money.posted
            assert sum(one[4] for one in mine) == money.refunded
            assert money.limit == money.available + money.held + money.posted - money.refunded

    @invariant()
    def no_transaction_gives_more_than_it_took(self):
        for transaction in self.model:
            kept = self.api.sandbox.state(transaction)
            assert 0 <= kept["refunded"] <= kept["settled"] <= kept["authorized"]
            assert 0 <= kept["held"] <= kept["authorized"]


TestMoney = Money.TestCase
TestMoney.settings = settings(stateful_step_count=30)
