"""The seeded world: tenants of each kind, and in them something in every state. Reserved test data only."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from workbench.chains.families import Family, family_of
from workbench.interface.rules import DisputeStatus, EventApplicationStatus, Role
from workbench.sandbox.clock import START, milliseconds
from workbench.sandbox.contracts import WARNING, contract_on
from workbench.sandbox.people import REASONS
from workbench.sandbox.rewards import BEYOND_PAGING
from workbench.sandbox.seeds import Seeds
from workbench.sandbox.signatures import wallet_address
from workbench.sandbox.store import Change, Store

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
"""What a key may do, its tenant, its roles."""

_FIRST = ("Ada", "Ben", "Cleo", "Dara", "Emil", "Fay", "Gus", "Hana", "Ivo", "June", "Kai", "Lena", "Milo", "Nia", "Omar", "Pia")  # fmt: skip
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
_DAY = 24 * 60 * 60 * 1000
_CARD_STATES = ("active", "notActivated", "locked", "canceled")
_APPROVED = 24
_CONTRACTS = ((84532, 2), (11155111, 1), (901, 2), (1501, 2))


def key_of(seeds: Seeds, name: str) -> str:
    """Return the API key that may do what its name says."""
    return f"sandbox_{seeds.octets(f'key:{name}', 16).hex()}"


def tenant_id(seeds: Seeds, name: str) -> str:
    """Return the id of a tenant."""
    return seeds.uuid(f"tenant:{name}")


def add_tenant(store: Store, seeds: Seeds, name: str, kind: Mapping[str, Any]) -> dict[str, Any]:
    """Add a tenant with a small world, and a key of its name with all roles; return the tenant."""
    add_key(store, seeds, name, tenant_id(seeds, name), tuple(Role))
    _Tenant(store, seeds, name, kind).populate()
    tenant: dict[str, Any] = store.get("tenant", tenant_id(seeds, name))
    return tenant


def add_key(store: Store, seeds: Seeds, name: str, tenant: str, roles: tuple[str, ...]) -> str:
    """Add a key of a tenant, by the tenant's id; return the key."""
    key = key_of(seeds, name)
    store.put("key", key, {"tenant": tenant, "name": name, "roles": list(roles)})
    return key


def populate(store: Store, seeds: Seeds) -> None:
    """Put the world into an empty store."""
    for kind, key, value in _world(seeds):
        store.put(kind, key, value)


@lru_cache(maxsize=8)
def _world(seeds: Seeds) -> tuple[Change, ...]:
    """Make the world, once for each seed: its addresses and keys take milliseconds, and no value is changed in place."""
    store = Store()
    store.put("meta", "clock", milliseconds(START))
    for name, (tenant, roles) in KEYS.items():
        add_key(store, seeds, name, tenant_id(seeds, tenant), roles)
    for name, kind in TENANTS.items():
        _Tenant(store, seeds, name, kind).populate()
    return tuple((kind, key, value) for kind, values in store.copy().items() for key, value in values.items())


class _Tenant:
    """Makes what one tenant has."""

    def __init__(self, store: Store, seeds: Seeds, name: str, kind: Mapping[str, Any]) -> None:
        self.store = store
        self.seeds = seeds
        self.name = name
        self.id = tenant_id(seeds, name)
        self.kind = kind
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
            approved[-1] = self.kept("user", approved[-1], rewards=BEYOND_PAGING)
            approved[1] = self.kept("user", approved[1], reason="WRONG_USER_REGION, REGULATIONS_VIOLATIONS")
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

    def kept(self, kind: str, record: dict[str, Any], **changes: Any) -> dict[str, Any]:
        record = {**record, **changes}
        self.store.put(kind, record["id"], record)
        return record

    def person(self) -> dict[str, Any]:
        """Return the names of the next person; all addresses and numbers are reserved for examples."""
        self.people += 1
        number = self.people
        first = _FIRST[number % len(_FIRST)]
        last = _LAST[number % len(_LAST)]
        return {
            "tenant": self.id,
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

    def user(self, status: str, company_id: str | None = None, rewards: int = 0) -> dict[str, Any]:
        person = self.person()
        number = self.people
        at = milliseconds(START) - (400 - number) * _DAY
        external = f"customer-{number:04d}"
        key = self.new("user", number)
        self.store.put("external_id", f"{self.id}:{external}", key)
        return self.kept(
            "user",
            {
                "id": key,
                **person,
                "phone_country_code": "1",
                "phone_number": f"31255501{number % 100:02d}",
                "external_id": external,
                "source_key": "workbench",
                "status": status,
                "reason": REASONS.get(status, ""),
                "terms": status not in {"tosNotAccepted", "notStarted"},
                "is_active": status not in {"locked", "canceled", "denied"},
                "created_at": at,
                "updated_at": at + _DAY,
                "rewards": rewards,
            },
            **({"company_id": company_id} if company_id else {}),
        )

    def company(self) -> dict[str, Any]:
        key = self.new("company", 1)
        owners = []
        for i, status in enumerate(("approved", "needsInformation", "denied")):
            owner = {
                "id": self.new("owner", i),
                **self.person(),
                "company_id": key,
                "status": status,
                "reason": REASONS.get(status, ""),
            }
            self.store.put("owner", owner["id"], owner)
            owners.append(owner["id"])
        return self.kept(
            "company",
            {
                "id": key,
                "tenant": self.id,
                "name": "Example Trading Company",
                "address": self.store.get("owner", owners[0])["address"],
                "external_id": "company-0001",
                "source_key": "workbench",
                "status": "needsInformation",
                "reason": REASONS["needsInformation"],
                "owners": owners,
            },
        )

    def contracts(self, people: list[dict[str, Any]]) -> None:
        """Make a contract on each kind of chain; those of the first people are their own collateral."""
        made = []
        for i, (chain, version) in enumerate(_CONTRACTS):
            key = self.new("contract", i)
            count = 1 if version == 1 else 2
            admins = tuple(wallet_address(self.seeds, chain, f"{key}:{one}") for one in range(count))
            balances = ("25000.50", "3.25") if self.name == PRIMARY else ("1250.50", "0.5")
            contract = contract_on(
                self.seeds,
                self.id,
                key,
                chain,
                version,
                admins,
                balances=balances,
                onramp=family_of(chain) is Family.EVM,
            )
            self.store.put("contract", key, contract)
            made.append(key)
            if i < len(people) - 1:  # the second person on has collateral, so that the first may change any wallet
                field = {Family.EVM: "wallet_address", Family.SOLANA: "solana_address"}.get(
                    family_of(chain), "stellar_address"
                )
                self.kept("user", self.store.get("user", people[i + 1]["id"]), **{field: admins[0], "contracts": [key]})
        self.store.put("contracts_of", self.id, made)

    def cards(self, people: list[dict[str, Any]], states: tuple[str, ...]) -> None:
        """Return each person an active card, and some people cards in every other state too."""
        limits = [(25_000 - 500 * i) * 100 for i in range(len(people))]
        wanted = [(person, "active", limit) for person, limit in zip(people, limits, strict=True)]
        wanted += [(people[i % len(people)], state, 500_000) for i, state in enumerate(states * 2) if state != "active"]
        wanted.append((people[-1], "active", 5_000))  # one whose credit is soon used up
        for number, (person, state, limit) in enumerate(wanted):
            card = {
                "id": self.new("card", number),
                "tenant": self.id,
                "user": person["id"],
                "status": state,
                "limit": limit,
                "available": limit,
                "held": 0,
                "posted": 0,
                "refunded": 0,
                "last4": f"{number:04d}",
                "expiration_month": "12",
                "expiration_year": "2029",
            }
            self.store.put("card", card["id"], card)

    def accounts(self, people: list[dict[str, Any]], company_id: str | None) -> None:
        """Make payment accounts, and payment routes with and without a fiat deposit address."""
        for number in range(2):
            owner: dict[str, Any] = {"company_id": company_id} if company_id else {"user_id": people[number]["id"]}
            account: dict[str, Any] = {
                "id": self.new("payment_account", number),
                "tenant": self.id,
                "created_at": milliseconds(START) - 30 * _DAY,
                "members": {
                    "type": "externalFiatAccount",
                    "nickname": f"Example account {number + 1}",
                    **owner,
                    "external_fiat_account": {
                        "beneficiary_type": "individual",
                        "beneficiary_first_name": people[number]["first_name"],
                        "beneficiary_last_name": people[number]["last_name"],
                        "currency": "usd",
                        "third_party": False,
                        "beneficiary_address": {
                            "address_line1": "1 Example Street",
                            "city": "Springfield",
                            "region": "IL",
                            "postal_code": "62701",
                            "country_code": "US",
                        },
                        "bank_name": "Example Bank",
                        "account_number": f"00012345{number:04d}",
                        "routing_number": "000000000",
                        "rail": "ach",
                        "bank_account_type": "checking",
                    },
                },
            }
            self.store.put("payment_account", account["id"], account)
            route: dict[str, Any] = {"id": self.new("payment_route", number), "tenant": self.id, **owner}
            fiat = {
                "beneficiary_name": WARNING,
                "account_number": f"000{self.seeds.number(f'route:{self.name}', 0, 10**9 - 1):09d}",
                "routing_number": "000000000",
            }
            self.store.put("payment_route", route["id"], {**route, "fiat_deposit": None if number else fiat})

    def disputes(self, person: dict[str, Any]) -> None:
        """Make two disputes of each status, about settled transactions of the first card."""
        card = next(card for card in self.store.all("card") if card["user"] == person["id"])
        for i, status in enumerate(tuple(DisputeStatus) * 2):
            at = milliseconds(START) - (40 - i) * _DAY
            cents = 1_500 + 100 * i
            spend = {
                "id": self.new("transaction", i),
                "tenant": self.id,
                "card": card["id"],
                "user": person["id"],
                "status": "settled",
                "authorized": cents,
                "held": 0,
                "settled": cents,
                "refunded": 0,
                "currency": "USD",
                "merchant_name": "Corner Grocery",
                "merchant_category_code": "5411",
                "declined_reason": None,
                "authorized_at": at,
                "posted_at": at + _DAY,
            }
            self.store.put("transaction", spend["id"], spend)
            card = self.kept("card", card, available=card["available"] - cents, posted=card["posted"] + cents)
            dispute = {
                "id": self.new("dispute", i),
                "tenant": self.id,
                "transaction": spend["id"],
                "status": status.value,
                "text_evidence": None,
                "created_at": at + 2 * _DAY,
                "resolved_at": None if status in {"pending", "inReview"} else at + 9 * _DAY,
            }
            self.store.put("dispute", dispute["id"], dispute)
