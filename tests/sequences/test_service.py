"""The same sequence files run on a real service, reached by a profile and without controls."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.base.errors import WrongEnvironment
from workbench.client.session import Session, connect
from workbench.runs.sequences import Sequence, catalogue, run, step
from workbench.runs.sequences.sequence import Expect
from workbench.sandbox import Sandbox

pytestmark = pytest.mark.slow  # each test serves over HTTP


def without_events(name: str) -> Sequence:
    """Return a sequence of the catalogue without its events, which this test does not receive."""
    import attrs

    one = catalogue[name]
    steps = tuple(attrs.evolve(each, expect=attrs.evolve(each.expect, events=(), state={})) for each in one.steps)
    return attrs.evolve(one, steps=steps)


@pytest.fixture
def served() -> Iterator[tuple[Sandbox, str]]:
    sandbox = Sandbox(seed=3)
    with sandbox.serve() as url:
        yield sandbox, url


def session(served: tuple[Sandbox, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str = "") -> Session:
    """Return a session on the service through a profile, as for a provider's sandbox."""
    sandbox, url = served
    config = tmp_path / "profiles.toml"
    config.write_text(f'[profiles.team]\nbase_url = "{url}/v1"\nenvironment = "sandbox"\n{more}')
    config.chmod(0o600)
    monkeypatch.setenv("WORKBENCH_CONFIG", str(config))
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("WORKBENCH_TEAM_API_KEY", sandbox.full_key)
    return connect("team")


def test_a_sequence_of_calls_runs_unchanged(
    served: tuple[Sandbox, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The id of a card is passed as a parameter."""
    card = served[0].guide()["cards"]["active"][0]
    with session(served, tmp_path, monkeypatch) as api:
        result = run(api, without_events("reverse-partial"), card_id=card)

        assert result.ok, result.verdict
        assert result.ledger().total()["held"] == 1000
        with pytest.raises(WrongEnvironment, match="pass the parameter"):
            run(api, without_events("reverse-partial"))


def test_settlement_needs_the_route_in_the_profile(
    served: tuple[Sandbox, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step `settle` works only with the assumed setting `settle_route`."""
    card = served[0].guide()["cards"]["active"][0]
    with session(served, tmp_path, monkeypatch) as api:
        result = run(api, without_events("settle"), card_id=card)
        assert "sandbox.settle_route = true in its profile" in result.verdict
    with session(served, tmp_path, monkeypatch, "[profiles.team.sandbox]\nsettle_route = true\n") as api:
        result = run(api, without_events("refund-full"), card_id=card)
        assert result.ok, result.verdict
        assert result.ledger().total()["refunded"] == 2500


@pytest.mark.parametrize(
    "one", [step("lock", "lock_card", card_id="x"), step("later", "advance", by="1s")], ids=["control", "clock"]
)
def test_controls_and_clock_are_refused(
    served: tuple[Sandbox, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one: object
) -> None:
    """The verdict names what a real service lacks."""
    with session(served, tmp_path, monkeypatch) as api:
        result = run(api, Sequence(name="not there", steps=(one,)))  # type: ignore[arg-type]

    assert "a real service" in result.verdict
    assert result.steps[0].step.expect == Expect()


def test_an_event_is_awaited_in_the_inbox(
    served: tuple[Sandbox, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait takes real time, and ends when the event arrives."""
    sandbox = served[0]
    card = sandbox.guide()["cards"]["active"][0]
    with session(served, tmp_path, monkeypatch) as api:
        wait = step("event", "wait", kind="transaction.created", timeout="20s")
        steps = (without_events("authorize").steps[0], wait)
        with api.inbox.serve() as url:
            sandbox.register_endpoint(url)
            sequence = Sequence(name="wait", parameters=catalogue["authorize"].parameters, steps=steps)
            result = run(api, sequence, card_id=card)

    assert result.ok, result.verdict
