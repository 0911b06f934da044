"""Tools for testing an application: sessions, coverage and the pytest plugin."""

import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from workbench import testing
from workbench.base.errors import UsageError

PURCHASE = {"amount": 420, "currency": "USD", "merchant_name": "Example Coffee", "merchant_category_code": "5814"}


def buy(api: wb.Session) -> str:
    card = api.sandbox.guide()["cards"]["active"][0]
    return str(api.simulate_authorization(card_id=card, **PURCHASE).transaction_id)


def test_sessions_are_apart_and_the_same_at_first() -> None:
    with testing.session() as first, testing.session() as second:
        buy(first)

        assert len(first.sandbox.events()) == 2
        assert second.sandbox.events() == []
        assert first.sandbox.full_key == second.sandbox.full_key
        assert len(first.inbox.events()) == 2


def test_a_session_behaves_as_asked() -> None:
    with testing.session(
        behavior="observed", environment="production", seed=7, faults=["lost", {"kind": "status", "status": 503}]
    ) as api:
        assert (api.sandbox.behavior, api.environment, api.sandbox.seed) == ("observed", "production", 7)
        assert [one.kind for one in api.sandbox.list_faults()] == ["lost", "status"]


def test_a_session_has_the_users_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "cast.toml").write_text('[[users]]\nname = "Ada Sample"\n')
    with testing.session(world=tmp_path / "cast.toml") as api:
        assert "ada-sample" in [user.get("external_id") for user in api.sandbox.records("user")]


@pytest.mark.parametrize("wrong", [{"behavior": "x"}, {"settle_rout": False}, {"world": "x"}])
def test_a_wrong_argument_of_a_session_is_named(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        testing.session(**wrong)  # type: ignore[arg-type]


APPLICATION = """
import httpx, pytest

def buy(api):
    card = api.sandbox.guide()["cards"]["active"][0]
    return api.simulate_authorization(card_id=card, amount=420, currency="USD", merchant_name="A", merchant_category_code="5814")

def test_own_sandbox(workbench_session, sandbox, inbox):
    buy(workbench_session)
    assert [call.operation for call in sandbox.requests()] == ["simulate_authorization"]
    assert len(inbox.events()) == 2

@pytest.mark.parametrize("n", range(20))
def test_nothing_of_others(sandbox, n):
    assert sandbox.requests() == []

@pytest.mark.workbench(behavior="observed", faults=["refused"])
def test_marked(workbench_session):
    assert workbench_session.sandbox.behavior == "observed"
    with pytest.raises(Exception, match="refused"):
        buy(workbench_session)

@pytest.mark.xfail(raises=ValueError, strict=True)
@pytest.mark.workbench(behavor="observed")
def test_misspelled(workbench_session): ...

@pytest.mark.xfail(raises=ValueError, strict=True)
@pytest.mark.workbench("observed")
def test_without_a_keyword(workbench_session): ...

def test_served(served_sandbox):
    assert httpx.get(served_sandbox + "/_sandbox/guide").status_code == 200
"""


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(["-p", "no:xdist"], marks=pytest.mark.soak, id="alone"),
        pytest.param(["-n", "2"], marks=pytest.mark.slow, id="two processes"),
    ],
)
def test_the_plugin_gives_each_test_a_sandbox(tmp_path: Path, more: list[str]) -> None:
    (tmp_path / "test_application.py").write_text(APPLICATION, encoding="utf-8")
    loaded = [] if _installed() else ["-p", "workbench_pytest"]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:asyncio", "-c", "/dev/null", "--rootdir", str(tmp_path), *loaded, *more,
         str(tmp_path)],
        capture_output=True, text=True, check=False, timeout=100, cwd=Path(__file__).parents[2],
    )  # fmt: skip

    assert "23 passed, 2 xfailed" in ended.stdout, ended.stdout + ended.stderr


def _installed() -> bool:
    from importlib.metadata import entry_points

    return any(one.name == "workbench" for one in entry_points(group="pytest11"))
