"""A client without this package completes all tasks on a served, file-backed sandbox."""

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from typing import Any

import pytest

from tests.service.plain import Plain

pytestmark = pytest.mark.slow  # each test serves over HTTP

PERSON = {
    "firstName": "Grace",
    "lastName": "Sample testingApproved",
    "birthDate": "1990-02-01",
    "nationalId": "900123456",
    "countryOfIssue": "US",
    "email": "grace@example.com",
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
PURCHASE = {"amount": 1250, "currency": "USD", "merchantName": "Corner Grocery", "merchantCategoryCode": "5411"}


class Hook:
    """A webhook receiver of the standard library, which answers with a set status and stores deliveries."""

    def __init__(self) -> None:
        self.came: Queue[tuple[dict[str, str], bytes]] = Queue()
        self.status = 200
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(hook.status)
                self.end_headers()
                hook.came.put(({name.lower(): value for name, value in self.headers.items()}, body))

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def take(self, count: int) -> list[Any]:
        """Return the next deliveries, parsed."""
        return [json.loads(self.came.get(timeout=20)[1]) for _ in range(count)]


@pytest.fixture
def hook() -> Iterator[Hook]:
    """Yield a receiver."""
    made = Hook()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_all_twelve_operations(plain: Plain) -> None:
    """Each operation does what the document says, as later calls show."""
    guide, call = plain.guide, plain.call
    card, user = guide["cards"]["active"][0], guide["users"]["approved"][0]

    contracts = call("GET", "/issuing/tenants/contracts")
    contract = next(one for one in contracts if one["chainId"] == 84532)
    signature = call(
        "GET",
        "/issuing/tenants/signatures/withdrawals",
        chainId=contract["chainId"],
        token=contract["tokens"][0]["address"],
        amount="2500",
        adminAddress=contract["adminAddresses"][0],
        recipientAddress=contract["adminAddresses"][0],
        isAmountNative="false",
    )
    held = call("POST", "/simulate/transactions/authorize", {"cardId": card, **PURCHASE})
    partly = call("POST", f"/simulate/transactions/{held['transactionId']}/reverse", {"newAmount": 500})
    plain.control("settle", transaction_id=held["transactionId"])
    refunded = call("POST", f"/simulate/transactions/{held['transactionId']}/refund", {"amount": 200})
    declined = call(
        "POST", "/simulate/transactions/authorize", {"cardId": card, **PURCHASE, "declineReason": "card_locked"}
    )
    account = call(
        "POST",
        "/payment-accounts",
        {
            "type": "externalFiatAccount",
            "nickname": "rent",
            "userId": user,
            "externalFiatAccount": {
                "beneficiaryType": "individual",
                "beneficiaryFirstName": "Grace",
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
            },
        },
    )
    gone = call("DELETE", f"/payment-accounts/{account['id']}")
    gone_again = plain.send("DELETE", f"/v1/payment-accounts/{account['id']}")
    changed = call("PATCH", f"/issuing/users/{user}", {"email": "new@example.com"})
    company = guide["companies"][0]
    owner = call(
        "PATCH",
        f"/issuing/applications/company/{company['id']}/ubo/{company['owners'][0]['id']}",
        {"firstName": "Hana"},
    )
    dispute = guide["disputes"]["pending"][0]
    plain.send("PATCH", f"/v1/issuing/disputes/{dispute}", {"status": "canceled"})
    applied = call("POST", "/issuing/applications/user", PERSON)
    rewards = call("GET", "/issuing/rewards/activity", userId=guide["rewards_users"][0]["id"], limit=3)

    # with documented behavior, the service does not list contracts on Stellar (chain 1501)
    served = {one["id"] for one in guide["contracts"] if one["chain_id"] != 1501}
    assert {one["id"] for one in contracts} == served
    assert (signature["status"], set(signature["signature"])) == ("ready", {"data", "salt"})
    assert (held["status"], partly["status"]) == ("authorized", "authorized")
    assert (refunded["status"], refunded["completionReason"]) == ("settled", "REFUND")
    assert (declined["status"], declined["declinedReason"]) == ("declined", "card_locked")
    assert (account["nickname"], gone, gone_again[0]) == ("rent", None, 404)
    assert changed["email"] == "new@example.com"
    assert owner["id"] == company["id"]
    assert plain.control("state", record_id=dispute)["status"] == "canceled"
    assert applied["applicationStatus"] == "approved"
    assert len(rewards if isinstance(rewards, list) else rewards["items"]) == 3


def test_webhook_round_trip(plain: Plain, hook: Hook) -> None:
    """An endpoint gets signed events that anybody with the key can verify, and gets retries until it accepts them."""
    endpoint = plain.control("register_endpoint", endpoint_url=hook.url)
    user = plain.guide["users"]["approved"][0]
    plain.control("review", user_or_owner_id=user, status="locked")
    headers, body = hook.came.get(timeout=20)
    event = json.loads(body)
    mine = hmac.new((plain.key or "").encode(), body, hashlib.sha256).hexdigest()
    hook.status = 500
    plain.control("review", user_or_owner_id=user, status="approved")
    first = hook.take(1)
    plain.control("flush")
    waiting = plain.control("deliveries", state="waiting")
    hook.status = 204
    plain.control("advance", seconds=3)
    second = hook.take(1)
    plain.control("flush")
    delivered = plain.control("deliveries", event_id=first[0]["id"])

    assert (event["resource"], event["body"]["applicationStatus"]) == ("user", "locked")
    assert headers["signature"] == mine
    assert headers["content-type"] == "application/json"
    assert [one["event_id"] for one in waiting] == [first[0]["id"]] == [second[0]["id"]]
    assert [(one["state"], [t["status"] for t in one["attempts"]]) for one in delivered] == [("delivered", [500, 204])]
    assert plain.control("endpoints") == [endpoint]


def test_controls(plain: Plain) -> None:
    """Snapshot, restore, reset, faults and requests work over plain HTTP."""
    card = plain.guide["cards"]["active"][0]
    before = plain.control("balance", card_id=card)
    plain.control("snapshot", name="before")
    plain.call("POST", "/simulate/transactions/authorize", {"cardId": card, **PURCHASE})
    after = plain.control("balance", card_id=card)
    plain.control("restore", name="before")
    restored = plain.control("balance", card_id=card)
    plain.control("add_fault", kind="status", of="list_contracts", status=503, body="html", times=1)
    failed, fine = (plain.send_raw("GET", "/v1/issuing/tenants/contracts") for _ in range(2))
    plain.control("clear_faults")
    clean = plain.send_raw("GET", "/v1/issuing/tenants/contracts")
    plain.call("POST", "/issuing/applications/user", PERSON)
    asked = plain.control("requests")[-1]
    plain.control("reset")

    assert after["held"] == before["held"] + 1250
    assert restored == before == plain.control("balance", card_id=card)
    assert (failed[0], failed[2]["workbench-fault"]) == (503, "1 active; status applied")
    assert (fine[0], fine[2]["workbench-fault"]) == (200, "0 active")
    assert "workbench-fault" not in clean[2]
    assert (asked["operation"], "Grace" in json.dumps(asked)) == ("create_user_application", False)
    assert plain.control("events") == []
