"""The facts of the interface document, transcribed by hand, and the sandbox's answer to each over its interface.

`python -m tests.sandbox.facts` prints the page `facts.md`; `tests/sandbox/test_facts.py` asserts that only `DEPARTURES`
differ. This module does not use the project's own tables: it calls the sandbox as an independent client would.
"""

import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from tests.sandbox.driver import BANK, PERSON, Answer, Api
from workbench.sandbox import Request, Sandbox
from workbench.sandbox.internals import internals

BEHAVIORS = ("documented", "observed")

MORE_OF_A_SIGNATURE = (
    "Live results also carry `sender`, `chainId` and `parameters`, without which a signature cannot be verified."
)
PENDING_COMPANY = (
    "The only answer with a company follows a reapplication, after which it is pending, and pending has no link."
)
OTHER_CHAIN = "The addresses of the Stellar contract do not match the documented pattern."
LOWER_CASE = "Live answers have the reason in lower case."
WHAT_IS_WRONG = "After this message the answer also states the problem of the account."
BODY_NEEDED = "Live services refuse a refund without an `amount`."
BOTH = {
    "Withdrawal signature result: no undocumented member": MORE_OF_A_SIGNATURE,
    "Company application: `applicationExternalVerificationLink` is present in some answers and has its type": PENDING_COMPANY,
    "Company application: `applicationCompletionLink` is present in some answers and has its type": PENDING_COMPANY,
}
DEPARTURES: dict[str, dict[str, str]] = {
    "documented": BOTH,
    "observed": {
        **BOTH,
        "IssuingContract: `controllerAddress` is present in every answer and has its type": OTHER_CHAIN,
        "IssuingContract: `proxyAddress` is present in every answer and has its type": OTHER_CHAIN,
        "IssuingContract: `depositAddress` is present in some answers and has its type": OTHER_CHAIN,
        "IssuingContract: `adminAddresses` is present in some answers and has its type": OTHER_CHAIN,
        "Token entry: `address` is present in every answer and has its type": OTHER_CHAIN,
        "Simulated transaction result: `completionReason` is present in some answers and has its type": LOWER_CASE,
        "6: 400 `BadRequestError` `Invalid request` is available on demand": WHAT_IS_WRONG,
        "a refund without an amount refunds the entire settlement": BODY_NEEDED,
        "a refund is `settled` with `completionReason` `REFUND`": LOWER_CASE,
        "User: `applicationStatus` is present in some answers and has its type": "Live answers also have the three additional statuses of the event.",
        "User: no undocumented member": "Live answers also have `isTermsOfServiceAccepted`.",
        "payloads have version 1.0.0, and 1.1.0 with a `statusChangeReason`":
            "Live `transaction.completed` events of version 1.1.0 carry a `completionReason`.",
    },
}  # fmt: skip
"""Intended departures of each behavior from the claims, with their reasons."""

EVM = r"0x[0-9a-fA-F]{40}"
SOLANA = r"[1-9A-HJ-NP-Za-km-z]{32,44}"
STELLAR = r"[GC][A-Z2-7]{55}|M[A-Z2-7]{68}"
WALLET = f"{EVM}|{SOLANA}"
DIGITS = "[0-9]+"

STATUSES = [
    "approved",
    "pending",
    "needsInformation",
    "needsVerification",
    "manualReview",
    "denied",
    "locked",
    "canceled",
]
EVENT_STATUSES = [*STATUSES, "notStarted", "exempt", "tosNotAccepted"]
DECLINES = [
    "account_credit_limit_exceeded",
    "card_locked",
    "card_canceled",
    "card_not_activated",
    "blocked_mcc",
    "blocked_merchant",
    "balance_inquiry_not_permitted",
    "expiry_mismatch",
    "cvv_mismatch",
    "invalid_pin",
    "restricted_country",
]


@attrs.frozen
class Fact:
    """One claim of the document, with its section, its text, and a check of the claim."""

    section: str
    claim: str
    holds: Callable[[Api], bool]


# shapes of answers and events


def is_uuid(value: Any) -> bool:
    return isinstance(value, str) and str(uuid.UUID(value)) == value.lower()


def is_time(value: Any) -> bool:
    return isinstance(value, str) and "T" in value and datetime.fromisoformat(value).tzinfo is not None


def text(pattern: str = ".*", low: int = 0, high: int = 10**9) -> Callable[[Any], bool]:
    found = re.compile(f"(?:{pattern})", re.DOTALL)
    return lambda value: isinstance(value, str) and low <= len(value) <= high and found.fullmatch(value) is not None


def one_of(*values: str) -> Callable[[Any], bool]:
    return lambda value: value in values


def is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    return is_integer(value) or isinstance(value, float) or type(value).__name__ == "Decimal"


def is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def nullable(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


def array(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


def members(shape: Mapping[str, Callable[[Any], bool]]) -> Callable[[Any], bool]:
    required = {name for name in shape if not name.endswith("?")}
    known = {name.rstrip("?"): check for name, check in shape.items()}
    return lambda value: (
        isinstance(value, Mapping)
        and required <= set(value) <= set(known)
        and all(known[name](one) for name, one in value.items())
    )


ACCOUNT_DETAILS = members(
    {name: text() for name in ("beneficiaryName", "beneficiaryAddress", "accountNumber", "routingNumber")}
    | {"beneficiaryBankName?": text(), "beneficiaryBankAddress?": text()}
)
LINK = members({"url": text("https://.+"), "params": members({"userId": is_uuid})})
EVENT_LINK = members({"url": text("https://.+"), "params": members({"userId": text(), "signature?": text()})})
ADDRESS = members(
    {f"{one}?": text() for one in ["line1", "city", "region", "postalCode", "countryCode", "line2", "country"]}
)
BANK_ADDRESS = members(
    {f"{one}?": text() for one in ["addressLine1", "city", "region", "postalCode", "countryCode", "addressLine2"]}
)
STATUS = {
    "applicationStatus?": one_of(*STATUSES),
    "applicationExternalVerificationLink?": LINK,
    "applicationCompletionLink?": LINK,
    "applicationReason?": text(),
}

# A member without `?` is present in every answer. Source: Resources and their fields; Events.
SHAPES: dict[str, dict[str, Callable[[Any], bool]]] = {
    "IssuingContract": {
        "id": is_uuid,
        "chainId": is_integer,
        "programAddress?": nullable(text(WALLET)),
        "controllerAddress": text(WALLET),
        "proxyAddress": text(WALLET),
        "depositAddress?": text(WALLET),
        "adminAddresses?": array(text(WALLET)),
        "tokens": array(lambda one: isinstance(one, Mapping)),
        "contractVersion": is_number,
        "onramp?": members({"ach?": ACCOUNT_DETAILS, "rtp?": ACCOUNT_DETAILS, "wire?": ACCOUNT_DETAILS}),
    },
    "Token entry": {
        "address": text(WALLET),
        "balance?": text(r"-?[0-9.]+"),
        "exchangeRate?": is_number,
        "advanceRate?": is_number,
    },
    "Withdrawal signature result": {
        "status": text(),
        "signature": members({"data": text(), "salt": text()}),
        "expiresAt": is_time,
    },
    "Simulated transaction result": {
        "transactionId": is_uuid,
        "status": one_of("authorized", "declined", "settled"),
        "declinedReason?": text(),
        "completionReason?": one_of("SETTLEMENT", "REFUND"),
    },
    "Payment account": {
        "id": is_uuid,
        "type": one_of("externalFiatAccount"),
        "nickname?": text(high=64),
        "externalFiatAccount": lambda one: isinstance(one, Mapping),
        "createdAt": is_time,
        "userId?": is_uuid,
        "companyId?": is_uuid,
    },
    "externalFiatAccount": {
        **{f"{one}?": text() for one in ("beneficiaryType", "beneficiaryFirstName", "beneficiaryLastName")},
        **{f"{one}?": text() for one in ("currency", "bankName", "accountNumber", "routingNumber", "rail")},
        **{f"{one}?": text() for one in ("beneficiaryBusinessName", "bankAccountType")},
        "thirdParty?": is_boolean,
        "beneficiaryAddress?": BANK_ADDRESS,
        "bankAddress?": BANK_ADDRESS,
    },
    "User": {
        "id": is_uuid,
        "firstName?": text(high=50),
        "lastName?": text(high=50),
        "email?": text(),
        "isActive?": is_boolean,
        "companyId?": is_uuid,
        "externalId?": text(low=1, high=255),
        "sourceKey?": text(low=1, high=24),
        "address?": ADDRESS,
        "phoneCountryCode?": text(DIGITS, 1, 3),
        "phoneNumber?": text(DIGITS, 1, 15),
        "walletAddress?": text(EVM),
        "solanaAddress?": text(SOLANA),
        "createdAt?": is_time,
        "updatedAt?": is_time,
        **STATUS,
    },
    "Company application": {
        "id": is_uuid,
        "name?": text(),
        "address?": ADDRESS,
        "externalId?": text(low=1, high=255),
        "sourceKey?": text(low=1, high=24),
        "ultimateBeneficialOwners?": array(members({"id": is_uuid, **STATUS})),
        **STATUS,
    },
    "Rewards activity item": {
        "type": one_of("earned", "redeemed"),
        "id": text(),
        "points": text(r"-?[0-9.]+"),
        "reason?": text(),
        "status?": text(),
        "merchantName?": text(),
        "transactionAmountCents?": is_integer,
        "spendCategory?": text(),
        "postedAt?": is_time,
        "mintedAt?": is_time,
        "createdAt?": is_time,
    },
    "Error body": {"statusCode": is_integer, "error": text(), "message": text()},
    "Event envelope": {
        "id": text(),
        "resource": text(),
        "action": text(),
        "version": text(),
        "eventReceivedAt?": is_time,
        "body": lambda one: isinstance(one, Mapping),
    },
    "user.updated": {
        "id": text(),
        "firstName": text(),
        "lastName?": text(),
        "email": text(),
        "isActive": is_boolean,
        "isTermsOfServiceAccepted": is_boolean,
        "companyId?": text(),
        "applicationStatus": one_of(*EVENT_STATUSES),
        "applicationCompletionLink?": EVENT_LINK,
        "applicationExternalVerificationLink?": EVENT_LINK,
        "applicationReason": text(),
        "statusChangeReason?": one_of("provider_initiated"),
    },
    "microDeposit.received": {
        "id": text(),
        "paymentRouteId": text(),
        "userId?": text(),
        "companyId?": text(),
        "amount": text(r"[0-9]+(\.[0-9]+)?"),
        "currency": one_of("usd"),
        "rail": one_of("ach", "wire"),
        "description?": text(),
        "originatorName?": text(),
        "referenceId?": text(),
        "receivedAt": is_time,
    },
}


@cache
def shown(behavior: str) -> dict[str, list[Any]]:
    """Return the bodies of each record type that a sandbox's tenants get, after some calls of every kind."""
    sandbox = Sandbox(behavior=behavior)
    found: dict[str, list[Any]] = {name: [] for name in SHAPES}
    for key in sandbox.guide()["api_keys"]:
        api = Api(sandbox, key)
        answer = api.call("GET", "/issuing/tenants/contracts")
        found["IssuingContract" if answer.status == 200 else "Error body"] += (
            answer.body if answer.status == 200 else [answer.body]
        )
    api = Api(sandbox)
    guide = sandbox.guide()
    found["Token entry"] = [token for one in found["IssuingContract"] for token in one["tokens"]]
    found["Withdrawal signature result"].append(api.sign().body)
    held = api.authorized(1_000)
    results = [api.authorize(), api.reverse(held, newAmount=400), api.authorize(declineReason="card_locked")]
    results += [api.settle(api.authorized(500), amount=500), api.refund(api.settled(700), amount=700)]
    found["Simulated transaction result"] += [one.body for one in results if one.status == 200]
    for user in guide["rewards_users"][:10]:
        items = api.call("GET", "/issuing/rewards/activity", userId=user["id"], limit=100).body["items"]
        found["Rewards activity item"] += items
    found["User"] += [
        api.apply(sourceKey="spring", externalId="facts-1", phoneCountryCode="1", phoneNumber="5550100").body
    ]
    found["User"] += [api.update_user(ids[0], firstName="Ada").body for ids in guide["users"].values() if ids]
    wallets = {name: good[0] for name, (good, _) in WALLETS.items() if name != "stellarAddress"}
    found["User"].append(api.update_user(plain_user(api), **wallets).body)
    corporate = Api(sandbox, "company team")
    company = corporate.examples["companies"][0]["id"]
    member = internals(sandbox).for_key(corporate.key).create.user(company_id=company)
    found["User"].append(corporate.update_user(member.id, firstName="Ada").body)
    for key in ("full", "company team"):
        of_key = Api(sandbox, key)
        for status in ("needsInformation", "needsVerification"):
            internals(sandbox).for_key(of_key.key).review(of_key.examples["companies"][0]["owners"][0]["id"], status)
            found["Company application"].append(owner(firstName="Ada")(of_key).body)
    account = api.pay_to(userId=api.user, nickname="Rent").body
    bank_address = {"bankAddress": BANK["beneficiaryAddress"]}
    business = {"beneficiaryType": "business", "beneficiaryBusinessName": "Example Trading"}
    found["Payment account"].append(api.pay_to(userId=api.user, bank=business).body)
    found["Payment account"] += [account, corporate.pay_to(companyId=company, bank=bank_address).body]
    found["externalFiatAccount"] += [one["externalFiatAccount"] for one in found["Payment account"]]
    for status in EVENT_STATUSES:
        sandbox.review(api.user, status, reason="DOCUMENT_EXPIRED", status_change_reason="provider_initiated")
    for at, rail in ((sandbox, "ach"), (internals(sandbox).for_key(corporate.key), "wire")):
        at.deposit(rail=rail, reference_id="20260115MMQFMP2Z000001")
    found["Event envelope"] += [
        one.payload for one in (*sandbox.events(), *internals(sandbox).for_key(corporate.key).events())
    ]
    for kind in ("user.updated", "microDeposit.received"):
        found[kind] += [one["body"] for one in found["Event envelope"] if f"{one['resource']}.{one['action']}" == kind]
    return found


def of_shapes() -> Iterator[Fact]:
    """Yield a fact for each member of answers and events: it has its type, and is present if required."""

    def member(shape: str, name: str, check: Callable[[Any], bool]) -> Callable[[Api], bool]:
        plain = name.rstrip("?")

        def holds(api: Api) -> bool:
            bodies = shown(api.sandbox.behavior)[shape]
            values = [one[plain] for one in bodies if plain in one]
            there = len(values) == len(bodies) if plain == name else bool(values)
            return bool(bodies) and there and all(map(check, values))

        return holds

    def closed(shape: str) -> Callable[[Api], bool]:
        names = {name.rstrip("?") for name in SHAPES[shape]}
        return lambda api: all(set(one) <= names for one in shown(api.sandbox.behavior)[shape])

    for shape, rows in SHAPES.items():
        section = (
            "Events" if shape == "Event envelope" or "." in shape else "Errors" if "Error" in shape else "Resources"
        )
        for name, check in rows.items():
            plain, kind = (
                name.rstrip("?"),
                "is present in some answers" if name.endswith("?") else "is present in every answer",
            )
            yield Fact(section, f"{shape}: `{plain}` {kind} and has its type", member(shape, name, check))
        yield Fact(section, f"{shape}: no undocumented member", closed(shape))


# limits of requests


def sent(call: Callable[[Api], Answer], *statuses: int) -> Callable[[Api], bool]:
    return lambda api: call(api).status in statuses


def apply(**given: Any) -> Callable[[Api], Answer]:
    return lambda api: api.apply(**given)


def update(**given: Any) -> Callable[[Api], Answer]:
    return lambda api: api.update_user(plain_user(api), **given)


def owner(**given: Any) -> Callable[[Api], Answer]:
    def call(api: Api) -> Answer:
        company = api.examples["companies"][0]
        path = f"/issuing/applications/company/{company['id']}/ubo/{company['owners'][0]['id']}"
        return api.call("PATCH", path, given)

    return call


def account(**given: Any) -> Callable[[Api], Answer]:
    return lambda api: api.pay_to(userId=api.user, **given)


def dispute(**given: Any) -> Callable[[Api], Answer]:
    return lambda api: api.call("PATCH", f"/issuing/disputes/{api.guide['disputes']['pending'][0]}", given)


def rewards(**given: Any) -> Callable[[Api], Answer]:
    return lambda api: api.call("GET", "/issuing/rewards/activity", **{"userId": rewards_user(api), **given})


def rewards_user(api: Api) -> str:
    return str(api.guide["rewards_users"][0]["id"])


def plain_user(api: Api) -> str:
    """Return a user without collateral contracts, whose addresses may change."""
    made = api.apply()
    return str(made.body["id"])


ETHEREUM = "0x52908400098527886E0F7030069857D2E4169EE7"
SOLANA_ADDRESS = "4Nd1mYw4bS9JdDg1x9wZ5cVnYAQCm2bnM7ZsGQpXzL6R"

# Section, call, member, accepted values, rejected values. Source: Endpoints; Limits.
BOUNDS: list[tuple[str, Callable[..., Callable[[Api], Answer]], str, list[Any], list[Any]]] = []


def bounds(
    where: str, call: Callable[..., Callable[[Api], Answer]], rows: dict[str, tuple[list[Any], list[Any]]]
) -> None:
    BOUNDS.extend((where, call, name, good, bad) for name, (good, bad) in rows.items())


NAMES = {one: (["x" * 50], ["x" * 51, 7]) for one in ("firstName", "lastName")}
PHONE = {
    "phoneCountryCode": (["1", "999"], ["", "1234", "+1"]),
    "phoneNumber": (["1", "9" * 15], ["", "9" * 16, "555-0100"]),
}
WALLETS = {
    "walletAddress": ([ETHEREUM], ["0x12", ETHEREUM + "0", SOLANA_ADDRESS]),
    "solanaAddress": ([SOLANA_ADDRESS], ["0" * 40, "x" * 31, "1" * 45]),
    "stellarAddress": (
        ["GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"],
        ["G" * 55, "S" + "A" * 55, "M" * 68],
    ),
}
EXTERNAL = {"externalId": (["e", "x" * 255], ["", "x" * 256])}
APPLICANT = {
    **NAMES,
    "birthDate": (["1990-02-28"], ["1990-02-30", "02/28/1990", "1990-2-8"]),
    "nationalId": (["900123456"], ["90012345", "900-12-345", "9001234567"]),
    "countryOfIssue": (["US"], ["U", "USA"]),
    "email": (["ada@example.com"], [7]),
    "address": ([PERSON["address"]], ["1 Example Street", []]),
}
bounds("11 create user application", lambda **given: apply(**given), {
    **APPLICANT, **PHONE, **WALLETS, **EXTERNAL,
    **{one: (["text"], [7]) for one in ("occupation", "annualSalary", "accountPurpose", "expectedMonthlyVolume")},
    "ipAddress": (["203.0.113.7", "2001:db8::1"], [7]),
    "sourceKey": (["s", "x" * 24], ["", "x" * 25]),
})  # fmt: skip
bounds("8 update user", lambda **given: update(**given), {
    **NAMES, **PHONE, **WALLETS, **EXTERNAL,
    "email": (["ada@example.com"], [7]),
    "isActive": ([True, False], ["true", 1]),
    "address": ([PERSON["address"]], ["1 Example Street"]),
})  # fmt: skip
bounds("9 update UBO", lambda **given: owner(**{"countryOfIssue": "US", **given}), APPLICANT)
bounds("6 create payment account", lambda **given: account(**given), {
    "type": (["externalFiatAccount"], ["card"]),
    "nickname": (["", "x" * 64], ["x" * 65]),
})  # fmt: skip
bounds("6 externalFiatAccount", lambda **given: account(bank=given), {
    "beneficiaryType": (["individual"], [7]),
    "currency": (["usd"], [7]),
    "thirdParty": ([True, False], ["yes"]),
    "beneficiaryAddress": ([BANK["beneficiaryAddress"]], ["1 Example Street"]),
    "bankAddress": ([BANK["beneficiaryAddress"]], ["1 Example Street"]),
})  # fmt: skip
bounds("10 update dispute", lambda **given: dispute(**given), {
    "status": (["canceled"], ["accepted", "pending", ""]),
    "textEvidence": (["seen", "x" * 65_535], ["x" * 65_536]),
})  # fmt: skip
bounds("12 list rewards activity", lambda **given: rewards(**given), {
    "limit": ([1, 20, 100], [0, 101, "ten"]),
    "offset": ([0, 10_000], [-1, 10_001]),
    "type": (["earned", "redeemed"], ["spent"]),
})  # fmt: skip
bounds("3 simulate authorization", lambda **given: lambda api: api.authorize(**given), {
    "amount": ([1, 1_250], [0, -1, 10.5, "10"]),
    "currency": (["USD"], [7]),
    "merchantName": (["Corner Grocery"], [7]),
    "merchantCategoryCode": (["5411"], [7]),
    "declineReason": (DECLINES, ["because"]),
})  # fmt: skip
bounds("4 simulate reversal", lambda **given: lambda api: api.reverse(api.authorized(1_000), **given), {
    "newAmount": ([0, 1, 999], [-1, 0.5, "1"]),
})  # fmt: skip
bounds("5 simulate refund", lambda **given: lambda api: api.refund(api.settled(1_000), **given), {
    "amount": ([0, 1, 1_000], [-1, 0.5, "1"]),
})  # fmt: skip


def of_requests() -> Iterator[Fact]:
    """Yield a fact for each value at and beyond the limits of a member."""
    for where, call, name, good, bad in BOUNDS:
        for value, statuses, verb in [(one, (200, 201), "takes") for one in good] + [
            (one, (400,), "refuses") for one in bad
        ]:
            said = json.dumps(value)
            said = (
                said
                if len(said) <= 40
                else f"{said[:12]}… ({len(value)} characters)"
                if isinstance(value, str)
                else "a full one"
            )
            yield Fact("Endpoints", f"{where}: `{name}` {verb} {said}", sent(call(**{name: value}), *statuses))


# operations, states, keys, errors and events

ROUTES = {
    "1": ("GET", "/issuing/tenants/contracts"),
    "2": ("GET", "/issuing/tenants/signatures/withdrawals"),
    "3": ("POST", "/simulate/transactions/authorize"),
    "4": ("POST", "/simulate/transactions/{id}/reverse"),
    "5": ("POST", "/simulate/transactions/{id}/refund"),
    "6": ("POST", "/payment-accounts"),
    "7": ("DELETE", "/payment-accounts/{id}"),
    "8": ("PATCH", "/issuing/users/{id}"),
    "9": ("PATCH", "/issuing/applications/company/{id}/ubo/{id}"),
    "10": ("PATCH", "/issuing/disputes/{id}"),
    "11": ("POST", "/issuing/applications/user"),
    "12": ("GET", "/issuing/rewards/activity"),
}
SIMULATIONS = ("3", "4", "5")


def route(api: Api, number: str) -> Answer:
    """Send an operation with an unknown id and an empty body."""
    method, path = ROUTES[number]
    body = {} if method in ("POST", "PATCH") else None
    return api.call(method, path.replace("{id}", str(uuid.UUID(int=7))), body)


def said(answer: Answer) -> tuple[int, str, str]:
    return answer.status, answer.body["error"], answer.body["message"]


UNAUTHORIZED = (401, "Unauthorized", "Invalid or missing API key")
ON_DEMAND = {  # Operation: status, error, message. Source: Errors; the errors of each operation.
    "1": [
        (403, "ForbiddenError", "Forbidden"),
        (404, "NotFoundError", "Team not found"),
        (500, "InternalServerError", "Internal server error"),
    ],
    "6": [
        (400, "BadRequestError", "Invalid request"),
        (403, "ForbiddenError", "Forbidden"),
        (404, "NotFoundError", "Team not found"),
        (500, "InternalServerError", "Internal server error"),
    ],
    "7": [
        (403, "ForbiddenError", "Forbidden"),
        (404, "NotFoundError", "Payment account not found"),
        (500, "InternalServerError", "Internal server error"),
    ],
}
NAMES_OF = {"1": "list_contracts", "6": "create_payment_account", "7": "delete_payment_account"}


def on_demand(number: str, wanted: tuple[int, str, str]) -> Callable[[Api], bool]:
    def holds(api: Api) -> bool:
        if wanted[0] == 400:  # an invalid request gets this answer without a fault
            return said(api.pay_to(userId=api.user, bank={"routingNumber": "12"})) == wanted
        api.sandbox.add_fault("status", of=NAMES_OF[number], status=wanted[0])
        return said(route(api, number)) == wanted

    return holds


def balance(api: Api) -> Any:
    return api.sandbox.balance(api.card)


def held_after(**body: Any) -> Callable[[Api], int]:
    def left(api: Api) -> int:
        before = balance(api).held
        api.reverse(api.authorized(1_000), **body)
        return int(balance(api).held - before)

    return left


def posts_nothing(api: Api) -> bool:
    before = balance(api).posted
    api.reverse(api.authorized(1_000))
    return bool(balance(api).posted == before)


def refunded(given: int | None) -> Callable[[Api], int]:
    def credit(api: Api) -> int:
        before = balance(api).refunded
        api.refund(api.settled(1_000), **({} if given is None else {"amount": given}))
        return int(balance(api).refunded - before)

    return credit


def updates(api: Api, start: int) -> list[str]:
    events = [one.payload for one in api.sandbox.events(since=start)]
    return [
        one["body"]["applicationStatus"] for one in events if (one["resource"], one["action"]) == ("user", "updated")
    ]


def review_events(status: str) -> Callable[[Api], bool]:
    def holds(api: Api) -> bool:
        user = plain_user(api)
        api.sandbox.review(user, "pending" if status != "pending" else "approved")
        start = len(api.sandbox.events())
        api.sandbox.review(user, status)
        return updates(api, start) == [status]

    return holds


def terms(api: Api) -> bool:
    """Return whether accepting the terms sends one event, which reports `approved`."""
    user = plain_user(api)
    api.sandbox.review(user, "tosNotAccepted")
    waiting = api.sandbox.events()[-1].payload["body"]
    start = len(api.sandbox.events())
    api.sandbox.accept_terms(user)
    return "applicationCompletionLink" in waiting and updates(api, start) == ["approved"]


def small_deposit(amount: str, sent_events: int) -> Callable[[Api], bool]:
    def holds(api: Api) -> bool:
        start, before = len(api.sandbox.events()), api.sandbox.records("transaction")
        api.sandbox.deposit(amount=amount)
        kinds = api.kinds(since=start)
        return kinds.count("microDeposit.received") == sent_events and api.sandbox.records("transaction") == before

    return holds


def all_pages(api: Api, **more: Any) -> list[Any]:
    return list(rewards(limit=100, **more)(api).body["items"])


def other_tenant(api: Api) -> Api:
    return Api(api.sandbox, "company team")


def taken(api: Api) -> Answer:
    api.apply(externalId="once")
    return api.apply(externalId="once")


def of_behavior() -> Iterator[Fact]:
    """Yield a fact for each sentence about operations, states, keys, errors, events, limits and versions."""
    for number, (method, path) in ROUTES.items():
        title = f"{number}. {method} {path}"
        yield Fact(
            "Authentication",
            f"{title}: no key is 401",
            lambda api, n=number: said(route(Api(api.sandbox, None), n)) == UNAUTHORIZED,
        )
        yield Fact(
            "Authentication",
            f"{title}: an unknown key is 401",
            lambda api, n=number: said(route(Api(api.sandbox, "nonsense"), n)) == UNAUTHORIZED,
        )
        yield Fact("Endpoints", f"{title} is served", lambda api, n=number: route(api, n).status not in (401, 405))
    for number in SIMULATIONS:
        yield Fact(
            "Endpoints",
            f"{number}: 404 in production",
            lambda api, n=number: (
                route(Api(Sandbox(environment="production", behavior=api.sandbox.behavior)), n).status == 404
            ),
        )
    for number, rows in ON_DEMAND.items():
        for wanted in rows:
            yield Fact(
                "Errors",
                f"{number}: {wanted[0]} `{wanted[1]}` `{wanted[2]}` is available on demand",
                on_demand(number, wanted),
            )
    yield from (Fact(section, claim, holds) for section, claim, holds in [
        ("Endpoints", "1: the contracts of the key's tenant, and of no other", lambda api: not {
            one["id"] for one in api.call("GET", "/issuing/tenants/contracts").body
        } & {one["id"] for one in Api(api.sandbox, "provider-managed").call("GET", "/issuing/tenants/contracts").body}),
        ("Endpoints", "1: a tenant without corporate cards is 403", lambda api: said(
            route(Api(api.sandbox, "no corporate cards"), "1")) == (403, "ForbiddenError", "Forbidden")),
        ("Endpoints", "1: team not found is 404", lambda api: said(
            route(Api(api.sandbox, "team not found"), "1")) == (404, "NotFoundError", "Team not found")),
        ("Endpoints", "2: answers 200 with `ready`", lambda api: (api.sign().status, api.sandbox and Api(Sandbox(behavior=api.sandbox.behavior)).sign().body["status"]) == (200, "ready")),
        ("Endpoints", "2: `read` alone is not enough", lambda api: Api(api.sandbox, "contractsAndSignatures:read only").sign().status == 403),
        ("Endpoints", "2: the signing address must be an admin", sent(lambda api: api.sign(adminAddress=ETHEREUM), 400, 403, 404)),
        ("Endpoints", "2: the boolean chooses native units or cents", lambda api: api.sign(isAmountNative="true", amount="25000000").status == 200),
        ("Endpoints", "2: a contract may be named", lambda api: "contractId" in str(internals(api.sandbox).engine.wire_names) or api.sign(
            collateralContractId=api.examples["contracts"][0]["id"]).status == 200),
        ("Endpoints", "3: the card must belong to the calling tenant", lambda api: api.authorize(
            other_tenant(api).examples["cards"]["active"][0]).status in (400, 403, 404)),
        ("States", "authorize without a decline reason is `authorized`", lambda api: api.authorize().body["status"] == "authorized"),
        ("States", "authorize with one is `declined`, `declinedReason` present", lambda api: (
            lambda body: (body["status"], body["declinedReason"]))(api.authorize(declineReason="cvv_mismatch").body) == ("declined", "cvv_mismatch")),
        ("States", "an authorization holds its amount", lambda api: (lambda before: (api.authorized(1_000), balance(api).held - before)[1])(balance(api).held) == 1_000),
        ("States", "a full reversal releases the hold", lambda api: held_after()(api) == 0),
        ("States", "a reversal reduces the hold to `newAmount`", lambda api: held_after(newAmount=400)(api) == 400),
        ("States", "a reversal creates no posted transaction", posts_nothing),
        ("States", "a reversal needs an open authorization", lambda api: api.reverse(api.settled()).status >= 400),
        ("States", "a refund needs a settled transaction", lambda api: api.refund(api.authorized()).status >= 400),
        ("States", "a refund credits its amount to the cardholder", lambda api: refunded(300)(api) == 300),
        ("States", "a refund without an amount refunds the entire settlement", lambda api: refunded(None)(api) == 1_000),
        ("States", "a refund is `settled` with `completionReason` `REFUND`", lambda api: (
            lambda body: (body["status"], body["completionReason"]))(api.refund(api.settled(9), amount=9).body) == ("settled", "REFUND")),
        ("States", "acceptance of the terms reports `approved`", terms),
        *[("States", f"a change to `{one}` sends one `user.updated`", review_events(one)) for one in EVENT_STATUSES],
        ("States", "a dispute is canceled by its status", lambda api: dispute(status="canceled")(api).status == 200),
        ("Endpoints", "6: answers with the account", lambda api: api.pay_to(userId=api.user).body["type"] == "externalFiatAccount"),
        ("Endpoints", "6: `userId` of an individual team, no `companyId`", lambda api: (
            lambda body: "userId" in body and "companyId" not in body)(api.pay_to(userId=api.user).body)),
        ("Endpoints", "6: `companyId` of a company team, no `userId`", lambda api: (lambda team: (
            lambda body: "companyId" in body and "userId" not in body)(team.pay_to(companyId=team.examples["companies"][0]["id"]).body))(other_tenant(api))),
        ("Endpoints", "6: both a user and a company are refused", sent(lambda api: api.pay_to(
            userId=api.user, companyId=other_tenant(api).examples["companies"][0]["id"]), 400)),
        ("Endpoints", "6: neither a user nor a company is refused", sent(lambda api: api.pay_to(), 400)),
        ("Endpoints", "6: the answer adds `rail`", lambda api: api.pay_to(userId=api.user).body["externalFiatAccount"]["rail"] == "ach"),
        ("Endpoints", "7: deletes the account, which is then not found", lambda api: (lambda path: (
            api.call("DELETE", path).status // 100, said(api.call("DELETE", path))))(
                f"/payment-accounts/{api.pay_to(userId=api.user).body['id']}") == (2, (404, "NotFoundError", "Payment account not found"))),
        ("Endpoints", "8: the address of a self-managed user with EVM contracts cannot change", lambda api: api.update_user(
            user_with_contracts(api), walletAddress=ETHEREUM).status >= 400),
        ("Endpoints", "8: answers the user with what was changed", lambda api: update(firstName="Grace")(api).body["firstName"] == "Grace"),
        ("Endpoints", "8: a user of another tenant is not found", lambda api: api.update_user(
            other_tenant(api).examples["users"]["approved"][0], firstName="Ada").status == 404),
        ("Endpoints", "9: answers the company", lambda api: owner(firstName="Ada")(api).body["id"] == api.examples["companies"][0]["id"]),
        ("Endpoints", "11: answers the user", lambda api: api.apply().body["firstName"] == PERSON["firstName"]),
        ("Endpoints", "11: the application goes through a review", lambda api: api.apply().body["applicationStatus"] in STATUSES),
        ("Endpoints", "11: provider-managed: one of the wallets is required", lambda api: Api(api.sandbox, "provider-managed").apply().status == 400),
        *[("Endpoints", f"11: provider-managed: `{name}` is enough", lambda api, n=name, v=good[0]: Api(
            api.sandbox, "provider-managed").apply(**{n: v}).status == 200) for name, (good, _) in WALLETS.items()],
        ("Endpoints", "11: self-managed: no wallet is required", lambda api: api.apply().status == 200),
        ("Endpoints", "11: an SSN of nine digits only where the country of issue is US", lambda api: api.apply(
            countryOfIssue="DE", nationalId="L01X00T47").status == 200),
        ("Endpoints", "12: requires the role `rewards:read`", lambda api: (
            Api(api.sandbox, "contractsAndSignatures:read only").call("GET", "/issuing/rewards/activity", userId=api.user).status,
            Api(api.sandbox, "rewards only").call("GET", "/issuing/rewards/activity", userId=api.user).status) == (403, 200)),
        ("Endpoints", "12: the answer has `items` alone", lambda api: set(rewards()(api).body) == {"items"}),
        ("Endpoints", "12: twenty items when none are asked for", lambda api: len(rewards()(api).body["items"]) == 20),
        ("Endpoints", "12: `offset` skips", lambda api: rewards(limit=3, offset=2)(api).body["items"] == rewards(limit=5)(api).body["items"][2:]),
        *[("Endpoints", f"12: `type={one}` gives nothing else", lambda api, o=one: {item["type"] for item in all_pages(api, type=o)} <= {o})
          for one in ("earned", "redeemed")],
        ("Endpoints", "12: earned items have the reason CARD_SPEND", lambda api: {
            one["reason"] for one in all_pages(api, type="earned")} == {"CARD_SPEND"}),
        *[("Endpoints", f"12: {one} travel redemptions are hidden", lambda api, o=one: hidden(api, o)) for one in ("PENDING", "FAILED")],
        ("Authentication", "the tenant is that of the key", lambda api: set(Api(api.sandbox, "company team").examples["cards"]["active"]).isdisjoint(api.examples["cards"]["active"])),
        ("Limits", "an `externalId` is unique within the tenant", lambda api: taken(api).status == 409),
        ("Limits", "an `externalId` of another tenant is free", lambda api: (api.apply(externalId="once"), Api(
            api.sandbox, "provider-managed").apply(externalId="once", walletAddress=ETHEREUM).status)[1] == 200),
        ("Limits", "a deposit of 1.99 USD sends `microDeposit.received` and makes no transaction", small_deposit("1.99", 1)),
        ("Limits", "a deposit of 2.00 USD does not", lambda api: not_small(api)),
        ("Events", "a simulation sends transaction events", lambda api: (lambda start: (api.authorize(), any(
            one.startswith("transaction.") for one in api.kinds(since=start)))[1])(len(api.sandbox.events()))),
        ("Events", "`eventReceivedAt` is present in `user.updated`", lambda api: all(
            "eventReceivedAt" in one for one in shown(api.sandbox.behavior)["Event envelope"] if one["resource"] == "user" and one["action"] == "updated")),
        ("Events", "`applicationReason` is empty without rejections", lambda api: (api.sandbox.review(
            plain_user(api), "approved"), api.sandbox.events()[-1].payload["body"]["applicationReason"])[1] == ""),
        ("Events", "trial deposits carry `ACCTVERIFY`", lambda api: (api.sandbox.deposit(), api.sandbox.events()[-1].payload["body"]["description"])[1] == "ACCTVERIFY"),
        ("Versioning", "payloads have version 1.0.0, and 1.1.0 with a `statusChangeReason`", lambda api: all(
            one["version"] == ("1.1.0" if "statusChangeReason" in one["body"] else "1.0.0")
            for one in shown(api.sandbox.behavior)["Event envelope"])),
        ("Versioning", "contracts carry a numeric version", lambda api: all(
            is_number(one["contractVersion"]) for one in shown(api.sandbox.behavior)["IssuingContract"])),
    ])  # fmt: skip
    for low, name in (("/v2", "another prefix"), ("", "no prefix")):
        yield Fact("Versioning", f"`/v1` is the prefix: {name} is not served", lambda api, at=low: outside(api, at))


def outside(api: Api, prefix: str) -> bool:
    path = prefix + "/issuing/tenants/contracts"
    return internals(api.sandbox).engine.answer(Request("GET", path, "", {"api-key": str(api.key)}, b"")).status == 404


def not_small(api: Api) -> bool:
    start = len(api.sandbox.events())
    try:
        api.sandbox.deposit(amount="2.00")
    except ValueError:
        return True  # a deposit that the control refuses sends no event either
    return "microDeposit.received" not in api.kinds(since=start)


def user_with_contracts(api: Api) -> str:
    return next(str(one["id"]) for one in api.sandbox.records("user") if one.get("contracts"))


def hidden(api: Api, status: str) -> bool:
    user = rewards_user(api)
    before = {one["id"] for one in all_pages(api, type="redeemed")}
    api.sandbox.redeem(user, 1, status=status)
    return {one["id"] for one in all_pages(api, type="redeemed")} == before


FACTS = [*of_shapes(), *of_requests(), *of_behavior()]


def kept(fact: Fact, behavior: str) -> bool:
    """Return whether a claim is true for a fresh sandbox of a behavior."""
    return holds(fact, Sandbox(behavior=behavior))


def holds(fact: Fact, sandbox: Sandbox) -> bool:
    """Return whether a claim is true for a sandbox. An error counts as false."""
    try:
        return bool(fact.holds(Api(sandbox)))
    except (KeyError, AttributeError, TypeError, ValueError, AssertionError, IndexError):
        return False


def departures(behavior: str) -> list[str]:
    """Return the claims that are not true for a behavior."""
    return [fact.claim for fact in FACTS if not kept(fact, behavior)]


def page() -> str:
    """Return `facts.md`: the number of true claims by section and behavior, and each departure with its reason."""
    not_kept = {behavior: set(departures(behavior)) for behavior in BEHAVIORS}
    lines = [
        "# The facts of the interface document",
        "",
        f"{len(FACTS)} facts of the interface document are checked over the sandbox's interface, by calls that use no table of",
        "this project, once with the default behavior (`documented`) and once with the behavior of live services (`observed`).",
        "Every departure of a behavior from the document is intended and has a reason.",
        "`python -m tests.sandbox.facts` writes this page, and `tests/sandbox/test_facts.py` compares it.",
        "",
        "| Section | Facts | `documented` | `observed` |",
        "|---|--:|--:|--:|",
    ]
    for section in dict.fromkeys(fact.section for fact in FACTS):
        claims = [fact.claim for fact in FACTS if fact.section == section]
        held = [str(sum(claim not in not_kept[behavior] for claim in claims)) for behavior in BEHAVIORS]
        lines.append(f"| {section} | {len(claims)} | {' | '.join(held)} |")
    totals = [str(len(FACTS) - len(not_kept[behavior])) for behavior in BEHAVIORS]
    lines += [f"| All | {len(FACTS)} | {' | '.join(totals)} |", ""]
    for behavior in BEHAVIORS:
        lines += [f"## Departures of `{behavior}`", "", "| Fact | Reason |", "|---|---|"]
        lines += [f"| {one} | {DEPARTURES[behavior][one]} |" for one in departures(behavior)] + [""]
    return "\n".join(lines)


PAGE = Path(__file__).with_name("facts.md")

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
