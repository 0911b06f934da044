"""Sessions that `connect()` opens, and the public names."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.each import each
from workbench.base.errors import UsageError, WrongEnvironment
from workbench.client.session import latest


@each("name", wb.__all__)
def test_public_names_resolve(name: str) -> None:
    """Each public name is loaded on first use and is listed."""
    assert getattr(wb, name) is not None
    assert name in dir(wb)


def test_unknown_names_are_refused() -> None:
    """An unknown name raises the usual AttributeError."""
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = wb.nothing  # type: ignore[attr-defined]


def test_import_is_light() -> None:
    """Importing the package loads no heavy library."""
    heavy = "{'pandas', 'matplotlib', 'ipywidgets', 'httpx', 'attrs', 'cattrs', 'sqlite3', 'IPython'}"
    code = f"import sys; import workbench; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout.strip() == "[]"


def test_connect_needs_nothing() -> None:
    """A session on an embedded sandbox answers immediately and describes itself."""
    api = wb.connect()

    assert api.list_contracts()
    assert repr(api).startswith("<Session sandbox, sandbox.workbench.invalid, key ")


def test_events_come_by_themselves() -> None:
    """The events of a call are in the inbox."""
    api = wb.connect()
    card = api.sandbox.guide()["cards"]["active"][0]
    api.simulate_authorization(
        card_id=card, amount=1250, currency="USD", merchant_name="Corner Grocery", merchant_category_code="5411"
    )

    assert [event.kind for event in api.inbox.events()] == ["transaction.requested", "transaction.created"]


def test_a_served_sandbox_is_connected_to() -> None:
    """A session on a served sandbox has its controls and events, although the sandbox's clock differs."""
    with wb.Sandbox().serve() as url:
        api = wb.connect(url)
        card = api.sandbox.guide()["cards"]["active"][0]
        made = api.simulate_authorization(
            card_id=card, amount=1250, currency="USD", merchant_name="Corner Grocery", merchant_category_code="5411"
        )
        api.sandbox.settle(made.transaction_id)
        user = api.create_user_application(
            first_name="Ada", last_name="testingApproved", email="ada@example.com", birth_date="1990-02-01",
            national_id="900112233", country_of_issue="US", ip_address="203.0.113.5", occupation="Engineer",
            annual_salary="1", account_purpose="x", expected_monthly_volume="1", wallet_address="0xABaBaBaBABabABabAbAbABAbABabababaBaBABaB",
            address={
                "line1": "1 Example Street", "city": "Springfield", "region": "IL", "postal_code": "62701",
                "country_code": "US",
            },
        )  # fmt: skip
        kinds = [event.kind for event in api.inbox.events()]
        api.close()

    assert user.id
    assert kinds[:3] == ["transaction.requested", "transaction.created", "transaction.completed"]


def test_same_seed_same_bytes() -> None:
    """Two sessions with one seed have the same world. Another seed gives another world."""
    first, second, third = wb.connect(seed=7), wb.connect(seed=7), wb.connect(seed=8)

    assert first.list_contracts() == second.list_contracts()
    assert first.list_contracts() != third.list_contracts()


def test_journal_has_the_time_of_the_sandbox() -> None:
    """On an embedded sandbox, journal entries have the sandbox's time."""
    api = wb.connect()
    api.sandbox.advance(days=3)
    api.update_user(user_id=api.sandbox.guide()["users"]["approved"][0], first_name="Grace")
    (entry,) = api.journal

    assert entry.started == api.sandbox.clock.now()


def test_a_real_service_has_no_controls() -> None:
    """On a real service, sandbox controls are refused with an explanation."""
    api = wb.Session(base_url="https://api.example.com", api_key="a-key")

    with pytest.raises(WrongEnvironment, match="is a real service"):
        _ = api.sandbox


@pytest.mark.parametrize(
    "how, words",
    [
        ({"seed": 5}, "seed"),
        ({"behavior": "observed"}, "behavior"),
        ({"seed": 5, "path": "x.db"}, "seed` and `path"),
    ],
    ids=lambda x: str(x),
)
@pytest.mark.parametrize("where", ["http://127.0.0.1:9", "acme"])
def test_settings_of_a_sandbox_of_ones_own_are_not_dropped(
    where: str, how: Any, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another service is selected, settings of an embedded sandbox are refused, and nothing is sent."""
    (tmp_path / "profiles.toml").write_text('[profiles.acme]\nbase_url = "https://api.example.com/v1"\n')
    monkeypatch.setenv("WORKBENCH_CONFIG", str(tmp_path / "profiles.toml"))
    with pytest.raises(UsageError, match=f"^`{words}` "):
        wb.connect(where, **how)


@pytest.mark.parametrize("where", [5, Path("acme")], ids=repr)
def test_a_place_is_text(where: Any) -> None:
    """The name of a profile must be text."""
    with pytest.raises(UsageError, match="name of a profile"):
        wb.connect(where)


def test_every_error_is_public() -> None:
    """Each error that the workbench raises has a public name, or a public base class."""
    errors = importlib.import_module("workbench.base.errors")
    raised = {
        name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, errors.WorkbenchError)
    }

    public = {*dir(wb), *dir(wb.errors)}
    assert all(name in public or getattr(errors, name).__base__.__name__ in public for name in raised)
    assert {"WorkbenchError", "ApiError", "InvalidRequest", "OutcomeUnknown", "NotSent", "NotFound"} <= raised & set(
        dir(wb)
    )


def test_latest_session_is_the_one_made_last() -> None:
    """`latest` returns the session that was opened last."""
    first = wb.connect()
    second = wb.connect()

    assert latest() is second
    assert latest() is not first


WATCHED = """
import sys
touched = []
def hook(event, args):
    if event.startswith("socket.") and event != "socket.gethostname":
        touched.append(event)
    elif event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        touched.append(f"open {args[0]}")
    elif event in {"os.mkdir", "os.remove", "os.rename", "subprocess.Popen", "_thread.start_new_thread"}:
        touched.append(event)
sys.dont_write_bytecode = True
sys.addaudithook(hook)
import workbench
"""


def _touched(code: str, folder: Path) -> str:
    environ = {**os.environ, "HOME": str(folder), "WORKBENCH_STATE": str(folder / "state")}
    done = subprocess.run(
        [sys.executable, "-c", f"{WATCHED}{code}\nprint(touched)"],
        check=True,
        capture_output=True,
        text=True,
        env=environ,
    )
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    ["", "[getattr(workbench, n) for n in ('Client', 'AsyncClient', 'Session', 'Journal', 'FULL', 'connect')]",
     "workbench.Client(base_url='https://api.example.com', api_key='a-key').info()",
     "api = workbench.connect(); api.list_contracts(); list(api.journal)",
     "c = workbench.Client(base_url='https://api.example.com', api_key='a-key', environment='production'); repr(c.journal)"],
    ids=["import", "names", "client", "session", "production"],
)  # fmt: skip
def test_nothing_is_touched(code: str, tmp_path: Path) -> None:
    """Importing, creating a client and a first session open no socket, start no thread and write no file."""
    assert _touched(code, tmp_path) == "[]"


@pytest.mark.slow
def test_the_core_needs_no_extras() -> None:
    """A session works without pandas, matplotlib, ipywidgets and keyring."""
    code = (
        "import sys\n"
        "for name in ('pandas', 'matplotlib', 'ipywidgets', 'IPython', 'keyring', 'pyarrow'): sys.modules[name] = None\n"
        "import workbench as wb\n"
        "api = wb.connect(); print(len(api.list_contracts()), len(wb.assumptions()) > 100, len(api.inbox.events()))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout.split() == ["3", "True", "0"]


def test_a_profile_of_the_environment_is_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`connect()` opens the profile, except if an argument selects an embedded sandbox."""
    (tmp_path / "profiles.toml").write_text("[profiles.lesson]\nsandbox = { seed = 7 }\n")
    monkeypatch.setenv("WORKBENCH_CONFIG", str(tmp_path / "profiles.toml"))
    monkeypatch.setenv("WORKBENCH_PROFILE", "lesson")
    with wb.connect() as opened, wb.connect(seed=8) as embedded:
        assert repr(opened).startswith("<Session lesson: ")
        assert "seed 8" in repr(embedded.sandbox)


def test_each_variable_of_the_environment_is_documented() -> None:
    """docs/connections.md lists each variable that the code reads."""
    root = Path(wb.__file__).parent
    read = {
        name
        for path in root.rglob("*.py")
        for name in re.findall(r"WORKBENCH_[A-Z]+(?:_[A-Z]+)*\b", path.read_text(encoding="utf-8"))
    }
    page = (root.parent / "docs/connections.md").read_text(encoding="utf-8")

    assert {name for name in read if f"`{name}`" not in page} == set()
