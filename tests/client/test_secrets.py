"""No private value is printed, dumped, logged or raised. The tests search all output for planted values."""

import asyncio
import copy
import inspect
import json
import logging
import pickle
import pprint
import socket
import sys
import threading
import traceback
import types
from collections.abc import Callable
from typing import Any

import attrs
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.client.doubles import CARD, URL, FakeClock, Service, client_on
from tests.each import each
from tests.ports import free_port
from workbench.base.errors import AdviceWarning, UsageError, WorkbenchError
from workbench.base.keys import Key, key_problem
from workbench.base.schema.masks import DOTS
from workbench.base.schema.walk import change
from workbench.client.calls.cleaning import Cleaner
from workbench.client.calls.client import AsyncClient, Client
from workbench.service.interface.examples import example
from workbench.service.interface.people import CreateUserApplication
from workbench.service.interface.table import OPERATIONS

KEY = "canary-KEY-5521"
PRIVATE = {
    "first_name": "Canary-Ada", "last_name": "Canary-Lovelace", "birth_date": "1901-02-03", "national_id": "900551234",
    "country_of_issue": "US", "email": "canary-mail@example.com", "ip_address": "203.0.113.77",
    "occupation": "canary-occupation", "annual_salary": "canary-salary", "account_purpose": "x",
    "expected_monthly_volume": "1", "phone_country_code": "1", "phone_number": "5550155",
    "address": {
        "line1": "canary-street", "city": "Springfield", "region": "IL", "postal_code": "canary-zip",
        "country_code": "US",
    },
}  # fmt: skip
CANARIES = (
    KEY, "Canary-Ada", "Canary-Lovelace", "1901-02-03", "900551234", "canary-mail", "203.0.113.77", "canary-occupation",
    "canary-salary", "5550155", "canary-street", "canary-zip", "canary-answer", "canary-signature",
)  # fmt: skip


def leaks(text: str) -> list[str]:
    return [canary for canary in CANARIES if canary in text]


DUMPS: dict[str, Callable[[Any], Any]] = {
    "repr": repr, "str": str, "format": "{}".format, "f-string": lambda x: f"{x!s:>10}", "percent": lambda x: "%s" % (x,),  # noqa: UP031 - one of the formats
    "vars": lambda x: vars(x), "dir": dir, "copy": copy.copy, "deepcopy": copy.deepcopy, "pprint": pprint.pformat,
    "pickle": pickle.dumps, "json": lambda x: json.dumps(x, default=str), "attrs": attrs.asdict,
    "getmembers": inspect.getmembers, "slots": lambda x: [getattr(x, name, None) for name in getattr(x, "__slots__", ())],
    "reduce": lambda x: x.__reduce_ex__(4), "getstate": lambda x: x.__getstate__(),
}  # fmt: skip


@each("dump", DUMPS.values(), ids=DUMPS)
@each("kind", ["key", "client", "async", "session", "view"])
def test_dumps_never_hold_the_key(dump: Callable[[Any], Any], kind: str) -> None:
    """No dump of a key or client contains the key."""
    made = {
        "key": lambda: Key(KEY),
        "client": lambda: Client(base_url=URL, api_key=KEY),
        "async": lambda: AsyncClient(base_url=URL, api_key=KEY),
        "session": lambda: wb.Session(base_url=URL, api_key=KEY),
        "view": lambda: Client(base_url=URL, api_key=KEY).allowing(again=True),
    }[kind]()
    try:
        text = repr(dump(made))
    except Exception as error:  # noqa: BLE001 - a dump may be refused, and the error is checked too
        text = repr(error)

    assert leaks(text) == []


def test_a_copy_of_a_key_is_the_key() -> None:
    """A copy of a key is the same object. A key cannot be changed or pickled."""
    key = Key(KEY)

    assert copy.deepcopy({"key": key})["key"] is key
    assert key.header() == KEY.encode()
    with pytest.raises(AttributeError):
        key.fingerprint = "x"
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(key)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(Client(base_url=URL, api_key=KEY))


def test_the_fingerprint_is_what_is_shown() -> None:
    """A key is displayed as the first eight hexadecimal digits of its SHA-256."""
    import hashlib

    shown = hashlib.sha256(KEY.encode()).hexdigest()[:8]

    assert shown in repr(Client(base_url=URL, api_key=KEY))
    assert shown == Client(base_url=URL, api_key=KEY).info()["key_fingerprint"]


@each(
    "bad, words",
    [(KEY + "\r\n", "position 16"), (KEY + " ", "position 16"), ("a\0b", "position 2"), ("clé-canary", "position 3"), ("", "empty"),
     (f"Bearer {KEY}", "begins with Bearer"), (f"Bearer{KEY}", "begins with Bearer"), (f'"{KEY}"', "quotes"), ("<API_KEY>", "placeholder"),
     (None, "is missing"), (7, "must be text"), ("a b", "position 2"), ("a\x7f", "position 2"), ("key\u200b", "position 4")],
    ids=map(str, range(14)),
)  # fmt: skip
def test_keys_that_cannot_be_sent(bad: Any, words: str) -> None:
    """A key that cannot be sent is refused with the position of the problem, but never quoted."""
    with pytest.raises(UsageError, match=words) as caught:
        Client(base_url=URL, api_key=bad)
    whole = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=False).format())

    assert leaks(str(caught.value)) == []
    assert caught.value.__context__ is None
    assert "canary" not in whole.replace("test_secrets", "")


@given(text=st.text(max_size=30))
def test_any_text_is_a_key_or_is_refused(text: str) -> None:
    """A text is sent unchanged as a key, or refused."""
    problem = key_problem(text)
    if problem is None:
        assert Key(text).header().decode() == text
    else:
        with pytest.raises(UsageError):
            Key(text)


# exceptions


def _frames(error: BaseException) -> list[tuple[types.FrameType, str]]:
    """Return the frames of an error, its causes and contexts, except frames of this file."""
    found, seen, left = [], set(), [error]
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        left += [other for other in (one.__cause__, one.__context__) if other is not None]
        step = one.__traceback__
        while step is not None:
            if step.tb_frame.f_code.co_filename != __file__:
                found.append((step.tb_frame, f"{step.tb_frame.f_code.co_filename}:{step.tb_lineno}"))
            step = step.tb_next
    return found


def shown(error: BaseException) -> str:
    """Return all that a debugger could print of an error: text, notes, attributes, chain, and locals of each frame."""
    printed = ["".join(traceback.TracebackException.from_exception(error, capture_locals=False).format())]
    chain: list[BaseException | None] = [error, error.__cause__, error.__context__]
    printed += [repr((one, vars(one), one.args)) for one in chain if one is not None]
    for frame, _ in _frames(error):
        for name, value in frame.f_locals.items():
            printed.append(f"{name} = {value!r}")
    return "\n".join(printed)


FAILURES: dict[str, Any] = {
    "refused": httpx.Response(
        400, json={"error": "BadRequestError", "message": "no", "canary-answer": "canary-answer"}
    ),
    "server": httpx.Response(
        500, text=f"upstream refused {PRIVATE['email']} {PRIVATE['national_id']} of a@example.com"
    ),
    "unreadable": httpx.Response(200, content=b'{"email": "canary-answer", '),
    "mismatch": httpx.Response(200, json={"id": 7, "email": ["canary-answer"], "firstName": {"a": "canary-answer"}}),
    "lost": httpx.ReadTimeout("canary-answer"),
    "protocol": httpx.LocalProtocolError(f"Illegal header value b'{KEY}'"),
    "remote": httpx.RemoteProtocolError("canary-answer"),
    "redirect": httpx.Response(302, headers={"location": "https://x.example.com/?canary-answer"}),
    "interrupt": KeyboardInterrupt(),
    "memory": MemoryError(),
    "html": httpx.Response(404, content=b"<html>canary-answer</html>"),
}


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES)
def test_errors_hold_nothing_private(answer: Any) -> None:
    """No text, attribute, cause or local of a call's error shows a planted value."""
    client = client_on(Service(answer), api_key=KEY)
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - every kind of error is examined
        client.create_user_application(**PRIVATE)
    text = shown(caught.value)

    assert leaks(text) == []


@each(
    "wrong",
    [{"national_id": "canary-signature"}, {"email": 7, "first_name": "Canary-Ada" * 10}, {"birth_date": "canary-signature"},
     {"ip_address": "canary-signature"}, {"color": "canary-signature"}, {"address": {"line1": "canary-street", "zip": "canary-zip"}},
     {"phone_number": "canary-signature"}, {"first_name": "Canary-Ada\ud800"}, {"address": "canary-street"}],
    ids=map(str, range(9)),
)  # fmt: skip
def test_refusals_of_ours_hold_nothing_private(wrong: dict[str, Any]) -> None:
    """A problem names the path and rule of a value, never the value."""
    client = client_on(Service({}), api_key=KEY)
    with pytest.raises(WorkbenchError) as caught:
        client.create_user_application(**{**PRIVATE, **wrong})

    assert leaks(str(caught.value) + repr(caught.value)) == []


def test_a_refusal_that_repeats_what_it_was_sent() -> None:
    """If the service repeats the key or a private value, neither error nor journal contains it."""
    words = (
        f"{PRIVATE['email']} of {PRIVATE['first_name']} at canary-street with {KEY} is known; {PRIVATE['national_id']}"
    )
    for content in (json.dumps({"message": words, "error": KEY}), words, f"<p>{words}</p>", json.dumps(words)):
        client = client_on(Service(httpx.Response(409, content=content.encode())), api_key=KEY)
        with pytest.raises(wb.errors.Conflict) as caught:
            client.create_user_application(**PRIVATE)
        (entry,) = client.journal

        assert leaks(f"{caught.value} {vars(caught.value)!r} {entry.error}") == []


def test_errors_of_the_network_hold_nothing_private() -> None:
    """A connection that fails on a real socket leaves no key in a frame, cause or context."""
    port = free_port()
    client = Client(base_url=f"http://127.0.0.1:{port}", api_key=KEY, clock=FakeClock())
    with pytest.raises(wb.NotSent) as caught:
        client.create_user_application(**PRIVATE)

    assert isinstance(caught.value.__cause__, httpx.ConnectError)
    assert caught.value.__cause__.__traceback__ is None
    assert leaks(shown(caught.value)) == []
    with pytest.raises(RuntimeError):
        _ = caught.value.__cause__.request


def test_records_of_ours_print_masked() -> None:
    """Requests, answers and journal entries print masked private values."""
    client = client_on(
        Service({"id": CARD, "email": "canary-answer@example.com", "unknown": "canary-answer"}), api_key=KEY
    )
    answer = client.create_user_application(**PRIVATE)
    entry = next(iter(client.journal))
    said = f"{answer!r} {entry!r} {entry.request!r} {entry.answer!r} {client.journal!r} {client!r} {client.info()!r}"

    assert leaks(said) == []


# logs


def test_logs_hold_nothing_private(caplog: pytest.LogCaptureFixture) -> None:
    """At DEBUG, no logger of this package or of a library logs a key, a query or a body."""

    def serve(server: socket.socket) -> None:
        for _ in range(2):
            connection, _peer = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n{"id":"x"}')

    caplog.set_level(logging.DEBUG)
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        base = f"http://127.0.0.1:{server.getsockname()[1]}"
        with Client(base_url=base, api_key=KEY) as client:
            client.create_user_application(**PRIVATE)

        async def awaited() -> None:
            async with AsyncClient(base_url=base, api_key=KEY) as other:
                await other.create_user_application(**PRIVATE)

        asyncio.run(awaited())
        thread.join()
    logged = "\n".join(f"{record.getMessage()} {record.args!r} {record.exc_info}" for record in caplog.records)

    assert "connect_tcp" in logged
    assert leaks(logged) == []


# notebook cells


class _Shell:
    def __init__(self, cell: str) -> None:
        self.user_ns = {"In": ["", cell]}


@pytest.mark.parametrize("cell, expected", [(f"api = Client(api_key='{KEY}')", True), ("api = connect('acme')", False)])
def test_a_key_in_a_cell_is_reported(cell: str, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in the source of a notebook cell gives a warning, because it would be saved."""
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: _Shell(cell)))
    if expected:
        with pytest.warns(AdviceWarning, match="is saved with the notebook") as warned:
            Client(base_url=URL, api_key=KEY)
        assert leaks(str(warned[0].message)) == []
    else:
        assert Client(base_url=URL, api_key=KEY)


def test_advice_points_at_the_caller() -> None:
    """A warning names the caller's line, not a line of this package."""
    with pytest.warns(AdviceWarning) as warned:
        client_on(Service({"id": CARD})).update_ubo(company_id=CARD, ubo_id=CARD, country_of_issue="us")

    assert warned[0].filename == __file__


def test_a_number_that_is_a_private_value_is_masked_too() -> None:
    """A number that equals a private value is masked, and other numbers are not."""
    request = change(example(CreateUserApplication), national_id="900123456")
    cleaned = Cleaner(OPERATIONS["create_user_application"], request, lambda: b"key")(
        {"message": "no 900123456", "code": 900123456, "count": 5}
    )

    assert dict(cleaned) == {"message": f"no {DOTS}", "code": DOTS, "count": 5}
