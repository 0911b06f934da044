"""Disputes can be canceled or given evidence, and nothing else. Source: Endpoints 10."""

import pytest

import workbench as wb

NOBODY = "00000000-0000-4000-8000-000000000000"


def update(api, dispute, **members):
    return api.call("PATCH", f"/issuing/disputes/{dispute}", members)


@pytest.mark.parametrize("status", ["pending", "inReview"])
def test_an_open_dispute_can_be_canceled(api, status):
    dispute = api.guide["disputes"][status][0]

    answer = update(api, dispute, status="canceled")

    assert (200, "canceled", dispute) == (answer.status, answer.body["status"], answer.body["id"])
    assert answer.body["resolvedAt"] == "2026-01-15T15:00:00.000Z"
    assert [dispute] == [one for one in api.sandbox.guide()["disputes"]["canceled"] if one == dispute]


@pytest.mark.parametrize("status", ["accepted", "rejected", "canceled"])
@pytest.mark.parametrize("members", [{"status": "canceled"}, {"textEvidence": "more"}], ids=["cancel", "evidence"])
def test_a_closed_dispute_takes_nothing(api, status, members):
    """A second cancel, and evidence for a canceled dispute, get a 400 and change nothing."""
    dispute = api.guide["disputes"][status][0]
    before = api.sandbox.state(dispute)

    assert update(api, dispute, **members).status == 400
    assert before == api.sandbox.state(dispute)


def test_evidence_is_added(api):
    """Text evidence is appended to the earlier evidence."""
    dispute = api.guide["disputes"]["pending"][0]
    update(api, dispute, textEvidence="first")

    answer = update(api, dispute, textEvidence="second")

    assert (answer.body["textEvidence"], answer.body["status"]) == ("first\nsecond", "pending")


def test_cancel_and_evidence_in_one_call_both_take_effect(api):
    answer = update(api, api.guide["disputes"]["inReview"][0], status="canceled", textEvidence="why")

    assert (answer.body["status"], answer.body["textEvidence"]) == ("canceled", "why")


@pytest.mark.parametrize("status", ["pending", "accepted", "CANCELED", "", None, 1])
def test_canceled_is_the_only_status_one_can_set(api, status):
    assert update(api, api.guide["disputes"]["pending"][0], status=status).status == 400


@pytest.mark.parametrize("length, status", [(65_535, 200), (65_536, 400)])
def test_evidence_has_at_most_65535_characters(api, length, status):
    assert status == update(api, api.guide["disputes"]["pending"][0], textEvidence="é" * length).status


def test_evidence_that_is_all_escapes_is_still_taken(api):
    """Evidence of the maximum length is accepted even if each character is escaped with twelve bytes."""
    assert update(api, api.guide["disputes"]["pending"][0], textEvidence="\U0001f600" * 65_535).status == 200


def test_evidence_in_several_parts_has_the_same_limit(api):
    dispute = api.guide["disputes"]["pending"][0]

    assert [update(api, dispute, textEvidence="x" * 40_000).status for _ in range(2)] == [200, 400]


def test_an_empty_update_changes_nothing(api):
    dispute = api.guide["disputes"]["rejected"][0]
    before = api.sandbox.state(dispute)

    assert (update(api, dispute).status, update(api, dispute).body["status"]) == (200, "rejected")
    assert before == api.sandbox.state(dispute)


def test_an_unknown_dispute_is_404(api):
    assert update(api, NOBODY).body["message"] == "Dispute not found"


def test_a_refund_of_a_disputed_purchase_has_an_event():
    """After a refund of a disputed purchase `events()` works (it raised `KeyError: 'cleared'`)."""
    with wb.connect(seed=1) as api:
        disputed = api.sandbox.records("dispute")[0]["transaction"]
        api.simulate_refund(transaction_id=disputed, amount=500)

        assert [event.payload["body"]["spend"]["amount"] for event in api.sandbox.events()][-1] == -500
