"""Controls that create tenants, keys, users, companies, cards, contracts and payment routes."""

import re
from typing import Annotated

from workbench.base.arguments import Between
from workbench.base.errors import allowed_names
from workbench.sandbox import cards, contracts, people
from workbench.sandbox.context import RequestContext, not_found, usage_error, wrong_argument
from workbench.sandbox.control_records import (
    ApplicationState,
    CardState,
    CompanyState,
    RouteState,
    Tenant,
    TenantKey,
    from_json,
)
from workbench.sandbox.controls.declaration import CENTS, ControlGroup, control
from workbench.sandbox.store import Record
from workbench.sandbox.tenants import PRIMARY, TenantBuilder, add_key
from workbench.service.interface.contracts import IssuingContract
from workbench.service.interface.vocabulary import EventApplicationStatus, Role


class CreationControls(ControlGroup):
    """Create tenants and their records."""

    @control(changes=False)
    def tenants(self) -> list[Tenant]:
        """Return the tenants, each with the names of its keys."""
        return [self._tenant(row) for row in self._engine.store.all("tenant")]

    @control(changes=True)
    def _create_tenant(
        self,
        name: str,
        team: Annotated[str, ("individual", "company")] = "individual",
        management: Annotated[str, ("self", "provider")] = "self",
        corporate_cards: bool = True,
    ) -> Tenant:
        """Create a tenant with sample users, cards and contracts, and a key with the tenant's name and all roles.

        Args:
            name: Name of the tenant, not used by another tenant or key.
            team: Kind of team: individual or company.
            management: Who manages the contracts: self or provider.
            corporate_cards: Whether the tenant issues corporate cards.
        """
        self._require_free_name(name)
        kind = {"team": team, "management": management, "corporate_cards": corporate_cards}
        store, seeds = self._engine.store, self._engine.seeds
        tenant = TenantBuilder(store, seeds, name, kind, self._engine.clock.ms).populate()
        add_key(store, seeds, name, tenant["id"], tuple(Role))
        return self._tenant(tenant)

    @control(changes=True)
    def _create_key(self, name: str, tenant_name: str = PRIMARY, roles: str | None = None) -> TenantKey:
        """Create an API key of a tenant with chosen roles.

        Args:
            name: Name of the key, not used by another tenant or key.
            tenant_name: Name of the tenant.
            roles: Roles separated by commas, such as "rewards:read,rewards:write"; default: all.
        """
        chosen = tuple(Role) if roles is None else tuple(filter(None, map(str.strip, roles.split(","))))
        if not frozenset(chosen) <= frozenset(Role):
            raise wrong_argument("roles", "enum", f"must be one of {allowed_names(Role)}")
        self._require_free_name(name)
        owner = next((row for row in self._engine.store.all("tenant") if row["name"] == tenant_name), None)
        if owner is None:
            raise not_found("Tenant")
        key = add_key(self._engine.store, self._engine.seeds, name, owner["id"], chosen)
        return TenantKey(name=name, tenant=tenant_name, roles=tuple(map(str, chosen)), api_key=key)

    def _tenant(self, row: Record) -> Tenant:
        keys = tuple(key["name"] for key in self._engine.store.all("key") if key["tenant"] == row["id"])
        return Tenant(keys=keys, **row)

    def _require_free_name(self, name: str) -> None:
        if not 1 <= len(name) <= 50 or not name.isprintable() or name != name.strip():
            limits = "must have 1 to 50 printable characters, without leading or trailing spaces"
            raise wrong_argument("name", "length", limits)
        if any(row["name"] == name for kind in ("tenant", "key") for row in self._engine.store.all(kind)):
            raise usage_error(f"name {name!r} is already used")

    @control(changes=True)
    def _create_user(
        self,
        first_name: str = "Example",
        last_name: str = "Person",
        status: Annotated[str, EventApplicationStatus] = "approved",
        company_id: str | None = None,
    ) -> ApplicationState:
        """Create a user with a chosen application status in the tenant, and send the event.

        Args:
            first_name: First name.
            last_name: Last name. A status word in the name has no effect here.
            status: Application status as in events, such as "needsInformation".
            company_id: Id of the company that the user belongs to.
        """
        context = self._context("create_user")
        of = {} if company_id is None else {"company_id": self._record("company", company_id)["id"]}
        key, name = context.new_id("user"), {"first_name": first_name, "last_name": last_name}
        email = f"user.{context.store.next('created user')}@example.com"
        user = people.new_user(key, context.tenant["id"], context.clock.ms, email=email, **name, **of)
        context.store.save("user", user)
        return application_state(people.decide(context, "user", key, status))

    @control(changes=True)
    def _create_company(
        self,
        name: str = "Example Company",
        owners: Annotated[int, Between(1, 20)] = 2,
        status: Annotated[str, EventApplicationStatus] = "approved",
    ) -> CompanyState:
        """Create a company of the tenant. The owners' applications have a chosen status.

        Args:
            name: Name of the company.
            owners: Number of owners.
            status: Application status as in events, such as "needsInformation".
        """
        context = self._context("create_company")
        key, tenant = context.new_id("company"), context.tenant["id"]
        owners_created = []
        for number in range(1, owners + 1):
            person = {"first_name": f"Owner {number}", "last_name": name, "email": f"owner.{number}@example.com"}
            owner = people.new_owner(context.new_id("owner"), tenant, key, status, **person)
            owners_created.append(context.store.save("owner", owner))
        company = context.store.save("company", people.new_company(key, tenant, name, owners_created))
        return from_json(CompanyState, company)

    @control(changes=True)
    def _create_payment_route(
        self, user_id: str | None = None, company_id: str | None = None, fiat_deposit: bool = True
    ) -> RouteState:
        """Create a payment route of a user or a company.

        Args:
            user_id: Id of the user that the route belongs to.
            company_id: Id of the company that the route belongs to, instead of a user.
            fiat_deposit: Whether the route has a fiat deposit address, which deposits require.
        """
        if (user_id is None) == (company_id is None):
            raise wrong_argument("", "one_of", "give either user_id or company_id")
        kind, key = ("user", user_id) if user_id is not None else ("company", company_id)
        owner = self._record(kind, key or "")
        context = self._engine.context("create_payment_route", owner)
        of = {f"{kind}_id": owner["id"]}
        route = contracts.new_route(context.seeds, context.new_id("payment_route"), owner["tenant"], of, fiat_deposit)
        context.store.save("payment_route", route)
        return RouteState(id=route["id"], fiat_deposit=fiat_deposit)

    @control(changes=True)
    def _create_contract(
        self,
        chain_id: int = 84532,
        version: Annotated[int, Between(1, 2)] = 2,
        balance: str = "1000.00",
        user_id: str | None = None,
    ) -> IssuingContract:
        """Create a contract of the tenant that holds USDC. The contract's admins are teaching wallets.

        Args:
            chain_id: Chain of the contract: an EVM chain, 900 to 902 (Solana), 1500 or 1501 (Stellar).
            version: Version of the contract. Version 1 has one owner, and version 2 has two admins.
            balance: USDC balance as decimal text.
            user_id: User who has the contract as collateral; default: none.
        """
        if not re.fullmatch(r"\d{1,12}(\.\d{1,6})?", balance, re.ASCII):
            raise wrong_argument("balance", "format", "must be an amount as decimal text, such as 1000.00")
        if not 1 <= chain_id <= 10**12:
            raise wrong_argument("chain_id", "unknown", "must be a chain id")
        user = None if user_id is None else self._record("user", user_id)
        context, tenant = self._context("create_contract"), user["tenant"] if user else self._tenant_id()
        contract = contracts.add_contract(
            context.store,
            context.seeds,
            tenant,
            context.new_id("contract"),
            chain_id,
            version,
            (balance, "0"),
            user=user["id"] if user else None,
        )
        return from_json(IssuingContract, contract)

    @control(changes=True)
    def _create_card(self, user_id: str, limit: Annotated[int, CENTS] = 1_000_000) -> CardState:
        """Issue a new, active card to a user.

        Args:
            user_id: Id of the cardholder.
            limit: Credit limit in cents.
        """
        user = self._record("user", user_id)
        card = cards.issue(self._engine.context("create_card", user), user, limit)
        return from_json(CardState, card)

    def _context(self, name: str) -> RequestContext:
        """Return the context of a control that creates a record of the tenant."""
        return self._engine.context(name, {"tenant": self._tenant_id()})


def application_state(applicant: Record) -> ApplicationState:
    """Return the status of an application."""
    return ApplicationState(id=applicant["id"], status=str(applicant["status"]), reason=applicant["reason"])
