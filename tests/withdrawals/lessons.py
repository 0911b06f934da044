"""Shared helpers of the withdrawal tests: a plan, a service with prepared answers, and a clock."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import workbench as wb
from workbench.client.calls.guards import Limits
from workbench.client.withdrawals.planning import Plan
from workbench.client.withdrawals.withdrawal import Withdrawal
from workbench.service.interface.convert import converter
from workbench.service.interface.table import Operations

RECIPIENT = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def arguments(api: Any, number: int = 0, **changes: Any) -> dict[str, Any]:
    """Return the arguments of a valid plan, with some changes."""
    contract = changes.pop("contract", None) or api.list_contracts()[number]
    to = RECIPIENT if number < 2 else contract.admin_addresses[-1]
    return {
        "contract": contract,
        "token": contract.tokens[0].address,
        "amount": wb.withdrawals.usd("25.00"),
        "admin": next(iter(contract.admin_addresses), None),
        "to": to,
        "decimals": 7 if number == 3 else 6,
        **changes,
    }


def planned(api: Any, number: int = 0, **changes: Any) -> Plan:
    return wb.withdrawals.plan(api, **arguments(api, number, **changes))


def problems(api: Any, number: int = 0, **changes: Any) -> dict[str, str]:
    """Return the messages of a plan's problems by argument name."""
    try:
        planned(api, number, **changes)
    except wb.errors.UsageError as error:
        return {problem.path: problem.text for problem in error.problems}
    return {}


def transacted(api: Any, withdrawal: Withdrawal, *, nonce: int = 0) -> Any:
    """Return the transaction of a withdrawal. For a version 2 contract, the sandbox's wallet of the admin signs first."""
    if withdrawal.plan.contract.contract_version == 1:
        return withdrawal.transaction()
    message = withdrawal.typed_data(nonce=nonce)
    signature = api.sandbox.wallet(withdrawal.plan.admin).sign(message)
    return withdrawal.transaction(message.accept(signature), direct_transfer=True)


class Moving:
    """A clock that moves only when it sleeps or is set."""

    def __init__(self, start: datetime = NOON) -> None:
        self.at = start
        self.waits: list[float] = []

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return (self.at - NOON).total_seconds()

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.at += timedelta(seconds=seconds)


class Service:
    """A client that returns prepared answers and counts requests."""

    environment = "sandbox"

    def __init__(
        self, contract: Any, *answers: dict[str, Any], limits: Limits | None = None, skew: float | None = None
    ) -> None:
        self.contract = contract
        self.answers = list(answers)
        self.limits = limits or Limits()
        self.clock = Moving()
        self._context = SimpleNamespace(clock=self.clock, clock_skew=skew, note=lambda *_: None)
        self.asked: list[bool] = []  # for each request, whether the client allowed a repetition
        self.again = False

    def list_contracts(self) -> list[Any]:
        return [self.contract]

    def allowing(self, *, again: bool = False, unverified_address: bool = False) -> "Service":
        view = object.__new__(Service)
        view.__dict__.update(self.__dict__)
        view.again = again or self.again
        return view

    def send(self, request: Any) -> Any:
        self.asked.append(self.again)
        raw = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return converter({}).read_answer(Operations.sign_withdrawal, raw)

    def plan(self, number: int = 0, **changes: Any) -> Plan:
        return planned(self, number, clock=self.clock, **changes)


def answered(contract: Any, **changes: Any) -> dict[str, Any]:
    """Return a ready answer to the valid plan as JSON, with some changes."""
    end = int(NOON.timestamp()) + 600
    data, salt = "0x" + "11" * 64 + "1b", "WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo="
    raw = {
        "status": "ready",
        "signature": {"data": data, "salt": salt},
        "expiresAt": "2026-11-21T12:10:00.000Z",
        "sender": contract.admin_addresses[0],
        "chainId": hex(contract.chain_id),
        "parameters": [
            contract.proxy_address, contract.tokens[0].address, "25000000", RECIPIENT, end, [0x5A] * 32, data,
        ],
    }  # fmt: skip
    raw.update(changes)
    return {name: value for name, value in raw.items() if value is not None}
