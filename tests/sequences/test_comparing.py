"""Two services are compared by the runs of sequences, two worlds by their records; private values stay masked."""

import re

import pytest

import workbench as wb
from workbench.analysis.tables.frames import to_frame
from workbench.base.errors import UsageError
from workbench.runs.sequences import catalogue
from workbench.sandbox import Sandbox
from workbench.sandbox.internals import internals
from workbench.service.interface.assumptions import BEHAVIORS
from workbench.testing.flips import flipped


@pytest.mark.slow
def test_two_behaviors_differ_where_their_settings_do() -> None:
    """Every difference has its step, path and severity; those of an answer name the behaviors it rests on."""
    found = wb.compare_behavior("documented", "observed")
    rows = {(one.of, one.step, one.path): one for one in found.rows()}
    full = rows["refund-amount-omitted", "refund", "outcome"]

    assert found.counts["sequences"] == len(catalogue) + 2  # and two reads
    assert (full.a, full.b, full.severity) == ("done", "refused", "outcome")
    assert "refund_amount_omitted" in full.assumptions
    assert rows["reverse-full", "reverse", "event 2"].severity == "shape"
    assert "full_reversal" in rows["reverse-full", "reverse", "event 2"].assumptions
    assert not any(path.startswith("event 2.") for of, step, path in rows if (of, step) == ("reverse-full", "reverse"))
    assert list(to_frame(found).columns)[:4] == ["of", "step", "path", "a"]
    assert "compared 54 sequences" in found.verdict


OTHER_VALUES = {
    "settle_route": False, "settle_by_clock": 30, "over_limit": "authorized", "currency": ("USD", "EUR"), "review_seconds": 90,
    "event_authorized_amount": "original", "previously_authorized": True, "event_version": "2.0.0", "event_retries": (3, 1, 2, 60), "event_retry_spread": 0.5,
    "deprecated_alias": False, "unknown_members": True, "unknown_values": ("status",), "tightened_roles": {"list_contracts": "x"},
}  # fmt: skip
SETTABLE = [row for row in BEHAVIORS.values() if row.settable]


def test_sessions_are_compared_as_their_names_are() -> None:
    """Sessions on sandboxes of two behaviors differ as the behaviors do, and stay unchanged."""
    sessions = [wb.connect(), wb.connect(behavior="observed")]
    by_session = wb.compare_behavior(*sessions)
    by_name = wb.compare_behavior("documented", "observed")

    assert by_name.verdict == by_session.verdict
    assert not by_session.ok
    assert sessions[0].sandbox.requests() == []


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row.id, marks=pytest.mark.soak if number % 8 else pytest.mark.slow)
        for number, row in enumerate(SETTABLE)
    ],
)
def test_every_other_setting_is_found(row) -> None:
    """Between sandboxes that differ in one setting, also where no call shows it."""
    other = wb.Sandbox(behavior={row.id: OTHER_VALUES.get(row.id, flipped(row.id, row.documented))})
    found = wb.compare_behavior(wb.Sandbox(), other)

    assert not found.ok, found.verdict


def test_a_tightened_role_of_a_read_is_found() -> None:
    """By the answer to the read, also where the settings of the service cannot be looked at."""
    found = wb.compare_behavior(wb.Sandbox(), wb.Sandbox(behavior={"tightened_roles": {"list_contracts": "newRole"}}))

    assert ("list-contracts", "outcome", "done", "refused") in {
        (one.of, one.path, one.a, one.b) for one in found.rows()
    }


@pytest.mark.parametrize("behavior", ["documented", "observed"])
def test_a_verdict_says_how_much_was_compared(behavior) -> None:
    """Of equal services too; another seed makes no difference to any sequence or read."""
    found = wb.compare_behavior(Sandbox(seed=3, behavior=behavior), Sandbox(seed=4, behavior=behavior))

    assert found.ok, found.rows()
    assert re.fullmatch(r"compared 54 sequences, \d+ calls, \d+ events, [\d,]+ values: no difference", found.verdict)


def test_nothing_compared_is_not_fine() -> None:
    found = wb.compare_behavior(wb.Sandbox(), wb.Sandbox(), sequences=[])

    assert not found.ok
    assert "compared 0 sequences" in found.verdict


def test_seeds_make_no_difference() -> None:
    """Ids and times are compared by where they come from; the sandboxes stay as they are."""
    sides = [Sandbox(seed=seed) for seed in (3, 4)]
    found = wb.compare_behavior(
        *sides, sequences=["refund-partial", "application-approved", "dispute-canceled-with-evidence"]
    )

    assert found.ok, found.rows()
    assert [internals(side).last_event() for side in sides] == [0, 0]


def test_what_cannot_run_is_said() -> None:
    """A sequence with examples that one side does not have is skipped, with the reason."""
    sandbox = Sandbox(seed=3)
    other = internals(sandbox).for_key(sandbox.guide()["api_keys"]["no corporate cards"])
    found = wb.compare_behavior(
        wb.connect(seed=3), wb.connect(seed=3, tenant="no corporate cards"), sequences=["settle"]
    )

    assert other is not sandbox
    assert "cards.active" in found.skipped["settle"]
    assert "not compared: settle" in found.verdict


def test_wrong_arguments() -> None:
    """An unknown sequence."""
    with pytest.raises(UsageError, match="not a sequence of the catalogue"):
        wb.compare_behavior("documented", "observed", sequences=["nope"])
