"""Every way in which a call, a file, a form or a withdrawal with a planted value can fail."""

import asyncio
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, cast

import attrs
import httpx

import workbench as wb
from tests.canaries.planted import ACCOUNT, CHANGES, LINK, OWNER, PERSON, PHRASE, PLANTED
from tests.client.doubles import CARD, URL, FakeClock, Service, client_on
from tests.sequences.parametrized import application
from workbench.client.webhooks.verify import SignatureRefused
from workbench.client.withdrawals.withdrawal import Withdrawal
from workbench.runs.sequences import InvalidSequence, read_toml, run, run_many
from workbench.service import chains
from workbench.service.chains.values import refuse_private_key

KEY = PLANTED["api key"]
PRIVATE_KEY = "0x" + PLANTED["private key"]
WORDS = f"known: {PERSON['email']} {PERSON['national_id']} {KEY}"
BODY = '{"email": "zqmail@example.com", "nationalId": "000771293", "zq": "zq-unknown-member"'
SALE = {
    "card_id": CARD, "amount": 1250, "currency": "USD", "merchant_name": "Shop", "merchant_category_code": "5411",
}  # fmt: skip


@attrs.frozen
class End:
    """An action, and the error that it must raise. With another error, or none, the test would prove nothing."""

    error: type[BaseException]
    act: Callable[[Path], Any]
    words: str = "."


def _sent(answer: Any, operation: str = "create_user_application", **arguments: Any) -> None:
    with client_on(Service(answer), api_key=KEY) as api:
        getattr(api, operation)(**(arguments or PERSON))


def _awaited(answer: Any, **arguments: Any) -> None:
    transport = httpx.MockTransport(Service(answer))
    api = wb.AsyncClient(base_url=URL, api_key=KEY, clock=FakeClock(), transport=transport)

    async def call() -> None:
        await api.create_user_application(**{**PERSON, **arguments})

    asyncio.run(call())


def _record(**changes: Any) -> None:
    from workbench.service.interface.transactions import SimulateAuthorization

    with client_on(Service({}), api_key=KEY) as api:
        api.send(SimulateAuthorization(**{**SALE, **changes}))


def _unchecked(**changes: Any) -> None:
    with client_on(Service({}), api_key=KEY, check=False) as api:
        api.simulate_authorization(**{**SALE, **changes})


def _struck(kind: str, operation: str, **arguments: Any) -> None:
    with wb.connect(seed=7) as api:
        api.sandbox.add_fault(kind)
        getattr(api, operation)(**arguments)


def _delivered(body: bytes, key: str = PLANTED["webhook key"]) -> None:
    with wb.Inbox(keys=(key,)) as inbox:
        inbox.receive({"Signature": "0" * 64}, body)


def _misread(folder: Path, name: str, read: Callable[[Path], Any], text: str) -> None:
    (folder / name).write_text(text)
    read(folder / name)


def _by_form(**values: Any) -> None:
    with wb.connect(seed=7) as api:
        wb.form(api.create_user_application).fill(**values).submit()


def _waited(_: Path) -> None:
    with wb.connect(seed=7) as api:
        api.create_user_application(**PERSON)
        api.inbox.wait("user.updated", where={"email": PERSON["email"], "first_name": "Zqfore"}, timeout=0.001)


def _twice(folder: Path) -> None:
    with client_on(Service({"id": CARD}), api_key=KEY, environment="production", journal=folder / "twice.db") as api:
        api.arm(operations={"create_user_application"}, minutes=1, reason="a test")
        api.create_user_application(**PERSON)
        api.create_user_application(**PERSON)


def _unarmed(folder: Path) -> None:
    with client_on(Service({}), api_key=KEY, environment="production", journal=folder / "unarmed.db") as api:
        api.create_user_application(**PERSON)


def _unrecorded(folder: Path) -> None:
    with client_on(Service({}), api_key=KEY, journal=folder / "full.db") as api:
        (folder / "full.db").mkdir()
        api.create_user_application(**PERSON)


def _applied(folder: Path, *, as_file: bool = False, **changes: Any) -> None:
    rows: Any = [{**PERSON, **changes}]
    if as_file:
        rows = folder / "people.csv"
        flat = {name: value for name, value in PERSON.items() if isinstance(value, str)} | changes
        rows.write_text(f"{','.join(flat)}\n{','.join(map(str, flat.values()))}\n")
    with wb.connect(seed=7) as api:
        wb.bulk.run(api.create_user_application, rows, path=folder / "rows.run", progress=False)


def _played(play: Callable[..., Any] = run, **values: Any) -> None:
    sequence = application(PERSON)
    wanted = {one.name: PERSON.get(one.name, "Zqfirst") for one in sequence.parameters}
    play(wb.Sandbox(seed=3), sequence, **{**wanted, **values})


def _interrupted(play: Callable[..., Any], kind: Any = wb.Client) -> None:
    service = httpx.MockTransport(Service(KeyboardInterrupt()))
    _played(
        lambda _, one, **v: play(kind(base_url=URL, api_key=KEY, clock=FakeClock(), transport=service), one, **v),
        birth_date=date(1917, 3, 29),
    )


def _interrupted_form() -> None:
    with client_on(Service(KeyboardInterrupt()), api_key=KEY) as api:
        wb.form(api.create_user_application).fill(**PERSON).submit()


def _withdrawn(**changes: Any) -> None:
    with wb.connect(seed=7) as api:
        one = api.list_contracts()[0]
        given = {
            "token": one.tokens[0].address,
            "admin": one.admin_addresses[0],
            "to": one.admin_addresses[0],
            **changes,
        }
        wb.withdrawals.plan(api, one, decimals=6, amount=wb.withdrawals.usd("1.00"), **given)


def _signed(then: Callable[[Withdrawal], Any]) -> None:
    with wb.connect(seed=7) as api:
        one = api.list_contracts()[0]
        plan = wb.withdrawals.plan(
            api, one, token=one.tokens[0].address, amount=wb.withdrawals.usd("1.00"), admin=one.admin_addresses[0],
            to="0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", decimals=6,
        )  # fmt: skip
        then(plan.sign())


def _typed(value: dict[str, Any]) -> dict[str, Any]:
    return {"types": {"A": [{"name": "a", "type": "address"}]}, "primaryType": "A", "domain": {}, "message": value}


REFUSED = wb.InvalidRequest
MISUSED = wb.errors.UsageError
NEVER = "Never paste a private key here"

ENDS: dict[str, End] = {
    # calls
    "refused here": End(REFUSED, lambda _: _sent({}, **{**PERSON, "national_id": "000771293x", "email": ["zqmail"]})),
    "refused here, inside": End(REFUSED, lambda _: _sent({}, **{**PERSON, "address": {"line1": "Zqstreet", "zip": "zq77-31"}})),
    "refused here, in an open field": End(REFUSED, lambda _: _sent({}, **{**PERSON, "country_of_issue": "000771293"}), "country_of_issue"),
    "refused here, awaited": End(REFUSED, lambda _: _awaited({}, country_of_issue="000771293")),
    "refused here, as a record": End(REFUSED, lambda _: _record(merchant_category_code=7, card_id="000771293")),
    "refused as an argument": End(wb.errors.InvalidArguments, lambda _: _sent({}, **PERSON, zq="zq-unknown-member")),
    "refused there": End(wb.errors.BadRequest, lambda _: _sent(httpx.Response(400, json={"error": "BadRequestError", "message": WORDS}))),
    "refused there, awaited": End(wb.errors.BadRequest, lambda _: _awaited(httpx.Response(400, json={"message": WORDS}))),
    "conflict": End(wb.errors.Conflict, lambda _: _sent(httpx.Response(409, text=f"{CHANGES['email']} {KEY}"), "update_user", user_id=CARD, **CHANGES)),
    "key refused": End(wb.errors.Unauthorized, lambda _: _sent(httpx.Response(401, json={"message": WORDS}))),
    "limited": End(wb.errors.RateLimited, lambda _: _sent(httpx.Response(429, json={"msg": WORDS}))),
    "server": End(wb.OutcomeUnknown, lambda _: _sent(httpx.Response(500, text=WORDS), "update_ubo", company_id=CARD, ubo_id=CARD, **OWNER)),
    "server, reading": End(wb.errors.ServiceFailure, lambda _: _sent(httpx.Response(500, text=KEY), "list_rewards_activity", user_id=CARD)),
    "lost": End(wb.OutcomeUnknown, lambda _: _sent(httpx.ReadTimeout(WORDS), "create_payment_account", user_id=CARD, **ACCOUNT)),
    "lost, reading": End(wb.errors.NoAnswer, lambda _: _sent(httpx.ReadTimeout(KEY), "list_rewards_activity", user_id=CARD)),
    "not sent": End(wb.NotSent, lambda _: _sent(httpx.ConnectError(WORDS)), "no connection"),
    "not sent, awaited": End(wb.NotSent, lambda _: _awaited(httpx.ConnectError(WORDS)), "no connection"),
    "not sent, reading": End(wb.NotSent, lambda _: _sent(httpx.ConnectTimeout(KEY), "list_rewards_activity", user_id=CARD)),
    "unreadable": End(wb.errors.UnexpectedAnswer, lambda _: _sent(httpx.Response(200, content=BODY.encode()))),
    "other members": End(wb.errors.UnexpectedAnswer, lambda _: _sent({"id": 7, "email": ["zqmail"], "firstName": {"a": "Zqfirst"}})),
    "redirected": End(wb.errors.RedirectedEffect, lambda _: _sent(httpx.Response(302, headers={"location": "https://x.example.com/?zq-page"}))),
    "evidence": End(wb.OutcomeUnknown, lambda _: _sent(httpx.Response(500, text=WORDS), "update_dispute", dispute_id=CARD, text_evidence="Zqevidence")),
    "sent twice": End(wb.errors.DuplicateSuspected, _twice),
    "not armed": End(wb.errors.NotArmed, _unarmed),
    "not recorded": End(wb.errors.CannotRecord, _unrecorded),
    "struck: lost": End(wb.OutcomeUnknown, lambda _: _struck("lost", "create_user_application", **PERSON)),
    "struck: malformed": End(wb.errors.UnexpectedAnswer, lambda _: _struck("malformed", "create_user_application", **PERSON)),
    "struck: refused": End(wb.NotSent, lambda _: _struck("refused", "create_payment_account", user_id=CARD, **ACCOUNT)),
    "struck: cut": End(wb.errors.UnexpectedAnswer, lambda _: _struck("cut", "create_user_application", **PERSON)),
    # keys
    "bad key": End(wb.errors.UsageError, lambda _: wb.Client(base_url=URL, api_key=KEY + "\r\n")),
    "key as a profile": End(wb.errors.InvalidProfile, lambda _: wb.connect(KEY)),
    "key with blanks as a profile": End(wb.errors.InvalidProfile, lambda _: wb.connect(f"{KEY} {KEY}")),
    "key beside a bad profile": End(wb.errors.InvalidProfile, lambda _: wb.connect("nowhere", api_key=KEY)),
    "key beside a bad setting": End(wb.errors.UsageError, lambda _: wb.Session(base_url=URL, api_key=KEY, timeout=-1, keys=(KEY,))),
    "key of a bad inbox": End(wb.errors.UnusableFile, lambda path: _misread(path, "inbox.db", lambda one: wb.Inbox(one, keys=(KEY,)).events(), BODY)),
    "key as a base URL": End(wb.errors.UsageError, lambda _: wb.Client(base_url=KEY, api_key=URL)),
    "key in a base URL": End(wb.errors.UsageError, lambda _: wb.Client(base_url=f"https://{KEY}@api.example.com", api_key="x")),
    # events, files, tables
    "unsigned": End(SignatureRefused, lambda _: _delivered(wb.events.sample("user.updated", "x", first_name="Zqfirst", application_completion_link=LINK).body)),
    "no event": End(wb.errors.InvalidWebhook, lambda _: wb.Inbox(accept_unsigned=True).receive({}, BODY.encode())),
    "nothing arrived": End(wb.errors.EventTimeout, _waited),
    "bad file of rows": End(MISUSED, lambda path: _misread(path, "create_user_application.request.json", wb.read_table, BODY)),
    "bad log of events": End(MISUSED, lambda path: _misread(path, "events.jsonl", lambda one: list(wb.events.read_log(one)), BODY)),
    "long line in a log of events": End(MISUSED, lambda path: _misread(path, "events.jsonl", lambda one: list(wb.events.read_log(one)), BODY * 50_000)),
    "bad log of events, as a table": End(MISUSED, lambda path: _misread(path, "events.jsonl", lambda one: wb.events.read_log(one).frame(), BODY)),
    "bad log of events, summed": End(MISUSED, lambda path: _misread(path, "events.jsonl", lambda one: wb.events.read_log(one).summary(), BODY)),
    "bad journal": End(wb.errors.UnusableFile, lambda path: _misread(path, "journal.db", lambda one: wb.connect(journal=one).journal.unknown(), BODY * 100)),
    "bad sequence": End(InvalidSequence, lambda path: _misread(path, "s.toml", read_toml, f"name = 'x'\n[[steps]]\nnational_id = '000771293'\n{BODY}")),
    "bad row": End(REFUSED, lambda path: _applied(path, national_id="000771293x")),
    "bad row of a file": End(REFUSED, lambda path: _applied(path, as_file=True)),
    "bad value of a sequence": End(InvalidSequence, lambda _: _played(national_id=["000771293"])),
    "unknown value of a sequence": End(InvalidSequence, lambda _: _played(zq="zq-unknown-member")),
    "bad value of a sequence, awaited": End(InvalidSequence, lambda _: _played(lambda *a, **v: asyncio.run(run(*a, **v)), national_id=["000771293"])),
    "bad value of a sequence, kept": End(InvalidSequence, lambda path: _played(lambda api, one, **v: run(api, one, path=path / "s.run", **v), national_id=["000771293"])),
    "interrupted": End(KeyboardInterrupt, lambda _: _sent(KeyboardInterrupt())),
    "interrupted form": End(KeyboardInterrupt, lambda _: _interrupted_form()),
    "interrupted sequence": End(KeyboardInterrupt, lambda _: _interrupted(run)),
    "interrupted sequence, awaited": End(KeyboardInterrupt, lambda _: _interrupted(lambda *a, **v: asyncio.run(run(*a, **v)), wb.AsyncClient)),
    "bad row of a sequence": End(InvalidSequence, lambda _: _played(lambda api, one, **v: run_many(api, one, [v]), national_id=["000771293"])),
    # forms
    "form": End(REFUSED, lambda _: _by_form(**{**PERSON, "national_id": "000771293x"})),
    "form, unknown name": End(MISUSED, lambda _: _by_form(**{**PERSON, "zq": "zq-unknown-member"})),
    "private key in a form": End(MISUSED, lambda _: _by_form(**{**PERSON, "wallet_address": PRIVATE_KEY}), NEVER),
    # private keys in calls
    "private key as a wallet": End(REFUSED, lambda _: _sent({}, **{**PERSON, "wallet_address": PRIVATE_KEY}), NEVER),
    "private key as a wallet, awaited": End(REFUSED, lambda _: _awaited({}, solana_address=PLANTED["private key"]), NEVER),
    "private key as an id": End(REFUSED, lambda _: _sent({}, "list_rewards_activity", user_id=PRIVATE_KEY), NEVER),
    "private key as a recipient": End(REFUSED, lambda _: _sent({}, "sign_withdrawal", chain_id=1, token=CARD, amount="1", admin_address=CARD, recipient_address=PRIVATE_KEY, is_amount_native=True), NEVER),
    "private key as an account's name": End(REFUSED, lambda _: _sent({}, "create_payment_account", user_id=CARD, **{**ACCOUNT, "nickname": PRIVATE_KEY}), NEVER),
    "private key in a record": End(REFUSED, lambda _: _record(merchant_name=PRIVATE_KEY), NEVER),
    "private key, unchecked": End(REFUSED, lambda _: _unchecked(merchant_name=PRIVATE_KEY), NEVER),
    "seed phrase as evidence": End(REFUSED, lambda _: _sent({}, "update_dispute", dispute_id=CARD, text_evidence=PHRASE), NEVER),
    "private key in a row": End(REFUSED, lambda path: _applied(path, wallet_address=PRIVATE_KEY)),
    # private keys in withdrawals
    "private key to withdraw to": End(MISUSED, lambda _: _withdrawn(to=PRIVATE_KEY), NEVER),
    "private key as admin": End(MISUSED, lambda _: _withdrawn(admin=PRIVATE_KEY), NEVER),
    "private key as contract": End(MISUSED, lambda _: wb.withdrawals.plan(wb.connect(seed=7), PRIVATE_KEY, token="x", amount=wb.withdrawals.usd("1.00"), admin="x", to="x"), NEVER),
    "private key as cents": End(MISUSED, lambda _: wb.withdrawals.usd(PRIVATE_KEY), NEVER),
    "private key as units": End(MISUSED, lambda _: wb.withdrawals.native_units(PLANTED["private key"]), NEVER),
    "private key as signature": End(MISUSED, lambda _: _signed(lambda one: one.typed_data(nonce=0).accept(PRIVATE_KEY)), NEVER),
    "private key as bytes as signature": End(MISUSED, lambda _: _signed(lambda one: one.typed_data(nonce=0).accept(bytes.fromhex(PLANTED["private key"])))),
    "private key as signer": End(MISUSED, lambda _: _signed(lambda one: one.verify(PRIVATE_KEY, nonce=0)), NEVER),
    "private key as another admin": End(MISUSED, lambda _: _signed(lambda one: one.typed_data(nonce=0, admin=PRIVATE_KEY)), NEVER),
    "private key as salt": End(MISUSED, lambda _: _signed(lambda one: one.typed_data(nonce=0, salt="0x" + PLANTED["private key"] * 2))),
    "private key as a signature of admins": End(MISUSED, lambda _: _signed(lambda one: one.transaction(cast(Any, PRIVATE_KEY), direct_transfer=True))),
    "private key as a transaction": End(MISUSED, lambda _: _signed(lambda one: one.explain(PRIVATE_KEY)), NEVER),
    "private key typed to confirm": End(MISUSED, lambda _: _withdrawn(to="0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", allow=PRIVATE_KEY)),
    # private keys passed to functions of chains
    "private key to recover": End(MISUSED, lambda _: chains.recover(b"0" * 32, PRIVATE_KEY), NEVER),
    "private key as octets": End(MISUSED, lambda _: chains.read_bytes(PRIVATE_KEY, 64, "x"), NEVER),
    "private key to verify": End(MISUSED, lambda _: chains.verify_ed25519("x", b"", PRIVATE_KEY)),
    "private key to verify with": End(MISUSED, lambda _: chains.verify_ed25519(PRIVATE_KEY * 2, b"", b"0" * 64)),
    "private key as call data": End(MISUSED, lambda _: chains.read_call_data(PRIVATE_KEY), NEVER),
    "private key as typed data": End(MISUSED, lambda _: chains.digest(_typed({"a": PRIVATE_KEY}))),
    "private key as parameters": End(MISUSED, lambda _: chains.read_parameters(84532, [PRIVATE_KEY] * 7)),
    "private key to write": End(MISUSED, lambda _: chains.write_signature(84532, cast(Any, PRIVATE_KEY)), NEVER),
    "private key itself": End(MISUSED, lambda _: refuse_private_key(PRIVATE_KEY, "x"), NEVER),
    "private key as a wallet of the sandbox": End(wb.WorkbenchError, lambda _: wb.Sandbox(seed=7).wallet(PRIVATE_KEY).sign(_typed({}))),
}  # fmt: skip
