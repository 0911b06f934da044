"""Record traffic with sandboxes of any behavior as HAR files and stored webhooks, without the workbench's client."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import attrs
import httpx

from tests.sandbox.driver import BANK, PERSON
from workbench.sandbox import Request, Sandbox
from workbench.sandbox.internals import internals

Reply = tuple[int, dict[str, str], bytes]
Send = Callable[[str, str, bytes, dict[str, str]], Reply]
BASE = "https://api.example.com"


@attrs.define
class Har:
    """Entries of a HAR file, written without the workbench's exporter."""

    entries: list[dict[str, Any]] = attrs.field(factory=list)

    def add(self, method: str, url: str, sent: bytes, headers: dict[str, str], reply: Reply) -> None:
        status, received_headers, received = reply
        request: dict[str, Any] = {
            "method": method, "url": url, "httpVersion": "HTTP/1.1", "cookies": [], "queryString": [],
            "headers": [{"name": name, "value": value} for name, value in headers.items()],
            "headersSize": -1, "bodySize": len(sent),
        }  # fmt: skip
        if sent:
            request["postData"] = {"mimeType": headers.get("content-type", ""), "text": sent.decode()}
        kept = {name: value for name, value in received_headers.items() if not name.lower().startswith("workbench")}
        self.entries.append(
            {
                "startedDateTime": datetime.now(UTC).isoformat(),
                "time": 1.0,
                "request": request,
                "response": {
                    "status": status, "statusText": "", "httpVersion": "HTTP/1.1", "cookies": [], "redirectURL": "",
                    "headers": [{"name": name, "value": value} for name, value in kept.items()],
                    "content": {"size": len(received), "mimeType": "application/json", "text": received.decode()},
                    "headersSize": -1, "bodySize": -1,
                },
                "cache": {},
                "timings": {"send": 0, "wait": 1, "receive": 0},
            }
        )  # fmt: skip

    def write(self, path: Path, *, indent: int | None = None) -> Path:
        log = {"log": {"version": "1.2", "creator": {"name": "proxy", "version": "1"}, "entries": self.entries}}
        path.write_text(json.dumps(log, indent=indent), encoding="utf-8")
        return path


def in_process(sandbox: Sandbox) -> Send:
    """Return a function that sends requests to an embedded sandbox, without the workbench's client."""

    def send(method: str, target: str, body: bytes, headers: dict[str, str]) -> Reply:
        path, _, query = target.partition("?")
        response = internals(sandbox).engine.answer(Request(method, path, query, headers, body))
        return response.status, dict(response.headers), response.body

    return send


@contextmanager
def over_http(url: str, har: Har) -> Iterator[Send]:
    """Yield a function that sends requests to a served sandbox with httpx, and records them with an event hook."""

    def record(response: httpx.Response) -> None:
        response.read()
        request = response.request
        headers = {name: value for name, value in request.headers.items() if name != "api-key"}
        reply = response.status_code, dict(response.headers), response.content
        har.add(request.method, str(request.url), request.read(), headers, reply)

    def send(method: str, target: str, body: bytes, headers: dict[str, str]) -> Reply:
        response = client.request(method, target, content=body, headers=headers)
        return response.status_code, dict(response.headers), response.content

    with httpx.Client(base_url=url, event_hooks={"response": [record]}, trust_env=False) as client:
        yield send


class Traffic:
    """Calls that cover the assumptions, in a fixed order."""

    def __init__(self, sandbox: Any, send: Send, har: Har | None) -> None:
        self.sandbox, self.send, self.har = sandbox, send, har
        self.guide = sandbox.guide()
        self.keys = self.guide["api_keys"]
        self.tenants = self.guide["tenants"]

    def call(
        self, method: str, path: str, body: Any = ..., key: str = "full", query: Any = None, **headers: str
    ) -> dict[str, Any]:
        sent = b"" if body is ... else body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named = {**({"content-type": "application/json"} if sent else {}), **named}
        target = f"/v1{path}" + (f"?{urlencode(query)}" if query else "")
        with_key = named if "authorization" in named else {**named, "api-key": self.keys[key]}
        reply = self.send(method, target, sent, with_key)
        if self.har is not None:
            self.har.add(method, BASE + target, sent, named, reply)
        answer = json.loads(reply[2]) if reply[2] else {}
        return answer if isinstance(answer, dict) else {"items": answer}

    def authorize(self, amount: int = 1250, card: str | None = None, **more: Any) -> str:
        body = {
            "cardId": card or self.guide["cards"]["active"][0], "amount": amount, "currency": "USD",
            "merchantName": "Corner Grocery", "merchantCategoryCode": "5411", **more,
        }  # fmt: skip
        return str(self.call("POST", "/simulate/transactions/authorize", body).get("transactionId"))

    def act(self, transaction: str, action: str, body: Any = ...) -> None:
        self.call("POST", f"/simulate/transactions/{transaction}/{action}", body)

    def apply(self, key: str = "full", **members: Any) -> dict[str, Any]:
        body = {name: value for name, value in {**PERSON, **members}.items() if value is not ...}
        return self.call("POST", "/issuing/applications/user", body, key=key)

    def sign(self, contract: dict[str, Any], key: str = "full", **query: Any) -> None:
        asked = {
            "chainId": contract["chain_id"], "token": contract["tokens"][0]["address"], "amount": "2500",
            "adminAddress": contract["admin_addresses"][0], "recipientAddress": contract["admin_addresses"][0],
            "isAmountNative": "false", "rainCollateralContractId": contract["id"], **query,
        }  # fmt: skip
        given = {name: value for name, value in asked.items() if value is not None}
        self.call("GET", "/issuing/tenants/signatures/withdrawals", query=given, key=key)

    def advance(self, **by: float) -> None:
        self.sandbox.advance(**by)

    def run(self) -> None:
        """Make all calls."""
        for part in (self.requests, self.money, self.people, self.disputes, self.accounts, self.withdrawals):
            part()

    def requests(self) -> None:
        call, user = self.call, self.guide["users"]["approved"][0]
        for path in ("/issuing/tenants/contracts", "/automations", "/payment-routes", "/nothing"):
            call("GET", path)
        call("GET", "/payment-routes", authorization=f"Bearer {self.keys['full']}")
        call("PATCH", f"/issuing/users/{user}", {"isActive": True}, idempotency_key="order-1")
        call("PATCH", f"/issuing/users/{user}", {"isActive": None, "firstName": "Ada"})
        call("PATCH", f"/issuing/users/{user}", {"firstName": 7})
        call("PATCH", f"/issuing/users/{user}", {"isActive": True, "surprise": 1})
        call("PATCH", f"/issuing/users/{user}", {})
        call("PATCH", f"/issuing/users/{user}", {"isActive": True}, content_type="text/plain")
        call("PATCH", "/issuing/users/none", {"isActive": True})
        if self.har is not None:  # over HTTP, the server answers 413 before the service receives the request
            call("PATCH", f"/issuing/users/{user}", {"isActive": True, "lastName": "x" * 1_000_001})
        call("PATCH", f"/issuing/users/{user}", {"email": "none"})
        call("GET", "/issuing/tenants/signatures/withdrawals", query=[("token", "a"), ("token", "b")])
        self.authorize(2**53)
        rewards = min(self.guide["rewards_users"], key=lambda row: row["rows"])
        for query in ({"limit": 5}, {"limit": 5, "offset": 5}, {"limit": 5, "offset": 9_999}):
            call("GET", f"{REWARDS}", query={"userId": rewards["id"], **query})

    def money(self) -> None:
        cards = self.guide["cards"]
        self.authorize(currency="EUR")
        self.authorize(card=cards["locked"][0])
        self.authorize(declineReason="card_locked")
        self.authorize(10**9)
        reversed_, partial, settled, above = (self.authorize(1000 + number) for number in range(4))
        self.act(reversed_, "reverse", {})
        self.act(reversed_, "reverse", {"newAmount": 5})
        self.act(partial, "reverse", {"newAmount": 5000})
        self.act(partial, "reverse", {"newAmount": 400})
        self.act(partial, "settle", {"amount": 400})
        self.act(settled, "refund", {"amount": 5})
        self.act(settled, "settle", {"amount": 1002})
        self.act(settled, "refund", {"amount": 5000})
        self.act(settled, "refund", {"amount": 2})
        self.act(above, "settle", {"amount": 5000})
        omitted = self.authorize(900)
        self.act(omitted, "settle", {})
        self.act(self.authorize(800), "reverse")
        for number in range(2):
            self.authorize(700 + number)
        self.advance(hours=2)
        self.authorize(600)
        self.sandbox.cards.lock(cards["active"][0])
        self.sandbox.cards.unlock(cards["active"][0])

    def people(self) -> None:
        for word in (
            "approved",
            "denied",
            "needsInformation",
            "needsVerification",
            "manualReview",
            "exempt",
            "notStarted",
        ):
            self.apply(lastName=f"Sample {word}")
        self.apply(lastName="Approved", isTermsOfServiceAccepted=False)
        user = self.apply(externalId="person-1")
        self.apply(externalId="person-1")
        self.apply(id=user.get("id"))
        self.apply(email="none"), self.apply(ipAddress="none")
        self.advance(seconds=200)
        approved = self.apply(lastName="Approved")
        self.call("PATCH", f"/issuing/users/{approved.get('id')}", {"address": {"city": "Shelbyville"}})
        company = self.tenants["company team"]["companies"][0]
        path = f"/issuing/applications/company/{company['id']}/ubo/{company['owners'][0]['id']}"
        self.call("PATCH", path, {"email": "new@example.com"}, key="company team")
        self.apply(key="provider-managed")

    def disputes(self) -> None:
        by_status = self.guide["disputes"]
        first, second = self._disputes()
        for text in ("It never arrived.", "No answer.", "x" * 65_530):
            self.call("PATCH", f"/issuing/disputes/{first}", {"textEvidence": text})
        self.call("PATCH", f"/issuing/disputes/{second}", {"textEvidence": "First."})
        self.call("PATCH", f"/issuing/disputes/{second}", {"textEvidence": "More.", "status": "canceled"})
        for _ in range(2):
            self.call("PATCH", f"/issuing/disputes/{first}", {"status": "canceled"})
        self.call("PATCH", "/issuing/disputes/none", {"status": "canceled"})
        closed = next(key for status in ("accepted", "rejected") for key in by_status.get(status, ()))
        self.call("PATCH", f"/issuing/disputes/{closed}", {})
        self.call("PATCH", f"/issuing/disputes/{closed}", {"status": "canceled"})

    def _disputes(self) -> tuple[str, str]:
        opened = []
        for amount in (500, 501):
            transaction = self.authorize(amount)
            self.sandbox.settle(transaction)
            opened.append(self.sandbox.open_dispute(transaction).id)
        return opened[0], opened[1]

    def accounts(self) -> None:
        user = self.guide["users"]["approved"][0]
        account = {"type": "externalFiatAccount", "userId": user, "externalFiatAccount": BANK}
        company = self.tenants["company team"]["companies"][0]["id"]
        self.call("POST", "/payment-accounts", account)
        self.call("POST", "/payment-accounts", {**account, "externalFiatAccount": {**BANK, "currency": "eur"}})
        self.call("POST", "/payment-accounts", {**account, "externalFiatAccount": {**BANK, "accountNumber": 7}})
        bank = {**BANK, "beneficiaryBusinessName": "Example Company"}
        self.call("POST", "/payment-accounts", {**account, "externalFiatAccount": bank})
        other = {name: value for name, value in account.items() if name != "userId"}
        self.call("POST", "/payment-accounts", {**other, "companyId": company})

    def withdrawals(self) -> None:
        evm = [contract for contract in self.guide["contracts"] if contract["chain_id"] > 2000]
        first, second = evm[0], evm[1]
        solana = next(contract for contract in self.guide["contracts"] if contract["chain_id"] in (901, 902))
        self.sign(first, amount="0")
        self.sign(first, recipientAddress=solana["admin_addresses"][0])
        self.sign(first)
        self.sign(first)
        self.sign(first, amount="2600")
        self.sign(second)
        self.advance(hours=1)
        self.sign(second, isAmountNative=None)
        wallet = "0x" + "12" * 20
        for _ in range(2):
            self.apply(key="provider-managed", walletAddress=wallet)
        contracts = self.call("GET", "/issuing/tenants/contracts", key="provider-managed").get("items", [])
        theirs = [contract for contract in contracts if wallet in contract["adminAddresses"]]
        if theirs:
            token = theirs[0]["tokens"][0]["address"]
            asked = {"token": token, "amount": "100", "adminAddress": wallet, "recipientAddress": wallet}
            target = "/issuing/tenants/signatures/withdrawals"
            self.call("GET", target, query={**asked, "isAmountNative": "false"}, key="provider-managed")

    def webhooks(self, path: Path) -> Path:
        """Write the events of all tenants as stored webhooks with their headers."""
        with path.open("w", encoding="utf-8") as file:
            for row in self._events():
                file.write(json.dumps({"headers": {"Signature": "0" * 64}, "body": row}) + "\n")
        return path

    def _events(self) -> Iterator[dict[str, Any]]:
        for row in self.sandbox.events(all_tenants=True):
            yield json.loads(json.dumps(row.payload, default=str))


REWARDS = "/issuing/rewards/activity"
