"""Each drill is solved by the sample answer, and by none of the plausible wrong answers."""

import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.each import some
from workbench import course
from workbench.course.learner import Feedback
from workbench.course.task_files import DRILLS

pytestmark = pytest.mark.slow  # each test simulates an incident

BAD = [
    ("duplicate-bookings", "one of two", 'wb.course.answer("duplicate-bookings", transactions=facts["ledger"][1][0], cents=480)'),
    ("duplicate-bookings", "the wrong sum", "ANSWER\nwb.course.answer('duplicate-bookings', cents=480)"),
    ("unknown-refunds", "all again", "for one in facts['transactions'][:3]:\n    api.simulate_refund(transaction_id=one, amount=500)"),
    ("unknown-refunds", "nothing", "pass"),
    ("unknown-refunds", "the missing one, and 1.00 more", "ANSWER\napi.simulate_refund(transaction_id=facts['transactions'][0], amount=100)"),
    ("rotated-key", "the old key", "ANSWER_WITH facts['signing_key'] = 'drill-key-0001'"),
    ("rotated-key", "unsigned deliveries", "ANSWER_AS wb.Inbox(keys=[facts[\"signing_key\"]]) -> wb.Inbox(accept_unsigned=True)"),
    ("rotated-key", "a missed purchase refunded", "ANSWER_WITH api.simulate_refund(transaction_id=[row['id'] for row in api.sandbox.records('transaction') if row['settled'] == 1200][-1], amount=100)"),
    ("wrong-decimals", "what there is", "ANSWER_AS usd(\"40.00\") -> usd(\"4000.00\")"),
    ("wrong-decimals", "20.00 twice", "ANSWER_AS usd(\"40.00\") -> usd(\"20.00\")\nANSWER_AS usd(\"40.00\") -> usd(\"20.00\")"),
    ("cut-rewards", "to the offset", "ANSWER\nwb.course.answer('cut-rewards', items=10000)"),
    ("cut-rewards", "one type", "ANSWER\nwb.course.answer('cut-rewards', items=9675)"),
    ("cut-rewards", "what the guide says, unread", "user = next(one for one in api.sandbox.guide()['rewards_users'] if one['beyond_paging'])\nwb.course.answer('cut-rewards', items=user['rows'])"),
    ("read-a-card", "the card locked", "ANSWER\napi.sandbox.cards.lock(facts['card'])"),
    ("rate-limits", "one denied beside it", "ANSWER\napi.sandbox.review(facts['external_ids'][0][0], 'denied')"),
    ("stuck-reviews", "another phone number", "ANSWER\napi.update_user(user_id=facts['users']['pending'], phone_country_code='1', phone_number='5550188')"),
    ("read-a-card", "no holds", "ANSWER\nwb.course.answer('read-a-card', held=0)"),
    ("read-a-card", "a purchase beside it", "ANSWER\napi.simulate_authorization(card_id=facts['card'], amount=100, currency='USD', merchant_name='Shop', merchant_category_code='5411')"),
    ("why-declined", "the other decline", "ANSWER\nwb.course.answer('why-declined', reason='invalid_pin')"),
    ("why-declined", "explained only", "wb.course.answer('why-declined', reason='card_locked')"),
    ("why-declined", "bought twice", "ANSWER\napi.allowing(again=True).simulate_authorization(card_id=facts['card'], amount=15000, currency='USD', merchant_name='Example Electronics', merchant_category_code='5732')"),
    ("where-is-my-refund", "the settlement", "ANSWER\nwb.course.answer('where-is-my-refund', event=api.inbox.events('transaction.completed', {'body.id': facts['returned']})[0].id)"),
    ("where-is-my-refund", "the rest refunded", "ANSWER\napi.simulate_refund(transaction_id=facts['returned'], amount=1500)"),
    ("charged-twice", "everybody", "for row in api.sandbox.records('transaction'):\n    if row['card'] in facts['cards'].values() and row['authorized'] == 4500 and not row['refunded']:\n        api.simulate_refund(transaction_id=row['id'], amount=4500)"),
    ("charged-twice", "half of it", "ANSWER_AS amount=wb.FULL -> amount=2000"),
    ("fraud-burst", "locked only", "api.sandbox.cards.lock(facts['card'])"),
    ("fraud-burst", "the cardholder's own too", "ANSWER\nown = [row for row in api.sandbox.records('transaction') if row['merchant_name'] == 'Example Coffee' and row['held']]\napi.simulate_reversal(transaction_id=own[0]['id'], new_amount=0)"),
    ("stuck-reviews", "decided without information", "for user in facts['users'].values():\n    try:\n        api.sandbox.review(user, 'approved')\n    except wb.ApiError:\n        pass"),
    ("stuck-reviews", "a sixth approved", "ANSWER\napi.sandbox.review(api.sandbox.guide()['users']['denied'][0], 'approved')"),
    ("rate-limits", "one updated twice", "ANSWER\napi.sandbox.clear_faults()\nfirst, wanted = facts['external_ids'][0]\napi.allowing(again=True).update_user(user_id=first, external_id=wanted)"),
    ("rate-limits", "a phone number beside it", "ANSWER_AS external_id=wanted -> external_id=wanted, phone_country_code='1', phone_number='5550100'"),
    ("lost-endpoint", "registered only", "with wb.Inbox(keys=[api.sandbox.full_key]) as inbox, inbox.serve() as url:\n    api.sandbox.register_endpoint(url)\n    api.sandbox.remove_endpoint(facts['endpoint'])"),
    ("lost-endpoint", "the lost one kept", "ANSWER_AS api.sandbox.remove_endpoint(facts[\"endpoint\"]) -> pass"),
    ("half-migration", "the script again", "for user in facts['users']:\n    api.allowing(again=True).create_payment_account(**{**facts['example'], 'user_id': user})"),
    ("half-migration", "deleted only", "for row in api.sandbox.records('payment_account'):\n    if row['members']['external_fiat_account']['bank_name'] == 'Old Bank':\n        api.delete_payment_account(payment_account_id=row['id'])"),
]  # fmt: skip


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[wb.Session]:
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
    session = wb.connect(seed=7)
    yield session
    session.close()


def run(api: wb.Session, name: str, code: str, facts: dict[str, Any]) -> Feedback:
    """Run code after a drill's first cell. Return the check that the code stored in `done`, or else make a check."""
    names: dict[str, Any] = {"wb": wb, "api": api, "facts": facts}
    exec(compile(code, f"<{name}>", "exec"), names)
    done: Feedback = names.get("done") or course.check(name, api)
    return done


def written(name: str, code: str) -> str:
    """Return the code of a wrong answer, in which some lines stand for the sample answer or a change of it."""
    answer, lines = DRILLS[name].answer, []
    for line in code.split("\n"):
        if line.startswith("ANSWER_AS "):
            old, _, new = line.removeprefix("ANSWER_AS ").partition(" -> ")
            assert old in answer
            lines.append(answer.replace(old, new))
        elif line.startswith("ANSWER_WITH "):
            lines += [line.removeprefix("ANSWER_WITH "), answer]
        else:
            lines.append(answer if line == "ANSWER" else line)
    return "\n".join(lines)


@pytest.mark.parametrize("name", DRILLS)
def test_the_good_answer_solves_a_drill(api: wb.Session, name: str) -> None:
    shown = course.task(name, api)
    before = course.check(name, api)

    assert not before.ok
    done = run(api, name, DRILLS[name].answer, shown.facts)
    assert done.missing == ()
    assert "A good answer" in str(done)


def bad() -> Iterator[Any]:
    """Yield name and code of each wrong answer: the first of each drill in `make test`, all in `make soak`."""
    seen = set[str]()
    for name, what, code in BAD:
        yield pytest.param(name, code, id=f"{name}-{what}", marks=pytest.mark.soak if name in seen else ())
        seen.add(name)


@pytest.mark.parametrize("name, code", [*bad()])
def test_a_bad_answer_does_not_solve_a_drill(api: wb.Session, name: str, code: str) -> None:
    facts = course.task(name, api).facts

    assert not run(api, name, written(name, code), facts).ok


BESIDE = {
    "a card is locked": "api.sandbox.cards.lock(api.sandbox.guide()['cards']['active'][2])",
    "an application is denied": "api.sandbox.review(api.sandbox.guide()['users']['approved'][-1], 'denied')",
}
"""Writes that no drill asks for."""


@pytest.mark.parametrize("name, what", some(3, zip(DRILLS, cycle(BESIDE))))
def test_a_good_answer_with_a_further_write_does_not_solve_a_drill(api: wb.Session, name: str, what: str) -> None:
    """After an additional change, the check says that something else changed."""
    facts = course.task(name, api).facts
    missing = run(api, name, f"{BESIDE[what]}\n{DRILLS[name].answer}", facts).missing

    assert any("something else changed" in sentence for sentence in missing)


def test_every_drill_has_two_bad_answers() -> None:
    assert [name for name in DRILLS if sum(name == bad for bad, _, _ in BAD) < 2] == []


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that advances the clock of the drills."""
    clock = time.time()

    def move(seconds: int) -> None:
        nonlocal clock
        clock += seconds
        monkeypatch.setattr(time, "time", lambda: clock)

    move(0)
    return move


def test_live_traffic_arrives_while_a_drill_is_on(api: wb.Session, later: Callable[[int], None]) -> None:
    facts = course.task("fraud-burst", api).facts
    before = len(api.sandbox.records("transaction"))
    later(65)
    course.check("fraud-burst", api)
    arrived = len(api.sandbox.records("transaction")) - before
    solved = run(api, "fraud-burst", DRILLS["fraud-burst"].answer, facts)
    later(600)
    course.check("fraud-burst", api)

    assert arrived == 3
    assert solved.ok
    assert len(api.sandbox.records("transaction")) == before + 3


def test_a_drill_goes_on_where_it_was_and_begins_in_another_sandbox(api: wb.Session) -> None:
    facts = course.task("duplicate-bookings", api).facts
    again = course.task("duplicate-bookings", api).facts
    with wb.connect(seed=7) as other:
        anew = course.task("duplicate-bookings", other).facts
        assert len(other.sandbox.records("transaction")) == len(api.sandbox.records("transaction"))

    assert facts == again
    assert anew.keys() == facts.keys()


def test_an_unknown_drill_names_those_there_are(api: wb.Session) -> None:
    with pytest.raises(wb.errors.UsageError, match="task must be one of"):
        course.task("nothing", api)
