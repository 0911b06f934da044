"""Tenants of a seeded world, with keys and records in every state. All data is reserved test data."""

from collections.abc import Mapping

from workbench.sandbox.cards import add_dispute, new_card, new_transaction
from workbench.sandbox.context import DAY, Seeds
from workbench.sandbox.contracts import add_contract, example_bank, new_account, new_route
from workbench.sandbox.people import new_company, new_owner, new_user
from workbench.sandbox.rewards import BEYOND_PAGING
from workbench.sandbox.store import Members, Record, Store
from workbench.service.chains.addresses import Family, family_of
from workbench.service.interface.vocabulary import DisputeStatus, EventApplicationStatus, Role

PRIMARY = "primary"
TENANTS: Mapping[str, Members] = {
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
"""Tenant and roles of every key, by key name."""

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

OPEN_DISPUTES = frozenset({"pending", "inReview"})
"""Statuses of disputes that are not resolved."""


def tenant_id(seeds: Seeds, name: str) -> str:
    """Return the id of a tenant."""
    return seeds.uuid(f"tenant:{name}")


def add_key(store: Store, seeds: Seeds, name: str, tenant: str, roles: tuple[str, ...]) -> str:
    """Add an API key of a tenant, and return the key."""
    key = seeds.api_key(name)
    store.put("key", key, {"tenant": tenant, "name": name, "roles": list(roles)})
    return key


class TenantBuilder:
    """Builder of a tenant and its records. It creates no API key."""

    def __init__(self, store: Store, seeds: Seeds, name: str, kind: Members, start: int) -> None:
        self.store = store
        self.seeds = seeds
        self.name = name
        self.id = tenant_id(seeds, name)
        self.kind = kind
        self.start = start
        self.people = 0

    def populate(self) -> Record:
        """Store the tenant and its records, and return the tenant."""
        tenant = self.store.save("tenant", {"id": self.id, "name": self.name, **self.kind})
        small = self.name != PRIMARY
        company = self.company() if self.kind["team"] == "company" or not small else None
        theirs = company["id"] if company and self.kind["team"] == "company" else None
        approved = [
            self.user("approved", company_id=theirs, rewards=0 if small else 180 + 20 * i)
            for i in range(4 if small else _APPROVED)
        ]
        if not small:
            for i, user in enumerate(approved[12:-1]):  # each of these users joined a month after the previous user
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
        return tenant

    def new(self, kind: str, number: int | str) -> str:
        return self.seeds.uuid(f"{self.name}:{kind}:{number}")

    def person(self) -> Record:
        """Return the data of the next person. All addresses and numbers are reserved for examples."""
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
            updated_at=at + DAY,
            rewards=rewards,
            phone_country_code="1",
            phone_number=f"31255501{number % 100:02d}",
            external_id=external,
            source_key="workbench",
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
        """Create contracts on each chain family. The users after the first have these contracts as collateral."""
        for i, (chain, version, balances) in enumerate(_CONTRACTS):
            # The first user has no contract as collateral, so collateral does not prevent a change of the wallets.
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
        """Create an active card for each user, and cards in every other state for some users."""
        wanted = [(person, "active", (25_000 - 500 * i) * 100) for i, person in enumerate(people)]
        wanted += [(people[i % len(people)], state, 500_000) for i, state in enumerate(states * 2) if state != "active"]
        wanted.append((people[-1], "active", 5_000))  # a low limit, so that the card soon declines purchases
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
        """Create two disputes in each status, about settled transactions of the first card."""
        card = next(card for card in self.store.all("card") if card["user"] == person["id"])
        for i, status in enumerate(tuple(DisputeStatus) * 2):
            at = self.start - (40 - i) * DAY
            key, dispute = self.new("transaction", i), self.new("dispute", i)
            card = add_disputed(self.store, card, key, dispute, at, 1_500 + 100 * i, status.value)


def add_disputed(store: Store, card: Record, key: str, dispute: str, at: int, amount: int, status: str) -> Record:
    """Store a settled purchase and its dispute, and return the card."""
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
    resolved = None if status in OPEN_DISPUTES else at + 9 * DAY
    add_dispute(store, dispute, purchase, at + 2 * DAY, status, resolved)
    return store.save("card", card, available=card["available"] - amount, posted=card["posted"] + amount)
