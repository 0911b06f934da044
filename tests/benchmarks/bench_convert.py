"""Measure the conversion of a contract and a user from bytes to records, compared with a generated SDK.

The baseline is `lithic`: models with the same members as ours, declared on its `BaseModel` as its generator does
(optional members, aliases). It is measured twice: its client's processing of an existing httpx.Response
(`_process_response`: content type, JSON, objects), and the objects only (`json.loads`, then `construct_type`). Neither
validates. The workbench reads strict JSON (no duplicate members, exact numbers) and checks the type of every member; with
`flags` it also checks every rule. All take turns in the same run, and the fastest round of each counts.

Run: python -m tests.benchmarks.bench_convert
"""

import functools
import json
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

import httpx
from lithic import Lithic
from lithic._models import BaseModel, FinalRequestOptions, construct_type
from pydantic import Field

from tests.conftest import SAMPLES
from workbench.base.schema import checks, strict_json, walk
from workbench.service.interface import convert, table

_ROUNDS = 60
_PER_ROUND = 200


def _wire(name: str) -> Any:
    return Field(alias=name, default=None)


class _Token(BaseModel):
    address: str
    balance: str | None = None
    exchange_rate: float | None = _wire("exchangeRate")
    advance_rate: float | None = _wire("advanceRate")


class _Details(BaseModel):
    beneficiary_name: str = Field(alias="beneficiaryName")
    beneficiary_address: str = Field(alias="beneficiaryAddress")
    account_number: str = Field(alias="accountNumber")
    routing_number: str = Field(alias="routingNumber")
    beneficiary_bank_name: str | None = _wire("beneficiaryBankName")
    beneficiary_bank_address: str | None = _wire("beneficiaryBankAddress")


class _Onramp(BaseModel):
    ach: _Details | None = None
    rtp: _Details | None = None
    wire: _Details | None = None


class _Contract(BaseModel):
    id: str
    chain_id: int = Field(alias="chainId")
    program_address: str | None = _wire("programAddress")
    controller_address: str = Field(alias="controllerAddress")
    proxy_address: str = Field(alias="proxyAddress")
    deposit_address: str | None = _wire("depositAddress")
    admin_addresses: list[str] | None = _wire("adminAddresses")
    tokens: list[_Token]
    contract_version: float = Field(alias="contractVersion")
    onramp: _Onramp | None = None


class _Address(BaseModel):
    line1: str
    city: str
    region: str
    postal_code: str = Field(alias="postalCode")
    country_code: str = Field(alias="countryCode")
    line2: str | None = None
    country: str | None = None


class _Params(BaseModel):
    user_id: str | None = _wire("userId")


class _Link(BaseModel):
    url: str | None = None
    params: _Params | None = None


_Status = Literal[
    "approved", "pending", "needsInformation", "needsVerification", "manualReview", "denied", "locked", "canceled"
]


class _User(BaseModel):
    id: str
    first_name: str | None = _wire("firstName")
    last_name: str | None = _wire("lastName")
    email: str | None = None
    is_active: bool | None = _wire("isActive")
    application_status: _Status | None = _wire("applicationStatus")
    company_id: str | None = _wire("companyId")
    external_id: str | None = _wire("externalId")
    source_key: str | None = _wire("sourceKey")
    address: _Address | None = None
    phone_country_code: str | None = _wire("phoneCountryCode")
    phone_number: str | None = _wire("phoneNumber")
    wallet_address: str | None = _wire("walletAddress")
    solana_address: str | None = _wire("solanaAddress")
    created_at: datetime | None = _wire("createdAt")
    updated_at: datetime | None = _wire("updatedAt")
    application_external_verification_link: _Link | None = _wire("applicationExternalVerificationLink")
    application_completion_link: _Link | None = _wire("applicationCompletionLink")
    application_reason: str | None = _wire("applicationReason")


def fastest(*work: Callable[[], object]) -> list[float]:
    """Return microseconds per call, in the fastest round of each function. The functions take turns."""
    best = [float("inf")] * len(work)
    for _ in range(_ROUNDS):
        for i, run in enumerate(work):
            start = time.perf_counter()
            for _ in range(_PER_ROUND):
                run()
            best[i] = min(best[i], (time.perf_counter() - start) / _PER_ROUND * 1e6)
    return best


def bodies() -> dict[str, bytes]:
    """Return a contract and a user as compact JSON, as a service sends them."""
    contract = json.loads((SAMPLES / "list_contracts.200.json").read_bytes())[:1]
    user = json.loads((SAMPLES / "create_user_application.200.json").read_bytes())
    return {"contract": strict_json.dumps(contract), "user": strict_json.dumps(user)}


def answers() -> dict[str, list[float]]:
    """Return microseconds by kind: the workbench, the workbench with flags, the baseline's client, the baseline's objects."""
    client = Lithic(api_key="none", base_url="http://127.0.0.1:9")
    sent = httpx.Request("GET", "http://127.0.0.1:9")
    options = FinalRequestOptions(method="get", url="/")
    read = convert.converter().read_answer
    rows: dict[str, tuple[Any, Any]] = {
        "contract": (table.Operations.list_contracts, list[_Contract]),
        "user": (table.Operations.create_user_application, _User),
    }
    found = {}
    for name, body in bodies().items():
        operation, model = rows[name]

        def ours(operation: Any = operation, body: bytes = body) -> Any:
            return read(operation, strict_json.loads(body))

        def flagged(ours: Any = ours) -> Any:
            answer = ours()
            return [checks.flags(one) for one in (answer if isinstance(answer, list) else [answer])]

        def objects(model: Any = model, body: bytes = body) -> Any:
            return construct_type(value=json.loads(body), type_=model)

        response = httpx.Response(200, content=body, headers={"content-type": "application/json"}, request=sent)
        theirs = functools.partial(
            client._process_response, cast_to=model, options=options, response=response, stream=False, stream_cls=None
        )
        assert objects() == theirs()
        found[name] = fastest(ours, flagged, theirs, objects)
    return found


def request() -> dict[str, float]:
    """Return the microseconds of each step that prepares an authorization."""
    operation = table.Operations.simulate_authorization
    arguments = {
        "card_id": "3f2a0b1c-1111-4222-8333-444455556666",
        "amount": 1250,
        "currency": "USD",
        "merchant_name": "Example Books",
        "merchant_category_code": "5411",
    }
    made = walk.build(operation.request, arguments)
    converter = convert.converter()
    steps: dict[str, Callable[[], object]] = {
        "build": lambda: walk.build(operation.request, arguments),
        "problems": lambda: checks.problems(made),
        "cautions": lambda: checks.cautions(made),
        "write": lambda: converter.unstructure(made),
        "write_request": lambda: converter.write_request(operation, made),
    }
    return dict(zip(steps, fastest(*steps.values()), strict=True))


def main() -> None:
    """Print the figures."""
    for name, (ours, flagged, theirs, objects) in answers().items():
        print(f"one {name}, bytes to record: {ours:.1f} µs; every rule checked too: {flagged:.1f} µs")
        print(f"  the yardstick's client: {theirs:.1f} µs, {theirs / ours:.1f} times as much")
        print(f"  the yardstick's objects alone: {objects:.1f} µs, {objects / ours:.1f} times as much")
    for name, cost in request().items():
        print(f"an authorization, {name}: {cost:.1f} µs")


if __name__ == "__main__":
    main()
