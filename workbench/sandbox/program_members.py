"""Members of a card program: users generated from a program file's parameters (`programs`), and users that it lists.

Members join, make purchases with seasonal and personal patterns, and sometimes leave. Some purchases are declined,
reversed, refunded or disputed. Members also earn and redeem points. No time is later than the sandbox's clock.
"""

from bisect import bisect
from itertools import accumulate
from pathlib import Path

from workbench.base.system import toml
from workbench.sandbox import rewards
from workbench.sandbox.cards import add_dispute, new_card, new_transaction
from workbench.sandbox.context import DAY, Seeds, moment_of
from workbench.sandbox.contracts import add_contract
from workbench.sandbox.draws import Dice, Lists, Options, draw, quantile
from workbench.sandbox.people import new_user
from workbench.sandbox.programs import STAYED, external_id_of
from workbench.sandbox.store import Members, Record, Store
from workbench.sandbox.tenants import OPEN_DISPUTES, add_disputed
from workbench.service.chains.addresses import Family, family_of
from workbench.service.interface.vocabulary import DisputeStatus

_HOUR = DAY // 24
_NEW = 30  # users who joined less than this number of days ago count as active


class Users:
    """Builder of a card program's users, from the program's parameters.

    The values of users are spread evenly over the quantiles, so a small program has the same distributions as a large
    program.
    """

    def __init__(self, store: Store, seeds: Seeds, tenant: str, start: int, program: Members) -> None:
        self.store, self.seeds, self.tenant, self.start, self.program = store, seeds, tenant, start, program
        self.first_day = start // DAY - 3_700
        moments = (moment_of(day * DAY) for day in range(self.first_day, start // DAY + 1))
        busy = (program["months"][at.month - 1] * program["weekdays"][at.weekday()] for at in moments)
        self.days = list(accumulate(busy))
        self.hours = list(accumulate(program["hours"]))
        self.lists = Lists(program, _merchants(program["merchants"]))

    def live(self) -> None:
        """Store the users with their cards, transactions, disputes and rewards."""
        cohorts, size, number, share = self.program["cohorts"], self.program["size"], 0, 0.0
        total = sum(cohort["share"] for cohort in cohorts)
        for row, cohort in enumerate(cohorts):
            share += cohort["share"] / total
            count = round(size * share) - number
            dice = Dice(int.from_bytes(self.seeds.octets(f"cohort:{self.tenant}:{row}", 16)))
            columns = [
                [quantile(cohort[name], (i + dice.random()) / count) for i in range(count)]
                for name in ("joined", "active", "purchases")
            ]
            # activity and purchases stay correlated; shuffled joining dates are independent of both
            dice.shuffle(columns[0])
            for days, active, purchases in zip(*columns, strict=True):
                _Member(self, number, days, active, int(purchases + dice.random())).live()
                number += 1

    def moment(self, dice: Dice, day: int) -> int:
        """Return a random time on a day, which is not later than the sandbox's clock."""
        hour = bisect(self.hours, self.hours[-1] * dice.random())
        at = (day * 24 + hour) * _HOUR + int(_HOUR * dice.random())
        return at if at < self.start else at - DAY

    def day(self, dice: Dice, first: int, last: int) -> int:
        """Return a random day between two days, weighted by month and weekday."""
        low, high = self.days[max(first - self.first_day - 1, 0)], self.days[last - self.first_day]
        day = self.first_day + bisect(self.days, low + (high - low) * dice.random())
        return min(max(day, first), last)


class _Member:
    """Builder of one user of a card program, with a card and its transactions."""

    def __init__(self, of: Users, number: int, days: float, active: float, purchases: int) -> None:
        self.of, self.program, self.seeds, self.start = of, of.program, of.seeds, of.start
        self.label = f"{of.tenant}:{number}"
        self.dice = dice = Dice(int.from_bytes(self.seeds.octets(f"person:{self.label}", 16)))
        first = (self.start - int(days * DAY)) // DAY
        last = (self.start - int(days * (1 - active) * DAY)) // DAY
        inner = [of.day(dice, first, last) for _ in range(max(purchases - 2, 0))]
        self.times = sorted(of.moment(dice, day) for day in [first, last, *inner][:purchases])
        joined = min([of.moment(dice, first), *self.times[:1]])
        is_active = active >= STAYED or days < _NEW
        self.end = self.start if is_active else max([joined, *self.times])
        codes, shares = of.lists.categories
        self.favorites = dice.choices(codes, cum_weights=shares, k=3)
        self.user: Record = new_user(
            self.seeds.uuid(f"member:{self.label}"),
            of.tenant,
            joined,
            status="approved",
            source_key="workbench",
            first_name=f"Member {number + 1}",
            last_name="Example",
            email=f"member.{number + 1}@example.com",
            external_id=f"member-{number + 1:05d}",
            is_active=is_active,
        )
        self.card = new_card(self.seeds.uuid(f"member card:{self.label}"), self.user, number, 0)
        self.made = 0

    def live(self) -> None:
        """Store the user with a card, transactions, disputes and rewards."""
        rows: list[Record] = []
        store = self.of.store
        for at in self.times:
            self._purchase(at, rows)
        rows += self._redemptions(rows)
        spent = self.card["posted"] - self.card["refunded"] + self.card["held"]
        self.card["limit"] = limit = (spent // 50_000 + 10) * 50_000
        self.card["available"] = limit - spent
        store.save("user", self.user)
        store.save("card", self.card)
        store.put("external_id", f"{self.user['tenant']}:{self.user['external_id']}", self.user["id"])
        for row in sorted(rows, key=lambda row: row["at"]):
            rewards.put(store, self.user["id"], row)

    def _purchase(self, at: int, rows: list[Record]) -> None:
        dice, of, program, self.made = self.dice, self.of, self.program, self.made + 1
        code = dice.choice(self.favorites) if dice.random() < program["habit"] else None
        drawn = draw(dice, of.lists, code)
        cents, cleared = drawn.amount, at + int(_HOUR * drawn.settle_hours)
        state: Record = {"status": drawn.outcome, "declined_reason": drawn.decline_reason}
        if drawn.outcome == "settled" and cleared > self.start:
            state = {"status": "authorized", "held": cents}
        elif drawn.outcome == "settled":
            state = {"status": "settled", "settled": cents, "cleared": cents, "posted_at": cleared}
        transaction = new_transaction(
            self.seeds.uuid(f"purchase:{self.label}:{self.made}"),
            self.card,
            at,
            authorized=cents,
            **drawn.merchant,
            **state,
        )
        self.card["held"] += transaction["held"]
        if state["status"] == "settled":
            self.card["posted"] += cents
            transaction = self._afterwards(transaction, rows)
        of.store.save("transaction", transaction)

    def _afterwards(self, transaction: Record, rows: list[Record]) -> Record:
        """Earn points for a settled purchase, and sometimes refund or dispute it."""
        cents, at, dice, lists = transaction["settled"], transaction["posted_at"], self.dice, self.of.lists
        rows.append(self._row(transaction, at, 0, cents))
        later = at + int(DAY * dice.between("days", lists.refund_days))
        then = dice.pick("refund", lists.refunds)
        if later >= self.start:
            return transaction
        if then == "refunded":
            back = max(1, int(cents * dice.between("part", lists.refund_parts) + 0.5))
            transaction = {**transaction, "refunded": back}
            self.card["refunded"] += back
            rows.append(self._row(transaction, later, cents, cents - back))
        elif then == "disputed":
            status = str(dice.choice(tuple(DisputeStatus)))
            resolved = None if status in OPEN_DISPUTES else min(self.start, later + 30 * DAY)
            key = self.seeds.uuid(f"dispute:{self.label}:{self.made}")
            add_dispute(self.of.store, key, transaction, later, status, resolved)
        return transaction

    def _row(self, transaction: Record, at: int, before: int, after: int) -> Record:
        key = self.seeds.octets(f"member reward:{self.label}:{self.made}:{after - before}", 16).hex()
        category = rewards.category_of(self.of.store, transaction["merchant_category_code"])
        return rewards.earned(self.seeds, key, transaction, category, at, before, after)

    def _redemptions(self, rows: list[Record]) -> list[Record]:
        """Redeem half of the minted points from time to time."""
        redemptions: list[Record] = []
        left, redeems = 0, self.dice.random() < self.program["redeeming"]
        for number, row in enumerate(sorted(rows, key=lambda row: row["minted"])):
            left += row["points"]
            at = row["minted"] + DAY // 3
            if redeems and left > self.program["redeem_above"] and at < self.end:
                key = self.seeds.octets(f"member redemption:{self.label}:{number}", 16).hex()
                points, status = left // 50 * 25, self.dice.choice(("COMPLETED",) * 8 + ("PENDING", "FAILED"))
                redemptions.append(rewards.redeemed(key, at, points, status))
                left -= points if status != "FAILED" else 0
        return redemptions


def add_listed(store: Store, seeds: Seeds, tenant: str, start: int, listed: Members) -> None:
    """Store a listed user of a program, with cards, contracts and disputes."""
    external_id = external_id_of(listed)

    def new(kind: str, number: int = 0) -> str:
        return seeds.uuid(f"listed {kind}:{tenant}:{external_id}:{number}")

    first, last = listed["name"].split(maxsplit=1)
    status = listed.get("status", "approved")
    user = new_user(
        new("user"),
        tenant,
        start - 60 * DAY,
        status=status,
        source_key="workbench",
        first_name=first,
        last_name=last,
        email=listed.get("email", f"{'.'.join(listed['name'].lower().split())}@example.com"),
        external_id=external_id,
    )
    store.save("user", user)
    store.put("external_id", f"{tenant}:{external_id}", user["id"])
    for number, contract in enumerate(listed.get("contracts", ())):
        add_contract(
            store,
            seeds,
            tenant,
            new("contract", number),
            contract["chain_id"],
            contract.get("version", 2),
            tuple(contract["balances"]),
            user=user["id"],
            onramp=family_of(contract["chain_id"]) is Family.EVM,
        )
    cards = [
        store.save("card", new_card(new("card", number), user, number, card["limit"], card["status"]))
        for number, card in enumerate(listed.get("cards", ()))
    ]
    for number, dispute in enumerate(listed.get("disputes", ())):
        at = start - (40 - number % 30) * DAY
        cards[0] = add_disputed(store, cards[0], new("transaction", number), new("dispute", number), at, **dispute)


def _merchants(count: int) -> Options:
    """Return names of merchants with running totals of their weights. A few names are frequent, and most are rare."""
    words = toml.read(Path(__file__).parent / "worlds" / "merchants.toml", "world")
    names = [f"{adjective} {noun}" for noun in words["nouns"] for adjective in words["adjectives"]]
    return names[:count], [(rank / count) ** 0.25 for rank in range(1, count + 1)]
