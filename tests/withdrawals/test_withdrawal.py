"""A signed withdrawal: expiry by the service's clock, differences from the request, and a masked signature."""

import copy
import gc
import json
import logging
import pickle
from datetime import timedelta
from decimal import Decimal

import attrs
import pytest

import workbench as wb
from tests.withdrawals.lessons import NOON, RECIPIENT, Service, answered, planned, transacted
from workbench.base.errors import UsageError
from workbench.client.withdrawals.wallet import SHOWN_FOR, AdminSignature, Secret
from workbench.service import rendering


def signed(contract, skew=None, changes=None, **plan):
    """Return a withdrawal and its clock, from a service that answers with these changes."""
    api = Service(contract, answered(contract, **(changes or {})), skew=skew)
    return api.plan(**plan).sign(), api.clock


def test_the_time_left(contract):
    """The countdown follows the clock, and ends at the expiry."""
    withdrawal, clock = signed(contract)

    assert (timedelta(minutes=10), "10 min 0 s left") == (withdrawal.remaining(), withdrawal.countdown())
    clock.at += timedelta(seconds=558)
    assert "42 s left" == withdrawal.countdown()
    clock.at += timedelta(seconds=84)
    assert (True, "this signature expired 42 s ago") == (withdrawal.expired, withdrawal.countdown())


@pytest.mark.parametrize(
    "skew, left, said",
    [
        (-540.0, 60, "this signature expired 42 s ago (your clock is 9 min 0 s slow)"),
        (600.0, 1200, "this signature expired 42 s ago (your clock is 10 min 0 s fast)"),
        (86_401.0, 87_001, "this signature expired 42 s ago (the service's clock is 1 d 0 h behind yours)"),
        (1.4, 600, "this signature expired 42 s ago"),
        (float("nan"), 600, "this signature expired 42 s ago"),
        (None, 600, "this signature expired 42 s ago"),
    ],
)
def test_the_service_s_clock_counts(contract, skew, left, said):
    """The expiry is judged by the service's Date, regardless of this machine's clock."""
    withdrawal, clock = signed(contract, skew)

    assert timedelta(seconds=left) == withdrawal.remaining()
    clock.at += timedelta(seconds=left + 42)
    assert said == withdrawal.countdown()


def test_it_expires_by_the_clock_of_the_sandbox(api):
    """With a sandbox its clock counts: after the expiry nothing shows the signature."""
    withdrawal = planned(api).sign()
    transaction = transacted(api, withdrawal)
    api.sandbox.advance(minutes=10)

    assert withdrawal.expired
    for use in (
        withdrawal.reveal,
        withdrawal.parameters,
        withdrawal.transaction,
        lambda: withdrawal.typed_data(nonce=0),
    ):
        with pytest.raises(UsageError, match="this signature expired 0 s ago"):
            use()
    assert not held(withdrawal)
    assert "could take 25.00 USD" in str(withdrawal)
    with pytest.raises(wb.errors.BadRequest, match="expired"):
        api.sandbox.execute(transaction)


@pytest.mark.parametrize(
    "expires_at, note",
    [
        ("2027-11-21T12:00:00Z", "the signature is valid for an unusually long time: 365 d 0 h"),
        ("2026-11-21T12:10:00", "expiresAt"),
    ],
)
def test_unusual_expiries_are_noted(contract, expires_at, note):
    """A distant expiry, and an expiry without a time zone, are noted."""
    withdrawal, _ = signed(contract, changes={"expiresAt": expires_at, "parameters": None})

    assert any(note in one for one in withdrawal.notes)
    assert withdrawal.ready


def test_no_end_at_all(contract):
    """Without an expiry the withdrawal says so, and returns no call."""
    withdrawal, _ = signed(
        contract, changes={"expiresAt": None, "parameters": None}, amount=wb.withdrawals.native_units(25_000_000)
    )

    assert "the service did not state an expiry" == withdrawal.countdown()
    assert "an expiry that the service did not state" in withdrawal.summary
    with pytest.raises(UsageError, match="expires_at is missing"):
        withdrawal.transaction(direct_transfer=True)


def changed(contract, place, value):
    parameters = answered(contract)["parameters"]
    parameters[place] = value
    return parameters


OTHER = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
DIFFERENCES = {
    "another recipient": (3, OTHER, "is not the requested recipient"),
    "another contract": (0, OTHER, "is not the requested contract"),
    "another token": (1, OTHER, "is not the requested token"),
    "another end": (4, int(NOON.timestamp()) + 601, "differs from expiresAt"),
    "another salt": (5, [1] * 32, "or their salts, differ"),
    "another signature": (6, "0x" + "12" * 64 + "1b", "signature.data"),
    "another count": (2, "25000001", "the decimals may be wrong"),
}


@pytest.mark.parametrize("place, value, words", DIFFERENCES.values(), ids=DIFFERENCES)
def test_an_answer_to_another_question(contract, place, value, words):
    """Parameters that differ from the request are reported, and the signature is withheld."""
    withdrawal, _ = signed(contract, changes={"parameters": changed(contract, place, value)})

    assert not withdrawal.ready
    assert "Do not use it" in str(withdrawal)
    with pytest.raises(UsageError, match=words):
        withdrawal.reveal()


def test_another_amount_in_native_units(contract):
    """An answer must repeat an amount in native units exactly."""
    changes = {"parameters": changed(contract, 2, "25000001")}
    withdrawal, _ = signed(contract, changes=changes, amount=wb.withdrawals.native_units(25_000_000))

    assert ["is not the requested amount"] == [problem.message for problem in withdrawal.problems]


def test_another_chain(contract):
    """An answer must name the contract's chain."""
    withdrawal, _ = signed(contract, changes={"chainId": "0x1"})

    assert ["differs from the contract's chain"] == [problem.message for problem in withdrawal.problems]


@pytest.mark.parametrize("rate, decimals", [("2", 6), ("2650.50", 6), ("1.05", 5), ("1", 7)])
def test_an_amount_that_contradicts_decimals_and_rate(contract, rate, decimals):
    """A signed amount that decimals and rate do not explain is refused."""
    token = attrs.evolve(contract.tokens[0], exchange_rate=Decimal(rate))
    withdrawal, _ = signed(attrs.evolve(contract, tokens=(token,)), decimals=decimals)

    assert not withdrawal.ready
    with pytest.raises(UsageError, match=r"25,000,000 native units, but 25\.00 USD with . decimals .* may be wrong"):
        withdrawal.reveal()


def test_a_rate_that_moved_a_little(contract):
    """A signed amount within a twentieth of the listed rate is accepted, because rates change."""
    token = attrs.evolve(contract.tokens[0], exchange_rate=Decimal("1.03"))
    withdrawal, _ = signed(attrs.evolve(contract, tokens=(token,)))

    assert withdrawal.ready
    assert withdrawal.units == wb.withdrawals.native_units(25_000_000)


def test_parameters_we_do_not_know(contract):
    """Parameters of another form do not make the signature invalid, but `units` is then required."""
    withdrawal, _ = signed(contract, changes={"parameters": [1, 2, 3]})

    assert withdrawal.ready
    assert any("parameters do not have the expected form" in note for note in withdrawal.notes)
    with pytest.raises(UsageError, match="units is required"):
        withdrawal.typed_data(nonce=0)
    assert (
        "25000000" == withdrawal.typed_data(nonce=0, units=wb.withdrawals.native_units(25_000_000))["message"]["amount"]
    )


def test_units_that_differ(contract):
    """Explicit units must be native units and equal the signed amount."""
    withdrawal, _ = signed(contract)

    with pytest.raises(UsageError, match="differs from the amount that the service signed, 25,000,000 native units"):
        withdrawal.typed_data(nonce=0, units=wb.withdrawals.native_units(2500))
    with pytest.raises(UsageError, match="must be an amount in native units"):
        withdrawal.typed_data(nonce=0, units=wb.withdrawals.usd("25.00"))


@pytest.mark.parametrize("data", ["0x1234", "nonsense", "00" * 64], ids=["short", "no bytes", "64 bytes"])
def test_a_signature_that_cannot_be_read(contract, data):
    """An unreadable signature is reported, and not shown."""
    withdrawal, _ = signed(contract, changes={"signature": {"data": data, "salt": "WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo="}})  # fmt: skip

    assert "The answer cannot be used" in str(withdrawal)
    assert [data in str(problem) for problem in withdrawal.problems] == [False]


def test_revealing(contract):
    """A revealed signature can be read for one minute, prints masked, and is then discarded."""
    withdrawal, clock = signed(contract)
    shown = withdrawal.reveal()

    assert "0x" + "11" * 64 + "1b" == shown.data
    assert shown.salt.startswith("Wlpa")
    assert "11" not in repr(shown)
    assert "11" not in str(shown)
    clock.at += timedelta(seconds=SHOWN_FOR)
    with pytest.raises(UsageError, match="the 60 s for reading the signature have passed"):
        _ = shown.data
    clock.at -= timedelta(seconds=SHOWN_FOR)
    with pytest.raises(UsageError, match="have passed"):
        _ = shown.data


def test_hiding(contract):
    """A revealed signature can be hidden early."""
    shown = signed(contract)[0].reveal()
    shown.hide()

    assert 0 == shown.seconds_left
    with pytest.raises(UsageError):
        _ = shown.salt


def test_that_it_was_shown_is_noted(api):
    """The journal notes that a signature was revealed, without the signature."""
    withdrawal = planned(api).sign()
    data = withdrawal.reveal().data
    (note,) = api.journal.notes

    assert ("revealed", f"withdrawal signature for 25.00 USD to {RECIPIENT}") == (note.kind, note.text)
    assert data not in repr(api.journal.notes)


def held(withdrawal):
    """Return the signatures that a withdrawal and its parts refer to."""
    parts = gc.get_referents(withdrawal)
    return [one for one in (*parts, *gc.get_referents(*parts)) if isinstance(one, Secret)]


def secrets_of(withdrawal):
    """Return the signature and the salt in each text form that must not appear."""
    shown, (secret,) = withdrawal.reveal(), held(withdrawal)
    return [
        shown.data, shown.salt, secret.data.hex(), secret.salt.hex(), repr(secret.data)[2:-1], repr(secret.salt)[2:-1],
        ", ".join(map(str, secret.salt)),
    ]  # fmt: skip


def test_an_expired_signature_is_deleted(contract):
    """An expired withdrawal no longer refers to its signature."""
    withdrawal, clock = signed(contract)

    assert held(withdrawal)
    clock.at += timedelta(minutes=11)
    assert not withdrawal.ready
    assert not held(withdrawal)


def dumps(thing):
    """Yield the text of an object in every way of printing or storing it."""
    yield repr(thing)
    yield f"{thing}"
    yield f"{thing!r}"
    yield rendering.plain(thing)
    yield rendering.html(thing)
    yield repr(getattr(thing, "__dict__", ""))
    for name in ("_repr_html_", "sheet"):
        if hasattr(thing, name):
            yield str(getattr(thing, name)())
    # search all slots, except in the two classes that may hold the signature
    if not isinstance(thing, Secret | AdminSignature):
        for name in getattr(type(thing), "__slots__", ()):
            yield repr(getattr(thing, name, ""))
    try:
        yield json.dumps(thing, default=repr) if not isinstance(thing, dict | list | str) else ""
        yield repr(attrs.asdict(thing)) if attrs.has(type(thing)) else ""
    except TypeError:
        yield ""


def test_the_signature_is_nowhere(api, caplog):
    """No dump of a plan, withdrawal or transaction, and neither journal nor log, contains the signature."""
    caplog.set_level(logging.DEBUG)
    plan = planned(api)
    withdrawal = plan.sign()
    message = withdrawal.typed_data(nonce=0)
    half = message.accept(api.sandbox.wallet(plan.admin).sign(message))
    transaction = withdrawal.transaction(half, direct_transfer=True)
    other = planned(api, 2).sign()
    things = [
        plan, withdrawal, withdrawal.reveal(), *held(withdrawal), message, half, transaction,
        transaction["to"], withdrawal.explain(transaction), other, other.parameters(), api.journal,
        *api.journal, *api.journal.notes,
    ]  # fmt: skip
    things += [repr(transaction["data"]), repr(list(transaction.items())), repr([withdrawal, transaction, half])]
    seen = "\n".join(text for thing in things for text in dumps(thing)) + caplog.text

    found = [secret for secret in (*secrets_of(withdrawal), *secrets_of(other)) if secret and secret in seen]
    assert found == []
    assert half.signature.hex() not in seen


def test_nothing_of_it_is_pickled_or_copied(api):
    """Objects that contain a signature cannot be pickled or copied."""
    withdrawal = planned(api).sign()
    transaction = transacted(api, withdrawal)
    other = planned(api, 2).sign()

    for thing in (
        withdrawal,
        withdrawal.reveal(),
        *held(withdrawal),
        transaction,
        transaction["data"],
        other.parameters(),
    ):
        for keep in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot be pickled or copied"):
                keep(thing)


def test_the_face(api):
    """Text and HTML show admin, amount, contract, recipient and expiry, and mask the signature."""
    withdrawal = planned(api).sign()

    for face in (str(withdrawal), withdrawal._repr_html_()):
        for words in (RECIPIENT, withdrawal.plan.admin, "25.00 USD", "25,000,000", "10 min 0 s left", "•••", "2026-01-15 15:10:00 UTC"):  # fmt: skip
            assert words in face
    assert "•••" in repr(withdrawal)


def test_hostile_words(contract):
    """A status from the service is shown as text."""
    withdrawal, _ = signed(contract, changes={"status": "<b>\u202e\x1b[31m"})

    assert "<b>" not in withdrawal._repr_html_()
    assert "\x1b" not in str(withdrawal) + repr(withdrawal)


def test_the_status_on_the_sheet(contract):
    """The sheet shows the answer's status while the signature is valid, then `expired`."""
    service = Service(contract, answered(contract))
    withdrawal = service.plan().sign()
    assert "".join(withdrawal.sheet().status.lines) == "✓ ready"

    service.clock.at += timedelta(days=1)
    assert "".join(withdrawal.sheet().status.lines) == "• expired"
