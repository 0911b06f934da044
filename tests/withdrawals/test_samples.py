"""Recorded answers are read, compared with the request, and used."""

import json
from datetime import timedelta

import attrs

import workbench as wb
from tests.conftest import RECORDED, SAMPLES
from tests.withdrawals.lessons import Service

MET = RECORDED / "sign_withdrawal.200.ready.json"


def test_an_answer_with_unix_seconds(contract):
    """An expiry in Unix seconds as text is read, and parameters of another form give only a note."""
    raw = json.loads((SAMPLES / "sign_withdrawal.200.unix.json").read_bytes())
    service = Service(contract, raw)
    service.clock.at -= timedelta(hours=2)
    withdrawal = service.plan().sign()

    assert withdrawal.ready
    assert 1795255800 == int(withdrawal.expires_at.timestamp())
    assert [note.partition(":")[0] for note in withdrawal.notes] == [
        "the answer's parameters do not have the expected form",
        "the service names another sender than the admin",
    ]


def test_the_project_s_pending_answer(contract):
    """The pending sample says when to request again."""
    raw = json.loads((SAMPLES / "sign_withdrawal.200.pending.json").read_bytes())

    assert ("pending", 3) == ((withdrawal := Service(contract, raw).plan().sign()).status, withdrawal.retry_after)


def test_an_answer_met_on_stellar(api):
    """A recorded Stellar answer agrees with its request, and its parameters are returned unchanged."""
    raw = json.loads(MET.read_bytes())
    proxy, token, units, recipient, *_ = raw["parameters"]
    bare = api.list_contracts()[3]
    tokens = (attrs.evolve(bare.tokens[0], address=token),)
    contract = attrs.evolve(
        bare, proxy_address=proxy, deposit_address=None, tokens=tokens, admin_addresses=(recipient,)
    )
    service = Service(contract, raw)
    service.clock.at = wb.connect().sandbox.clock.now()
    withdrawal = service.plan(3, contract=contract, to=recipient, amount=wb.withdrawals.native_units(int(units))).sign()

    assert ((), ()) == (withdrawal.problems, tuple(note for note in withdrawal.notes if "unusually long" not in note))
    assert raw["parameters"] == withdrawal.parameters()
    assert raw["signature"]["data"] == withdrawal.reveal().data
