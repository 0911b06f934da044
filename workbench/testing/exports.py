"""Export calls as a test or a HAR file; private values are replaced by fictitious ones."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl

import attrs

from workbench import __version__
from workbench.base.errors import Problem, UsageError, not_allowed
from workbench.base.schema import masks, strict_json, walk
from workbench.base.schema.fields import Privacy
from workbench.base.system.files import check_name, write_file
from workbench.client.calls import messages
from workbench.client.calls.effects import Outcome, outcome_of
from workbench.runs.sequences.reading import SCRIPTED
from workbench.runs.sequences.sequence import Sequence
from workbench.service.interface.convert import converter
from workbench.service.interface.examples import example_of
from workbench.service.interface.table import OPERATIONS, PREFIX, Operation
from workbench.testing.generated import from_journal

Format = Literal["pytest", "har"]
Clean = Callable[[Any], Any]
_KEPT_HEADERS = ("content-type", "date", "retry-after", "x-ratelimit-limit")


@attrs.frozen(kw_only=True)
class _Call:
    """One call from a journal or sandbox log, with fictitious values in place of private ones."""

    operation: str
    outcome: Outcome
    status: int
    request: Mapping[str, Any]
    answer: Any
    started: datetime
    seconds: float = 0.0
    headers: Mapping[str, str] = {}


def to_text(
    calls: Iterable[Any], to: Format, *, last: int | None = None, name: str = "recorded", seed: int | None = None
) -> str:
    """Return calls as the text of a pytest test, or of a HAR file. For a sequence use `from_journal`.

    Ids from earlier answers become references (unchanged in a HAR file); other ids stay. Private values, which a
    journal
    masks, are replaced by fictitious ones.

    Args:
        calls: `api.journal`, some of its entries, `api.sandbox.requests()`, or the list of `api.responses()`.
        to: "pytest" or "har".
        last: Only the last N calls.
        name: Name of the sequence.
        seed: Seed of the sandbox that the test runs on, whose ids must occur in the calls.

    Raises:
        UsageError: No call was done or refused.
    """
    if to not in get_args(Format):
        raise UsageError([not_allowed("to", to, get_args(Format))], of="testing.to_text")
    exported = [call for call in map(_call, calls) if call is not None]
    exported = exported[-last:] if last is not None else exported
    if not exported:
        raise UsageError("the journal has no call that was done or refused", of="testing.to_text")
    if to == "har":
        creator = {"name": "workbench", "version": __version__}
        log = {"version": "1.2", "creator": creator, "entries": [_har_entry(call) for call in exported]}
        return strict_json.dumps({"log": log}).decode()
    return _pytest(from_journal(exported, name=name), seed)


def _call(entry: Any) -> _Call | None:
    """Return a call from a journal or sandbox log; None if it has no outcome or cannot be a step."""
    operation = SCRIPTED.get(entry.operation or "")
    if isinstance(entry, messages.HttpResponse):
        return None if operation is None else _of_response(operation, entry)
    status = getattr(entry, "status", None) or 0
    outcome = getattr(entry, "outcome", outcome_of(status))
    if operation is None or outcome not in (Outcome.DONE, Outcome.REFUSED) or status >= 500:
        return None
    if (request := getattr(entry, "request", None)) is None:  # the log of a sandbox
        request = {**(entry.body or {}), **(operation.in_path((entry.path or "").removeprefix(PREFIX)) or {})}
    started = getattr(entry, "started", None) or datetime.now(UTC)
    ended = getattr(entry, "ended", None) or started
    return _Call(
        operation=operation.name,
        outcome=outcome,
        status=status or operation.success,
        started=started,
        request=_made_up(operation.request, request),
        answer=_made_up(operation.answer, getattr(entry, "answer", None)),
        seconds=max((ended - started).total_seconds(), 0.0),
    )


def read_answer(operation: Operation[..., Any], status: int, body: bytes, clean: Clean) -> Any:
    """Return a body as JSON values or text, with fictitious private values in answers and masked ones in errors."""
    try:
        answer = strict_json.loads(body) if body else None
    except strict_json.NotJson:
        answer = body[: messages.MAX_REFUSAL].decode("utf-8", "replace")
    if status < 300:
        return _made_up(operation.answer, answer, clean)
    return clean(answer) if len(body) <= messages.MAX_REFUSAL else None


def _of_response(operation: Operation[..., Any], entry: messages.HttpResponse) -> _Call:
    """Return a complete call of a client, including failed ones."""
    clean = entry.request.clean
    return _Call(
        operation=operation.name,
        outcome=outcome_of(entry.status),
        status=entry.status,
        answer=read_answer(operation, entry.status, entry.body, clean),
        request=_sent(operation.method, entry.request.target, entry.request.body or b"")[1],
        started=datetime.now(UTC),
        headers={name: clean(entry.headers[name]) for name in _KEPT_HEADERS if name in entry.headers},
    )


def _made_up(cls: Any, raw: object, clean: Clean | None = None) -> Any:
    """Return wire members with fictitious values in place of masked and private ones.

    Args:
        clean: Masks private values in the other members; undocumented members and values of unexpected types are then
            replaced too. None means that private values are already masked.
    """
    if isinstance(raw, list | tuple):
        return [_made_up(cls, item, clean) for item in raw]
    if not isinstance(raw, Mapping) or not walk.is_record(cls):
        return raw if clean is None or raw is None else "made up"
    members = {member.wire: member for member in walk.members(cls)}
    return {wire: _value(cls, members.get(wire), value, clean) for wire, value in raw.items()}


def _value(cls: Any, member: walk.Member | None, value: object, clean: Clean | None) -> Any:
    if member is None:  # a member that the document does not name
        return value if clean is None and masks.MASK not in str(value) else "made up"
    inner = walk.record_of(member.kind)
    if inner is not None and (clean is not None or not isinstance(value, str)):
        return _made_up(inner, value, clean)
    if value is None:
        return None
    if member.about.privacy is Privacy.OPEN:
        if clean is not None:
            is_nested = any(
                isinstance(item, list | Mapping) for item in (value if isinstance(value, list) else [value])
            )
            value = "made up" if is_nested else clean(value)
        if masks.MASK not in str(value):
            return value
    record = converter().unstructure(walk.build(cls, {member.name: example_of(cls, member)}))
    return strict_json.loads(strict_json.dumps(record)).get(member.wire)


def _literal(text: str) -> str:
    return repr(text) if "\\" in text or "'''" in text else f"'''\\\n{text}'''"


def _pytest(sequence: Sequence, seed: int | None) -> str:
    name = re.sub(r"\W+", "_", sequence.name).strip("_").lower() or "recorded"
    where = "" if seed is None else f"seed={seed}"
    return f'''"""{len(sequence.steps)} recorded steps, as a test. Made by workbench; private values are made up."""

import workbench as wb

SEQUENCE = {_literal(sequence.to_toml())}


def test_{name}():
    """Every step ends as it was recorded."""
    run = wb.sequences.run(wb.connect({where}), wb.sequences.from_toml(SEQUENCE))

    assert run.ok, run.verdict
'''


def _har_entry(call: _Call) -> dict[str, Any]:
    operation = OPERATIONS[call.operation]
    body = _body(operation, call.request)
    url = f"https://sandbox.workbench.invalid{PREFIX}{operation.target(call.request, body)}"
    rest: dict[str, Any] = {"httpVersion": "HTTP/1.1", "cookies": [], "headersSize": -1, "bodySize": -1}
    posted = {}
    if not operation.in_query and operation.method != "DELETE":
        posted = {"postData": {"mimeType": "application/json", "text": strict_json.dumps(body).decode()}}
    query = [{"name": name, "value": str(value)} for name, value in body.items()] if operation.in_query else []
    text = "" if call.answer is None else strict_json.dumps(call.answer).decode()
    content = {"size": len(text.encode()), "mimeType": "application/json", "text": text}
    milliseconds = call.seconds * 1000
    return {
        "startedDateTime": call.started.isoformat(),
        "time": milliseconds,
        "cache": {},
        "timings": {"send": 0, "wait": milliseconds, "receive": 0},
        "request": {"method": operation.method, "url": url, "headers": [], "queryString": query, **posted, **rest},
        "response": {
            "status": call.status,
            "statusText": "",
            "content": content,
            "redirectURL": "",
            "headers": [{"name": name, "value": value} for name, value in call.headers.items()],
            **rest,
        },
    }


@contextmanager
def record(api: object, path: str | Path) -> Iterator[None]:
    """Record the calls of a client within a `with` block, in this thread or task, as a HAR file.

    Private values of requests and responses are replaced by fictitious ones; API keys are never included. Ids stay.
    If the block raises, the calls answered before are still written.

    Args:
        api: A session or client, of a sandbox or of a real service.
        path: Path of the file; an existing file is replaced.

    Raises:
        UsageError: No call was answered.
    """
    check_name(path)
    if not hasattr(api, "responses"):
        raise UsageError([Problem("api", "type", "must be a session or client")], of="record")

    def write() -> None:
        write_file(Path(path), (to_text(responses, "har") + "\n").encode())

    with api.responses() as responses:
        try:
            yield
        except BaseException:
            if responses:
                write()
            raise
    write()


def _body(operation: Operation[..., Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a request's body."""
    return {name: value for name, value in request.items() if f"{{{name}}}" not in operation.path}


def _sent(method: str, target: str, body: bytes) -> tuple[str, dict[str, Any]]:
    """Return the operation of a request ("" if unknown) and its members by wire name, with fictitious private
    values.
    """
    path, _, query = target.partition("?")
    for name, operation in OPERATIONS.items():
        if operation.method == method and (in_path := operation.in_path(path)) is not None:
            given = strict_json.loads(body) if body else {}
            raw = {**dict(parse_qsl(query, keep_blank_values=True)), **given, **in_path}
            return name, _made_up(operation.request, raw, lambda value: value)
    return "", {}
