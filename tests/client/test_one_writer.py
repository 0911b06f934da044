"""The sent request equals what is shown: dry run, journal, snippet, recording and an agent's confirmation agree with
it.
"""

import json
import re
import shlex
import warnings
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.client.doubles import CARD, Service, client_on
from tests.each import each
from tests.strategies import requests
from workbench.base.schema import walk
from workbench.base.schema.fields import OPEN
from workbench.client.calls.effects import Outcome, outcome_of
from workbench.client.calls.guards import confirmation_text
from workbench.client.calls.request_checks import path_problems
from workbench.runs.sequences.reading import SCRIPTED
from workbench.service.interface.convert import converter
from workbench.service.interface.table import OPERATIONS, Operation
from workbench.service.rendering.calls import curl, python
from workbench.testing.recording import lines_of

ROWS = list(OPERATIONS.values())


def _sent(operation: Operation[..., Any], send: Any) -> tuple[dict[str, Any], dict[str, Any], Any, dict[str, Any]]:
    """Send a request and return its path parameters, its query or body as sent, the client, and the recording."""
    service = Service(httpx.Response(403))
    client = client_on(service, journal=None)
    api = client.allowing(masked_value=True, unusual_text=True, unverified_address=True)
    with client.responses() as responses:
        with pytest.raises(wb.WorkbenchError), warnings.catch_warnings(action="ignore"):
            send(api)
        is_recorded = operation.name in SCRIPTED  # withdrawal signatures are never recorded
        recorded = json.loads(lines_of(responses)) if is_recorded else {}
    sent = service.requests[0]
    return *_read(operation, sent.url.raw_path.decode(), sent.content), client, recorded


def _read(operation: Operation[..., Any], url: str, content: bytes | str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the path parameters, and the query or body, of a request as sent or shown."""
    target = urlsplit(url)
    path = operation.in_path(target.path.removeprefix("/v1")) or {}
    if operation.in_query:
        return path, dict(parse_qsl(target.query, keep_blank_values=True))
    return path, json.loads(content) if content else {}


def _open(cls: type[Any], written: dict[str, Any]) -> dict[str, Any]:
    """Return the public members, with dotted paths for nested ones."""
    members: dict[str, Any] = {}
    for member in walk.members(cls):
        value = written.get(member.wire)
        if member.wire not in written:
            continue
        inner = walk.record_of(member.kind)
        if inner is not None and isinstance(value, dict):
            members |= {f"{member.wire}.{name}": nested for name, nested in _open(inner, value).items()}
        elif inner is None and member.about.privacy is OPEN:
            members[member.wire] = value
    return members


def _without_texts(written: Any) -> Any:
    """Return members with `str` in place of texts, which a recording replaces."""
    if isinstance(written, dict):
        return {name: _without_texts(value) for name, value in written.items()}
    if isinstance(written, list):
        return [_without_texts(value) for value in written]
    return str if isinstance(written, str) else written


def _as_text(written: dict[str, Any]) -> dict[str, str]:
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in written.items()}


@pytest.mark.parametrize("operation", ROWS, ids=lambda row: row.name)
@pytest.mark.slow
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_the_wire_is_what_is_shown(operation: Operation[..., Any], data: st.DataObject) -> None:
    """For any request, the shown values have the types and spellings of the sent bytes."""
    request = data.draw(requests(operation))
    assume(operation.name != "update_dispute" or not path_problems(operation, request))
    path, sent, client, recorded = _sent(operation, lambda api: api.send(request))
    shown_path, shown = converter().write_request(operation, request)

    assert shown_path == path
    assert (_as_text(shown) if operation.in_query else shown) == sent
    code = python(operation, walk.given(request))
    executed = _sent(operation, lambda api: eval(code, {"api": api, "wb": wb}))
    assert executed[:2] == (path, sent), code
    _, method, url, *rest = shlex.split(
        curl(operation, request, base_url="https://host/v1", converter=converter(), reveal=True)
    )[1:]
    assert method == operation.method
    assert _read(operation, url, rest[-1] if "-d" in rest else b"") == (path, sent)
    if recorded:
        in_file = _read(
            operation, recorded["url"], json.dumps(recorded["request_body"]) if sent and not operation.in_query else ""
        )
        assert _without_texts(in_file[0]) == _without_texts(path)
        assert _without_texts(in_file[1]) == _without_texts(sent)
    if operation.effect is None:
        return
    (entry,) = client.journal
    of_journal = {name: value for name, value in _open(operation.request, entry.request).items() if name not in path}
    expected = _open(operation.request, sent)
    assert (_as_text(of_journal) if operation.in_query else of_journal) == expected
    lines = dict(line.partition(": ")[::2] for line in confirmation_text(operation, request, "host").splitlines()[1:])
    for name, value in _open(operation.request, shown).items():
        asked = lines.get(name)
        if isinstance(value, str) and value.isascii() and value.isprintable() and asked is not None:
            assert json.loads(asked) == value


def test_a_chain_id_is_text_everywhere(tmp_path: Path) -> None:
    """A chain id is text in the body, journal, confirmation, snippet and recording."""
    request = OPERATIONS["create_user_application"].request(
        persona_share_token="token", ip_address="203.0.113.5", occupation="Engineer", annual_salary="1",
        account_purpose="Everyday", expected_monthly_volume="1", chain_id=84532,
        contract_address="0x52908400098527886E0F7030069857D2E4169EE7",
    )  # fmt: skip
    operation = OPERATIONS["create_user_application"]
    _, sent, client, _ = _sent(operation, lambda api: api.send(request))
    api = wb.connect()
    with wb.testing.record(api, tmp_path / "calls.ndjson"):
        api.send(request)
    recorded = json.loads((tmp_path / "calls.ndjson").read_text())["request_body"]

    assert sent["chainId"] == "84532"
    assert recorded["chainId"] == "84532"
    assert [entry.request["chainId"] for entry in client.journal] == ["84532"]
    assert 'chainId: "84532"' in confirmation_text(operation, request, "host")
    assert re.search('"chainId": ?"84532"', curl(operation, request, base_url="x", converter=converter()))


@each("status", [200, 204, 226, 299, 300, 302, 399, *range(400, 432), 451, 499, 500, 502, 503, 599])
def test_a_status_proves_the_same_everywhere(status: int) -> None:
    """The journal's outcome and the class of the error agree about each status."""
    service = Service(httpx.Response(status, json={}))
    client = client_on(service, journal=None)
    error: Exception | None = None
    try:
        client.update_user(user_id=CARD, first_name="Ada")
    except wb.WorkbenchError as raised:
        error = raised
    (entry,) = client.journal
    proven = outcome_of(status)

    assert proven == entry.outcome
    assert (proven is Outcome.UNKNOWN) == (
        isinstance(error, wb.OutcomeUnknown) and not isinstance(error, wb.errors.UnreadableEffect)
    )
    assert (proven is Outcome.REFUSED) == isinstance(error, wb.errors.ApiError)
