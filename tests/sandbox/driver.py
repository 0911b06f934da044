"""A minimal driver that calls a sandbox's engine as any client would, without this package's client."""

import json
from typing import Any
from urllib.parse import urlencode

import attrs

from workbench.base.schema import strict_json
from workbench.sandbox import Request, Sandbox
from workbench.sandbox.controls.reading import RECORD_KINDS
from workbench.sandbox.internals import internals

PERSON = {
    "firstName": "Ada",
    "lastName": "Sample",
    "birthDate": "1990-02-01",
    "nationalId": "900123456",
    "countryOfIssue": "US",
    "email": "ada@example.com",
    "address": {
        "line1": "1 Example Street",
        "city": "Springfield",
        "region": "IL",
        "postalCode": "62701",
        "countryCode": "US",
    },
    "ipAddress": "203.0.113.7",
    "occupation": "teacher",
    "annualSalary": "50000",
    "accountPurpose": "everyday spending",
    "expectedMonthlyVolume": "1000",
}
BANK = {
    "beneficiaryType": "individual",
    "beneficiaryFirstName": "Ada",
    "beneficiaryLastName": "Sample",
    "currency": "usd",
    "beneficiaryAddress": {
        "addressLine1": "1 Example Street",
        "city": "Springfield",
        "region": "IL",
        "postalCode": "62701",
        "countryCode": "US",
    },
    "bankName": "Example Bank",
    "accountNumber": "000123456789",
    "routingNumber": "000000000",
}


def state_of(sandbox: Sandbox) -> Any:
    """Return all visible state of a sandbox: records, events and time."""
    return {kind: sandbox.records(kind) for kind in RECORD_KINDS}, sandbox.events(), sandbox.clock.now()


@attrs.frozen
class Answer:
    """The status, body and headers of a response."""

    status: int
    body: Any
    headers: dict[str, str]

    @property
    def assumed(self) -> set[str]:
        return set(filter(None, self.headers.get("workbench-assumed", "").split(", ")))


class Api:
    """A client that makes calls with one key."""

    def __init__(self, sandbox: Sandbox, key: str | None = "full") -> None:
        self.sandbox = sandbox
        self.guide = sandbox.guide()
        self.key = self.guide["api_keys"].get(key, key)

    def send(self, method: str, path: str, body: bytes = b"", query: str = "", **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named = {"content-type": "application/json", **({"api-key": self.key} if self.key else {}), **named}
        answer = getattr(self.sandbox, "compared", internals(self.sandbox).engine.answer)
        response = answer(Request(method, "/v1" + path, query, named, body))
        answer = Answer(
            response.status, strict_json.loads(response.body) if response.body else None, dict(response.headers)
        )
        if answer.status >= 400:
            assert set(answer.body) == {"statusCode", "error", "message"}
            assert answer.body["statusCode"] == answer.status
        return answer

    def call(self, method: str, path: str, body: Any = None, **query: Any) -> Answer:
        return self.send(method, path, b"" if body is None else json.dumps(body).encode(), urlencode(query))

    def authorize(self, card: str | None = None, amount: Any = 1250, **more: Any) -> Answer:
        return self.call(
            "POST",
            "/simulate/transactions/authorize",
            {
                "cardId": card or self.card,
                "amount": amount,
                "currency": "USD",
                "merchantName": "Corner Grocery",
                "merchantCategoryCode": "5411",
                **more,
            },
        )

    def reverse(self, transaction: str, **body: Any) -> Answer:
        return self.call("POST", f"/simulate/transactions/{transaction}/reverse", body)

    def refund(self, transaction: str, **body: Any) -> Answer:
        return self.call("POST", f"/simulate/transactions/{transaction}/refund", body)

    def settle(self, transaction: str, **body: Any) -> Answer:
        return self.call("POST", f"/simulate/transactions/{transaction}/settle", body)

    def apply(self, **members: Any) -> Answer:
        body = {name: value for name, value in {**PERSON, **members}.items() if value is not None}
        return self.call("POST", "/issuing/applications/user", body)

    def update_user(self, user: str, **members: Any) -> Answer:
        return self.call("PATCH", f"/issuing/users/{user}", members)

    def pay_to(self, **members: Any) -> Answer:
        bank = {**BANK, **members.pop("bank", {})}
        return self.call(
            "POST", "/payment-accounts", {"type": "externalFiatAccount", "externalFiatAccount": bank, **members}
        )

    def sign(self, contract: int = 0, which: int = 0, **query: Any) -> Answer:
        one = self.examples["contracts"][contract]
        asked = {
            "chainId": one["chain_id"],
            "token": one["tokens"][which]["address"],
            "amount": "2500",
            "adminAddress": one["admin_addresses"][0],
            "recipientAddress": one["admin_addresses"][-1],
            "isAmountNative": "false",
            **query,
        }
        given = {name: value for name, value in asked.items() if value is not None}
        return self.call("GET", "/issuing/tenants/signatures/withdrawals", **given)

    @property
    def examples(self) -> dict[str, Any]:
        """Example ids of the key's tenant."""
        name = next((name for name, key in self.guide["api_keys"].items() if key == self.key), "full")
        return self.guide["tenants"].get(name, self.guide)

    @property
    def card(self) -> str:
        return self.examples["cards"]["active"][0]

    @property
    def user(self) -> str:
        return self.examples["users"]["approved"][0]

    def authorized(self, amount: int = 1250, card: str | None = None) -> str:
        answer = self.authorize(card, amount)
        assert answer.status == 200, answer
        return answer.body["transactionId"]

    def settled(self, amount: int = 1250) -> str:
        transaction = self.authorized(amount)
        assert self.settle(transaction, amount=amount).status == 200
        return transaction

    def kinds(self, since: int = 0) -> list[str]:
        return [f"{e.payload['resource']}.{e.payload['action']}" for e in self.sandbox.events(since=since)]
