"""Seeded world: tenants of each kind, with records in every state. Reserved test data only.

Its guide holds the base URL, keys and example ids as plain data. In larger worlds the first tenant also has a card
program, by the numbers of a file (`programs`): users join, buy by season and habit, and sometimes leave. Some of their
purchases are declined, reversed, refunded or disputed, and they earn and spend points. Everything is derived from the
seed, and no time is after the sandbox's present.
"""

import os
from bisect import bisect
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from random import Random
from typing import Any

from workbench.sandbox import rewards
from workbench.sandbox.cards import add_dispute, new_card, new_transaction
from workbench.sandbox.context import NEVER, Environment, Record, Seeds, moment_of
from workbench.sandbox.contracts import WARNING, add_contract, example_bank, new_account, new_route, signer_of
from workbench.sandbox.people import REASONS, new_company, new_owner, new_user
from workbench.sandbox.programs import STAYED, external_id_of
from workbench.sandbox.rewards import BEYOND_PAGING, DAY, counts
from workbench.sandbox.store import Store
from workbench.service.chains.addresses import Family, chain_of, family_of
from workbench.service.interface.vocabulary import DisputeStatus, EventApplicationStatus, Role

PRIMARY = "primary"
TENANTS: Mapping[str, Mapping[str, Any]] = {
    PRIMARY: {"team": "individual", "management": "self", "corporate_cards": True},
    "provider-managed": {"team": "individual", "management": "provider", "corporate_cards": True},
    "company team": {"team": "company", "management": "self", "corporate_cards": True},
    "no corporate cards": {"team": "individual", "management": "self", "corporate_cards": False},
}
_READS = (Role.CONTRACTS_AND_SIGNATURES_READ, Role.REWARDS_READ, Role.REWARDS_TRAVEL_READ)
KEYS: Mapping[str, tuple[str, tuple[Role, ...]]] = {
    "full": (PRIMARY, tuple(Role)),
    "read only": (PRIMARY, _READS),
    "contractsAndSignatures:read only": (PRIMARY, (Role.CONTRACTS_AND_SIGNATURES_READ,)),
    "rewards only": (PRIMARY, (Role.REWARDS_READ, Role.REWARDS_WRITE)),
    "team not found": ("nowhere", tuple(Role)),
    **{name: (name, tuple(Role)) for name in TENANTS if name != PRIMARY},
}
"""Tenant and roles of each key, by key name."""

_FIRST = (
    "Ada",
    "Ben",
    "Cleo",
    "Dara",
    "Emil",
    "Fay",
    "Gus",
    "Hana",
    "Ivo",
    "June",
    "Kai",
    "Lena",
    "Milo",
    "Nia",
    "Omar",
    "Pia",
)
_LAST = (
    "Abbot",
    "Berg",
    "Castell",
    "Dunn",
    "Ekholm",
    "Fenn",
    "Grove",
    "Hale",
    "Inman",
    "Joss",
    "Kern",
    "Lund",
    "Marsh",
)
_CARD_STATES = ("active", "notActivated", "locked", "canceled")
_APPROVED = 24
_CONTRACTS = (
    (84532, 2, ("25000.50", "3.25")),
    (11155111, 1, ("8120.00", "1.75")),
    (901, 2, ("12400.25", "310.5")),
    (1501, 2, ("940.75", "5400.00")),
)

_OPEN = frozenset({"pending", "inReview"})
_HOUR = DAY // 24
_NEW = 30  # days after which a user without purchases has left
_ADJECTIVES = (
    "Blue",
    "Green",
    "Old",
    "New",
    "Little",
    "Grand",
    "Silver",
    "Golden",
    "North",
    "South",
    "East",
    "West",
    "Happy",
    "Quiet",
    "Sunny",
    "Royal",
)
_NOUNS = (
    "Harbor",
    "Garden",
    "Corner",
    "Bridge",
    "Market",
    "Lantern",
    "Meadow",
    "Station",
    "River",
    "Hill",
    "Mill",
    "Square",
    "Anchor",
    "Maple",
    "Falcon",
    "Orchard",
)


def tenant_id(seeds: Seeds, name: str) -> str:
    """Return the id of a tenant."""
    return seeds.uuid(f"tenant:{name}")


def add_tenant(store: Store, seeds: Seeds, name: str, kind: Mapping[str, Any], start: int) -> Record:
    """Add a tenant with a small world, and a key of the same name with all roles; return the tenant."""
    add_key(store, seeds, name, tenant_id(seeds, name), tuple(Role))
    _Tenant(store, seeds, name, kind, start).populate()
    tenant: Record = store.get("tenant", tenant_id(seeds, name))
    return tenant


def add_key(store: Store, seeds: Seeds, name: str, tenant: str, roles: tuple[str, ...]) -> str:
    """Add a key of a tenant, by the tenant's id; return the key."""
    key = seeds.api_key(name)
    store.put("key", key, {"tenant": tenant, "name": name, "roles": list(roles)})
    return key


def new_world() -> str:
    """Return a random world id, which tells its data from that of other worlds."""
    return os.urandom(6).hex()


def world(settings: Mapping[str, Any], program: Mapping[str, Any] | None) -> Store:
    """Return the world of a sandbox.

    Args:
        settings: Arguments of the world: seed, and `start` (its present, in milliseconds since 1970).
        program: Card program of the first tenant, as `programs.read_world` returns it.
    """
    seeds, store = Seeds.of(settings), Store()
    for kind, values in _base(seeds, settings["start"]).items():
        store.fill(kind, values)
    if program is not None:
        tenant = tenant_id(seeds, PRIMARY)
        store.put("meta", "program", program)
        store.put("meta", "categories", rewards.categories_of(program))
        _Members(store, seeds, tenant, settings["start"], program).live()
        for member in program.get("users", ()):
            _add_listed(store, seeds, tenant, settings["start"], member)
    return store


@lru_cache(maxsize=8)
def _base(seeds: Seeds, start: int) -> Mapping[str, Mapping[str, Any]]:
    """Return the base of every world, cached by seed, because deriving its keys takes milliseconds."""
    store = Store()
    store.put("meta", "clock", start)
    store.put("meta", "next_due", NEVER)
    for name, (tenant, roles) in KEYS.items():
        add_key(store, seeds, name, tenant_id(seeds, tenant), roles)
    for name, kind in TENANTS.items():
        _Tenant(store, seeds, name, kind, start).populate()
    return store.copy()


class _Tenant:
    """Builder of the records of one tenant."""

    def __init__(self, store: Store, seeds: Seeds, name: str, kind: Mapping[str, Any], start: int) -> None:
        self.store = store
        self.seeds = seeds
        self.name = name
        self.id = tenant_id(seeds, name)
        self.kind = kind
        self.start = start
        self.people = 0

    def populate(self) -> None:
        self.store.put("tenant", self.id, {"id": self.id, "name": self.name, **self.kind})
        small = self.name != PRIMARY
        company = self.company() if self.kind["team"] == "company" or not small else None
        theirs = company["id"] if company and self.kind["team"] == "company" else None
        approved = [
            self.user("approved", company_id=theirs, rewards=0 if small else 180 + 20 * i)
            for i in range(4 if small else _APPROVED)
        ]
        if not small:
            for i, user in enumerate(approved[12:-1]):  # each of these joined later than the one before
                approved[12 + i] = self.store.save("user", user, rewards_months=11 - i)
            approved[-1] = self.store.save("user", approved[-1], rewards=BEYOND_PAGING)
            approved[1] = self.store.save("user", approved[1], reason="WRONG_USER_REGION, REGULATIONS_VIOLATIONS")
            for status in EventApplicationStatus:
                if status != "approved":
                    self.user(status)
        self.contracts(approved)
        if self.kind["corporate_cards"]:
            self.cards(approved, () if small else _CARD_STATES)
            self.accounts(approved, theirs)
        if not small:
            self.disputes(approved[0])

    def new(self, kind: str, number: int | str) -> str:
        return self.seeds.uuid(f"{self.name}:{kind}:{number}")

    def person(self) -> Record:
        """Return the data of the next person; all addresses and numbers are reserved for examples."""
        self.people += 1
        number = self.people
        first = _FIRST[number % len(_FIRST)]
        last = _LAST[number % len(_LAST)]
        return {
            "first_name": first,
            "last_name": last,
            "email": f"{first}.{last}.{number}@example.com".lower(),
            "address": {
                "line1": f"{number} Example Street",
                "city": "Springfield",
                "region": "IL",
                "postal_code": f"{62700 + number % 100}",
                "country_code": "US",
            },
        }

    def user(self, status: str, company_id: str | None = None, rewards: int = 0) -> Record:
        person = self.person()
        number = self.people
        at = self.start - (400 - number) * DAY
        external = f"customer-{number:04d}"
        key = self.new("user", number)
        self.store.put("external_id", f"{self.id}:{external}", key)
        user = new_user(
            key,
            self.id,
            at,
            status=status,
            reason=REASONS.get(status, ""),
            updated_at=at + DAY,
            rewards=rewards,
            phone_country_code="1",
            phone_number=f"31255501{number % 100:02d}",
            external_id=external,
            source_key="workbench",
            terms=status not in {"tosNotAccepted", "notStarted"},
            is_active=status not in {"locked", "canceled", "denied"},
            **person,
        )
        return self.store.save("user", user, **({"company_id": company_id} if company_id else {}))

    def company(self) -> Record:
        key = self.new("company", 1)
        owners = [
            self.store.save("owner", new_owner(self.new("owner", i), self.id, key, status, **self.person()))
            for i, status in enumerate(("approved", "needsInformation", "denied"))
        ]
        company = new_company(
            key, self.id, "Example Trading Company", owners, external_id="company-0001", source_key="workbench"
        )
        self.store.put("external_id", f"{self.id}:{company['external_id']}", key)
        return self.store.save("company", company)

    def contracts(self, people: list[Record]) -> None:
        """Create a contract on each family of chains; the first people have theirs as collateral."""
        for i, (chain, version, balances) in enumerate(_CONTRACTS):
            # all but the first person have collateral, so that the first can change any wallet
            holder = people[i + 1]["id"] if i < len(people) - 1 else None
            add_contract(
                self.store,
                self.seeds,
                self.id,
                self.new("contract", i),
                chain,
                version,
                balances if self.name == PRIMARY else ("1250.50", "0.5"),
                user=holder,
                onramp=family_of(chain) is Family.EVM,
            )

    def cards(self, people: list[Record], states: tuple[str, ...]) -> None:
        """Create an active card for each person, and cards in every other state for some."""
        wanted = [(person, "active", (25_000 - 500 * i) * 100) for i, person in enumerate(people)]
        wanted += [(people[i % len(people)], state, 500_000) for i, state in enumerate(states * 2) if state != "active"]
        wanted.append((people[-1], "active", 5_000))  # a card whose credit is soon used up
        for number, (person, state, limit) in enumerate(wanted):
            self.store.save("card", new_card(self.new("card", number), person, number, limit, state))

    def accounts(self, people: list[Record], company_id: str | None) -> None:
        """Create payment accounts, and payment routes with and without a fiat deposit address."""
        for number in range(2):
            person = people[number]
            owner = {"company_id": company_id} if company_id else {"user_id": person["id"]}
            bank = example_bank(person["first_name"], person["last_name"], f"00012345{number:04d}")
            account = new_account(
                self.new("payment_account", number),
                self.id,
                self.start - 30 * DAY,
                owner,
                bank,
                nickname=f"Example account {number + 1}",
            )
            self.store.save("payment_account", account)
            self.store.save(
                "payment_route", new_route(self.seeds, self.new("payment_route", number), self.id, owner, not number)
            )

    def disputes(self, person: Record) -> None:
        """Create two disputes of each status, about settled transactions of the first card."""
        card = next(card for card in self.store.all("card") if card["user"] == person["id"])
        for i, status in enumerate(tuple(DisputeStatus) * 2):
            at = self.start - (40 - i) * DAY
            key, dispute = self.new("transaction", i), self.new("dispute", i)
            card = _disputed(self.store, card, key, dispute, at, 1_500 + 100 * i, status.value)


class _Members:
    """Builder of the users of a card program, by the numbers of the program.

    Values of users are spread evenly over the quantiles, so that a small program has the same distributions.
    """

    def __init__(self, store: Store, seeds: Seeds, tenant: str, start: int, program: Mapping[str, Any]) -> None:
        self.store, self.seeds, self.tenant, self.start, self.program = store, seeds, tenant, start, program
        self.first_day = start // DAY - 3_700
        moments = (moment_of(day * DAY) for day in range(self.first_day, start // DAY + 1))
        busy = (program["months"][at.month - 1] * program["weekdays"][at.weekday()] for at in moments)
        self.days = list(accumulate(busy))
        self.hours = list(accumulate(program["hours"]))
        self.codes = [row["code"] for row in program["categories"]]
        self.shares = list(accumulate(row["share"] for row in program["categories"]))
        self.tickets = {row["code"]: row["ticket"] for row in program["categories"]}
        self.reasons = [row["reason"] for row in program["declines"]]
        self.reason_shares = [row["share"] for row in program["declines"]]

    def live(self) -> None:
        """Store the users, their cards and transactions."""
        cohorts, size, number, share = self.program["cohorts"], self.program["size"], 0, 0.0
        total = sum(cohort["share"] for cohort in cohorts)
        for row, cohort in enumerate(cohorts):
            share += cohort["share"] / total
            count = round(size * share) - number
            dice = Random(int.from_bytes(self.seeds.octets(f"cohort:{self.tenant}:{row}", 16)))
            columns = [
                [quantile(cohort[name], (i + dice.random()) / count) for i in range(count)]
                for name in ("joined", "active", "purchases")
            ]
            dice.shuffle(columns[0])  # longer membership means more purchases, whatever the date of joining
            for days, active, purchases in zip(*columns, strict=True):
                _Member(self, number, days, active, int(purchases + dice.random())).live()
                number += 1

    def moment(self, dice: Random, day: int) -> int:
        """Return a random time of a day."""
        hour = bisect(self.hours, self.hours[-1] * dice.random())
        at = (day * 24 + hour) * _HOUR + int(_HOUR * dice.random())
        return at if at < self.start else at - DAY

    def day(self, dice: Random, first: int, last: int) -> int:
        """Return a random day between two days, by month and weekday."""
        low, high = self.days[max(first - self.first_day - 1, 0)], self.days[last - self.first_day]
        day = self.first_day + bisect(self.days, low + (high - low) * dice.random())
        return min(max(day, first), last)


def quantile(knots: Sequence[float], share: float) -> float:
    """Return the value of evenly spaced quantiles below which a share lies."""
    place = share * (len(knots) - 1)
    index = int(place)
    if index >= len(knots) - 1:
        return knots[-1]
    return knots[index] + (knots[index + 1] - knots[index]) * (place - index)


class _Member:
    """Builder of one user of a card program, a card and its transactions."""

    def __init__(self, of: _Members, number: int, days: float, active: float, purchases: int) -> None:
        self.of, self.program, self.seeds, self.start = of, of.program, of.seeds, of.start
        self.label = f"{of.tenant}:{number}"
        self.dice = dice = Random(int.from_bytes(self.seeds.octets(f"person:{self.label}", 16)))
        first = (self.start - int(days * DAY)) // DAY
        last = (self.start - int(days * (1 - active) * DAY)) // DAY
        inner = [of.day(dice, first, last) for _ in range(max(purchases - 2, 0))]
        self.times = sorted(of.moment(dice, day) for day in [first, last, *inner][:purchases])
        joined = min([of.moment(dice, first), *self.times[:1]])
        is_active = active >= STAYED or days < _NEW
        self.end = self.start if is_active else max([joined, *self.times])
        self.favorites = dice.choices(of.codes, cum_weights=of.shares, k=3)
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
        """Store the user, the card and its transactions."""
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
        if dice.random() < program["habit"]:
            code = dice.choice(self.favorites)
        else:
            (code,) = dice.choices(of.codes, cum_weights=of.shares)
        cents = max(1, int(quantile(of.tickets[code], dice.random())))
        luck, cleared = dice.random(), at + int(_HOUR * quantile(program["settle_hours"], dice.random()))
        state: Record = {"status": "settled", "settled": cents, "cleared": cents, "posted_at": cleared}
        if luck < program["declined"]:
            state = {"status": "declined", "declined_reason": dice.choices(of.reasons, of.reason_shares)[0]}
        elif luck < program["declined"] + program["reversed"]:
            state = {"status": "reversed"}
        elif cleared > self.start:
            state = {"status": "authorized", "held": cents}
        transaction = new_transaction(
            self.seeds.uuid(f"purchase:{self.label}:{self.made}"),
            self.card,
            at,
            authorized=cents,
            merchant_name=_merchant(dice, program["merchants"]),
            merchant_category_code=code,
            **state,
        )
        self.card["held"] += transaction["held"]
        if state["status"] == "settled":
            self.card["posted"] += cents
            transaction = self._afterwards(transaction, rows)
        of.store.save("transaction", transaction)

    def _afterwards(self, transaction: Record, rows: list[Record]) -> Record:
        """Earn points for a settled purchase, and sometimes refund or dispute it."""
        cents, at, dice, program = transaction["settled"], transaction["posted_at"], self.dice, self.program
        rows.append(self._row(transaction, at, 0, cents))
        later, luck = at + int(DAY * quantile(program["refund_days"], dice.random())), dice.random()
        if later >= self.start:
            return transaction
        if luck < program["refunded"]:
            back = max(1, int(cents * quantile(program["refund_parts"], dice.random()) + 0.5))
            transaction = {**transaction, "refunded": back}
            self.card["refunded"] += back
            rows.append(self._row(transaction, later, cents, cents - back))
        elif luck < program["refunded"] + program["disputed"]:
            status = str(dice.choice(tuple(DisputeStatus)))
            resolved = None if status in _OPEN else min(self.start, later + 30 * DAY)
            key = self.seeds.uuid(f"dispute:{self.label}:{self.made}")
            add_dispute(self.of.store, key, transaction, later, status, resolved)
        return transaction

    def _row(self, transaction: Record, at: int, before: int, after: int) -> Record:
        key = self.seeds.octets(f"member reward:{self.label}:{self.made}:{after - before}", 16).hex()
        category = rewards.category_of(self.of.store, transaction["merchant_category_code"])
        return rewards.earned(self.seeds, key, transaction, category, at, before, after)

    def _redemptions(self, rows: list[Record]) -> list[Record]:
        """Occasionally redeem half of the minted points."""
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


def _add_listed(store: Store, seeds: Seeds, tenant: str, start: int, listed: Mapping[str, Any]) -> None:
    """Store a user of a program's list, with cards, contracts and disputes."""
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
        reason=REASONS.get(status, ""),
        source_key="workbench",
        first_name=first,
        last_name=last,
        email=listed.get("email", f"{'.'.join(listed['name'].lower().split())}@example.com"),
        external_id=external_id,
        terms=status not in {"tosNotAccepted", "notStarted"},
        is_active=status not in {"locked", "canceled", "denied"},
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
        cards[0] = _disputed(store, cards[0], new("transaction", number), new("dispute", number), at, **dispute)


def _disputed(store: Store, card: Record, key: str, dispute: str, at: int, amount: int, status: str) -> Record:
    """Store a settled purchase and a dispute about it; return the card."""
    purchase = new_transaction(
        key,
        card,
        at,
        status="settled",
        authorized=amount,
        cleared=amount,
        settled=amount,
        merchant_name="Corner Grocery",
        merchant_category_code="5411",
        posted_at=at + DAY,
    )
    store.save("transaction", purchase)
    resolved = None if status in _OPEN else at + 9 * DAY
    add_dispute(store, dispute, purchase, at + 2 * DAY, status, resolved)
    return store.save("card", card, available=card["available"] - amount, posted=card["posted"] + amount)


def _merchant(dice: Random, count: int) -> str:
    """Return a merchant name; a few are frequent, most occur once."""
    rank = int(count * dice.random() ** 4)
    return f"{_ADJECTIVES[rank % len(_ADJECTIVES)]} {_NOUNS[rank // len(_ADJECTIVES)]}"


def guide(environment: Environment, base_url: str, tenant: str) -> Record:
    """Return base URL, keys with their permissions, and current example ids.

    The primary tenant, whose keys control the sandbox, sees the other tenants as well; another sees itself alone.

    Args:
        tenant: Id of the tenant whose examples come first.
    """
    store = environment.store
    settings = store.get("meta", "made")
    facts = ("name", "team", "management", "corporate_cards")
    sees_all = (store.get("tenant", tenant) or {}).get("name") == PRIMARY
    others = {
        other["name"]: {name: other[name] for name in facts[1:]} | _examples(environment, other["id"])
        for other in store.all("tenant")
        if other["name"] != PRIMARY and sees_all
    }
    return {
        "base_url": base_url,
        **{name: settings[name] for name in ("seed", "environment", "behavior")},
        "idempotency_keys": environment.settings["idempotency_keys"],
        "tenant": {name: other[name] for other in store.all("tenant") if other["id"] == tenant for name in facts},
        "api_keys": {row["name"]: key for key, row in store.items("key") if sees_all or row["tenant"] == tenant},
        **_examples(environment, tenant),
        "note": f"Every address here is made up: {WARNING}.",
        "tenants": others,
    }


def _examples(environment: Environment, tenant: str) -> Record:
    def theirs(kind: str) -> list[Record]:
        return [record for record in environment.store.all(kind) if record["tenant"] == tenant]

    def owners(company: Record) -> list[Record]:
        return [{"id": key, "status": environment.store.get("owner", key)["status"]} for key in company["owners"]]

    users = theirs("user")
    return {
        "cards": _by_status(theirs("card")),
        "users": _by_status(users),
        "companies": [{"id": their["id"], "owners": owners(their)} for their in theirs("company")],
        "contracts": [_contract(environment, their) for their in theirs("contract")],
        "disputes": _by_status(theirs("dispute")),
        "payment_accounts": [their["id"] for their in theirs("payment_account")],
        "payment_routes": [
            {
                "id": their["id"],
                "fiat_deposit": their["fiat_deposit"] is not None,
                "fiat_deposit_address": their["fiat_deposit"],
                **{name: their[name] for name in ("user_id", "company_id") if name in their},
            }
            for their in theirs("payment_route")
        ],
        "rewards_users": [
            {"id": user["id"], "rows": rows, "hidden": hidden, "beyond_paging": rows + hidden >= BEYOND_PAGING}
            for user in users
            for rows, hidden in [counts(environment, user)]
            if rows + hidden
        ],
    }


def _by_status(records: list[Record]) -> dict[str, list[str]]:
    by_status: dict[str, list[str]] = defaultdict(list)
    for record in records:
        by_status[str(record["status"])].append(record["id"])
    return dict(by_status)


def _contract(environment: Environment, record: Record) -> Record:
    same = ("id", "chain_id", "contract_version", "proxy_address", "controller_address", "admin_addresses", "nonce")
    return {
        **{name: record[name] for name in same},
        "chain": str(chain_of(record["chain_id"])),
        "deposit_address": f"{record['deposit_address']} ({WARNING})",
        "signer": signer_of(environment.seeds, record["chain_id"], record["id"]),
        "tokens": [
            {name: token[name] for name in ("address", "symbol", "decimals", "balance")} for token in record["tokens"]
        ],
    }
