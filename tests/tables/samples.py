"""Answers and events read from wire bodies, for the tests of this folder. All data is reserved or fictitious."""

from typing import Any

from workbench.base.schema.strict_json import loads
from workbench.service.interface.convert import converter
from workbench.service.interface.events import Event
from workbench.service.interface.table import OPERATIONS

CONTRACT = b"""{"id":"8f7f2a52-2a8c-4d6e-9d2c-0f9a8e1b7c11","chainId":11155111,
"controllerAddress":"0x00000000000000000000000000000000000000a1",
"proxyAddress":"0x00000000000000000000000000000000000000a2",
"adminAddresses":["0x00000000000000000000000000000000000000b1","0x00000000000000000000000000000000000000b2"],
"tokens":[
{"address":"0x00000000000000000000000000000000000000c1","balance":"1250.50","exchangeRate":0.999,"advanceRate":50},
{"address":"0x00000000000000000000000000000000000000c2","balance":"0.1","exchangeRate":1,"advanceRate":100}],
"contractVersion":2,
"onramp":{"ach":{"beneficiaryName":"Ada Lovelace","beneficiaryAddress":"1 Example Street",
"accountNumber":"000123456789","routingNumber":"021000021"}}}"""
BARE_CONTRACT = b"""{"id":"8f7f2a52-2a8c-4d6e-9d2c-0f9a8e1b7c12","chainId":900,
"controllerAddress":"a","proxyAddress":"b","tokens":[],"contractVersion":1}"""
USER = b"""{"id":"u1","firstName":"Ada","lastName":"Lovelace","email":"ada@example.com","isActive":true,
"applicationStatus":"brandNew","externalId":"00042","phoneCountryCode":"1","phoneNumber":"5550100",
"address":{"line1":"1 Example Street","city":"London","region":"LDN","postalCode":"00123","countryCode":"GB"},
"createdAt":"2026-01-02T03:04:05Z"}"""
REWARDS = b"""{"items":[
{"type":"earned","id":"007","points":"12.50","reason":"CARD_SPEND","merchantName":"Corner Shop",
"transactionAmountCents":1250,"spendCategory":"groceries","postedAt":"2026-01-01T00:00:00Z"},
{"type":"redeemed","id":"8","points":"-3","status":"COMPLETED","createdAt":"2026-02-01T10:00:00.123456Z"}]}"""
SIGNATURE = b"""{"status":"ready","signature":{"data":"0xCANARYDATA","salt":"CANARYSALT"},
"expiresAt":"2026-04-07T21:17:45Z","parameters":["CANARYPARAMETER"],"secretExtra":"CANARYEXTRA"}"""


def answer(operation: str, *bodies: bytes) -> Any:
    """Return the answer of an operation that wire bytes contain, or a list of answers for several bodies."""
    row = OPERATIONS[operation]
    if row.many:
        return converter().read_answer(row, [loads(body) for body in bodies])
    read = [converter().read_answer(row, loads(body)) for body in bodies]
    return read[0] if len(read) == 1 else read


def event(body: bytes) -> Any:
    """Return the event that wire bytes contain."""
    return converter().structure(loads(body), Event)


USER_UPDATED = b"""{"id":"e1","resource":"user","action":"updated","version":"1.0.0",
"eventReceivedAt":"2026-01-01T00:00:00Z","body":{"id":"u1","firstName":"Ada","email":"ada@example.com",
"isActive":true,"isTermsOfServiceAccepted":true,"applicationStatus":"pending","applicationReason":"BAD_PHOTO, EXPIRED",
"applicationCompletionLink":{"url":"https://example.com/CANARY"}}}"""
MICRO_DEPOSIT = b"""{"id":"e2","resource":"microDeposit","action":"received","version":"1.0.0",
"body":{"id":"m1","paymentRouteId":"r1","userId":"u1","amount":"0.12","currency":"usd","rail":"ach",
"description":"ACCTVERIFY","receivedAt":"2026-01-01T12:00:00Z"}}"""
STRANGE = b"""{"id":"e3","resource":"moon","action":"landed","version":"9","body":{"crew":"CANARYCREW"}}"""
