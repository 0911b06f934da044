"""Seeded world: tenants of each kind, with records in every state. Reserved test data only.

The guide holds the base URL, keys and example ids as plain data. In larger worlds the first tenant also has a year of a
card program: people join month by month, buy by season and habit, and sometimes leave. Some of their purchases are
declined, reversed, refunded or disputed, and they earn and spend points. Everything is derived from the seed, and no
time is after the sandbox's present.
"""

import math
import os
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from random import Random
from typing import Any

from workbench.chains.addresses import Family, chain_of, family_of
from workbench.interface.vocabulary import DeclineReason, DisputeStatus, EventApplicationStatus, Role
from workbench.sandbox import rewards
from workbench.sandbox.cards import add_dispute, new_card, new_transaction
from workbench.sandbox.context import NEVER, Environment, Record, Seeds
from workbench.sandbox.contracts import WARNING, add_contract, example_bank, new_account, new_route, signer_of
from workbench.sandbox.people import REASONS, new_company, new_owner, new_user
from workbench.sandbox.rewards import BEYOND_PAGING, CATEGORIES, DAY, counts
from workbench.sandbox.store import Store

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

SIZES = {"small": 0, "program": 240, "large": 1_000}
"""Number of people by size of the world."""
_SEASON = (0.9, 0.85, 0.95, 1.0, 1.0, 1.05, 1.1, 1.05, 0.95, 1.0, 1.15, 1.4)  # January to December
_WEEKDAY = (0.85, 0.85, 0.9, 1.0, 1.25, 1.3, 0.95)  # Monday to Sunday
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


def world(settings: Mapping[str, Any]) -> Store:
    """Return the world of a sandbox.

    Args:
        made: Arguments of the world: seed, `size` and `start` (its present, in milliseconds since 1970).
    """
    seeds, store = Seeds.of(settings), Store()
    for kind, values in _base(seeds, settings["start"]).items():
        store.fill(kind, values)
    count = SIZES[settings.get("size", "small")]
    for number in range(count):
        _Person(store, seeds, tenant_id(seeds, PRIMARY), settings["start"], number, count).live()
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
            # the second person on has collateral, so that the first may change any wallet
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
            cents = 1_500 + 100 * i
            spend = new_transaction(
                self.new("transaction", i),
                card,
                at,
                status="settled",
                authorized=cents,
                cleared=cents,
                settled=cents,
                merchant_name="Corner Grocery",
                merchant_category_code="5411",
                posted_at=at + DAY,
            )
            self.store.save("transaction", spend)
            card = self.store.save("card", card, available=card["available"] - cents, posted=card["posted"] + cents)
            resolved = None if status in {"pending", "inReview"} else at + 9 * DAY
            add_dispute(self.store, self.new("dispute", i), spend, at + 2 * DAY, status.value, resolved)


class _Person:
    """Builder of one person, a card and its transactions."""

    def __init__(self, store: Store, seeds: Seeds, tenant: str, start: int, number: int, count: int) -> None:
        self.store, self.seeds, self.start = store, seeds, start
        self.label = f"{tenant}:{number}"
        self.dice = Random(int.from_bytes(seeds.octets(f"person:{self.label}", 16)))
        # more join each month than in the month before
        self.joined = start - int(DAY * (360 - 350 * math.sqrt(number / count)))
        stays = self.dice.random() > 0.25
        self.end = start if stays else self.joined + int((start - self.joined) * self.dice.random())
        self.habit = {code: self.dice.random() ** 3 for code in CATEGORIES}
        self.weekly = 0.5 + 5 * self.dice.random() ** 2
        self.user: Record = new_user(
            seeds.uuid(f"member:{self.label}"),
            tenant,
            self.joined,
            status="approved",
            source_key="workbench",
            first_name=f"Member {number + 1}",
            last_name="Example",
            email=f"member.{number + 1}@example.com",
            external_id=f"member-{number + 1:05d}",
            is_active=stays,
        )
        self.card = new_card(seeds.uuid(f"member card:{self.label}"), self.user, number, 0)
        self.made = 0

    def live(self) -> None:
        """Store the person, the card and its transactions."""
        rows: list[Record] = []
        at = self.joined + int(DAY * self.dice.random())
        while at < self.end:
            day = at // DAY
            busy = _SEASON[int(day / 30.4375) % 12] * _WEEKDAY[(day + 3) % 7]  # day 0 was a Thursday
            self._purchase(at, rows)
            at += int(7 * DAY / (self.weekly * busy) * -math.log(1 - self.dice.random()))
        rows += self._redemptions(rows)
        spent = self.card["posted"] - self.card["refunded"] + self.card["held"]
        self.card["limit"] = limit = (spent // 50_000 + 10) * 50_000
        self.card["available"] = limit - spent
        self.store.save("user", self.user)
        self.store.save("card", self.card)
        self.store.put("external_id", f"{self.user['tenant']}:{self.user['external_id']}", self.user["id"])
        for row in sorted(rows, key=lambda row: row["at"]):
            rewards.put(self.store, self.user["id"], row)

    def _purchase(self, at: int, rows: list[Record]) -> None:
        dice, self.made = self.dice, self.made + 1
        (code,) = dice.choices(tuple(self.habit), tuple(self.habit.values()))
        cents = max(150, int(100 * CATEGORIES[code].usual * math.exp(0.6 * dice.gauss(0, 1))))
        luck, cleared = dice.random(), at + int(DAY * (1 + 2 * dice.random()))
        state: Record = {"status": "settled", "settled": cents, "cleared": cents, "posted_at": cleared}
        if luck < 0.05:
            state = {"status": "declined", "declined_reason": str(dice.choice(tuple(DeclineReason)))}
        elif luck < 0.07:
            state = {"status": "reversed"}
        elif cleared > self.start:
            state = {"status": "authorized", "held": cents}
        transaction = new_transaction(
            self.seeds.uuid(f"purchase:{self.label}:{self.made}"),
            self.card,
            at,
            authorized=cents,
            merchant_name=_merchant(dice),
            merchant_category_code=code,
            **state,
        )
        self.card["held"] += transaction["held"]
        if state["status"] == "settled":
            self.card["posted"] += cents
            transaction = self._afterwards(transaction, rows)
        self.store.save("transaction", transaction)

    def _afterwards(self, transaction: Record, rows: list[Record]) -> Record:
        """Earn points for a settled purchase, and sometimes refund or dispute it."""
        cents, at, dice = transaction["settled"], transaction["posted_at"], self.dice
        rows.append(self._row(transaction, at, 0, cents))
        later, luck = at + int(20 * DAY * dice.random()), dice.random()
        if later < self.start and luck < 0.03:
            back = cents if luck < 0.02 else cents // 2
            transaction = {**transaction, "refunded": back}
            self.card["refunded"] += back
            rows.append(self._row(transaction, later, cents, cents - back))
        elif later < self.start and luck < 0.036:
            status = str(dice.choice(tuple(DisputeStatus)))
            resolved = None if status in {"pending", "inReview"} else min(self.start, later + 30 * DAY)
            key = self.seeds.uuid(f"dispute:{self.label}:{self.made}")
            add_dispute(self.store, key, transaction, later, status, resolved)
        return transaction

    def _row(self, transaction: Record, at: int, before: int, after: int) -> Record:
        key = self.seeds.octets(f"member reward:{self.label}:{self.made}:{after - before}", 16).hex()
        return rewards.earned(self.seeds, key, transaction, at, before, after)

    def _redemptions(self, rows: list[Record]) -> list[Record]:
        """Occasionally redeem half of the minted points."""
        redemptions: list[Record] = []
        left, steady = 0, self.dice.random() < 0.4
        for number, row in enumerate(sorted(rows, key=lambda row: row["minted"])):
            left += row["points"]
            at = row["minted"] + DAY // 3
            if steady and left > 1_500 and at < self.end:
                key = self.seeds.octets(f"member redemption:{self.label}:{number}", 16).hex()
                points, status = left // 50 * 25, self.dice.choice(("COMPLETED",) * 8 + ("PENDING", "FAILED"))
                redemptions.append(rewards.redeemed(key, at, points, status))
                left -= points if status != "FAILED" else 0
        return redemptions


def _merchant(dice: Random) -> str:
    """Return a merchant name; a few are frequent, most occur once."""
    rank = int(len(_ADJECTIVES) * len(_NOUNS) * dice.random() ** 4)
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
