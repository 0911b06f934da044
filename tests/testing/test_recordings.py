"""Recordings contain the calls in order, and nothing private."""

import json

import pytest

import workbench as wb
from tests.sandbox.driver import PERSON
from workbench import testing
from workbench.base.errors import NotFound, UsageError
from workbench.base.schema.walk import snake

APPLICANT = {snake(name): value for name, value in PERSON.items()}
APPLICANT["address"] = {snake(name): value for name, value in PERSON["address"].items()}


def lines(path):
    """Return the recorded calls."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def purchase(api, card):
    """Make a purchase, a reversal, a refused dispute update and a read."""
    made = api.simulate_authorization(
        card_id=card, amount=1250, currency="USD", merchant_name="Corner Grocery", merchant_category_code="5411"
    )
    api.simulate_reversal(transaction_id=made.transaction_id, new_amount=250)
    with pytest.raises(NotFound):
        api.update_dispute(dispute_id="00000000-0000-4000-8000-000000000000", status="canceled")
    return made, api.list_rewards_activity(user_id=APPLICANT["user"], limit=2)


@pytest.fixture
def recorded(tmp_path):
    api = wb.connect()
    guide = api.sandbox.guide()
    APPLICANT["user"] = guide["rewards_users"][0]["id"]
    with testing.record(api, tmp_path / "calls.ndjson"):
        answers = purchase(api, guide["cards"]["active"][0])
    return tmp_path / "calls.ndjson", guide["cards"]["active"][0], answers


def test_a_recording_holds_the_calls_in_order(recorded):
    calls = lines(recorded[0])

    assert [call["status"] for call in calls] == [200, 200, 404, 200]
    assert calls[0]["response_body"]["transactionId"] == recorded[2][0].transaction_id


def test_nothing_private_is_recorded(tmp_path):
    """The recording contains no private value of a request, response or error, and no key."""
    api = wb.connect(check=False)
    private = {"first_name": "Adalind", "national_id": "000654321", "birth_date": "1988-07-06"}
    with testing.record(api, tmp_path / "calls.ndjson"):
        api.create_user_application(**{**_applicant(), **private})
        api.list_contracts()
        with pytest.raises(wb.errors.BadRequest):
            api.create_user_application(**{**_applicant(), **private, "email": "canary"})
    text = (tmp_path / "calls.ndjson").read_text()

    assert not any(one in text for one in ("Adalind", "654321", "1988-07-06", "canary", api.sandbox.full_key))


def _applicant():
    return {name: value for name, value in APPLICANT.items() if name != "user"}


def test_a_recording_of_a_failing_service(tmp_path):
    """Each attempt is recorded, including one that fails."""
    api = testing.session(faults=[{"kind": "status", "of": "list_contracts", "status": 503, "times": 1}])
    with testing.record(api, tmp_path / "calls.ndjson"):
        assert api.list_contracts()
    assert [call["status"] for call in lines(tmp_path / "calls.ndjson")] == [503, 200]


def test_a_block_that_raises_is_recorded(recorded, tmp_path):
    """If the block raises, the calls before the error are recorded, and the error is raised."""

    def raise_after(calls, name):
        with testing.record(api, tmp_path / name):
            calls()
            raise ZeroDivisionError

    _, card, _ = recorded
    api = wb.connect()
    with pytest.raises(ZeroDivisionError):
        raise_after(lambda: purchase(api, card), "partly.ndjson")
    with pytest.raises(ZeroDivisionError):
        raise_after(lambda: None, "none.ndjson")

    assert len(lines(tmp_path / "partly.ndjson")) == 4
    assert not (tmp_path / "none.ndjson").exists()


@pytest.mark.parametrize("name", ["", "missing/calls.ndjson"], ids=["a folder", "a missing folder"])
def test_a_recording_that_cannot_be_written_begins_no_call(tmp_path, name):
    """The path is checked before the block runs, so that no call is carried out and then not recorded."""
    api, calls = wb.connect(), []
    with (
        pytest.raises(UsageError, match="path must name a file in an existing folder"),
        testing.record(api, tmp_path / name),
    ):
        calls.append(api.list_contracts())

    assert calls == []
