"""Equal seeds and calls give equal bytes, copies are independent, and tenants are separate."""

import hashlib
from datetime import UTC, datetime, timedelta

import pytest

from tests.sandbox.driver import Api, state_of
from workbench.base.errors import UsageError
from workbench.base.schema import strict_json
from workbench.base.schema.walk import change
from workbench.sandbox import Request, Sandbox
from workbench.sandbox.control_records import to_json
from workbench.sandbox.internals import internals


def story(sandbox):
    """Make calls of all kinds, and return every byte of answers and deliveries."""
    api = Api(sandbox)
    seen = [api.guide]
    send = api.send

    def kept(*args, **kwargs):
        answer = send(*args, **kwargs)
        seen.append([answer.status, answer.body, answer.headers])
        return answer

    api.send = kept
    transaction = api.settled()
    api.refund(transaction, amount=5)
    api.apply()
    api.apply(lastName="Denied")
    api.pay_to(userId=api.user)
    for number in range(4):
        api.sign(number)
    api.call("GET", "/issuing/rewards/activity", userId=api.user)
    api.call("GET", "/issuing/tenants/contracts")
    sandbox.advance(days=1)
    sandbox.deposit()
    return (
        strict_json.dumps(
            [seen, to_json(sandbox.events()), to_json([change(one, seconds=0) for one in sandbox.requests()])]
        )
        + repr(internals(sandbox).drain()).encode()
    )


def test_the_same_seed_and_calls_give_the_same_bytes():
    assert story(Sandbox(7)) == story(Sandbox(7))


def test_another_seed_gives_another_world():
    assert story(Sandbox(7)) != story(Sandbox(8))


def test_the_bytes_are_those_of_any_machine():
    """The bytes match a digest, which shows differences between machines and versions of Python.

    The digest covers every answer, header, event and delivery of the story, and every stored record, also another
    tenant's. A change of a seed's world is a change for users: add it to the changelog with the new digest.
    """
    sandbox = Sandbox(7)
    answers = story(sandbox)
    sandbox.create.tenant("another")
    stored = {
        kind: rows for kind, rows in internals(sandbox).engine.store.copy().items() if kind not in ("meta", "changes")
    }

    digests = [hashlib.sha256(part).hexdigest()[:16] for part in (answers, repr(stored).encode())]

    assert digests == ["795d17d40b463e9e", "330b80b7246a1c3a"]


def test_a_fork_is_an_independent_copy(api):
    """Changes in a fork or its original are not visible in the other, and both continue equally."""
    api.authorize()
    fork = api.sandbox.fork()
    copy = Api(fork)

    mine, theirs = api.authorized(500), copy.authorized(700)

    assert mine == theirs  # the two separate sandboxes create equal ids
    assert (api.sandbox.state(mine)["held"], fork.state(theirs)["held"]) == (500, 700)
    assert [one.balance(api.card).held - 1250 for one in (api.sandbox, fork)] == [500, 700]
    fork.advance(hours=1)
    assert api.sandbox.clock.now() + timedelta(hours=1) == fork.clock.now()


def test_the_clock_moves_only_by_controls(sandbox):
    """The clock starts at a fixed, aware time in UTC."""
    assert datetime(2026, 1, 15, 15, 0, tzinfo=UTC) == sandbox.clock.now() == sandbox.clock.now()

    sandbox.advance(days=1, hours=2, minutes=3, seconds=4.5)

    assert sandbox.clock.text() == "2026-01-16T17:03:04.500Z"
    with pytest.raises(ValueError, match="can only move forward"):
        sandbox.clock.advance(seconds=-1)


def test_what_falls_due_happens_in_its_order(api):
    """Scheduled changes happen in the order of their times, however far the clock moves."""
    for seconds in (0, 10, 20):
        api.sandbox.clock.advance(seconds=seconds)
        api.apply()

    api.sandbox.advance(days=40)

    times = [one.at for one in api.sandbox.events()]
    assert sorted(times) == times
    assert times[3] == datetime(2026, 1, 15, 15, 1, tzinfo=UTC)


def test_another_tenants_records_are_not_found(sandbox):
    """Another tenant's records get the same answer as unknown records."""
    mine, other = Api(sandbox), Api(sandbox, "company team")
    transaction = mine.settled()
    account = mine.pay_to(userId=mine.user).body["id"]
    company = mine.guide["companies"][0]
    before = state_of(sandbox)

    answers = [
        other.authorize(mine.card),
        other.reverse(transaction),
        other.refund(transaction),
        other.settle(transaction, amount=1),
        other.update_user(mine.user, firstName="Mine"),
        other.call("DELETE", f"/payment-accounts/{account}"),
        other.call("PATCH", f"/issuing/disputes/{mine.guide['disputes']['pending'][0]}", {"status": "canceled"}),
        other.call("PATCH", f"/issuing/applications/company/{company['id']}/ubo/{company['owners'][0]['id']}", {}),
        other.call("GET", "/issuing/rewards/activity", userId=mine.user),
        other.apply(id=mine.guide["users"]["notStarted"][0]),
        other.sign(token=mine.guide["contracts"][0]["tokens"][0]["address"], rainCollateralContractId=mine.guide["contracts"][0]["id"]),
        other.pay_to(companyId=company["id"]),
    ]  # fmt: skip

    assert {404} == {answer.status for answer in answers}
    assert before == state_of(sandbox)
    contracts = {one["id"] for one in other.call("GET", "/issuing/tenants/contracts").body}
    assert not contracts & {one["id"] for one in mine.guide["contracts"]}


def test_calls_from_many_threads_lose_nothing(api):
    """Balances are correct after concurrent calls."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: api.authorized(100), range(400)))

    assert len(set(answers)) == 400
    assert api.sandbox.balance(api.card).held == 40_000
    assert len(api.sandbox.events()) == 800


def test_a_request_prints_no_key():
    request = Request("GET", "/v1/x", "", {"api-key": "secret-key"}, b"secret-body")

    assert "secret" not in repr(request)


@pytest.mark.parametrize("given, said", [({"environment": "x"}, "environment must be one of sandbox, production"), ({"behavior": "x"}, "behavior must be one of documented, observed"), ({"seed": "x"}, "seed must be a whole number")])  # fmt: skip
def test_a_sandbox_of_another_kind_is_refused_in_words(given, said):
    """An invalid argument is refused with a clear message."""
    with pytest.raises(UsageError, match=said):
        Sandbox(**given)


def test_the_guide_is_plain_text_and_numbers():
    """The guide's keys are plain `str`, not enum members."""
    assert {str} == {type(key) for key in Sandbox().guide()["users"]}


def test_a_world_is_made_once_and_never_changed():
    """Sandboxes of one seed start equal, regardless of earlier sandboxes."""
    first = Sandbox(11)
    before = repr(state_of(first))
    story(first)
    second = Sandbox(11)

    assert repr(state_of(second)) == before
