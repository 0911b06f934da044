"""Guards before effects in production, which do not apply to sandboxes."""

from typing import Any

import pytest

import workbench as wb
from tests.client.doubles import AUTHORIZED, CARD, PURCHASE, FakeClock, Service, client_on
from tests.each import each
from workbench.base.errors import CannotRecord, InvalidRequest, NotArmed, UsageError, WrongEnvironment
from workbench.client.calls.guards import Limits, confirmation_text
from workbench.client.calls.journal import Journal, recorder_of
from workbench.service.interface.table import OPERATIONS

EVM = "0xABaBaBaBABabABabAbAbABAbABabababaBaBABaB"
SOLANA = "4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T"
USER = {"id": CARD}


def _production(service: Service, **more: Any) -> Any:
    return client_on(service, **{"environment": "production", "journal": Journal(), **more})


def _withdrawal(**more: Any) -> dict[str, Any]:
    return {
        "token": EVM, "amount": "2500", "is_amount_native": False, "admin_address": EVM, "recipient_address": EVM,
        **more,
    }  # fmt: skip


def test_production_reads_without_a_word() -> None:
    """Reads need no arming."""
    service = Service([])
    _production(service).list_contracts()

    assert service.count == 1


def test_effects_in_production_are_armed_first() -> None:
    """An effect in production needs arming for its operation. The arming expires and is recorded."""
    clock = FakeClock()
    service = Service(USER)
    client = _production(service, clock=clock)
    with pytest.raises(NotArmed, match=r"arm\(operations=\{\"update_user\"\}"):
        client.update_user(user_id=CARD, first_name="Grace")
    client.arm(operations={"update_user"}, minutes=10, reason="ticket 7")
    client.update_user(user_id=CARD, first_name="Grace")
    with pytest.raises(NotArmed, match="Armed now: update_user"):
        client.delete_payment_account(payment_account_id=CARD)
    assert "ARMED until" in repr(client)
    clock.at += 599.5
    assert client.armed is not None
    clock.at += 0.5
    with pytest.raises(NotArmed):
        client.update_user(user_id=CARD, first_name="Ada")

    assert service.count == 1
    assert "not armed" in repr(client)
    assert [note.kind for note in client.journal.notes] == ["armed"]
    assert "ticket 7" in client.journal.notes[0].text


def test_arming_holds_for_views_and_can_be_taken_back() -> None:
    """Arming applies to the views of a client, and `disarm` revokes it immediately."""
    client = _production(Service(USER))
    client.arm(operations=[client.update_user, OPERATIONS["update_ubo"]], minutes=1, reason="x")
    assert {"update_user", "update_ubo"} == client.allowing(again=True).armed.operations
    client.disarm()

    assert client.armed is None


def test_a_machine_that_slept_is_not_armed() -> None:
    """Arming expires by the wall clock too, which continues while a machine sleeps."""
    clock = FakeClock()
    client = _production(Service(USER), clock=clock)
    client.arm(operations={"update_user"}, minutes=10, reason="x")
    clock.start = clock.start.replace(hour=20)

    assert client.armed is None


@each(
    "operations, minutes, reason, wrong",
    [({"list_contracts"}, 1, "x", "operations"), ("nothing", 1, "x", "operations"), (set(), 1, "x", "operations"),
     ({"update_user"}, 0, "x", "minutes"), ({"update_user"}, 1000, "x", "minutes"), ({"update_user"}, True, "x", "minutes"),
     ({"update_user"}, 1, " ", "reason")],
    ids=map(str, range(7)),
)  # fmt: skip
def test_arming_is_said_properly(operations: Any, minutes: Any, reason: str, wrong: str) -> None:
    """Arming requires operations with an effect, a limited time and a reason."""
    with pytest.raises(UsageError, match=wrong):
        _production(Service(USER)).arm(operations=operations, minutes=minutes, reason=reason)


def test_readonly_beats_arming(monkeypatch: pytest.MonkeyPatch) -> None:
    """With WORKBENCH_READONLY=1 no effect is sent to a real service, even if armed."""
    service = Service(USER)
    client = _production(service)
    client.arm(operations={"update_user"}, minutes=10, reason="x")
    monkeypatch.setenv("WORKBENCH_READONLY", "1")
    with pytest.raises(NotArmed, match="WORKBENCH_READONLY"):
        client.update_user(user_id=CARD, first_name="Grace")
    with pytest.raises(UsageError, match="WORKBENCH_READONLY"):
        client.arm(operations={"update_user"}, minutes=10, reason="x")

    assert service.count == 0


@pytest.mark.parametrize("base_url", ["https://api.example.com/v1", "http://127.0.0.1:9/v1"], ids=["named", "loopback"])
def test_readonly_stops_every_effect_that_leaves_the_process(monkeypatch: pytest.MonkeyPatch, base_url: str) -> None:
    """WORKBENCH_READONLY also covers a custom transport, and a port of this machine, which may be a tunnel."""
    monkeypatch.setenv("WORKBENCH_READONLY", "1")
    service = Service(AUTHORIZED)
    with pytest.raises(NotArmed, match="WORKBENCH_READONLY"):
        client_on(service, base_url=base_url).simulate_authorization(**PURCHASE)

    assert service.count == 0


def test_readonly_lets_sandboxes_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """WORKBENCH_READONLY does not apply to an embedded sandbox, or to a served sandbox of the workbench."""
    monkeypatch.setenv("WORKBENCH_READONLY", "1")
    with wb.Sandbox().serve() as url:
        for api in (wb.connect(seed=1), wb.connect(url)):
            card = api.sandbox.guide()["cards"]["active"][0]

            assert api.simulate_authorization(**{**PURCHASE, "card_id": card}).transaction_id
            api.close()


def test_simulations_are_refused_before_arming_is_asked() -> None:
    """In production a simulation is refused as sandbox-only, before arming is checked."""
    with pytest.raises(WrongEnvironment):
        _production(Service(USER)).simulate_authorization(**PURCHASE)


def test_production_always_has_a_journal() -> None:
    """A client for production needs a journal, and a client needs a valid environment."""
    with pytest.raises(UsageError, match="journal"):
        _production(Service(USER), journal=False)
    with pytest.raises(UsageError, match="environment"):
        client_on(Service(USER), environment="prod")


@each(
    "limits, arguments, right",
    [(Limits(amount=2499), {}, False), (Limits(amount=2500), {}, True),
     (Limits(amount=10**9), {"is_amount_native": True}, False),
     (Limits(amount=1, native_amount=2500), {"is_amount_native": True}, True),
     (Limits(native_amount=2499), {"is_amount_native": True}, False),
     (Limits(recipients=(EVM,)), {}, True), (Limits(recipients=(EVM.lower().replace("0X", "0x"),)), {}, True),
     (Limits(recipients=(SOLANA,)), {"recipient_address": SOLANA.swapcase()}, False), (Limits(recipients=()), {}, False)],
    ids=map(str, range(9)),
)  # fmt: skip
def test_caps_and_recipients(limits: Limits, arguments: dict[str, Any], right: bool) -> None:
    """The profile's caps and its list of recipients apply before anything is sent."""
    service = Service({"status": "pending"})
    client = client_on(service, limits=limits, check=False)
    if right:
        client.sign_withdrawal(**_withdrawal(**arguments))
    else:
        with pytest.raises(InvalidRequest, match=r"limits"):
            client.sign_withdrawal(**_withdrawal(**arguments))

    assert service.count == int(right)


@each(
    "name, arguments, types",
    [("sign_withdrawal", _withdrawal(), "2500 " + EVM[-8:]),
     ("delete_payment_account", {"payment_account_id": CARD}, "00000001"),
     ("update_dispute", {"dispute_id": CARD, "status": "canceled"}, "00000001"),
     ("update_dispute", {"dispute_id": CARD, "text_evidence": "x"}, None),
     ("update_user", {"user_id": CARD, "is_active": False}, "00000001"),
     ("update_user", {"user_id": CARD, "wallet_address": EVM}, "00000001"),
     ("update_user", {"user_id": CARD, "first_name": "Grace"}, None)],
    ids=map(str, range(7)),
)  # fmt: skip
def test_what_is_typed_before_it_cannot_be_taken_back(name: str, arguments: dict[str, Any], types: str | None) -> None:
    """A person confirms irreversible calls by typing a text, and no other calls."""
    row = OPERATIONS[name]
    assert row.effect is not None
    asked = row.effect.confirm(row.request(**arguments))

    assert types == (asked.types if asked else None)


def test_amounts_and_destinations_are_confirmed_first() -> None:
    """A confirmation in production begins with the values that cannot be undone."""
    row = OPERATIONS["sign_withdrawal"]
    lines = confirmation_text(row, row.request(**_withdrawal()), "api.example.com").splitlines()

    assert lines[0].startswith("PRODUCTION, api.example.com: sign_withdrawal: ")
    assert [line.partition(":")[0] for line in lines[1:]] == [
        "amount",
        "isAmountNative",
        "token",
        "adminAddress",
        "recipientAddress",
    ]


def test_what_cannot_be_recorded_is_not_armed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arming fails if the journal cannot record it."""
    client = _production(Service(USER))

    def full(*_: Any) -> None:
        raise CannotRecord("full")

    monkeypatch.setattr(recorder_of(client.journal), "note", full)
    with pytest.raises(CannotRecord):
        client.arm(operations={"update_user"}, minutes=10, reason="x")

    assert client.armed is None
