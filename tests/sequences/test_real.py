"""A real sandbox through its profile: the same file, no controls, and plain words where one would be needed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.errors import WrongEnvironment
from workbench.sandbox import Sandbox
from workbench.sequences import Sequence, catalogue, run, step
from workbench.sequences.steps import Expect
from workbench.session import Session, connect


def without_events(name: str) -> Sequence:
    """Return a sequence of the catalogue for a service whose events nobody receives here."""
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
    """Return a session on the service by a profile, as one has it for a real sandbox."""
    sandbox, url = served
    config = tmp_path / "profiles.toml"
    config.write_text(f'[profiles.team]\nbase_url = "{url}/v1"\nenvironment = "sandbox"\n{more}')
    config.chmod(0o600)
    monkeypatch.setenv("WORKBENCH_CONFIG", str(config))
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("WORKBENCH_TEAM_API_KEY", sandbox.full_key)
    return connect("team")


def test_calls_alone_run_unchanged(
    served: tuple[Sandbox, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the id of a card of one's own."""
    card = served[0].guide()["cards"]["active"][0]
    with session(served, tmp_path, monkeypatch) as api:
        came = run(without_events("reverse-partial"), api, card_id=card)

        assert came.ok, came.verdict
        assert came.ledger().total()["held"] == 1000
        with pytest.raises(WrongEnvironment, match="give the parameter"):
            run(without_events("reverse-partial"), api)


def test_a_settlement_says_plainly_that_it_cannot_unless_the_profile_allows_the_route(
    served: tuple[Sandbox, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """assumed: settle_route."""
    card = served[0].guide()["cards"]["active"][0]
    with session(served, tmp_path, monkeypatch) as api:
        came = run(without_events("settle"), api, card_id=card)
        assert "sandbox.settle_route = true in its profile" in came.verdict
    with session(served, tmp_path, monkeypatch, "[profiles.team.sandbox]\nsettle_route = true\n") as api:
        came = run(without_events("refund-full"), api, card_id=card)
        assert came.ok, came.verdict
        assert came.ledger().total()["refunded"] == 2500


@pytest.mark.parametrize(
    "one", [step("lock", "lock_card", card_id="x"), step("later", "advance", by="1s")], ids=["control", "clock"]
)
def test_what_a_real_service_does_not_have_is_said(
    served: tuple[Sandbox, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one: object
) -> None:
    """Nothing is sent."""
    with session(served, tmp_path, monkeypatch) as api:
        came = run(Sequence(name="not there", steps=(one,)), api)  # type: ignore[arg-type]

    assert "a real service" in came.verdict
    assert came.steps[0].step.expect == Expect()


def test_an_event_is_waited_for_in_the_inbox(
    served: tuple[Sandbox, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the clock on the wall, and only as long as it takes."""
    sandbox = served[0]
    card = sandbox.guide()["cards"]["active"][0]
    with session(served, tmp_path, monkeypatch) as api:
        sandbox.subscribe(lambda headers, body: api.inbox.receive(headers, body))
        wait = step("told", "wait", kind="transaction.created", within="20s")
        came = run(Sequence(name="wait", parameters=catalogue["authorize"].parameters, steps=(
            without_events("authorize").steps[0], wait)), api, card_id=card)  # fmt: skip

    assert came.ok, came.verdict
