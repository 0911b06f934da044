"""A session in which every planted value occurs in a request, an answer or a delivery."""

import base64
import logging
import warnings
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import httpx
import pytest

import workbench as wb
from tests.canaries.planted import ACCOUNT, BUSINESS, CHANGES, LINK, OWNER, PERSON, PLANTED
from tests.client.doubles import Service, client_on
from tests.sequences.parametrized import application
from workbench.client.calls.journal import Journal
from workbench.client.session import Session, SessionClock
from workbench.runs.sequences import run
from workbench.sandbox.internals import internals
from workbench.sandbox.transport import SandboxTransport

RECIPIENT = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
USER = "3f2a0b1c-0000-4000-8000-000000000001"


class LogCapture(logging.Handler):
    """A log handler that stores every record as text, with its arguments."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Store a record."""
        self.lines.append(f"{record.name} {record.getMessage()} {record.args!r} {record.exc_info!r}")


class Recorded(httpx.BaseTransport):
    """A transport that stores all bytes of requests and responses."""

    def __init__(self, inner: httpx.BaseTransport, went: list[bytes]) -> None:
        self.is_embedded = isinstance(inner, SandboxTransport)  # the client reads this attribute of its transport
        self._inner = inner
        self._went = went

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Pass a request to the inner transport, and store the request and the response."""
        answer = self._inner.handle_request(request)
        self._went += [repr(request.headers.raw).encode(), request.read(), answer.read()]
        return answer


@attrs.frozen(kw_only=True)
class Life:
    """The session after all calls, its results, files and log, the secrets that were generated, and all transferred bytes."""

    api: Session
    things: dict[str, Any]
    folder: Path
    log: list[str]
    drawn: tuple[str, ...]
    went: list[bytes]


def _write(api: Session, things: dict[str, Any]) -> None:
    guide = api.sandbox.guide()
    made = things["application"] = api.create_user_application(**PERSON)
    for name in ("sumsub", "persona"):
        token: dict[str, Any] = {f"{name}_share_token": f"zq-{name}-token"}
        things[name] = api.create_user_application(
            ip_address=PERSON["ip_address"], occupation=PERSON["occupation"], annual_salary=PERSON["annual_salary"],
            account_purpose="x", expected_monthly_volume="1", is_terms_of_service_accepted=True, **token,
        )  # fmt: skip
    things["update"] = api.update_user(user_id=made.id, **CHANGES)
    company = guide["companies"][0]
    owner = next(one for one in company["owners"] if one["status"] == "needsInformation")
    things["owner"] = api.update_ubo(company_id=company["id"], ubo_id=owner["id"], **OWNER)
    things["account"] = api.create_payment_account(user_id=made.id, **ACCOUNT)
    things["business account"] = api.create_payment_account(user_id=made.id, **BUSINESS)
    things["deleted"] = api.delete_payment_account(payment_account_id=things["account"].id)
    things["dispute"] = api.update_dispute(dispute_id=guide["disputes"]["pending"][0], text_evidence="Zqevidence of it")
    things["purchase"] = api.simulate_authorization(
        card_id=guide["cards"]["active"][0], amount=1250, currency="USD", merchant_name="Corner Grocery",
        merchant_category_code="5411",
    )  # fmt: skip
    things["reviewed"] = api.sandbox.review(made.id, "needsInformation")
    things["deposit"] = api.sandbox.deposit(amount="1.77", description="ZQMEMO", originator_name="Zqoriginator")
    ids = (
        made.id,
        owner["id"],
        things["business account"].id,
        guide["disputes"]["pending"][0],
        things["deposit"].id,
    )
    things["states"] = [api.sandbox.state(one) for one in ids]
    things["contracts"] = api.list_contracts()
    things["rewards"] = api.list_rewards_activity(user_id=guide["rewards_users"][0]["id"])


def _receive(path: Path, things: dict[str, Any], went: list[bytes]) -> None:
    with wb.Inbox(path / "inbox.db", keys=(PLANTED["webhook key"],)) as inbox:
        for name, kind, values in (
            ("status", "user.updated", {"first_name": "Zqfirst", "application_completion_link": LINK}),
            ("trial", "microDeposit.received", {
                "amount": Decimal("1.77312991"), "description": "ZQMEMO", "originator_name": "Zqoriginator"}),
            ("spend", "transaction.created", {
                "spend": {"user_first_name": "Zqcard", "user_last_name": "Zqbearer", "user_email": "zqpayer@example.com"}}),
        ):  # fmt: skip
            sample = wb.events.sample(kind, PLANTED["webhook key"], **values)
            things[f"sample of {name}"] = sample
            went.append(sample.body)
            things[f"receipt of {name}"] = inbox.receive(sample.headers, sample.body)
        things["inbox"], things["received"] = inbox, inbox.events()
    service = Service({"id": USER, "firstName": "Zqfirst", "member": "zq-unknown-member", "more": {"a": [LINK]}})
    recorded = Recorded(httpx.MockTransport(service), went)
    with client_on(recorded.handle_request, api_key=PLANTED["api key"]) as api:
        things["unknown member"], things["client"] = api.update_user(user_id=USER, **CHANGES), api
        things["its journal"] = list(api.journal)
    with client_on(Service({"id": USER}), environment="production", journal=path / "production.db") as real:
        real.arm(operations={"create_user_application"}, minutes=1, reason="a test")
        real.create_user_application(**PERSON)
        things["production"], things["its entries"] = real, list(real.journal)


def _withdraw(api: Session, things: dict[str, Any]) -> tuple[str, ...]:
    contract = api.list_contracts()[0]
    plan = things["plan"] = wb.withdrawals.plan(
        api, contract, token=contract.tokens[0].address, amount=wb.withdrawals.usd("25.00"), admin=contract.admin_addresses[0],
        to=RECIPIENT, decimals=6,
    )  # fmt: skip
    withdrawal = things["withdrawal"] = plan.sign()
    message = things["message"] = withdrawal.typed_data(nonce=0)
    accepted = things["accepted"] = message.accept(api.sandbox.wallet(plan.admin).sign(message))
    things["transaction"] = withdrawal.transaction(accepted, direct_transfer=True)
    shown = withdrawal.reveal()
    things["revealed"], things["parameters"] = shown, withdrawal.parameters()
    salt = base64.b64decode(shown.salt)
    return (shown.data.removeprefix("0x"), shown.salt, salt.hex(), str(list(salt))[1:-1])


@pytest.fixture(scope="session")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """Run once: every write, the controls, webhooks, a withdrawal, a bulk run and a sequence with a file."""
    folder = tmp_path_factory.mktemp("canaries")
    captured, root = LogCapture(), logging.getLogger()
    went: list[bytes] = []
    patch = pytest.MonkeyPatch()
    patch.setenv("WORKBENCH_STATE", str(folder / "state"))
    level = root.level
    root.addHandler(captured)
    root.setLevel(logging.DEBUG)
    things: dict[str, Any] = {}
    sandbox = wb.Sandbox(seed=7)
    clock = SessionClock(sandbox)
    settings: dict[str, Any] = {
        "sandbox": sandbox,
        "base_url": sandbox.base_url,
        "api_key": sandbox.full_key,
        "environment": "sandbox",
        "clock": clock,
        "transport": Recorded(sandbox.transport(), went),
        "journal": Journal(folder / "journal.db", clock=clock),
    }
    with warnings.catch_warnings(record=True) as advised, Session(**settings) as api:
        warnings.simplefilter("always")
        guide = api.sandbox.guide()
        _write(api, things)
        _receive(folder, things, went)
        drawn = _withdraw(api, things)
        rows = [{**PERSON, "email": f"zqmail{i}@example.com", "external_id": f"zq-{i}"} for i in range(3)]
        things["bulk"] = wb.bulk.run(api.create_user_application, rows, path=folder / "bulk.run", progress=False)
        sequence = things["sequence"] = application(PERSON)
        flat = {**PERSON, **PERSON["address"], "birth_date": date(1917, 3, 29)}
        wanted = {one.name: flat[one.name] for one in sequence.parameters}
        things["kept"] = run(wb.Sandbox(seed=3), sequence, path=folder / "kept.run", **wanted)
        things |= {"session": api, "journal": api.journal, "entries": list(api.journal), "events": api.inbox.events()}
        things |= {"notes": list(api.journal.notes), "info": api.info(), "asked": api.sandbox.requests()}
        things["requests"] = [one.request for one in api.journal]
        things["sandbox events"], things["drained"] = api.sandbox.events(), internals(api.sandbox).drain()
        root.removeHandler(captured)
        root.setLevel(level)
        patch.undo()
        captured.lines += [f"{one.filename} {one.message}" for one in advised]
        secrets = (*drawn, *guide["api_keys"].values())
        yield Life(api=api, things=things, folder=folder, log=captured.lines, drawn=secrets, went=went)
