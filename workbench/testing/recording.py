"""Record calls as a HAR file; private values are replaced by fictitious ones."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from workbench import __version__
from workbench.base.errors import Problem, UsageError
from workbench.base.schema import masks, strict_json, walk
from workbench.base.schema.fields import Privacy
from workbench.base.system.files import check_name, write_file
from workbench.client.calls.messages import MAX_REFUSAL, HttpResponse
from workbench.runs.sequences.reading import SCRIPTED
from workbench.service.interface.convert import converter
from workbench.service.interface.examples import example_of
from workbench.service.interface.table import PREFIX, Operation

Clean = Callable[[Any], Any]
_KEPT_HEADERS = ("content-type", "date", "retry-after", "x-ratelimit-limit")


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
    with api.responses() as responses:
        completed = False
        try:
            yield
            completed = True
        finally:
            if completed or responses:
                write_file(Path(path), har(responses))


def har(responses: Iterable[HttpResponse]) -> bytes:
    """Return responses of a client as a HAR file, without those that contain signatures of withdrawals.

    Raises:
        UsageError: There are none.
    """
    entries = [_entry(response) for response in responses if response.operation in SCRIPTED]
    if not entries:
        raise UsageError("no call was answered", of="record")
    creator = {"name": "workbench", "version": __version__}
    return strict_json.dumps({"log": {"version": "1.2", "creator": creator, "entries": entries}}) + b"\n"


def _entry(response: HttpResponse) -> dict[str, Any]:
    operation, clean = response.request.operation, response.request.clean
    request = _sent(operation, response.request.target, response.request.body or b"")
    body = {name: value for name, value in request.items() if f"{{{name}}}" not in operation.path}
    rest: dict[str, Any] = {"httpVersion": "HTTP/1.1", "cookies": [], "headersSize": -1, "bodySize": -1}
    posted = {}
    if not operation.in_query and operation.method != "DELETE":
        posted = {"postData": {"mimeType": "application/json", "text": strict_json.dumps(body).decode()}}
    query = [{"name": name, "value": str(value)} for name, value in body.items()] if operation.in_query else []
    answer = read_answer(operation, response.status, response.body, clean)
    text = "" if answer is None else strict_json.dumps(answer).decode()
    headers = {name: clean(response.headers[name]) for name in _KEPT_HEADERS if name in response.headers}
    url = f"https://sandbox.workbench.invalid{PREFIX}{operation.target(request, body)}"
    return {
        "startedDateTime": datetime.now(UTC).isoformat(),
        "time": 0,
        "cache": {},
        "timings": {"send": 0, "wait": 0, "receive": 0},
        "request": {"method": operation.method, "url": url, "headers": [], "queryString": query, **posted, **rest},
        "response": {
            "status": response.status,
            "statusText": "",
            "content": {"size": len(text.encode()), "mimeType": "application/json", "text": text},
            "redirectURL": "",
            "headers": [{"name": name, "value": value} for name, value in headers.items()],
            **rest,
        },
    }


def _sent(operation: Operation[..., Any], target: str, body: bytes) -> dict[str, Any]:
    """Return the members of a request by wire name, with fictitious private values."""
    path, _, query = target.partition("?")
    given = strict_json.loads(body) if body else {}
    raw = {**dict(parse_qsl(query, keep_blank_values=True)), **given, **(operation.in_path(path) or {})}
    members: dict[str, Any] = _made_up(operation.request, raw, lambda value: value)
    return members


def read_answer(operation: Operation[..., Any], status: int, body: bytes, clean: Clean) -> Any:
    """Return a body as JSON values or text, with fictitious private values in answers and masked ones in errors."""
    try:
        answer = strict_json.loads(body) if body else None
    except strict_json.NotJson:
        answer = body[:MAX_REFUSAL].decode("utf-8", "replace")
    if status < 300:
        return _made_up(operation.answer, answer, clean)
    return clean(answer) if len(body) <= MAX_REFUSAL else None


def _made_up(cls: Any, raw: object, clean: Clean) -> Any:
    """Return wire members with fictitious values in place of private, undocumented and unexpected ones.

    Args:
        clean: Masks private values in the other members.
    """
    if isinstance(raw, list | tuple):
        return [_made_up(cls, item, clean) for item in raw]
    if not isinstance(raw, Mapping) or not walk.is_record(cls):
        return None if raw is None else "made up"
    members = {member.wire: member for member in walk.members(cls)}
    return {wire: _value(cls, members.get(wire), value, clean) for wire, value in raw.items()}


def _value(cls: Any, member: walk.Member | None, value: object, clean: Clean) -> Any:
    if member is None:  # the document does not name it
        return "made up"
    inner = walk.record_of(member.kind)
    if inner is not None:
        return _made_up(inner, value, clean)
    if value is None:
        return None
    if member.about.privacy is Privacy.OPEN:
        items = value if isinstance(value, list) else [value]
        shown = "made up" if any(isinstance(item, list | Mapping) for item in items) else clean(value)
        if masks.MASK not in str(shown):
            return shown
    record = converter().unstructure(walk.build(cls, {member.name: example_of(cls, member)}))
    return strict_json.loads(strict_json.dumps(record)).get(member.wire)
