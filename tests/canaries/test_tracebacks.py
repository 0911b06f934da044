"""No traceback shows a planted value, in any of its modes, but in the frames of whoever typed it (K3, K10)."""

import io
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import httpx
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import workbench as wb
from tests.canaries.planted import ACCOUNT, CHANGES, LINK, OWNER, PERSON, PLANTED, found
from tests.client.doubles import CARD, Service, client_on
from workbench import faces

KEY = PLANTED["api key"]
WORDS = f"known: {PERSON['email']} {PERSON['national_id']} {KEY}"


def _sent(answer: Any, operation: str = "create_user_application", **arguments: Any) -> None:
    with client_on(Service(answer), api_key=KEY) as api:
        getattr(api, operation)(**(arguments or PERSON))


def _struck(kind: str, operation: str, **arguments: Any) -> None:
    with wb.connect(seed=7) as api:
        api.sandbox.add_fault(kind)
        getattr(api, operation)(**arguments)


def _delivered(body: bytes, key: str = PLANTED["webhook key"]) -> None:
    with wb.Inbox(keys=(key,)) as inbox:
        inbox.receive({"Signature": "0" * 64}, body)


def _misread(folder: Path, name: str, read: Callable[[Path], Any], text: str) -> None:
    (folder / name).write_text(text)
    read(folder / name)


def _by_form(**values: Any) -> None:
    with wb.connect(seed=7) as api:
        wb.form(api.create_user_application).fill(**values).submit()


def _waited(_: Path) -> None:
    with wb.connect(seed=7) as api:
        api.create_user_application(**PERSON)
        api.inbox.wait("user.updated", where={"email": PERSON["email"], "first_name": "Zqfore"}, within=0.001)


def _withdrawn(**changes: Any) -> None:
    with wb.connect(seed=7) as api:
        one = api.list_contracts()[0]
        given = {"token": one.tokens[0].address, "amount": wb.cents("1"), "admin": one.admin_addresses[0], **changes}
        wb.withdrawals.plan(api, one, decimals=6, **given)


BODY = '{"email": "zqmail@example.com", "nationalId": "000771293", "zq": "zq-unknown-member"'
ENDS: dict[str, Callable[[Path], Any]] = {
    "refused here": lambda _: _sent({}, **{**PERSON, "national_id": "000771293x", "email": ["zqmail"]}),
    "refused here, inside": lambda _: _sent({}, **{**PERSON, "address": {"line1": "Zqstreet", "zip": "zq77-31"}}),
    "refused as an argument": lambda _: _sent({}, **PERSON, zq="zq-unknown-member"),
    "refused there": lambda _: _sent(httpx.Response(400, json={"error": "BadRequestError", "message": WORDS})),
    "conflict": lambda _: _sent(httpx.Response(409, text=f"{CHANGES['email']} {KEY}"), "update_user", user_id=CARD, **CHANGES),
    "key refused": lambda _: _sent(httpx.Response(401, json={"message": WORDS})),
    "server": lambda _: _sent(httpx.Response(500, text=WORDS), "update_ubo", company_id=CARD, ubo_id=CARD, **OWNER),
    "lost": lambda _: _sent(httpx.ReadTimeout(WORDS), "create_payment_account", user_id=CARD, **ACCOUNT),
    "not sent": lambda _: _sent(httpx.ConnectError("refused")),
    "unreadable": lambda _: _sent(httpx.Response(200, content=BODY.encode())),
    "other members": lambda _: _sent(httpx.Response(200, json={"id": 7, "email": ["zqmail"], "firstName": {"a": "Zqfirst"}})),
    "redirected": lambda _: _sent(httpx.Response(302, headers={"location": "https://x.example.com/?zq-link"})),
    "evidence": lambda _: _sent(httpx.Response(500, text=WORDS), "update_dispute", dispute_id=CARD, text_evidence="Zqevidence"),
    "struck: lost": lambda _: _struck("lost", "create_user_application", **PERSON),
    "struck: malformed": lambda _: _struck("malformed", "create_user_application", **PERSON),
    "struck: refused": lambda _: _struck("refused", "create_payment_account", user_id=CARD, **ACCOUNT),
    "struck: cut": lambda _: _struck("cut", "create_user_application", **PERSON),
    "unsigned": lambda _: _delivered(wb.sample_event("user.updated", "x", first_name="Zqfirst", application_completion_link=LINK).body),
    "no event": lambda _: wb.Inbox(accept_unsigned=True).receive({}, BODY.encode()),
    "nothing arrived": _waited,
    "bad key": lambda _: wb.Client(base_url="https://api.example.com/v1", api_key=KEY + "\r\n"),
    "bad file of bodies": lambda path: _misread(path, "create_user_application.request.json", wb.load_bodies, BODY),
    "bad journal": lambda path: _misread(path, "journal.db", lambda one: wb.connect(journal=one).journal.unknown(), BODY * 100),
    "form": lambda _: _by_form(**{**PERSON, "national_id": "000771293x"}),
    "private key as recipient": lambda _: _withdrawn(to="0x" + PLANTED["private key"]),
}  # fmt: skip


class Act:
    """What the cell calls: its arguments stand in no frame of the cell."""

    def __init__(self, end: Callable[[], Any]) -> None:
        self.end = end

    def __call__(self) -> None:
        """Go."""
        self.end()

    def __repr__(self) -> str:
        return "act"


def _mine(name: str) -> bool:
    return Path(__file__).name in name or "contextlib" in name or "doubles.py" in name


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InteractiveShell]:
    """Give a shell whose history is kept nowhere."""
    before = sys.excepthook
    config = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}})
    yield InteractiveShell(config=config, ipython_dir=str(tmp_path_factory.mktemp("ipython")))
    sys.excepthook = before


def _raised(end: Callable[[Path], Any], folder: Path) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - each kind of end is looked at
        end(folder)
    return caught.value


def _printed(error: BaseException) -> Iterator[str]:
    yield "".join(traceback.TracebackException.from_exception(error).format_exception_only())
    yield f"{error!r} {error.args!r} {vars(error)!r} {getattr(error, '__notes__', '')!r}"
    yield faces.plain(error) + faces.html(error)


def _locals(error: BaseException) -> Iterator[str]:
    left, seen = [error], set[int]()
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        left += [other for other in (one.__cause__, one.__context__) if other is not None]
        for frame in traceback.TracebackException.from_exception(one, capture_locals=True).stack:
            if not _mine(frame.filename):
                yield f"{frame.filename}:{frame.lineno} {frame.line} {frame.locals!r}"


@pytest.mark.filterwarnings("ignore::workbench.client.advice.AdviceWarning")
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_no_traceback_holds_one(end: Callable[[Path], Any], tmp_path: Path) -> None:
    """Neither the error's words, its attributes and face, nor the locals of a frame that is not the caller's hold one."""
    error = _raised(end, tmp_path)
    leaked = {text.split(" ")[0]: found(text) for text in (*_printed(error), *_locals(error))}

    assert {name: those for name, those in leaked.items() if those} == {}


@pytest.mark.filterwarnings("ignore::workbench.client.advice.AdviceWarning")
@pytest.mark.parametrize(
    "mode", [*(pytest.param(one, marks=pytest.mark.slow) for one in ("Minimal", "Plain", "Context")), "Verbose"]
)
def test_no_mode_of_ipython_shows_one(mode: str, shell: InteractiveShell, tmp_path: Path) -> None:
    """In each mode of `%xmode`, for every kind of error, frames of ours and of libraries show none."""
    shell.InteractiveTB.set_mode(mode=mode)
    leaked = {}
    for name, end in ENDS.items():
        error = _raised(end, tmp_path)
        parts = shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__)
        parts = [one for part in parts for one in re.split(r"(?m)^(?=File )", part)]
        leaked[name] = found("\n".join(one for one in parts if not _mine(one)))

    assert {name: those for name, those in leaked.items() if those} == {}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.client.advice.AdviceWarning")
def test_a_cell_that_fails_shows_none(shell: InteractiveShell, tmp_path: Path) -> None:
    """With our faces on, in the most talkative mode, what a failing cell prints holds none."""
    shell.InteractiveTB.set_mode(mode="Verbose")
    undo = faces.register(shell)
    leaked = {}
    for name, end in ENDS.items():
        error = _raised(end, tmp_path)
        if isinstance(error, wb.WorkbenchError):
            out = io.StringIO()
            shell.push({"act": Act(lambda end=end: end(tmp_path))})
            with redirect_stdout(out):
                shell.run_cell("act()")
            assert out.getvalue().strip()
            leaked[name] = found(out.getvalue())
    undo()

    assert len(leaked) >= 20
    assert {name: those for name, those in leaked.items() if those} == {}
