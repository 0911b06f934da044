"""Recordings: nothing private is in them, they play back strictly, and the sandbox is compared with them."""

import contextlib
import json

import pytest

import workbench as wb
from tests.sandbox.driver import PERSON
from workbench import testing
from workbench.base.errors import NotFound, NotSent, UnusableFile, UsageError
from workbench.base.schema.walk import snake

APPLICANT = {snake(name): value for name, value in PERSON.items()}
APPLICANT["address"] = {snake(name): value for name, value in PERSON["address"].items()}


def purchase(api, card):
    """Authorize, be refused a refund, reverse, and read."""
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
    with testing.record(api, tmp_path / "calls.har"):
        answers = purchase(api, guide["cards"]["active"][0])
    return tmp_path / "calls.har", guide["cards"]["active"][0], answers


def test_a_recording_answers_as_it_was_answered(recorded):
    path, card, answers = recorded
    with testing.replay(path) as api:
        made, page = purchase(api, card)

    assert made == answers[0]
    assert [one.points for one in page.items] == [one.points for one in answers[1].items]


@pytest.mark.parametrize("amount, card", [(1251, None), (1250, "00000000-0000-4000-8000-000000000000")])
def test_another_call_is_refused(recorded, amount, card):
    path, recorded_card, _ = recorded
    words = "call 1 of the recording is simulate_authorization, with another"
    with pytest.raises(NotSent, match=words) as refused, testing.replay(path) as api:
        api.simulate_authorization(
                card_id=card or recorded_card, amount=amount, currency="USD", merchant_name="Corner Grocery",
                merchant_category_code="5411",
            )  # fmt: skip

    assert not hasattr(refused.value, "__notes__")  # as that it may have been carried out
    assert [entry.outcome for entry in api.journal.list()] == ["not_sent"]


def test_calls_that_are_not_made_are_named(recorded):
    words = "not made: simulate_authorization, simulate_reversal, update_dispute"
    with pytest.raises(UsageError, match=words), testing.replay(recorded[0]):
        pass


def test_a_call_after_the_last_one_is_refused(recorded):
    path, card, _ = recorded
    with testing.replay(path) as api:
        purchase(api, card)
        with pytest.raises(NotSent, match="no more calls"):
            api.list_contracts()


def test_nothing_private_is_recorded(tmp_path):
    """Neither of a request, nor of a response, nor of an error's words; and the made-up values play back."""
    api = wb.connect(check=False)
    private = {"first_name": "Adalind", "national_id": "000654321", "birth_date": "1988-07-06"}
    with testing.record(api, tmp_path / "calls.har"):
        api.create_user_application(**{**_applicant(), **private})
        api.list_contracts()
        with pytest.raises(wb.errors.BadRequest):
            api.create_user_application(**{**_applicant(), **private, "email": "canary"})
    text = (tmp_path / "calls.har").read_text()

    assert not any(one in text for one in ("Adalind", "654321", "1988-07-06", "canary", api.sandbox.full_key))
    with testing.replay(tmp_path / "calls.har") as again:
        again = again.allowing(masked_value=True)
        assert again.create_user_application(**{**_applicant(), **private}).id
        assert len(again.list_contracts()) == len(api.list_contracts())
        with pytest.raises(wb.errors.WorkbenchError):
            again.create_user_application(**{**_applicant(), **private, "email": "ada@example.com"})


def _applicant():
    return {name: value for name, value in APPLICANT.items() if name != "user"}


def test_a_recording_of_a_failing_service(tmp_path):
    """A fault is played back as it came, so an application's own retries can be tested without a service."""
    api = testing.session(faults=[{"kind": "status", "of": "list_contracts", "status": 503, "times": 1}])
    with testing.record(api, tmp_path / "calls.har"):
        assert api.list_contracts()
    entries = json.loads((tmp_path / "calls.har").read_text())["log"]["entries"]

    assert [one["response"]["status"] for one in entries] == [503, 200]
    with testing.replay(tmp_path / "calls.har") as again:
        assert again.list_contracts()


@pytest.mark.parametrize("text", ["", "{}", '{"log": {"entries": [{}]}}', "[1]"])
def test_another_file_is_refused(tmp_path, text):
    (tmp_path / "calls.har").write_text(text)
    with pytest.raises(UnusableFile, match="is not a recording"):
        testing.Recording(tmp_path / "calls.har")


def test_a_sandbox_answers_as_it_was_recorded(recorded):
    """Ids and times of its own make no difference."""
    found = testing.compare_recording(recorded[0], wb.Sandbox())

    assert (found.ok, found.compared) == (True, ("calls.har",)), found.rows()


def test_a_service_that_differs_is_reported(recorded):
    """By the step, the member, and both values."""
    text = json.loads(recorded[0].read_text())
    answer = text["log"]["entries"][0]["response"]["content"]
    answer["text"] = answer["text"].replace("authorized", "declined")
    recorded[0].write_text(json.dumps(text))
    (one,) = testing.compare_recording(str(recorded[0]), wb.Sandbox()).rows()

    assert (one.step, one.path, one.a, one.b) == ("1 simulate_authorization", "answer.status", "declined", "authorized")


@pytest.mark.parametrize("url", ["http://[bad/v1/x", "http://a:99999999/v1", 7, None, ""])
def test_a_recording_with_a_broken_address_is_refused_or_empty(url, tmp_path):
    """No error of Python."""
    entry = {
        "request": {"method": "GET", "url": url},
        "response": {"status": 200, "headers": [], "content": {"text": ""}},
    }
    (tmp_path / "a.har").write_text(json.dumps({"log": {"entries": [entry]}}))
    with contextlib.suppress(UnusableFile):
        testing.Recording(tmp_path / "a.har")


def test_a_block_that_raises_is_recorded(recorded, tmp_path):
    """The calls that were answered before the error are written, and the error is that of the block."""

    def raise_after(calls, name):
        with testing.record(api, tmp_path / name):
            calls()
            raise ZeroDivisionError

    _, card, _ = recorded
    api = wb.connect()
    with pytest.raises(ZeroDivisionError):
        raise_after(lambda: purchase(api, card), "partly.har")
    with pytest.raises(ZeroDivisionError):
        raise_after(lambda: None, "none.har")
    with testing.replay(tmp_path / "partly.har") as again:
        made, _ = purchase(again, card)

    assert made.transaction_id
    assert not (tmp_path / "none.har").exists()
